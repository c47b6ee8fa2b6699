#include "runtime/base/dtype.h"

#include "runtime/base/strings.h"

namespace hr {
namespace {

struct Entry {
  DType dtype;
  Literal name;
  uint8_t size;
  bool supported;
};

constexpr Entry kEntries[] = {
    {DType::kUndefined, "undefined", 0, false},
    {DType::kFloat32, "float32", 4, true},
    {DType::kUint8, "uint8", 1, true},
    {DType::kInt8, "int8", 1, true},
    {DType::kUint16, "uint16", 2, true},
    {DType::kInt16, "int16", 2, true},
    {DType::kInt32, "int32", 4, true},
    {DType::kInt64, "int64", 8, true},
    {DType::kString, "string", 0, false},
    {DType::kBool, "bool", 1, true},
    {DType::kFloat16, "float16", 2, true},
    {DType::kFloat64, "float64", 8, true},
    {DType::kUint32, "uint32", 4, true},
    {DType::kUint64, "uint64", 8, true},
    {DType::kComplex64, "complex64", 8, false},
    {DType::kComplex128, "complex128", 16, false},
    {DType::kBfloat16, "bfloat16", 2, true},
    {DType::kFloat8E4M3FN, "float8e4m3fn", 1, true},
    {DType::kFloat8E4M3FNUZ, "float8e4m3fnuz", 1, true},
    {DType::kFloat8E5M2, "float8e5m2", 1, true},
    {DType::kFloat8E5M2FNUZ, "float8e5m2fnuz", 1, true},
    {DType::kUint4, "uint4", 0, false},
    {DType::kInt4, "int4", 0, false},
};

const Entry& Find(DType dtype) {
  auto code = static_cast<uint32_t>(dtype);
  return kEntries[code < std::size(kEntries) ? code : 0];
}

}  // namespace

size_t DTypeSize(DType dtype) { return Find(dtype).size; }
std::string_view DTypeName(DType dtype) { return Find(dtype).name; }
bool IsSupported(DType dtype) { return Find(dtype).supported; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

bool IsFloating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBfloat16;
}

bool IsFloat8(DType dtype) {
  return dtype >= DType::kFloat8E4M3FN && dtype <= DType::kFloat8E5M2FNUZ;
}

bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kUint16:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint32:
    case DType::kUint64: return true;
    default: return false;
  }
}

}  // namespace hr
