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
    const Part<Tag<T>> part(whole ? kLanes<T> : count - i);
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

template <typename T>
constexpr ElementLoops MakeLoops() {
  ElementLoops loops{};
  using V = VectorValue<T>;
#define HR_FILL(name, inputs, ...)                   \
  loops.loop[static_cast<int>(ElementOp::k##name)] = \
      Loop<T, inputs, static_cast<V (*)(__VA_ARGS__)>(&name<V>)>;
#define HR_UNARY(name) HR_FILL(name, 1, V)
#define HR_BINARY(name) HR_FILL(name, 2, V, V)
#define HR_TERNARY(name) HR_FILL(name, 3, V, V, V)
  HR_FLOAT_UNARY(HR_UNARY)
  HR_FLOAT_BINARY(HR_BINARY)
  HR_FLOAT_TERNARY(HR_TERNARY)
  HR_ANY_UNARY(HR_UNARY)
  HR_ANY_BINARY(HR_BINARY)
  HR_ANY_TERNARY(HR_TERNARY)
#undef HR_TERNARY
#undef HR_BINARY
#undef HR_UNARY
#undef HR_FILL
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
