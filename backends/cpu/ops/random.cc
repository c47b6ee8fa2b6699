// Random numbers and dropout.
#include "backends/cpu/kernels/random.h"

#include <algorithm>

#include "backends/cpu/kernels/element_size.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

// What a node draws in a run.
struct Drawn {
  int64_t stream;
  int64_t count;
  size_t first_input;
  bool has_first;

  // `first`: the number of the optional input that says which element of the stream comes first.
  Drawn(const KernelRequest& request, size_t first)
      : stream(request.node.Int("stream", 0)),
        count(request.outputs[0].elements()),
        first_input(first),
        has_first(request.input(first).present) {}

  Result<RandomRange> In(const engine::Operands& p, const engine::LaunchContext& context) const {
    const int64_t first = has_first ? *p.input<int64_t>(first_input) : 0;
    if (first < 0) {
      return OutOfRange("the first random number is element 0 or a later one, got ", first);
    }
    return RandomRange{RandomStream(context.seed, context.step, stream),
                       static_cast<uint64_t>(first), count};
  }
};

template <typename T>
using Generator = void (*)(const Lease&, const RandomRange&, double, double, T*, int);

// Makes a kernel whose distribution has two parameters: bounds, or mean and standard deviation.
template <typename T>
LoweredKernel MakeGenerator(const KernelRequest& request, std::string name, Generator<T> generate,
                            double first, double second) {
  const Drawn drawn(request, request.op.name.ends_with("Like") ? 1 : 0);
  const int ranges = RandomRanges(drawn.count, request.threads);
  LoweredKernel out;
  out.kernel =
      MakeKernel(std::move(name),
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   HR_ASSIGN_OR_RETURN(const RandomRange range, drawn.In(p, context));
                   generate(context.threads, range, first, second, p.output<T>(0), ranges);
                   return {};
                 });
  return out;
}

Result<LoweredKernel> MakeUniform(const KernelRequest& request) {
  const double low = request.node.Float("low", 0), high = request.node.Float("high", 1);
  return ForFloating(request, request.outputs[0].dtype, [&]<typename T>() -> Result<LoweredKernel> {
    return MakeGenerator<T>(request, "random_uniform", RandomUniform<T>, low, high);
  });
}

Result<LoweredKernel> MakeNormal(const KernelRequest& request) {
  const double mean = request.node.Float("mean", 0), scale = request.node.Float("scale", 1);
  return ForFloating(request, request.outputs[0].dtype, [&]<typename T>() -> Result<LoweredKernel> {
    return MakeGenerator<T>(request, "random_normal", RandomNormal<T>, mean, scale);
  });
}

Result<LoweredKernel> MakeBernoulli(const KernelRequest& request) {
  const DType to = request.outputs[0].dtype;
  const Drawn drawn(request, 1);
  const uint64_t one = OneBits(to);
  const int ranges = RandomRanges(drawn.count, request.threads);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    return ForElementSize(DTypeSize(to), [&]<typename U>() -> Result<LoweredKernel> {
      LoweredKernel out;
      out.kernel = MakeKernel(
          "bernoulli",
          [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
            HR_ASSIGN_OR_RETURN(const RandomRange range, drawn.In(p, context));
            Bernoulli<T, U>(context.threads, range, p.input<T>(0), static_cast<U>(one),
                            p.output<U>(0), ranges);
            return {};
          });
      return out;
    });
  });
}

// The scalar inputs ratio? and training_mode? of Dropout and its gradient, which may depend on
// data.
struct DropoutMode {
  size_t ratio_input;
  DType ratio_dtype = DType::kUndefined;  // undefined if it is omitted
  bool has_training;

  DropoutMode(const KernelRequest& request, size_t ratio_input)
      : ratio_input(ratio_input),
        ratio_dtype(request.input(ratio_input).dtype),
        has_training(request.input(ratio_input + 1).present) {}

  bool Training(const engine::Operands& p) const {
    return has_training && *p.input<bool>(ratio_input + 1);
  }
  Result<double> Ratio(const engine::Operands& p) const {
    double ratio = 0.5;
    if (ratio_dtype == DType::kFloat32) ratio = *p.input<float>(ratio_input);
    if (ratio_dtype == DType::kFloat64) ratio = *p.input<double>(ratio_input);
    if (ratio >= 0 && ratio < 1) return ratio;
    return OutOfRange("the ratio of Dropout lies in [0, 1), got ", ratio);
  }
};

Result<DropoutMode> DropoutModeOf(const KernelRequest& request, size_t ratio_input) {
  DropoutMode mode(request, ratio_input);
  const bool known = mode.ratio_dtype == DType::kUndefined || DTypeSize(mode.ratio_dtype) > 2;
  if (known) return mode;
  return Unimplemented("Dropout's ratio has no CPU kernel for ", DTypeName(mode.ratio_dtype),
                       "; insert a Cast to float32");
}

// (x, ratio?, training_mode?, first?) → (y, mask?)
template <typename T>
Result<LoweredKernel> DropoutOf(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const DropoutMode mode, DropoutModeOf(request, 1));
  const Drawn drawn(request, 3);
  const int64_t count = drawn.count;
  const bool has_mask = request.has_output(1);
  const int ranges = RandomRanges(count, request.threads);
  LoweredKernel out;
  out.in_place = {{0, 0}};
  out.kernel = MakeKernel(
      "dropout", [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        const auto* x = p.input<T>(0);
        auto* y = p.output<T>(0);
        bool* mask = has_mask ? p.output<bool>(1) : nullptr;
        if (mode.Training(p)) {
          HR_ASSIGN_OR_RETURN(const double ratio, mode.Ratio(p));
          HR_ASSIGN_OR_RETURN(const RandomRange range, drawn.In(p, context));
          Dropout<T>(context.threads, range, ratio, 1 / (1 - ratio), x, y, mask, ranges);
          return {};
        }
        if (y != x) std::copy_n(x, count, y);
        if (mask != nullptr) std::fill_n(mask, count, true);
        return {};
      });
  return out;
}

// (dy, mask, ratio?, training_mode?)
template <typename T>
Result<LoweredKernel> DropoutGradOf(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const DropoutMode mode, DropoutModeOf(request, 2));
  const int64_t count = request.input(0).elements();
  const int ranges = RandomRanges(count, request.threads);
  LoweredKernel out;
  out.in_place = {{0, 0}};
  out.kernel =
      MakeKernel("dropout_grad",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   double scale = 1;
                   if (mode.Training(p)) {
                     HR_ASSIGN_OR_RETURN(const double ratio, mode.Ratio(p));
                     scale = 1 / (1 - ratio);
                   }
                   DropoutGrad<T>(context.threads, count, scale, p.input<T>(0), p.input<bool>(1),
                                  p.output<T>(0), ranges);
                   return {};
                 });
  return out;
}

template <typename T, typename Index>
Result<LoweredKernel> MultinomialOf(const KernelRequest& request) {
  const int64_t classes = request.input(0).dims[1], samples = request.outputs[0].dims[1];
  const Drawn drawn(request, 1);
  if (classes == 0 && drawn.count != 0) {
    return InvalidArgument("Multinomial has no classes to draw from: the input is ",
                           ShapeText(request.input(0).dims));
  }
  LoweredKernel out;
  out.scratch_bytes = static_cast<size_t>(classes) * sizeof(double);
  out.kernel =
      MakeKernel("multinomial",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   HR_ASSIGN_OR_RETURN(const RandomRange range, drawn.In(p, context));
                   Multinomial<T, Index>(range, classes, samples, p.input<T>(0),
                                         p.scratch<double>(), p.output<Index>(0));
                   return {};
                 });
  return out;
}

Result<LoweredKernel> MakeMultinomial(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() {
    return request.outputs[0].dtype == DType::kInt64 ? MultinomialOf<T, int64_t>(request)
                                                     : MultinomialOf<T, int32_t>(request);
  });
}
Result<LoweredKernel> MakeDropout(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return DropoutOf<T>(request); });
}
Result<LoweredKernel> MakeDropoutGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return DropoutGradOf<T>(request); });
}

constexpr KernelEntry kRandomKernels[] = {
    {"", "RandomUniform", MakeUniform}, {"", "RandomUniformLike", MakeUniform},
    {"", "RandomNormal", MakeNormal},   {"", "RandomNormalLike", MakeNormal},
    {"", "Bernoulli", MakeBernoulli},   {"", "Multinomial", MakeMultinomial},
    {"", "Dropout", MakeDropout},       {"headrace.grad", "DropoutGrad", MakeDropoutGrad},
};

}  // namespace

KernelPart RandomFamily() { return ChosenKernels<kRandomKernels>(); }

}  // namespace hr::cpu
