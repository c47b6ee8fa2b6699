// RoiAlign and MaxRoiPool with their gradients.
#include "backends/cpu/kernels/regions.h"

#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

// Of images x and results y.
RegionShape ShapeOf(const Dims& x, const Dims& y) {
  return {x[0], x[1], x[2], x[3], y[0], y[2], y[3]};
}

AlignOptions OptionsOf(const KernelRequest& request) {
  const graph::Node& node = request.node;
  AlignOptions options;
  options.scale = node.Float("spatial_scale", 1);
  options.sampling = node.Int("sampling_ratio", 0);
  options.largest = node.String("mode", "avg") == "max";
  // Version 10 had elements at their corners, and no attribute that says so.
  const bool older = request.op.name == "RoiAlign" && request.op.version < 16;
  options.half_pixel =
      !older && node.String("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  return options;
}

// (x, regions, images) → y
Result<LoweredKernel> MakeRoiAlign(const KernelRequest& request) {
  const RegionShape shape = ShapeOf(request.input(0).dims, request.outputs[0].dims);
  const AlignOptions options = OptionsOf(request);
  const int ranges = RegionRanges(shape, request.threads);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.kernel = MakeKernel(
        "roi_align", [=](const engine::Operands& p, const engine::LaunchContext& context) {
          return RoiAlign<T>(context.threads, shape, options, p.input<T>(0), p.input<T>(1),
                             p.input<int64_t>(2), p.output<T>(0), ranges);
        });
    return out;
  });
}

// (dy, x, regions, images) → dx
Result<LoweredKernel> MakeRoiAlignGrad(const KernelRequest& request) {
  const RegionShape shape = ShapeOf(request.input(1).dims, request.input(0).dims);
  const AlignOptions options = OptionsOf(request);
  const int ranges = RegionRanges(shape, request.threads);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.kernel = MakeKernel(
        "roi_align_grad", [=](const engine::Operands& p, const engine::LaunchContext& context) {
          return RoiAlignGradient<T>(context.threads, shape, options, p.input<T>(0), p.input<T>(1),
                                     p.input<T>(2), p.input<int64_t>(3), p.output<T>(0), ranges);
        });
    return out;
  });
}

// (x, regions) → y
Result<LoweredKernel> MakeMaxRoiPool(const KernelRequest& request) {
  const RegionShape shape = ShapeOf(request.input(0).dims, request.outputs[0].dims);
  const double scale = request.node.Float("spatial_scale", 1);
  const int ranges = RegionRanges(shape, request.threads);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.kernel = MakeKernel("max_roi_pool",
                            [=](const engine::Operands& p, const engine::LaunchContext& context) {
                              return MaxRoiPool<T>(context.threads, shape, scale, p.input<T>(0),
                                                   p.input<T>(1), p.output<T>(0), ranges);
                            });
    return out;
  });
}

// (dy, x, regions) → dx
Result<LoweredKernel> MakeMaxRoiPoolGrad(const KernelRequest& request) {
  const RegionShape shape = ShapeOf(request.input(1).dims, request.input(0).dims);
  const double scale = request.node.Float("spatial_scale", 1);
  const int ranges = RegionRanges(shape, request.threads);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.kernel = MakeKernel(
        "max_roi_pool_grad", [=](const engine::Operands& p, const engine::LaunchContext& context) {
          return MaxRoiPoolGradient<T>(context.threads, shape, scale, p.input<T>(0), p.input<T>(1),
                                       p.input<T>(2), p.output<T>(0), ranges);
        });
    return out;
  });
}

constexpr KernelEntry kRegionsKernels[] = {
    {"", "RoiAlign", MakeRoiAlign},
    {"headrace.grad", "RoiAlignGrad", MakeRoiAlignGrad},
    {"", "MaxRoiPool", MakeMaxRoiPool},
    {"headrace.grad", "MaxRoiPoolGrad", MakeMaxRoiPoolGrad},
};

}  // namespace

KernelPart RegionFamily() { return ChosenKernels<kRegionsKernels>(); }

}  // namespace hr::cpu
