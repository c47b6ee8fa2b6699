// Fourier transforms along an axis.
#include "backends/cpu/kernels/fft.h"
#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

// The transform of each line of [outer, n, inner] complex numbers.
template <typename T>
void TransformLines(const Lease& threads, const Fft<T>& fft, const AroundAxis& around, bool inverse,
                    const Complex<T>* x, Complex<T>* y, int slices, Complex<T>* scratch) {
  const int64_t per_slice = fft.size() + fft.scratch();
  threads.ParallelFor(slices, [&](int slice) {
    Complex<T>* const line = scratch + slice * per_slice;
    const Range lines = PartOf(around.outer * around.inner, slices, slice);
    for (int64_t i = lines.begin; i < lines.end; ++i) {
      const int64_t at = i / around.inner * around.n * around.inner + i % around.inner;
      for (int64_t k = 0; k < around.n; ++k) line[k] = x[at + k * around.inner];
      fft.Run(line, line + fft.size(), inverse);
      for (int64_t k = 0; k < around.n; ++k) y[at + k * around.inner] = line[k];
    }
  });
}

// (x […, 2]) → the same shape
Result<LoweredKernel> MakeFourier(const KernelRequest& request) {
  Dims dims = request.input(0).dims;
  dims.pop_back();
  const AroundAxis around = SplitAround(dims, AxisOf(request.node, 0, dims.size()));
  const bool inverse = request.node.Int("inverse", 0) != 0;
  const int slices = request.threads;
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    auto fft = std::make_shared<Fft<T>>(around.n);
    LoweredKernel out;
    out.scratch_bytes =
        static_cast<size_t>(slices * (fft->size() + fft->scratch())) * sizeof(Complex<T>);
    out.kernel =
        MakeKernel("fourier", [=](const engine::Operands& p, const engine::LaunchContext& context) {
          TransformLines<T>(context.threads, *fft, around, inverse, p.input<Complex<T>>(0),
                            p.output<Complex<T>>(0), slices, static_cast<Complex<T>*>(p.scratch()));
          return Status();
        });
    return out;
  });
}

constexpr KernelEntry kFourierKernels[] = {{"headrace.grad", "FourierTransform", MakeFourier}};

}  // namespace

KernelPart FourierFamily() { return ChosenKernels<kFourierKernels>(); }

}  // namespace hr::cpu
