// Reductions: Reduce…, ArgMax, ArgMin, and the sums that undo broadcasting.
#include "backends/cpu/kernels/reduce.h"

#include <cstring>

#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

Result<LoweredKernel> CopyOf(const KernelRequest& request) {
  const OperandInfo& x = request.input(0);
  const size_t bytes = static_cast<size_t>(x.elements()) * DTypeSize(x.dtype);
  LoweredKernel out;
  out.in_place = {{0, 0}};
  out.kernel = MakeKernel("copy", [=](const engine::Operands& p, const engine::LaunchContext&) {
    if (bytes != 0 && p.output(0) != p.input(0)) std::memcpy(p.output(0), p.input(0), bytes);
    return Status();
  });
  return out;
}

Result<LoweredKernel> MakeOver(const KernelRequest& request, Reduction reduction, const Dims& dims,
                               const std::vector<bool>& reduced) {
  return ForNumeric(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    HR_ASSIGN_OR_RETURN(const ReducePlan plan,
                        PlanReduce<T>(reduction, dims, reduced, request.threads));
    LoweredKernel out;
    out.scratch_bytes = plan.scratch_bytes;
    out.kernel =
        MakeKernel(plan.shape.rows() ? "reduce_rows" : "reduce_columns",
                   [=](const engine::Operands& p, const engine::LaunchContext& context) {
                     Reduce<T>(context.threads, plan, p.input<T>(0), p.output<T>(0), p.scratch());
                     return Status();
                   });
    return out;
  });
}

// Returns the axes of a Reduce… node, an attribute in old versions and an input in new ones; none
// if all are meant.
Result<Dims> AxesOf(const KernelRequest& request) {
  const auto attribute = request.node.Ints("axes");
  HR_ASSIGN_OR_RETURN(auto input, KnownInts(request, 1));
  return input ? *std::move(input) : Dims(attribute.begin(), attribute.end());
}

template <Reduction reduction>
Result<LoweredKernel> MakeReduce(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const Dims axes, AxesOf(request));
  const Dims& dims = request.input(0).dims;
  if (axes.empty() && request.node.Int("noop_with_empty_axes", 0) != 0) return CopyOf(request);
  if (reduction == Reduction::kLogSumExp && !IsFloating(request.input(0).dtype)) {
    return Unimplemented("ReduceLogSumExp has no CPU kernel for ",
                         DTypeName(request.input(0).dtype), "; insert a Cast to float32");
  }
  std::vector<bool> reduced(dims.size(), axes.empty());
  for (int64_t axis : axes) reduced[FrontAxis(axis, dims.size())] = true;
  return MakeOver(request, reduction, dims, reduced);
}

// (x, like): the axes along which `like` was broadcast to x.
Result<LoweredKernel> MakeSumTo(const KernelRequest& request) {
  const Dims& dims = request.input(0).dims;
  const Dims& like = request.input(1).dims;
  if (ElementCount(dims) == ElementCount(like)) return CopyOf(request);
  const size_t added = dims.size() - like.size();
  std::vector<bool> reduced(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) reduced[i] = i < added || like[i - added] != dims[i];
  return MakeOver(request, Reduction::kSum, dims, reduced);
}

// (dy, x): dy of shape [r0 * d0, r1 * d1, …] seen as [r0, d0, r1, d1, …].
Result<LoweredKernel> MakeTileGrad(const KernelRequest& request) {
  const Dims& dy = request.input(0).dims;
  const Dims& x = request.input(1).dims;
  Dims dims;
  std::vector<bool> reduced;
  for (size_t i = 0; i < x.size(); ++i) {
    dims.push_back(x[i] == 0 ? 1 : dy[i] / x[i]);
    dims.push_back(x[i]);
    reduced.push_back(true);
    reduced.push_back(false);
  }
  return MakeOver(request, Reduction::kSum, dims, reduced);
}

template <bool smallest>
Result<LoweredKernel> MakeArg(const KernelRequest& request) {
  const Dims& dims = request.input(0).dims;
  const size_t axis = AxisOf(request.node, 0, dims.size());
  const AroundAxis around = SplitAround(dims, axis);
  const ArgShape shape{.outer = around.outer,
                       .n = around.n,
                       .inner = around.inner,
                       .smallest = smallest,
                       .last = request.node.Int("select_last_index", 0) != 0};
  if (shape.n == 0 && shape.outer * shape.inner != 0) {
    return InvalidArgument(request.op.name, " along an axis of size 0 has no answer: the input is ",
                           ShapeText(dims), ", the axis is ", axis);
  }
  return ForNumeric(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    const int ranges = ArgRanges(shape, request.threads);
    LoweredKernel out;
    out.kernel = MakeKernel(smallest ? "arg_min" : "arg_max",
                            [=](const engine::Operands& p, const engine::LaunchContext& context) {
                              ArgReduce<T>(context.threads, shape, p.input<T>(0),
                                           p.output<int64_t>(0), ranges);
                              return Status();
                            });
    return out;
  });
}

constexpr KernelEntry kReduceKernels[] = {
    {"", "ReduceSum", MakeReduce<Reduction::kSum>},
    {"", "ReduceMean", MakeReduce<Reduction::kMean>},
    {"", "ReduceMax", MakeReduce<Reduction::kMax>},
    {"", "ReduceMin", MakeReduce<Reduction::kMin>},
    {"", "ReduceProd", MakeReduce<Reduction::kProd>},
    {"", "ReduceSumSquare", MakeReduce<Reduction::kSumSquare>},
    {"", "ReduceL1", MakeReduce<Reduction::kL1>},
    {"", "ReduceL2", MakeReduce<Reduction::kL2>},
    {"", "ReduceLogSum", MakeReduce<Reduction::kLogSum>},
    {"", "ReduceLogSumExp", MakeReduce<Reduction::kLogSumExp>},
    {"", "ArgMax", MakeArg<false>},
    {"", "ArgMin", MakeArg<true>},
    {"headrace.grad", "SumTo", MakeSumTo},
    {"headrace.grad", "TileGrad", MakeTileGrad},
};

}  // namespace

KernelPart ReduceFamily() { return ChosenKernels<kReduceKernels>(); }

}  // namespace hr::cpu
