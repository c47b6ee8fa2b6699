#include "backends/cpu/kernels/optimizer.h"

#include <algorithm>
#include <cmath>
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

// Loads, steps and stores elements [begin, end) of a tensor: step(gradient, &parameter, state, part
// of the vector that there is). Tensor and step are copies, which no store can change: they stay in
// registers.
template <typename T, int kStates, typename Step>
HWY_ATTR void ForElements(const OptimizerTensor<T> tensor, Range range, Step step) {
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
    V parameter = load(tensor.parameter), state[kStates];
    for (int s = 0; s < kStates; ++s)
      state[s] = tensor.state[s] == nullptr ? V{hn::Zero(d)} : load(tensor.state[s]);
    step(load(tensor.gradient), &parameter, state, part);
    store(parameter, tensor.parameter);
    for (int s = 0; s < kStates; ++s)
      if (tensor.state[s] != nullptr) store(WithoutSubnormals<T>(state[s]), tensor.state[s]);
  }
}

template <typename T, template <class> class Step>
HWY_ATTR Step<VectorValue<T>> StepOf(const OptimizerTensor<T>& tensor,
                                     const OptimizerUpdate& update, double learning_rate) {
  using VectorStep = Step<VectorValue<T>>;
  typename VectorStep::Settings settings;
  std::memcpy(&settings, update.settings.data(), sizeof settings);
  const int64_t number = tensor.counter == nullptr ? 0 : *tensor.counter + 1;
  return VectorStep(settings, learning_rate, number);
}

template <typename T, template <class> class Step>
HWY_ATTR void UpdateRange(const OptimizerTensor<T>& tensor, Range range,
                          const OptimizerUpdate& update, double learning_rate) {
  using V = VectorValue<T>;
  auto step = StepOf<T, Step>(tensor, update, learning_rate);
  if constexpr (Trusting<Step<V>>) {
    step.trust = Splat<V>(tensor.trust);
    const auto apply = [step](V, V* p, V* state, const auto&) HWY_ATTR { step.Apply(p, state); };
    ForElements<T, Step<V>::kStates>(tensor, range, apply);
  } else {
    const auto whole = [step](V g, V* p, V* state, const auto&) HWY_ATTR { step(g, p, state); };
    ForElements<T, Step<V>::kStates>(tensor, range, whole);
  }
}

// Changes the state alone.
template <typename T, template <class> class Step>
HWY_ATTR SquareSums AdvanceRange(const OptimizerTensor<T>& tensor, Range range,
                                 const OptimizerUpdate& update, double learning_rate) {
  using V = VectorValue<T>;
  const Tag<T> d;
  V parameter{hn::Zero(d)}, direction{hn::Zero(d)};
  if constexpr (Trusting<Step<V>>) {
    const auto step = StepOf<T, Step>(tensor, update, learning_rate);
    ForElements<T, Step<V>::kStates>(
        tensor, range, [&, step](V g, V* p, V* state, const auto& part) HWY_ATTR {
          step.Advance(g, state);
          const V u{hn::IfThenElseZero(part.mask, step.Direction(*p, state).v)};
          parameter = MulAdd(*p, *p, parameter);
          direction = MulAdd(u, u, direction);
        });
  }
  return {static_cast<double>(hn::GetLane(hn::SumOfLanes(d, parameter.v))),
          static_cast<double>(hn::GetLane(hn::SumOfLanes(d, direction.v)))};
}

template <template <class> class Step>
constexpr bool IsBuilt = ops::IsChosen(ops::kTrain, Step<float>::kOperator);

template <typename T, template <class> class... Steps>
void UpdateWith(StepList<Steps...>, const OptimizerTensor<T>& tensor, Range range,
                const OptimizerUpdate& update, double learning_rate) {
  using Function = void (*)(const OptimizerTensor<T>&, Range, const OptimizerUpdate&, double);
  static constexpr Function kFunctions[] = {IsBuilt<Steps> ? UpdateRange<T, Steps> : nullptr...};
  kFunctions[update.step](tensor, range, update, learning_rate);
}
template <typename T, template <class> class... Steps>
SquareSums AdvanceWith(StepList<Steps...>, const OptimizerTensor<T>& tensor, Range range,
                       const OptimizerUpdate& update, double learning_rate) {
  using Function = SquareSums (*)(const OptimizerTensor<T>&, Range, const OptimizerUpdate&, double);
  static constexpr Function kFunctions[] = {IsBuilt<Steps> ? AdvanceRange<T, Steps> : nullptr...};
  return kFunctions[update.step](tensor, range, update, learning_rate);
}

void UpdateFloat(const OptimizerTensor<float>& tensor, Range range, const OptimizerUpdate& update,
                 double learning_rate) {
  UpdateWith(OptimizerSteps(), tensor, range, update, learning_rate);
}
void UpdateDouble(const OptimizerTensor<double>& tensor, Range range, const OptimizerUpdate& update,
                  double learning_rate) {
  UpdateWith(OptimizerSteps(), tensor, range, update, learning_rate);
}
SquareSums AdvanceFloat(const OptimizerTensor<float>& tensor, Range range,
                        const OptimizerUpdate& update, double learning_rate) {
  return AdvanceWith(OptimizerSteps(), tensor, range, update, learning_rate);
}
SquareSums AdvanceDouble(const OptimizerTensor<double>& tensor, Range range,
                         const OptimizerUpdate& update, double learning_rate) {
  return AdvanceWith(OptimizerSteps(), tensor, range, update, learning_rate);
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

constexpr int64_t kSumElements = 1 << 10;  // of a block whose squares are added in vectors

int64_t BlocksOf(int64_t count) { return CeilDiv(count, kSumElements); }

// Advances the state, and sets the tensors' trust: the norm of the parameter over that of its
// direction, or 1 if either is 0. Blocks are added up in order, whoever has computed them.
template <typename T, typename Advance>
void FindTrust(const Lease& threads, std::span<OptimizerTensor<T>> tensors, int slices,
               SquareSums* sums, Advance advance) {
  int64_t blocks = 0;
  for (const auto& tensor : tensors) blocks += BlocksOf(tensor.count);
  const int64_t wanted = blocks * kSumElements / kSliceElements;
  const auto tasks = static_cast<int>(std::clamp<int64_t>(wanted, 1, slices));
  threads.ParallelFor(tasks, [&](int task) {
    const Range part = PartOf(blocks, tasks, task);
    int64_t start = 0;  // of the tensor among all blocks
    for (const auto& tensor : tensors) {
      const int64_t own = BlocksOf(tensor.count), end = std::min(own, part.end - start);
      for (int64_t b = std::max<int64_t>(0, part.begin - start); b < end; ++b) {
        const int64_t begin = b * kSumElements;
        sums[start + b] = advance(tensor, {begin, std::min(tensor.count, begin + kSumElements)});
      }
      start += own;
    }
  });
  for (auto& tensor : tensors) {
    SquareSums total;
    for (int64_t b = BlocksOf(tensor.count); b > 0; --b, ++sums) {
      total.parameter += sums->parameter;
      total.direction += sums->direction;
    }
    const bool both = total.parameter > 0 && total.direction > 0;
    tensor.trust = both ? std::sqrt(total.parameter) / std::sqrt(total.direction) : 1;
  }
}

template <template <class> class... Steps>
bool Trusts(functors::StepList<Steps...>, size_t step) {
  constexpr bool kTrusting[] = {Trusting<Steps<float>>...};
  return kTrusting[step];
}
bool Trusts(size_t step) { return Trusts(functors::OptimizerSteps(), step); }

template <template <class> class... Steps>
size_t IndexOf(functors::StepList<Steps...>, std::string_view op) {
  const std::string_view names[] = {Steps<float>::kOperator...};
  return static_cast<size_t>(std::find(std::begin(names), std::end(names), op) - names);
}

}  // namespace

size_t OptimizerStep(std::string_view op) { return IndexOf(functors::OptimizerSteps(), op); }

size_t SquareSumCount(size_t step, std::span<const int64_t> counts) {
  int64_t blocks = 0;
  for (const int64_t count : counts) blocks += BlocksOf(count);
  return Trusts(step) ? static_cast<size_t>(blocks) : 0;
}

HWY_EXPORT(UpdateFloat);
HWY_EXPORT(UpdateDouble);
HWY_EXPORT(AdvanceFloat);
HWY_EXPORT(AdvanceDouble);

template <typename T>
void UpdateParameters(const Lease& threads, std::span<OptimizerTensor<T>> tensors,
                      const OptimizerUpdate& update, double learning_rate, int slices,
                      SquareSums* sums) {
  if (Trusts(update.step)) {
    FindTrust(threads, tensors, slices, sums, [&](const OptimizerTensor<T>& tensor, Range range) {
      if constexpr (sizeof(T) == 4) {
        return HWY_DYNAMIC_DISPATCH(AdvanceFloat)(tensor, range, update, learning_rate);
      } else {
        return HWY_DYNAMIC_DISPATCH(AdvanceDouble)(tensor, range, update, learning_rate);
      }
    });
  }
  ForTensors<T>(threads, tensors, slices, [&](const OptimizerTensor<T>& tensor, Range range) {
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
template void UpdateParameters(const Lease&, std::span<OptimizerTensor<float>>,
                               const OptimizerUpdate&, double, int, SquareSums*);
template void UpdateParameters(const Lease&, std::span<OptimizerTensor<double>>,
                               const OptimizerUpdate&, double, int, SquareSums*);

}  // namespace hr::cpu
#endif
