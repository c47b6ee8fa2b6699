// headrace.sized: operators whose results are as large as the data says.
#include "backends/cpu/kernels/selection.h"

#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

// (x) → (indices, count)
Result<LoweredKernel> MakeNonZero(const KernelRequest& request) {
  LoweredKernel out;
  out.kernel =
      MakeKernel("non_zero", [dims = request.input(0).dims, dtype = request.input(0).dtype](
                                 const engine::Operands& p, const engine::LaunchContext&) {
        *p.output<int64_t>(1) = NonZero(dims, dtype, p.input(0), p.output<int64_t>(0));
        return Status();
      });
  return out;
}

SelectionShape SelectionShapeOf(const KernelRequest& request) {
  const Dims& dims = request.input(0).dims;
  if (request.node.Find("axis") == nullptr) return {1, ElementCount(dims), 1};
  const AroundAxis around = SplitAround(dims, AxisOf(request.node, 0, dims.size()));
  return {around.outer, around.n, around.inner};
}

// (x) → (first places, inverse indices, counts, how many are different)
Result<LoweredKernel> MakeUnique(const KernelRequest& request) {
  const SelectionShape shape = SelectionShapeOf(request);
  LoweredKernel out;
  out.scratch_bytes = UniqueScratchBytes(shape);
  out.kernel = MakeKernel("unique", [shape, dtype = request.input(0).dtype,
                                     sorted = request.node.Int("sorted", 1) != 0](
                                        const engine::Operands& p, const engine::LaunchContext&) {
    const UniqueOutputs outputs{.y = nullptr,
                                .indices = p.output<int64_t>(0),
                                .inverse = p.output<int64_t>(1),
                                .counts = p.output<int64_t>(2)};
    *p.output<int64_t>(3) = Unique(shape, dtype, sorted, p.input(0), outputs, p.scratch());
    return Status();
  });
  return out;
}

// (boxes, scores, most of a class?, IoU threshold?, score threshold?) → (rows, count)
Result<LoweredKernel> MakeNonMaxSuppression(const KernelRequest& request) {
  const Dims& scores = request.input(1).dims;
  const SuppressionShape shape{.batches = scores[0],
                               .classes = scores[1],
                               .boxes = scores[2],
                               .center_point_box = request.node.Int("center_point_box", 0) != 0};
  LoweredKernel out;
  out.scratch_bytes = SuppressionScratchBytes(shape);
  out.kernel = MakeKernel(
      "non_max_suppression", [shape](const engine::Operands& p, const engine::LaunchContext&) {
        const auto* most = p.input<int64_t>(2);
        const auto* overlap = p.input<float>(3);
        const SuppressionLimits limits{.most_per_class = most == nullptr ? 0 : *most,
                                       .iou_threshold = overlap == nullptr ? 0 : *overlap,
                                       .score_threshold = p.input<float>(4)};
        *p.output<int64_t>(1) = NonMaxSuppression(
            shape, limits, p.input<float>(0), p.input<float>(1), p.output<int64_t>(0), p.scratch());
        return Status();
      });
  return out;
}

constexpr KernelEntry kSelectionKernels[] = {
    {ops::kSized, "NonZero", MakeNonZero},
    {ops::kSized, "Unique", MakeUnique},
    {ops::kSized, "NonMaxSuppression", MakeNonMaxSuppression},
};

}  // namespace

KernelPart SelectionFamily() { return ChosenKernels<kSelectionKernels>(); }

}  // namespace hr::cpu
