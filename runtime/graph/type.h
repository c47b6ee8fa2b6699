// Types of values in a graph. Dimensions may be symbolic; a plan is made for concrete ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace hr::graph {

// "No value", "no node", "no graph", … wherever an index is optional.
inline constexpr uint32_t kNone = UINT32_MAX;
inline constexpr int64_t kUnknownDim = -1;

// A dimension: fixed (size ≥ 0), symbolic (equal wherever the same symbol stands), or unknown.
struct Dim {
  int64_t size = kUnknownDim;
  uint32_t symbol = kNone;  // index into Module::symbols; only if size is unknown

  bool fixed() const { return size >= 0; }
  friend bool operator==(const Dim&, const Dim&) = default;
};

// A named size that is known only when a plan is made, with optional bounds. If buckets are
// given (ascending), plans are made for the smallest bucket that holds the size.
struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = kUnknownDim;  // kUnknownDim: unbounded
  std::vector<int64_t> buckets;
};

enum class ValueKind : uint8_t { kTensor = 0, kRowSparse = 1, kSequence = 2, kOptional = 3 };

struct ValueType {
  DType dtype = DType::kUndefined;
  bool ranked = false;
  std::vector<Dim> dims;
  ValueKind kind = ValueKind::kTensor;

  static ValueType Tensor(DType dtype, const Dims& dims);
  static ValueType Unranked(DType dtype) { return {.dtype = dtype}; }

  int64_t rank() const { return ranked ? static_cast<int64_t>(dims.size()) : -1; }
  // The concrete shape, if every dimension is fixed.
  std::optional<Dims> FixedDims() const;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

// "[batch, 10]", "[?]".
std::string DimsText(std::span<const Dim> dims, const std::vector<Symbol>& symbols);
// "tensor", "sequence", …
std::string_view KindName(ValueKind kind);
// "float32[batch, 10]", "int64[?]", "float32 of unknown rank", "sequence of float32[?]".
std::string TypeText(const ValueType& type, const std::vector<Symbol>& symbols);

}  // namespace hr::graph
