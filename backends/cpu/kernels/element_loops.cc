// Loops over floats and doubles, once per instruction set.
#include "backends/cpu/kernels/element_loops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/element_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"
#include "backends/cpu/kernels/vector_value-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

template <typename T, int kInputs, auto function>
void Loop(const void* const* in, void* out, int64_t count) {
  using V = VectorValue<T>;
  const T* x[kInputs];
  for (int i = 0; i < kInputs; ++i) x[i] = static_cast<const T*>(in[i]);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < count; i += kLanes<T>) {
    const bool whole = count - i >= kLanes<T>;
    const PartialVector<Tag<T>> part(whole ? kLanes<T> : count - i);
    const auto load = [&](int k) HWY_ATTR {
      return V{whole ? hn::LoadU(Tag<T>(), x[k] + i) : part.Load(x[k] + i)};
    };
    V result;
    if constexpr (kInputs == 1) result = function(load(0));
    if constexpr (kInputs == 2) result = function(load(0), load(1));
    if constexpr (kInputs == 3) result = function(load(0), load(1), load(2));
    if (whole) {
      hn::StoreU(result.v, Tag<T>(), y + i);
    } else {
      part.Store(result.v, y + i);
    }
  }
}

// Functions of `operands` values, which the functors' names stand for.
template <typename V, int operands>
struct FunctionOf;
template <typename V>
struct FunctionOf<V, 1> {
  using Type = V (*)(V);
};
template <typename V>
struct FunctionOf<V, 2> {
  using Type = V (*)(V, V);
};
template <typename V>
struct FunctionOf<V, 3> {
  using Type = V (*)(V, V, V);
};

template <typename T>
constexpr ElementLoops MakeLoops() {
  ElementLoops loops{};
  using V = VectorValue<T>;
#define HR_FLOAT(name, operands)                     \
  loops.loop[static_cast<int>(ElementOp::k##name)] = \
      Loop<T, operands, static_cast<typename FunctionOf<V, operands>::Type>(&name<V>)>;
#define HR_ANY(name, operands) HR_FLOAT(name, operands)
#define HR_INTEGER(name, operands)
#define HR_ROW(name, types, operands, ...) HR_##types(name, operands)
  HR_ELEMENT_OPS(HR_ROW)
#undef HR_ROW
#undef HR_INTEGER
#undef HR_ANY
#undef HR_FLOAT
  return loops;
}

const ElementLoops& FloatLoops() {
  static constexpr ElementLoops kLoops = MakeLoops<float>();
  return kLoops;
}

const ElementLoops& DoubleLoops() {
  static constexpr ElementLoops kLoops = MakeLoops<double>();
  return kLoops;
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {

HWY_EXPORT(FloatLoops);
HWY_EXPORT(DoubleLoops);

ElementLoop ElementLoopFor(ElementOp op, ElementType type) {
  const auto index = static_cast<int>(op);
  if (type == ElementType::kFloat) return HWY_DYNAMIC_DISPATCH(FloatLoops)().loop[index];
  if (type == ElementType::kDouble) return HWY_DYNAMIC_DISPATCH(DoubleLoops)().loop[index];
  return IntegerLoops(type).loop[index];
}

}  // namespace hr::cpu
#endif
