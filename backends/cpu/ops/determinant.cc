// Det and its gradient.
#include "backends/cpu/kernels/determinant.h"

#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

MatricesShape ShapeOf(const Dims& x) {
  return {ElementCount(std::span(x).first(x.size() - 2)), x.back()};
}

Result<LoweredKernel> MakeDet(const KernelRequest& request) {
  const MatricesShape shape = ShapeOf(request.input(0).dims);
  const int ranges = DeterminantRanges(shape, request.threads);
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.scratch_bytes = DeterminantScratch(shape, ranges) * sizeof(double);
    out.kernel = MakeKernel("determinant",
                            [=](const engine::Operands& p, const engine::LaunchContext& context) {
                              Determinants<T>(context.threads, shape, p.input<T>(0), p.output<T>(0),
                                              ranges, p.scratch<double>());
                              return Status();
                            });
    return out;
  });
}

// (dy, x) → dx
Result<LoweredKernel> MakeDetGrad(const KernelRequest& request) {
  const MatricesShape shape = ShapeOf(request.input(1).dims);
  const int ranges = DeterminantRanges(shape, request.threads);
  return ForFloating(request, request.input(1).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.scratch_bytes = DeterminantGradientScratch(shape, ranges) * sizeof(double);
    out.kernel = MakeKernel(
        "determinant_grad", [=](const engine::Operands& p, const engine::LaunchContext& context) {
          DeterminantGradients<T>(context.threads, shape, p.input<T>(0), p.input<T>(1),
                                  p.output<T>(0), ranges, p.scratch<double>());
          return Status();
        });
    return out;
  });
}

constexpr KernelEntry kDeterminantKernels[] = {
    {"", "Det", MakeDet},
    {"headrace.grad", "DetGrad", MakeDetGrad},
};

}  // namespace

KernelPart DeterminantFamily() { return ChosenKernels<kDeterminantKernels>(); }

}  // namespace hr::cpu
