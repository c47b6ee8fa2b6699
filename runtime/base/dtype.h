// Element types. The codes are ONNX's TensorProto.DataType, in memory, in files and in the C ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hr {

enum class DType : int32_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,  // reserved: no kernels yet
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,   // reserved
  kComplex128 = 15,  // reserved
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,  // reserved
  kInt4 = 22,   // reserved
};

// Bytes of one element; 0 for a type without fixed-size whole-byte elements (string, int4,
// undefined).
size_t DTypeSize(DType dtype);
// "float32", "int64", …; "undefined" for a code that names no type.
std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);
// True for floats of 16 bits and more, in which operators compute.
bool IsFloating(DType dtype);
// True for floats of 8 bits, which are stored, moved and converted: a weight's form, not a
// number's.
bool IsFloat8(DType dtype);
bool IsInteger(DType dtype);
// True for the types a tensor of this version can hold (not the reserved codes).
bool IsSupported(DType dtype);

// The DType of a C++ element type: DTypeOf<float>::value.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kUint8;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kInt8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::kUint16;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::kInt16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::kUint32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::kUint64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

}  // namespace hr
