#include "runtime/graph/type.h"

#include "runtime/base/strings.h"

namespace hr::graph {

ValueType ValueType::Tensor(DType dtype, const Dims& dims) {
  ValueType type{.dtype = dtype, .ranked = true};
  type.dims.reserve(dims.size());
  for (int64_t dim : dims) type.dims.push_back({.size = dim});
  return type;
}

std::optional<Dims> ValueType::FixedDims() const {
  if (!ranked) return std::nullopt;
  Dims out;
  out.reserve(dims.size());
  for (const Dim& dim : dims) {
    if (!dim.fixed()) return std::nullopt;
    out.push_back(dim.size);
  }
  return out;
}

std::string DimsText(std::span<const Dim> dims, const std::vector<Symbol>& symbols) {
  std::vector<std::string> parts;
  for (const Dim& dim : dims) {
    if (dim.fixed()) {
      parts.push_back(Cat(dim.size));
    } else {
      parts.push_back(dim.symbol < symbols.size() ? symbols[dim.symbol].name : "?");
    }
  }
  return Cat("[", Join(parts), "]");
}

std::string_view KindName(ValueKind kind) {
  constexpr std::string_view kNames[] = {"tensor", "row-sparse tensor", "sequence", "optional"};
  return kNames[static_cast<size_t>(kind)];
}

std::string TypeText(const ValueType& type, const std::vector<Symbol>& symbols) {
  const std::string of =
      type.kind == ValueKind::kTensor ? std::string() : Cat(KindName(type.kind), " of ");
  if (!type.ranked) return Cat(of, DTypeName(type.dtype), " of unknown rank");
  return Cat(of, DTypeName(type.dtype), DimsText(type.dims, symbols));
}

}  // namespace hr::graph
