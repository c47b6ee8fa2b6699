#include "backends/cpu/kernels/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/convert_bfloat16.h"
#include "backends/cpu/kernels/convert_bytes.h"
#include "backends/cpu/kernels/partition.h"
#include "runtime/base/float8.h"
#include "runtime/base/half.h"

namespace hr::cpu {
namespace {

struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};
template <DType kType>
struct Float8 {
  static constexpr Float8Format kFormat = Float8FormatOf(kType);
  uint8_t bits;
};
template <typename T>
constexpr bool kIsFloat8 = requires {
  T::kFormat;
};
template <typename T>
constexpr bool kIsSmallFloat =
    std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16> || kIsFloat8<T>;

template <typename To, typename From>
To FloatToInteger(From value) {
  using Limits = std::numeric_limits<To>;
  // Powers of two, hence exact; the upper one is the first number that does not fit.
  const From low = static_cast<From>(Limits::min());
  const From high = std::ldexp(From{1}, Limits::digits);
  if (!(value > low - 1)) return value != value ? To{0} : Limits::min();
  return value < high ? static_cast<To>(value) : Limits::max();
}

template <typename To, typename From>
To Convert(From value) {
  if constexpr (std::is_same_v<From, Half>) {
    return Convert<To>(HalfToFloat(value.bits));
  } else if constexpr (std::is_same_v<From, Bfloat16>) {
    return Convert<To>(Bfloat16ToFloat(value.bits));
  } else if constexpr (kIsFloat8<From>) {
    return Convert<To>(Float8ToFloat(From::kFormat, value.bits));
  } else if constexpr (kIsSmallFloat<To>) {
    float rounded;
    if constexpr (std::is_same_v<From, float>) {
      rounded = value;
    } else {
      rounded = RoundToOdd(static_cast<double>(value));
    }
    if constexpr (std::is_same_v<To, Half>) return {FloatToHalf(rounded)};
    if constexpr (std::is_same_v<To, Bfloat16>) return {FloatToBfloat16(rounded)};
    if constexpr (kIsFloat8<To>) return {FloatToFloat8(To::kFormat, rounded)};
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return FloatToInteger<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void Loop(const void* from, void* to, int64_t count) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) y[i] = Convert<To>(x[i]);
}

// Calls visit(T{}) with the C++ type of `dtype`, which tensors can hold.
template <typename Visit>
ConvertLoop Visited(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat32: return visit(float{});
    case DType::kFloat64: return visit(double{});
    case DType::kFloat16: return visit(Half{});
    case DType::kBfloat16: return visit(Bfloat16{});
    case DType::kUint8: return visit(uint8_t{});
    case DType::kInt8: return visit(int8_t{});
    case DType::kUint16: return visit(uint16_t{});
    case DType::kInt16: return visit(int16_t{});
    case DType::kInt32: return visit(int32_t{});
    case DType::kInt64: return visit(int64_t{});
    case DType::kUint32: return visit(uint32_t{});
    case DType::kUint64: return visit(uint64_t{});
    case DType::kBool: return visit(bool{});
    case DType::kFloat8E4M3FN: return visit(Float8<DType::kFloat8E4M3FN>{});
    case DType::kFloat8E4M3FNUZ: return visit(Float8<DType::kFloat8E4M3FNUZ>{});
    case DType::kFloat8E5M2: return visit(Float8<DType::kFloat8E5M2>{});
    case DType::kFloat8E5M2FNUZ: return visit(Float8<DType::kFloat8E5M2FNUZ>{});
    default: return nullptr;
  }
}

template <typename Visit>
ConvertLoop Visited(ElementType type, Visit visit) {
  return Visited(DTypeOfElement(type), visit);
}

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }

constexpr int64_t kBlock = 256;

}  // namespace

DType DTypeOfElement(ElementType type) {
  switch (type) {
    case ElementType::kFloat: return DType::kFloat32;
    case ElementType::kDouble: return DType::kFloat64;
    case ElementType::kInt32: return DType::kInt32;
    case ElementType::kInt64: return DType::kInt64;
    case ElementType::kUint64: return DType::kUint64;
  }
  return DType::kUndefined;
}

template <typename Type>
ConvertLoop LoaderTo(DType from) {
  return Visited(from, [](auto value) -> ConvertLoop { return Loop<decltype(value), Type>; });
}

template <typename Type>
ConvertLoop StorerFrom(DType to) {
  return Visited(to, [](auto value) -> ConvertLoop { return Loop<Type, decltype(value)>; });
}

ConvertLoop LoaderFor(DType from, ElementType to) {
  if (IsByte(from) && to == ElementType::kFloat) return BytesToFloats(from == DType::kInt8);
  if (from == DType::kBfloat16 && to == ElementType::kFloat) return Bfloat16ToFloats();
  switch (to) {
    case ElementType::kFloat: return LoaderTo<float>(from);
    case ElementType::kDouble: return LoaderTo<double>(from);
    case ElementType::kInt32: return LoaderTo<int32_t>(from);
    case ElementType::kInt64: return LoaderTo<int64_t>(from);
    case ElementType::kUint64: return LoaderTo<uint64_t>(from);
  }
  return nullptr;
}

ConvertLoop StorerFor(ElementType from, DType to) {
  if (from == ElementType::kFloat && IsByte(to)) return FloatsToBytes(to == DType::kInt8);
  if (from == ElementType::kFloat && to == DType::kBfloat16) return FloatsToBfloat16();
  switch (from) {
    case ElementType::kFloat: return StorerFrom<float>(to);
    case ElementType::kDouble: return StorerFrom<double>(to);
    case ElementType::kInt32: return StorerFrom<int32_t>(to);
    case ElementType::kInt64: return StorerFrom<int64_t>(to);
    case ElementType::kUint64: return StorerFrom<uint64_t>(to);
  }
  return nullptr;
}

void Cast(const Lease& threads, DType from_dtype, const void* from, DType to_dtype, void* to,
          int64_t count, int slices) {
  const ElementType type = ElementTypeOf(from_dtype);  // holds all its numbers exactly
  const ConvertLoop load = LoaderFor(from_dtype, type), store = StorerFor(type, to_dtype);
  const bool loads = from_dtype != DTypeOfElement(type);
  const auto from_size = static_cast<int64_t>(DTypeSize(from_dtype));
  const auto to_size = static_cast<int64_t>(DTypeSize(to_dtype));
  const int64_t blocks = CeilDiv(count, kBlock);
  const auto tasks = static_cast<int>(std::min<int64_t>(slices, CeilDiv(count, 1 << 15)));
  threads.ParallelFor(tasks, [&](int task) {
    const Range part = PartOf(blocks, tasks, task);
    for (int64_t i = part.begin * kBlock; i < std::min(count, part.end * kBlock); i += kBlock) {
      alignas(64) uint64_t block[kBlock];
      const int64_t size = std::min(kBlock, count - i);
      const void* source = static_cast<const char*>(from) + i * from_size;
      if (loads) load(source, block, size);
      store(loads ? block : source, static_cast<char*>(to) + i * to_size, size);
    }
  });
}

}  // namespace hr::cpu
