#include "runtime/comm/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace hr::comm {
namespace {

template <typename T>
T Combined(DType dtype, ReduceOp op, T a, T b) {
  T out;
  Combine(dtype, op, &a, &b, &out, 1);
  return out;
}

TEST(Reduce, IntegersWrapAround) {
  EXPECT_EQ(Combined<int8_t>(DType::kInt8, ReduceOp::kSum, 127, 1), -128);
  EXPECT_EQ(Combined<uint8_t>(DType::kUint8, ReduceOp::kProduct, 16, 17), 16);
  EXPECT_EQ(Combined<int64_t>(DType::kInt64, ReduceOp::kSum, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(Combined<int32_t>(DType::kInt32, ReduceOp::kProduct, 1 << 30, 4), 0);
  EXPECT_EQ(Combined<uint16_t>(DType::kUint16, ReduceOp::kMax, 1, 65535), 65535);
  EXPECT_EQ(Combined<uint64_t>(DType::kUint64, ReduceOp::kMin, 5, UINT64_MAX), 5u);
}

TEST(Reduce, MinAndMaxKeepNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    EXPECT_TRUE(std::isnan(Combined(DType::kFloat64, op, nan, 1.0)));
    EXPECT_TRUE(std::isnan(Combined(DType::kFloat64, op, 1.0, nan)));
  }
}

TEST(Reduce, DivideRoundsIntegersTowardsZeroAndKeepsAll64Bits) {
  std::vector<int64_t> x = {-7, 7, INT64_MAX};
  Divide(DType::kInt64, x.data(), 2, x.data(), x.size());
  EXPECT_EQ(x, (std::vector<int64_t>{-3, 3, INT64_MAX / 2}));
  std::vector<int64_t> y = {(int64_t{1} << 53) + 1};
  Multiply(DType::kInt64, y.data(), 3, y.data(), 1);
  EXPECT_EQ(y[0], 3 * ((int64_t{1} << 53) + 1));
  std::vector<int32_t> z = {10, -10};
  Multiply(DType::kInt32, z.data(), 0.25, z.data(), 2);
  EXPECT_EQ(z, (std::vector<int32_t>{2, -2}));
}

// In one pass the same bits as one after the other, also where input and output are one buffer.
TEST(Reduce, FusedPassesAreTheSameAsSeparateOnes) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16, DType::kInt8}) {
    const size_t count = 5003, bytes = count * DTypeSize(dtype);  // several blocks, the last is odd
    std::vector<uint8_t> a(bytes), b(bytes), product(bytes), out(bytes), expected(bytes);
    for (size_t i = 0; i < count; ++i) {
      const double x = static_cast<double>(i % 97), y = static_cast<double>(i % 31);
      const float small[2] = {static_cast<float>(x), static_cast<float>(y)};
      uint8_t* const to[2] = {&a[i * DTypeSize(dtype)], &b[i * DTypeSize(dtype)]};
      for (int k : {0, 1}) {
        const auto* bits = reinterpret_cast<const uint8_t*>(&small[k]);
        if (dtype == DType::kFloat64) std::memcpy(to[k], k == 0 ? &x : &y, sizeof x);
        if (dtype == DType::kFloat32) std::memcpy(to[k], bits, 4);
        if (dtype == DType::kBfloat16) std::memcpy(to[k], bits + 2, 2);
        if (dtype == DType::kInt8) *to[k] = static_cast<uint8_t>(small[k]);
      }
    }
    Multiply(dtype, a.data(), 0.3, product.data(), count);
    Combine(dtype, ReduceOp::kSum, product.data(), b.data(), expected.data(), count);
    Divide(dtype, expected.data(), 3, expected.data(), count);
    Combine(dtype, ReduceOp::kSum, a.data(), b.data(), out.data(), count,
            {.multiply = true, .factor = 0.3, .divisor = 3, .copy = a.data()});
    EXPECT_EQ(out, expected) << DTypeName(dtype);
    EXPECT_EQ(a, expected) << DTypeName(dtype);
  }
}

// Every 16-bit pattern: x + 0 and x * 1 are x again, so the conversions lose nothing.
TEST(Reduce, HalfFloatsSurviveTheWayThroughFloat) {
  for (DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    const uint16_t one = dtype == DType::kFloat16 ? 0x3c00 : 0x3f80;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const uint16_t x = static_cast<uint16_t>(bits);
      const uint16_t exponent = dtype == DType::kFloat16 ? 0x7c00 : 0x7f80;
      const bool nan = (x & exponent) == exponent && (x & (0x7fff ^ exponent)) != 0;
      const uint16_t product = Combined(dtype, ReduceOp::kProduct, x, one);
      if (nan) {
        EXPECT_EQ(product & exponent, exponent);
        EXPECT_NE(product & (0x7fff ^ exponent), 0);
      } else {
        ASSERT_EQ(product, x) << std::hex << bits;
      }
    }
  }
}

TEST(Reduce, HalfFloatsRoundToNearestEven) {
  // float16: 2048 + 1 lies between 2048 and 2050, 2050 + 1 between 2050 and 2052.
  EXPECT_EQ(Combined<uint16_t>(DType::kFloat16, ReduceOp::kSum, 0x6800, 0x3c00), 0x6800);
  EXPECT_EQ(Combined<uint16_t>(DType::kFloat16, ReduceOp::kSum, 0x6801, 0x3c00), 0x6802);
  EXPECT_EQ(Combined<uint16_t>(DType::kFloat16, ReduceOp::kSum, 0x7bff, 0x7bff),
            0x7c00);  // overflow
  EXPECT_EQ(Combined<uint16_t>(DType::kFloat16, ReduceOp::kProduct, 0x0001, 0x3800),
            0x0000);  // 2^-25
  EXPECT_EQ(Combined<uint16_t>(DType::kFloat16, ReduceOp::kProduct, 0x0003, 0x3800), 0x0002);
  // bfloat16: 256 + 1 lies between 256 and 258, 258 + 1 between 258 and 260.
  EXPECT_EQ(Combined<uint16_t>(DType::kBfloat16, ReduceOp::kSum, 0x4380, 0x3f80), 0x4380);
  EXPECT_EQ(Combined<uint16_t>(DType::kBfloat16, ReduceOp::kSum, 0x4381, 0x3f80), 0x4382);
}

}  // namespace
}  // namespace hr::comm
