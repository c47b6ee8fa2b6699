// CumSum, CumProd, TopK and Trilu.
#include "backends/cpu/kernels/scan.h"

#include <algorithm>

#include "backends/cpu/kernels/int_view.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

// The lines along the axis that input `i` gives in a run: it may depend on data.
struct RunningLines {
  RunningLines(const KernelRequest& request, size_t i)
      : dims(request.input(0).dims),
        input(i),
        is_int64(request.input(i).dtype == DType::kInt64),
        exclusive(request.node.Int("exclusive", 0) != 0),
        reverse(request.node.Int("reverse", 0) != 0) {}

  Result<ScanShape> In(const engine::Operands& p) const {
    const int64_t given = IntView{p.input(input), is_int64}[0];
    HR_ASSIGN_OR_RETURN(const int64_t axis,
                        NormalizeAxis(given, static_cast<int64_t>(dims.size())));
    const AroundAxis around = SplitAround(dims, static_cast<size_t>(axis));
    return ScanShape{around.outer, around.n, around.inner, exclusive, reverse};
  }

  Dims dims;
  size_t input;
  bool is_int64, exclusive, reverse;
};

// (x, axis [])
template <typename T>
LoweredKernel MakeRunning(const KernelRequest& request,
                          void (*run)(const ScanShape&, const T*, T*)) {
  LoweredKernel out;
  out.kernel = MakeKernel(request.op.name == "CumSum" ? "cum_sum" : "cum_prod",
                          [lines = RunningLines(request, 1), run](
                              const engine::Operands& p, const engine::LaunchContext&) -> Status {
                            HR_ASSIGN_OR_RETURN(const ScanShape shape, lines.In(p));
                            run(shape, p.input<T>(0), p.output<T>(0));
                            return {};
                          });
  return out;
}

Result<LoweredKernel> MakeCumSum(const KernelRequest& request) {
  return ForNumeric(
      request, WrappingType(request.input(0).dtype),
      [&]<typename T>() -> Result<LoweredKernel> { return MakeRunning<T>(request, CumSum<T>); });
}

Result<LoweredKernel> MakeCumProd(const KernelRequest& request) {
  return ForNumeric(
      request, WrappingType(request.input(0).dtype),
      [&]<typename T>() -> Result<LoweredKernel> { return MakeRunning<T>(request, CumProd<T>); });
}

// (dy, x, axis [])
Result<LoweredKernel> MakeCumProdGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
    const Dims& dims = request.input(0).dims;
    const int64_t longest = dims.empty() ? 1 : *std::max_element(dims.begin(), dims.end());
    LoweredKernel out;
    out.scratch_bytes = static_cast<size_t>(longest) * sizeof(double);
    out.kernel = MakeKernel("cum_prod_grad",
                            [lines = RunningLines(request, 2)](
                                const engine::Operands& p, const engine::LaunchContext&) -> Status {
                              HR_ASSIGN_OR_RETURN(const ScanShape shape, lines.In(p));
                              CumProdGradient<T>(shape, p.input<T>(0), p.input<T>(1),
                                                 p.output<T>(0), static_cast<double*>(p.scratch()));
                              return {};
                            });
    return out;
  });
}

// Calls body.template operator()<T>() for float, double, or an integer of any size.
template <typename Body>
Result<LoweredKernel> ForEveryNumber(const KernelRequest& request, DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kInt8: return body.template operator()<int8_t>();
    case DType::kInt16: return body.template operator()<int16_t>();
    case DType::kUint8: return body.template operator()<uint8_t>();
    case DType::kUint16: return body.template operator()<uint16_t>();
    case DType::kUint32: return body.template operator()<uint32_t>();
    case DType::kUint64: return body.template operator()<uint64_t>();
    default: return ForNumeric(request, dtype, body);
  }
}

Result<LoweredKernel> MakeTopK(const KernelRequest& request) {
  const Dims& dims = request.input(0).dims;
  const size_t axis = AxisOf(request.node, -1, dims.size());
  const AroundAxis around = SplitAround(dims, axis);
  HR_ASSIGN_OR_RETURN(auto&& k, KnownInts(request, 1));
  const TopKShape shape{around.outer, around.n, around.inner, (*k)[0],
                        request.node.Int("largest", 1) != 0};
  return ForEveryNumber(
      request, request.input(0).dtype, [&]<typename T>() -> Result<LoweredKernel> {
        const int ranges = TopKRanges(shape, request.threads);
        LoweredKernel out;
        out.scratch_bytes = TopKScratchBytes(shape, ranges);
        out.kernel = MakeKernel(
            "top_k", [=](const engine::Operands& p, const engine::LaunchContext& context) {
              TopK<T>(context.threads, shape, p.input<T>(0), p.output<T>(0), p.output<int64_t>(1),
                      ranges, p.scratch());
              return Status();
            });
        return out;
      });
}

// (x, diagonal []?)
Result<LoweredKernel> MakeTrilu(const KernelRequest& request) {
  const Dims& dims = request.input(0).dims;
  const int64_t rows = dims[dims.size() - 2], columns = dims.back();
  const int64_t matrices = ElementCount(std::span(dims).first(dims.size() - 2));
  const bool upper = request.node.Int("upper", 1) != 0;
  const bool given = request.input(1).present;
  const size_t bytes = DTypeSize(request.input(0).dtype);
  LoweredKernel out;
  out.in_place = {{0, 0}};
  out.kernel = MakeKernel("triangle", [=](const engine::Operands& p, const engine::LaunchContext&) {
    const int64_t diagonal = given ? *p.input<int64_t>(1) : 0;
    Triangle(matrices, rows, columns, diagonal, upper, bytes, p.input(0), p.output(0));
    return Status();
  });
  return out;
}

constexpr KernelEntry kScanKernels[] = {
    {"", "CumSum", MakeCumSum},
    {"", "CumProd", MakeCumProd},
    {"headrace.grad", "CumProdGrad", MakeCumProdGrad},
    {"", "TopK", MakeTopK},
    {"", "Trilu", MakeTrilu},
};

}  // namespace

KernelPart ScanFamily() { return ChosenKernels<kScanKernels>(); }

}  // namespace hr::cpu
