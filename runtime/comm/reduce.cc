#include "runtime/comm/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

namespace hr::comm {
namespace {

// Storage of a 16-bit float, with the conversions that arithmetic needs.
struct Bfloat16 {
  uint16_t bits;
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static Bfloat16 From(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    if (value != value) return {static_cast<uint16_t>((u >> 16) | 0x40)};
    return {static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
  }
};

struct Float16 {
  uint16_t bits;
  operator float() const {
    // Places exponent and mantissa as in a float, then scales: right for subnormals, too.
    const float magnitude =
        std::bit_cast<float>(static_cast<uint32_t>(bits & 0x7fff) << 13) * 0x1p112f;
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    uint32_t u = std::bit_cast<uint32_t>(magnitude);
    if ((bits & 0x7c00) == 0x7c00) u |= 0x7f800000;  // infinity and NaN
    return std::bit_cast<float>(u | sign);
  }
  static Float16 From(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000);
    const uint32_t magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00)};
    if (magnitude >= 0x477ff000)
      return {static_cast<uint16_t>(sign | 0x7c00)};  // rounds to infinity
    if (magnitude < 0x38800000) {  // subnormal: adding 0.5 leaves the rounded bits at the end
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000))};
    }
    const uint32_t rounded = magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1);
    return {static_cast<uint16_t>(sign | (rounded >> 13))};
  }
};

template <typename T>
concept Half = std::is_same_v<T, Bfloat16> || std::is_same_v<T, Float16>;

// What T is computed in, and back. Integers are computed unsigned, where overflow is defined.
template <typename T>
auto Widen(T value) {
  if constexpr (Half<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}
template <typename T, typename W>
T Narrow(W value) {
  if constexpr (Half<T>) {
    return T::From(value);
  } else {
    return static_cast<T>(value);
  }
}

struct Sum {
  template <typename W>
  static W Of(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
      using U = std::make_unsigned_t<W>;
      return static_cast<W>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};
struct Product {
  template <typename W>
  static W Of(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
      return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
struct Min {
  template <typename W>
  static W Of(W a, W b) {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  template <typename W>
  static W Of(W a, W b) {
    return a > b || a != a ? a : b;
  }
};

// Calls one(i) for each i below `count`. It is compiled a second time for wider vectors, which have
// no multiply-add here: results do not depend on the processor.
template <typename One>
[[gnu::always_inline]] inline void EachInline(size_t count, One one) {
  for (size_t i = 0; i < count; ++i) one(i);
}
#if defined(__x86_64__)
template <typename One>
[[gnu::target("avx2")]] void EachWide(size_t count, One one) {
  EachInline(count, one);
}
#endif
template <typename One>
void Each(size_t count, One one) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return EachWide(count, one);
#endif
  EachInline(count, one);
}

template <typename Op, typename T>
void CombineLoop(const T* a, const T* b, T* out, size_t count) {
  Each(count, [=](size_t i) { out[i] = Narrow<T>(Op::Of(Widen(a[i]), Widen(b[i]))); });
}

template <typename T>
void CombineAs(ReduceOp op, const void* a, const void* b, void* out, size_t count) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
    case ReduceOp::kPreMultipliedSum: return CombineLoop<Sum>(x, y, z, count);
    case ReduceOp::kProduct: return CombineLoop<Product>(x, y, z, count);
    case ReduceOp::kMin: return CombineLoop<Min>(x, y, z, count);
    case ReduceOp::kMax: return CombineLoop<Max>(x, y, z, count);
  }
}

template <typename T>
void MultiplyAs(const void* a, double factor, void* out, size_t count) {
  const T* x = static_cast<const T*>(a);
  T* z = static_cast<T*>(out);
  // 64-bit integers would lose bits in a double; a whole factor keeps them.
  const bool whole = std::trunc(factor) == factor && std::abs(factor) < 0x1p53;
  Each(count, [=](size_t i) {
    if constexpr (std::is_integral_v<T>) {
      z[i] = whole ? Product::Of(x[i], static_cast<T>(static_cast<int64_t>(factor)))
                   : static_cast<T>(static_cast<double>(x[i]) * factor);
    } else if constexpr (std::is_same_v<T, double>) {
      z[i] = x[i] * factor;
    } else {
      z[i] = Narrow<T>(Widen(x[i]) * static_cast<float>(factor));
    }
  });
}

template <typename T>
void DivideAs(const void* a, int divisor, void* out, size_t count) {
  const T* x = static_cast<const T*>(a);
  T* z = static_cast<T*>(out);
  Each(count, [=](size_t i) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(int)) {
      z[i] = static_cast<T>(x[i] / divisor);
    } else {
      const auto wide = Widen(x[i]);
      z[i] = Narrow<T>(wide / static_cast<decltype(wide)>(divisor));
    }
  });
}

// Calls `visit` with a value of the element type of `dtype`, which Operation::Check admitted.
template <typename Visit>
void WithElement(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat32: return visit(float{});
    case DType::kFloat64: return visit(double{});
    case DType::kBfloat16: return visit(Bfloat16{});
    case DType::kFloat16: return visit(Float16{});
    case DType::kInt8: return visit(int8_t{});
    case DType::kInt16: return visit(int16_t{});
    case DType::kInt32: return visit(int32_t{});
    case DType::kInt64: return visit(int64_t{});
    case DType::kUint8: return visit(uint8_t{});
    case DType::kUint16: return visit(uint16_t{});
    case DType::kUint32: return visit(uint32_t{});
    case DType::kUint64: return visit(uint64_t{});
    default: return;
  }
}

}  // namespace

void Combine(DType dtype, ReduceOp op, const void* a, const void* b, void* out, size_t count) {
  WithElement(dtype, [&]<typename T>(T) { CombineAs<T>(op, a, b, out, count); });
}

void Multiply(DType dtype, const void* a, double factor, void* out, size_t count) {
  WithElement(dtype, [&]<typename T>(T) { MultiplyAs<T>(a, factor, out, count); });
}

void Divide(DType dtype, const void* a, int divisor, void* out, size_t count) {
  WithElement(dtype, [&]<typename T>(T) { DivideAs<T>(a, divisor, out, count); });
}

void Combine(DType dtype, ReduceOp op, const void* a, const void* b, void* out, size_t count,
             const FusedCombine& fused) {
  if (!fused.multiply && fused.divisor == 0 && fused.copy == nullptr) {
    return Combine(dtype, op, a, b, out, count);
  }
  constexpr size_t kBlockBytes = 4096;  // stays in the first-level cache from loop to loop
  alignas(64) std::byte product[kBlockBytes];
  const size_t bytes = count * DTypeSize(dtype);
  for (size_t at = 0; at < bytes; at += kBlockBytes) {
    const size_t block = std::min(kBlockBytes, bytes - at), n = block / DTypeSize(dtype);
    const std::byte* x = static_cast<const std::byte*>(a) + at;
    std::byte* const z = static_cast<std::byte*>(out) + at;
    if (fused.multiply) Multiply(dtype, std::exchange(x, product), fused.factor, product, n);
    Combine(dtype, op, x, static_cast<const std::byte*>(b) + at, z, n);
    if (fused.divisor != 0) Divide(dtype, z, fused.divisor, z, n);
    if (fused.copy != nullptr) std::memcpy(static_cast<std::byte*>(fused.copy) + at, z, block);
  }
}

}  // namespace hr::comm
