// Values made from attributes, shapes and scalars.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/element_size.h"
#include "backends/cpu/kernels/strided_copy.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"
#include "runtime/base/half.h"
#include "runtime/ops/constant_node.h"

namespace hr::cpu {
namespace {

// Writes values that the plan knows.
template <typename T>
LoweredKernel KnownValues(std::string name, std::vector<T> values) {
  LoweredKernel out;
  out.kernel = MakeKernel(
      std::move(name),
      [values = std::move(values)](const engine::Operands& p, const engine::LaunchContext&) {
        std::copy(values.begin(), values.end(), p.output<T>(0));
        return Status();
      });
  return out;
}

Result<LoweredKernel> MakeShape(const KernelRequest& request) {
  const Dims& dims = request.input(0).dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto position = [&](Literal name, int64_t otherwise) {
    const int64_t at = request.node.Int(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = position("start", 0);
  const int64_t end = std::max(start, position("end", rank));
  return KnownValues<int64_t>("shape", Dims(dims.begin() + start, dims.begin() + end));
}

Result<LoweredKernel> MakeSize(const KernelRequest& request) {
  return KnownValues<int64_t>("size", {request.input(0).elements()});
}

Result<LoweredKernel> MakeConstant(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(auto&& value, ops::ValueOfConstantNode(request.module, request.node));
  return KnownValues<std::byte>("constant", {value.data(), value.data() + value.bytes()});
}

Result<LoweredKernel> MakeConstantOfShape(const KernelRequest& request) {
  const int64_t count = request.outputs[0].elements();
  const size_t bytes = DTypeSize(request.outputs[0].dtype);
  uint64_t value = 0;
  if (request.node.Find("value") != nullptr) {
    const auto index = std::get<graph::TensorIndex>(*request.node.Find("value"));
    const Tensor& given = request.module.constants[index.index];
    std::memcpy(&value, given.data(), given.bytes());
  }
  const int ranges = FillRanges(count, bytes, request.threads);
  LoweredKernel out;
  out.kernel =
      MakeKernel("fill", [=](const engine::Operands& p, const engine::LaunchContext& context) {
        FillElements(context.threads, count, bytes, &value, p.output(0), ranges);
        return Status();
      });
  return out;
}

// (start, limit, delta) as numbers that are kept as T and computed as C; the limit decided the
// length.
template <typename T, typename C>
LoweredKernel MakeRangeOf(int64_t count, C (*read)(T), T (*write)(C)) {
  LoweredKernel out;
  out.kernel = MakeKernel("range", [=](const engine::Operands& p, const engine::LaunchContext&) {
    const C start = read(*p.input<T>(0));
    const C delta = read(*p.input<T>(2));
    auto* y = p.output<T>(0);
    for (int64_t i = 0; i < count; ++i) y[i] = write(start + static_cast<C>(i) * delta);
    return Status();
  });
  return out;
}

Result<LoweredKernel> MakeRange(const KernelRequest& request) {
  const int64_t count = request.outputs[0].elements();
  const DType dtype = request.input(0).dtype;
  if (dtype == DType::kFloat16) return MakeRangeOf(count, HalfToFloat, FloatToHalf);
  if (dtype == DType::kBfloat16) return MakeRangeOf(count, Bfloat16ToFloat, FloatToBfloat16);
  if (dtype == DType::kInt16) {
    return MakeRangeOf<int16_t, int32_t>(
        count, [](int16_t x) -> int32_t { return x; },
        [](int32_t x) { return static_cast<int16_t>(x); });
  }
  return ForNumeric(request, dtype, [&]<typename T>() -> Result<LoweredKernel> {
    return MakeRangeOf<T, T>(
        count, [](T x) { return x; }, [](T x) { return x; });
  });
}

Result<LoweredKernel> MakeEyeLike(const KernelRequest& request) {
  const Dims& dims = request.outputs[0].dims;
  const int64_t rows = dims[0], columns = dims[1];
  const int64_t k = std::clamp<int64_t>(request.node.Int("k", 0), -rows, columns);
  const DType dtype = request.outputs[0].dtype;
  const uint64_t one = OneBits(dtype);
  return ForElementSize(DTypeSize(dtype), [&]<typename U>() -> Result<LoweredKernel> {
    LoweredKernel out;
    out.kernel = MakeKernel("eye", [=](const engine::Operands& p, const engine::LaunchContext&) {
      auto* y = p.output<U>(0);
      std::fill_n(y, rows * columns, U(0));
      for (int64_t i = std::max<int64_t>(0, -k); i < rows && i + k < columns; ++i) {
        y[i * columns + i + k] = static_cast<U>(one);
      }
      return Status();
    });
    return out;
  });
}

constexpr KernelEntry kGenerateKernels[] = {
    {"", "Shape", MakeShape},       {"", "Size", MakeSize},
    {"", "Constant", MakeConstant}, {"", "ConstantOfShape", MakeConstantOfShape},
    {"", "Range", MakeRange},       {"", "EyeLike", MakeEyeLike},
};

}  // namespace

KernelPart GenerateFamily() { return ChosenKernels<kGenerateKernels>(); }

}  // namespace hr::cpu
