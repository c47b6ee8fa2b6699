#include "backends/cpu/kernels/optimizer.h"

#include <algorithm>
#include <cstring>
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

// Loads, steps and stores elements [begin, end) of a tensor. Tensor and step are copies, which no
// store can change: they stay in registers.
template <typename T, typename Step>
HWY_ATTR void ForElements(const OptimizerTensor<T> tensor, Range range, const Step step) {
  using V = VectorValue<T>;
  const Tag<T> d;
  for (int64_t i = range.begin; i < range.end; i += kLanes<T>) {
    const bool whole = range.end - i >= kLanes<T>;
    const PartialVector<Tag<T>> part(whole ? kLanes<T> : range.end - i);
    const auto load = [&](const T* from) HWY_ATTR {
      return V{whole ? hn::LoadU(d, from + i) : part.Load(from + i)};
    };
    const auto store = [&](V value, T* to) HWY_ATTR {
      if (whole) hn::StoreU(value.v, d, to + i);
      if (!whole) part.Store(value.v, to + i);
    };
    V parameter = load(tensor.parameter), state[Step::kStates];
    for (int s = 0; s < Step::kStates; ++s)
      state[s] = tensor.state[s] == nullptr ? V{hn::Zero(d)} : load(tensor.state[s]);
    step(load(tensor.gradient), &parameter, state);
    store(parameter, tensor.parameter);
    for (int s = 0; s < Step::kStates; ++s)
      if (tensor.state[s] != nullptr) store(WithoutSubnormals<T>(state[s]), tensor.state[s]);
  }
}

template <typename T, template <class> class Step>
HWY_ATTR void UpdateRange(const OptimizerTensor<T>& tensor, Range range,
                          const OptimizerUpdate& update, double learning_rate) {
  using VectorStep = Step<VectorValue<T>>;
  typename VectorStep::Settings settings;
  std::memcpy(&settings, update.settings.data(), sizeof settings);
  const int64_t number = tensor.counter == nullptr ? 0 : *tensor.counter + 1;
  ForElements(tensor, range, VectorStep(settings, learning_rate, number));
}

template <typename T, template <class> class... Steps>
void UpdateWith(StepList<Steps...>, const OptimizerTensor<T>& tensor, Range range,
                const OptimizerUpdate& update, double learning_rate) {
  using Function = void (*)(const OptimizerTensor<T>&, Range, const OptimizerUpdate&, double);
  static constexpr Function kFunctions[] = {UpdateRange<T, Steps>...};
  kFunctions[update.step](tensor, range, update, learning_rate);
}

void UpdateFloat(const OptimizerTensor<float>& tensor, Range range, const OptimizerUpdate& update,
                 double learning_rate) {
  UpdateWith(OptimizerSteps(), tensor, range, update, learning_rate);
}
void UpdateDouble(const OptimizerTensor<double>& tensor, Range range, const OptimizerUpdate& update,
                  double learning_rate) {
  UpdateWith(OptimizerSteps(), tensor, range, update, learning_rate);
}

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

template <template <class> class... Steps>
size_t IndexOf(functors::StepList<Steps...>, std::string_view op) {
  const std::string_view names[] = {Steps<float>::kOperator...};
  return static_cast<size_t>(std::find(std::begin(names), std::end(names), op) - names);
}

}  // namespace

size_t OptimizerStep(std::string_view op) { return IndexOf(functors::OptimizerSteps(), op); }

HWY_EXPORT(UpdateFloat);
HWY_EXPORT(UpdateDouble);

template <typename T>
void UpdateParameters(const Lease& threads, std::span<const OptimizerTensor<T>> tensors,
                      const OptimizerUpdate& update, double learning_rate, int slices) {
  ForTensors(threads, tensors, slices, [&](const OptimizerTensor<T>& tensor, Range range) {
    if constexpr (sizeof(T) == 4) {
      HWY_DYNAMIC_DISPATCH(UpdateFloat)(tensor, range, update, learning_rate);
    } else {
      HWY_DYNAMIC_DISPATCH(UpdateDouble)(tensor, range, update, learning_rate);
    }
  });
  for (const auto& tensor : tensors) {  // every slice has read its counter
    if (tensor.counter != nullptr) ++*tensor.counter;
  }
}
template void UpdateParameters(const Lease&, std::span<const OptimizerTensor<float>>,
                               const OptimizerUpdate&, double, int);
template void UpdateParameters(const Lease&, std::span<const OptimizerTensor<double>>,
                               const OptimizerUpdate&, double, int);

}  // namespace hr::cpu
#endif
