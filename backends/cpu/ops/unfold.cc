// Col2Im and its gradient.
#include "backends/cpu/kernels/unfold.h"

#include "backends/cpu/kernels/element_size.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"
#include "runtime/ops/window.h"

namespace hr::cpu {
namespace {

// `image`: [N, C, image…]; the block is input 2.
Result<UnfoldShape> UnfoldShapeOf(const KernelRequest& request, const Dims& image) {
  HR_ASSIGN_OR_RETURN(auto&& block, KnownInts(request, 2));
  const auto sizes = std::span(image).subspan(2);
  HR_ASSIGN_OR_RETURN(auto&& windows, ops::ResolveWindow(request.node, *block, sizes));
  UnfoldShape shape{.planes = image[0] * image[1], .axes = {}};
  for (size_t i = 0; i < windows.size(); ++i) {
    const ops::WindowAxis& axis = windows[i];
    shape.axes.push_back(
        {sizes[i], axis.kernel, axis.output, axis.stride, axis.dilation, axis.pad_begin});
  }
  return shape;
}

template <typename T>
LoweredKernel ToImage(const UnfoldShape& shape, int slices) {
  const int ranges = UnfoldRanges(shape, slices);
  LoweredKernel out;
  out.kernel = MakeKernel(
      "columns_to_image", [=](const engine::Operands& p, const engine::LaunchContext& context) {
        ColumnsToImage<T>(context.threads, shape, p.input<T>(0), p.output<T>(0), ranges);
        return Status();
      });
  return out;
}

// (columns, image_shape, block_shape) → image
Result<LoweredKernel> MakeToImage(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const UnfoldShape shape, UnfoldShapeOf(request, request.outputs[0].dims));
  const DType dtype = request.input(0).dtype;
  if (IsInteger(dtype)) {
    return ForElementSize(DTypeSize(dtype), [&]<typename T>() -> Result<LoweredKernel> {
      return ToImage<T>(shape, request.threads);
    });
  }
  return ForFloating(request, dtype, [&]<typename T>() -> Result<LoweredKernel> {
    return ToImage<T>(shape, request.threads);
  });
}

// (image, columns: type only, block_shape) → columns
Result<LoweredKernel> MakeToColumns(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const UnfoldShape shape, UnfoldShapeOf(request, request.input(0).dims));
  const int ranges = UnfoldRanges(shape, request.threads);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.kernel = MakeKernel(
        "image_to_columns", [=](const engine::Operands& p, const engine::LaunchContext& context) {
          ImageToColumns<T>(context.threads, shape, p.input<T>(0), p.output<T>(0), ranges);
          return Status();
        });
    return out;
  });
}

constexpr KernelEntry kUnfoldKernels[] = {
    {"", "Col2Im", MakeToImage},
    {"headrace.grad", "Im2Col", MakeToColumns},
};

}  // namespace

KernelPart UnfoldFamily() { return ChosenKernels<kUnfoldKernels>(); }

}  // namespace hr::cpu
