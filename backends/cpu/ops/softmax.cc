// Softmax, its logarithm, and the losses of classification.
#include "backends/cpu/kernels/softmax.h"

#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

LineShape LinesAlong(const Dims& dims, size_t axis) {
  const AroundAxis around = SplitAround(dims, axis);
  return {around.outer, around.n, around.inner};
}

LineShape LinesAlongAxis(const KernelRequest& request) {
  const Dims& dims = request.input(0).dims;
  return LinesAlong(dims, AxisOf(request.node, -1, dims.size()));
}

template <typename T>
using UnaryFunction = void (*)(const Lease&, const LineShape&, const T*, T*, int);
template <typename T>
using GradientFunction = void (*)(const Lease&, const LineShape&, const T*, const T*, T*, int);

template <typename T>
Result<LoweredKernel> MakeUnary(const KernelRequest& request, std::string name,
                                UnaryFunction<T> run) {
  const LineShape shape = LinesAlongAxis(request);
  const int ranges = LineRanges<T>(shape, request.threads);
  LoweredKernel out;
  out.in_place = {{0, 0}};
  out.kernel = MakeKernel(std::move(name),
                          [=](const engine::Operands& p, const engine::LaunchContext& context) {
                            run(context.threads, shape, p.input<T>(0), p.output<T>(0), ranges);
                            return Status();
                          });
  return out;
}

template <typename T>
Result<LoweredKernel> MakeGradient(const KernelRequest& request, std::string name,
                                   GradientFunction<T> run) {
  const LineShape shape = LinesAlongAxis(request);
  const int ranges = LineRanges<T>(shape, request.threads);
  LoweredKernel out;
  out.in_place = {{0, 0}, {0, 1}};
  out.kernel = MakeKernel(
      std::move(name), [=](const engine::Operands& p, const engine::LaunchContext& context) {
        run(context.threads, shape, p.input<T>(0), p.input<T>(1), p.output<T>(0), ranges);
        return Status();
      });
  return out;
}

// What the nodes of the four losses have in common. `first` is the input of shape [N, C, d…]; the
// labels and the weights follow it.
template <typename T>
struct LossPlan {
  LineShape shape;
  LossReduction reduction;
  LossLabels<T> labels;  // without pointers
  size_t first;
  bool weighted;
  int ranges;

  LossPlan(const KernelRequest& request, size_t first)
      : shape(LinesAlong(request.input(first).dims, 1)),
        reduction(ReductionOf(request.node)),
        first(first),
        weighted(request.input(first + 2).present),
        ranges(LineRanges<T>(shape, request.threads)) {
    labels.classes.is_int64 = request.input(first + 1).dtype == DType::kInt64;
    labels.ignores = request.node.Find("ignore_index") != nullptr;
    labels.ignore_index = request.node.Int("ignore_index", 0);
  }

  static LossReduction ReductionOf(const graph::Node& node) {
    const std::string_view name = node.String("reduction", "mean");
    return name == "none"  ? LossReduction::kNone
           : name == "sum" ? LossReduction::kSum
                           : LossReduction::kMean;
  }

  LossLabels<T> Labels(const engine::Operands& p) const {
    LossLabels<T> out = labels;
    out.classes.data = p.input(first + 1);
    out.weights = weighted ? p.input<T>(first + 2) : nullptr;
    return out;
  }
};

template <typename T>
Result<LoweredKernel> CrossEntropy(const KernelRequest& request) {
  const LossPlan<T> plan(request, 0);
  const bool wants_log_prob = request.has_output(1);
  LoweredKernel out;
  out.scratch_bytes = LossScratchBytes(plan.ranges);
  if (wants_log_prob) out.in_place = {{1, 0}};
  out.kernel = MakeKernel("softmax_cross_entropy", [=](const engine::Operands& p,
                                                       const engine::LaunchContext& context) {
    return SoftmaxCrossEntropyLoss<T>(
        context.threads, plan.shape, p.input<T>(0), plan.Labels(p), plan.reduction, p.output<T>(0),
        wants_log_prob ? p.output<T>(1) : nullptr, plan.ranges, p.scratch());
  });
  return out;
}

template <typename T>
Result<LoweredKernel> Likelihood(const KernelRequest& request) {
  const LossPlan<T> plan(request, 0);
  LoweredKernel out;
  out.scratch_bytes = LossScratchBytes(plan.ranges);
  out.kernel = MakeKernel("negative_log_likelihood", [=](const engine::Operands& p,
                                                         const engine::LaunchContext& context) {
    return NegativeLogLikelihoodLoss<T>(context.threads, plan.shape, p.input<T>(0), plan.Labels(p),
                                        plan.reduction, p.output<T>(0), plan.ranges, p.scratch());
  });
  return out;
}

template <typename T>
Result<LoweredKernel> CrossEntropyGrad(const KernelRequest& request) {
  const LossPlan<T> plan(request, 1);
  LoweredKernel out;
  out.in_place = {{0, 1}};
  out.kernel = MakeKernel("softmax_cross_entropy_grad",
                          [=](const engine::Operands& p, const engine::LaunchContext& context) {
                            return SoftmaxCrossEntropyLossGrad<T>(
                                context.threads, plan.shape, p.input<T>(0), p.input<T>(1),
                                plan.Labels(p), plan.reduction, p.output<T>(0), plan.ranges);
                          });
  return out;
}

template <typename T>
Result<LoweredKernel> LikelihoodGrad(const KernelRequest& request) {
  const LossPlan<T> plan(request, 1);
  LoweredKernel out;
  out.kernel = MakeKernel("negative_log_likelihood_grad",
                          [=](const engine::Operands& p, const engine::LaunchContext& context) {
                            return NegativeLogLikelihoodLossGrad<T>(
                                context.threads, plan.shape, p.input<T>(0), plan.Labels(p),
                                plan.reduction, p.output<T>(0), plan.ranges);
                          });
  return out;
}

Result<LoweredKernel> MakeSoftmax(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MakeUnary<T>(request, "softmax", Softmax<T>); });
}
Result<LoweredKernel> MakeLogSoftmax(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() {
    return MakeUnary<T>(request, "log_softmax", LogSoftmax<T>);
  });
}
Result<LoweredKernel> MakeSoftmaxGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() {
    return MakeGradient<T>(request, "softmax_grad", SoftmaxGrad<T>);
  });
}
Result<LoweredKernel> MakeLogSoftmaxGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() {
    return MakeGradient<T>(request, "log_softmax_grad", LogSoftmaxGrad<T>);
  });
}
Result<LoweredKernel> MakeCrossEntropy(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return CrossEntropy<T>(request); });
}
Result<LoweredKernel> MakeCrossEntropyGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return CrossEntropyGrad<T>(request); });
}
Result<LoweredKernel> MakeLikelihood(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return Likelihood<T>(request); });
}
Result<LoweredKernel> MakeLikelihoodGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return LikelihoodGrad<T>(request); });
}

constexpr KernelEntry kSoftmaxKernels[] = {
    {"", "Softmax", MakeSoftmax},
    {"", "LogSoftmax", MakeLogSoftmax},
    {"headrace.grad", "SoftmaxGrad", MakeSoftmaxGrad},
    {"headrace.grad", "LogSoftmaxGrad", MakeLogSoftmaxGrad},
    {"", "SoftmaxCrossEntropyLoss", MakeCrossEntropy},
    {"headrace.grad", "SoftmaxCrossEntropyLossGrad", MakeCrossEntropyGrad},
    {"", "NegativeLogLikelihoodLoss", MakeLikelihood},
    {"headrace.grad", "NegativeLogLikelihoodLossGrad", MakeLikelihoodGrad},
};

}  // namespace

KernelPart SoftmaxFamily() { return ChosenKernels<kSoftmaxKernels>(); }

}  // namespace hr::cpu
