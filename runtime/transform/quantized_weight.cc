#include "runtime/transform/quantized_weight.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/transform/tensor_numbers.h"

namespace hr::transform {
namespace {

using graph::kNone;

// A matrix with its axes in each other's place.
Result<Tensor> Swapped(const Tensor& matrix, Allocator& allocator) {
  const int64_t rows = matrix.dims()[0], columns = matrix.dims()[1];
  HR_ASSIGN_OR_RETURN(Tensor out, Tensor::Create(allocator, matrix.dtype(), {columns, rows}));
  const auto* from = matrix.as<float>();
  auto* to = out.as<float>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
  return out;
}

}  // namespace

Result<Tensor> WeightOf(const graph::Module& module, const AdapterSite& site) {
  const uint32_t constant = site.variable == kNone
                                ? module.main().values[site.value].constant
                                : module.variables[site.variable].initial_constant;
  if (constant == kNone) {
    return FailedPrecondition("weight '", site.weight,
                              "' has no value before a session draws it; export the model from a "
                              "session (hr_session_export) and quantize that");
  }
  const Tensor& weight = module.constants[constant];
  const auto numbers = weight.span<float>();
  const auto odd = std::ranges::find_if(numbers, [](float x) { return !std::isfinite(x); });
  if (odd == numbers.end()) return weight;
  return InvalidArgument("weight '", site.weight, "' has ", std::isnan(*odd) ? "NaN" : "infinity",
                         " at element ", odd - numbers.begin(),
                         "; only finite numbers can be quantized");
}

Result<QuantizedWeight> QuantizedWeight::Of(const Tensor& weight, int64_t axis, bool swap,
                                            bool per_channel, Allocator& allocator) {
  Tensor turned;
  if (swap) {
    HR_ASSIGN_OR_RETURN(turned, Swapped(weight, allocator));
  }
  const Tensor& from = swap ? turned : weight;
  const std::span<const int64_t> dims = from.dims();
  const int64_t inner = ElementCount(dims.subspan(static_cast<size_t>(axis) + 1));
  const int64_t channels = dims[static_cast<size_t>(axis)];
  const auto numbers = from.span<float>();
  const auto scale_of = [&](int64_t i) {
    return static_cast<size_t>(per_channel ? i / inner % channels : 0);
  };
  QuantizedWeight out;
  HR_ASSIGN_OR_RETURN(out.numbers,
                      Tensor::Create(allocator, DType::kInt8, Dims(dims.begin(), dims.end())));
  HR_ASSIGN_OR_RETURN(out.scales, Tensor::Create(allocator, DType::kFloat32,
                                                 per_channel ? Dims{channels} : Dims{}));
  const auto scales = out.scales.span<float>();
  std::ranges::fill(scales, 0.0f);
  for (int64_t i = 0; i < from.elements(); ++i) {
    float& most = scales[scale_of(i)];
    most = std::max(most, std::abs(numbers[static_cast<size_t>(i)]));
  }
  // Zeros alone have no range; any scale holds them. One below the normal numbers could be 0.
  for (float& scale : scales) scale = scale / 127 > 1e-37f ? scale / 127 : 1;
  auto* const to = out.numbers.as<int8_t>();
  for (int64_t i = 0; i < from.elements(); ++i) {
    const float x = numbers[static_cast<size_t>(i)] / scales[scale_of(i)];
    to[i] = static_cast<int8_t>(std::clamp(std::nearbyint(x), -127.0f, 127.0f));
  }
  return out;
}

Result<Tensor> Shortened(const Tensor& weight, DType to, bool swap, const std::string& name,
                         Allocator& allocator) {
  Tensor turned;
  if (swap) {
    HR_ASSIGN_OR_RETURN(turned, Swapped(weight, allocator));
  }
  const Tensor& from = swap ? turned : weight;
  HR_ASSIGN_OR_RETURN(Tensor out,
                      Tensor::Create(allocator, to, Dims(from.dims().begin(), from.dims().end())));
  for (int64_t i = 0; i < from.elements(); ++i) {
    const double x = NumberAt(from, i);
    SetNumberAt(out, i, x);
    if (!std::isfinite(NumberAt(out, i))) {
      return InvalidArgument("weight '", name, "' has ", x, " at element ", i, ", more than ",
                             DTypeName(to), " holds; use bfloat16");
    }
  }
  return out;
}

}  // namespace hr::transform
