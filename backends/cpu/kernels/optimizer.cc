#include "backends/cpu/kernels/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/partition.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/optimizer.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"
#include "backends/cpu/kernels/vector_value-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

// Zero for subnormal numbers: the state of a weight whose gradient stays 0 fades into them, and
// some processors take a hundred times as long for a product with one. NaN stays.
template <typename T, typename V>
HWY_ATTR V WithoutSubnormals(V value) {
  const Tag<T> d;
  const auto least = hn::Set(d, std::numeric_limits<T>::min());
  return V{hn::IfThenZeroElse(hn::Lt(hn::Abs(value.v), least), value.v)};
}

// Loads, steps and stores elements [begin, end) of a tensor with kStates state arrays.
template <typename T, int kStates, typename Step>
HWY_ATTR void ForElements(const OptimizerTensor<T>& tensor, Range range, const Step& step) {
  using V = VectorValue<T>;
  const Tag<T> d;
  for (int64_t i = range.begin; i < range.end; i += kLanes<T>) {
    const bool whole = range.end - i >= kLanes<T>;
    const Part<Tag<T>> part(whole ? kLanes<T> : range.end - i);
    const auto load = [&](const T* from) HWY_ATTR {
      return V{whole ? hn::LoadU(d, from + i) : part.Load(from + i)};
    };
    const auto store = [&](V value, T* to) HWY_ATTR {
      if (whole) hn::StoreU(value.v, d, to + i);
      if (!whole) part.Store(value.v, to + i);
    };
    const V gradient = load(tensor.gradient);
    V parameter = load(tensor.parameter), first{hn::Zero(d)}, second{hn::Zero(d)};
    if constexpr (kStates > 0) first = load(tensor.state[0]);
    if constexpr (kStates > 1) second = load(tensor.state[1]);
    step(gradient, &parameter, &first, &second);
    store(parameter, tensor.parameter);
    if constexpr (kStates > 0) store(WithoutSubnormals<T>(first), tensor.state[0]);
    if constexpr (kStates > 1) store(WithoutSubnormals<T>(second), tensor.state[1]);
  }
}

template <typename T>
HWY_ATTR void UpdateRange(const OptimizerTensor<T>& tensor, Range range, const SgdOptions& o) {
  using V = VectorValue<T>;
  const bool has_momentum = o.momentum != 0;
  const SgdStep<V> step{Splat<V>(o.learning_rate),
                        Splat<V>(o.momentum),
                        Splat<V>(o.dampening),
                        Splat<V>(o.weight_decay),
                        o.nesterov,
                        has_momentum,
                        o.first};
  const auto update = [&](V g, V* p, V* velocity, V*) HWY_ATTR { step(g, p, velocity); };
  if (has_momentum) return ForElements<T, 1>(tensor, range, update);
  ForElements<T, 0>(tensor, range, update);
}

template <typename T>
HWY_ATTR void UpdateRange(const OptimizerTensor<T>& tensor, Range range, const AdamOptions& o) {
  using V = VectorValue<T>;
  const auto t = static_cast<double>(o.step);
  const AdamStep<V> step{Splat<V>(o.beta1),
                         Splat<V>(o.beta2),
                         Splat<V>(o.epsilon),
                         Splat<V>(o.learning_rate / (1 - std::pow(o.beta1, t))),
                         Splat<V>(1 / std::sqrt(1 - std::pow(o.beta2, t))),
                         Splat<V>(o.decoupled ? 0 : o.weight_decay),
                         Splat<V>(o.decoupled ? 1 - o.learning_rate * o.weight_decay : 1)};
  ForElements<T, 2>(tensor, range, step);
}

template <typename T>
HWY_ATTR void UpdateRange(const OptimizerTensor<T>& tensor, Range range, const AdaGradOptions& o) {
  using V = VectorValue<T>;
  const AdaGradStep<V> step{Splat<V>(o.learning_rate), Splat<V>(o.epsilon),
                            Splat<V>(o.weight_decay)};
  ForElements<T, 1>(tensor, range, [&](V g, V* p, V* sum, V*) HWY_ATTR { step(g, p, sum); });
}

template <typename T>
HWY_ATTR void UpdateRange(const OptimizerTensor<T>& tensor, Range range, const RmsPropOptions& o) {
  using V = VectorValue<T>;
  const bool has_momentum = o.momentum != 0;
  const RmsPropStep<V> step{Splat<V>(o.learning_rate), Splat<V>(o.alpha),
                            Splat<V>(o.momentum),      Splat<V>(o.epsilon),
                            Splat<V>(o.weight_decay),  has_momentum};
  if (has_momentum) return ForElements<T, 2>(tensor, range, step);
  ForElements<T, 1>(tensor, range, step);
}

#define HR_UPDATE(Name, T, Options)                                                  \
  void Name(const OptimizerTensor<T>& tensor, Range range, const Options& options) { \
    UpdateRange(tensor, range, options);                                             \
  }
HR_UPDATE(SgdFloat, float, SgdOptions)
HR_UPDATE(SgdDouble, double, SgdOptions)
HR_UPDATE(AdamFloat, float, AdamOptions)
HR_UPDATE(AdamDouble, double, AdamOptions)
HR_UPDATE(AdaGradFloat, float, AdaGradOptions)
HR_UPDATE(AdaGradDouble, double, AdaGradOptions)
HR_UPDATE(RmsPropFloat, float, RmsPropOptions)
HR_UPDATE(RmsPropDouble, double, RmsPropOptions)
#undef HR_UPDATE

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
namespace {

constexpr int64_t kSliceElements = 1 << 14;  // worth waking a thread

// Calls update(tensor, range) for the elements of all tensors, cut into slices.
template <typename T, typename Update>
void ForTensors(const Lease& threads, std::span<const OptimizerTensor<T>> tensors, int slices,
                Update update) {
  int64_t total = 0;
  for (const auto& tensor : tensors) total += tensor.count;
  const auto tasks = static_cast<int>(std::clamp<int64_t>(total / kSliceElements, 1, slices));
  threads.ParallelFor(tasks, [&](int task) {
    const Range part = PartOf(total, tasks, task);
    int64_t start = 0;  // of the tensor among all elements
    for (const auto& tensor : tensors) {
      const Range own = {std::max<int64_t>(0, part.begin - start),
                         std::min(tensor.count, part.end - start)};
      if (own.begin < own.end) update(tensor, own);
      start += tensor.count;
    }
  });
}

}  // namespace

#define HR_EXPORT_UPDATE(Name, T, Options)                                                    \
  HWY_EXPORT(Name);                                                                           \
  template <>                                                                                 \
  void UpdateParameters(const Lease& threads, std::span<const OptimizerTensor<T>> tensors,    \
                        const Options& options, int slices) {                                 \
    ForTensors(threads, tensors, slices, [&](const OptimizerTensor<T>& tensor, Range range) { \
      HWY_DYNAMIC_DISPATCH(Name)(tensor, range, options);                                     \
    });                                                                                       \
  }
HR_EXPORT_UPDATE(SgdFloat, float, SgdOptions)
HR_EXPORT_UPDATE(SgdDouble, double, SgdOptions)
HR_EXPORT_UPDATE(AdamFloat, float, AdamOptions)
HR_EXPORT_UPDATE(AdamDouble, double, AdamOptions)
HR_EXPORT_UPDATE(AdaGradFloat, float, AdaGradOptions)
HR_EXPORT_UPDATE(AdaGradDouble, double, AdaGradOptions)
HR_EXPORT_UPDATE(RmsPropFloat, float, RmsPropOptions)
HR_EXPORT_UPDATE(RmsPropDouble, double, RmsPropOptions)
#undef HR_EXPORT_UPDATE

}  // namespace hr::cpu
#endif
