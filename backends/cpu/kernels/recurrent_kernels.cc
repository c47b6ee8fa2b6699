#include "backends/cpu/kernels/recurrent_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/recurrent_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"
#include "backends/cpu/kernels/vector_value-inl.h"
#include "runtime/ops/recurrent.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

// Of this file: another may use the same names.
namespace {

// Lanes of the parts of a row.
template <typename T, typename Lanes>
struct Part {
  using V = VectorValue<T>;
  const Lanes& lanes;
  int64_t hidden, at;

  HWY_INLINE V Load(const T* row, int64_t part) const {
    return {lanes.Load(row + part * hidden + at)};
  }
  HWY_INLINE V LoadOrZero(const T* row) const {
    return row == nullptr ? Splat<V>(0) : Load(row, 0);
  }
  HWY_INLINE void Store(V value, T* row, int64_t part) const {
    lanes.Store(value.v, row + part * hidden + at);
  }
};

enum Gate : int64_t { kIn, kOut, kForget, kCandidate };

template <typename T>
void Forward(int64_t hidden, const T* c, T* row) {
  ForVectors<Tag<T>>(hidden, [&](int64_t at, const auto& lanes) HWY_ATTR {
    const Part<T, std::remove_cvref_t<decltype(lanes)>> part{lanes, hidden, at};
    const auto kept = Sigmoid(part.Load(row, kForget)) * part.LoadOrZero(c);
    const auto now = MulAdd(Sigmoid(part.Load(row, kIn)), Tanh(part.Load(row, kCandidate)), kept);
    part.Store(now, row, ops::kLstmState);
    part.Store(Sigmoid(part.Load(row, kOut)) * Tanh(now), row, ops::kLstmState + 1);
  });
}

template <typename T>
void Backward(int64_t hidden, const T* c, const T* row, T* d_gates, T* d_h, T* d_c) {
  using V = VectorValue<T>;
  const V one = Splat<V>(1);
  ForVectors<Tag<T>>(hidden, [&](int64_t at, const auto& lanes) HWY_ATTR {
    const Part<T, std::remove_cvref_t<decltype(lanes)>> part{lanes, hidden, at};
    const V in = Sigmoid(part.Load(row, kIn)), out = Sigmoid(part.Load(row, kOut));
    const V forget = Sigmoid(part.Load(row, kForget)), candidate = Tanh(part.Load(row, kCandidate));
    const V seen = Tanh(part.Load(row, ops::kLstmState)), dh = part.Load(d_h, 0);
    const V d = MulAdd(dh * out, one - seen * seen, part.Load(d_c, 0));
    part.Store(d * candidate * (in * (one - in)), d_gates, kIn);
    part.Store(dh * seen * (out * (one - out)), d_gates, kOut);
    part.Store(d * part.LoadOrZero(c) * (forget * (one - forget)), d_gates, kForget);
    part.Store(d * in * (one - candidate * candidate), d_gates, kCandidate);
    part.Store(d * forget, d_c, 0);
    part.Store(Splat<V>(0), d_h, 0);
  });
}

template <typename T>
constexpr LstmKernels<T> MakeTable() {
  return {.forward = &Forward<T>, .backward = &Backward<T>};
}

}  // namespace

const LstmKernels<float>& FloatLstm() {
  static constexpr LstmKernels<float> kTable = MakeTable<float>();
  return kTable;
}

const LstmKernels<double>& DoubleLstm() {
  static constexpr LstmKernels<double> kTable = MakeTable<double>();
  return kTable;
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
HWY_EXPORT(FloatLstm);
HWY_EXPORT(DoubleLstm);

template <>
const LstmKernels<float>& KernelsForLstm() {
  return HWY_DYNAMIC_DISPATCH(FloatLstm)();
}

template <>
const LstmKernels<double>& KernelsForLstm() {
  return HWY_DYNAMIC_DISPATCH(DoubleLstm)();
}

}  // namespace hr::cpu
#endif
