// What several families ask of a node's request. Types were checked before a kernel is made.
#pragma once

#include <cstring>
#include <optional>

#include "backends/cpu/kernel_table.h"
#include "runtime/base/float8.h"
#include "runtime/ops/infer.h"

namespace hr::cpu {

// An axis counted from the front.
inline size_t FrontAxis(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}
// The attribute `axis`, counted from the front.
inline size_t AxisOf(const graph::Node& node, int64_t otherwise, size_t rank) {
  return FrontAxis(node.Int("axis", otherwise), rank);
}

// The axes before `axis` and those behind it as one each.
struct AroundAxis {
  int64_t outer, n, inner;
};
inline AroundAxis SplitAround(std::span<const int64_t> dims, size_t axis) {
  return {ElementCount(dims.first(axis)), dims[axis], ElementCount(dims.subspan(axis + 1))};
}

// The values of an integer input that a plan must know; nothing where it is omitted.
inline Result<std::optional<Dims>> KnownInts(const KernelRequest& request, size_t i) {
  const OperandInfo& input = request.input(i);
  if (!input.present) return std::optional<Dims>();
  auto values = input.constant == nullptr ? std::nullopt : ops::IntsOf(*input.constant);
  if (values) return std::optional<Dims>(*std::move(values));
  return Unimplemented("input ", i, " of ", request.op.name,
                       " depends on data; give it as a constant");
}

// Calls body.template operator()<T>() for float, double, int32_t or int64_t.
template <typename Body>
Result<LoweredKernel> ForNumeric(const KernelRequest& request, DType dtype, Body&& body) {
  if (dtype == DType::kInt32) return body.template operator()<int32_t>();
  if (dtype == DType::kInt64) return body.template operator()<int64_t>();
  return ForFloating(request, dtype, body);
}

// The type whose sums and products have the same bits, and for which there are kernels: unsigned
// integers wrap around like signed ones.
inline DType WrappingType(DType dtype) {
  if (dtype == DType::kUint32) return DType::kInt32;
  return dtype == DType::kUint64 ? DType::kInt64 : dtype;
}

// The number one as each type stores it.
inline uint64_t OneBits(DType dtype) {
  if (dtype == DType::kFloat16) return 0x3c00;
  if (dtype == DType::kBfloat16) return 0x3f80;
  if (IsFloat8(dtype)) return FloatToFloat8(Float8FormatOf(dtype), 1);
  uint64_t one = 1;
  const float f = 1;
  const double d = 1;
  if (dtype == DType::kFloat32) std::memcpy(&one, &f, sizeof f);
  if (dtype == DType::kFloat64) std::memcpy(&one, &d, sizeof d);
  return one;
}

}  // namespace hr::cpu
