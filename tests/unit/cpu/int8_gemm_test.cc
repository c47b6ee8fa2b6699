#include "backends/cpu/kernels/int8_gemm.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/unit/cpu/kernel_fixture.h"

namespace hr::cpu {
namespace {

// The kernels of this file are built for one more instruction set than others, with which they take
// the matrix unit of a CPU that has one.
std::vector<int64_t> Int8Targets() {
  std::vector<int64_t> targets = KernelTargets();
  if (hwy::SupportedTargets() & HWY_AVX3_DL) targets.push_back(HWY_AVX3_DL);
  return targets;
}

class Int8GemmTest : public KernelTest {
 protected:
  std::vector<uint8_t> Bytes(int64_t count) {
    std::vector<uint8_t> bytes(static_cast<size_t>(count));
    // Extremes more often than by chance: that is where narrow sums would overflow.
    for (uint8_t& byte : bytes) {
      const int64_t drawn = RandomInt(0, 400);
      byte = static_cast<uint8_t>(drawn > 350   ? 255
                                  : drawn > 300 ? 128
                                  : drawn > 256 ? 127
                                                : drawn);
    }
    return bytes;
  }
  static int64_t Value(uint8_t byte, bool is_signed) {
    return is_signed ? static_cast<int8_t>(byte) : byte;
  }

  template <typename T, typename Draw>
  std::vector<T> Numbers(int64_t count, Draw draw) {
    std::vector<T> numbers(
        static_cast<size_t>((count + kInt8Padding) / kInt8Padding * kInt8Padding));
    for (T& number : numbers) number = static_cast<T>(draw());
    return numbers;
  }

  // A product drawn at random, and the sums that it should have.
  struct Drawn {
    Int8Shape shape;
    std::vector<uint8_t> a, b;
    std::vector<int32_t> a_zero, b_zero;  // of rows and columns
    std::vector<int64_t> sums;
    Int8Epilogue epilogue;
    std::vector<int32_t> rows, columns;  // the zero points as the kernels take them
    bool transposed = false;
  };

  Drawn Draw() {
    Drawn d;
    d.shape = {.m = RandomInt(1, 40),
               .n = RandomInt(1, 90),
               .k = RandomInt(1, 150),
               .a_signed = RandomInt(0, 1) != 0,
               .b_signed = RandomInt(0, 1) != 0};
    d.transposed = RandomInt(0, 1) != 0;
    d.a = Bytes(d.shape.m * d.shape.k);
    d.b = Bytes(d.shape.n * d.shape.k);
    const bool a_zero = RandomInt(0, 1) != 0, b_zero = RandomInt(0, 1) != 0;
    d.a_zero = Zeros(d.shape.m, d.shape.a_signed, a_zero);
    d.b_zero = Zeros(d.shape.n, d.shape.b_signed, b_zero);
    for (int32_t zero : d.a_zero) d.rows.push_back(ShiftedZeroOfA(zero, d.shape.a_signed));
    for (int32_t zero : d.b_zero) d.columns.push_back(ShiftedZeroOfB(zero, d.shape.b_signed));
    if (a_zero || d.shape.a_signed) d.epilogue.row_zero = d.rows.data();
    if (b_zero || !d.shape.b_signed) d.epilogue.column_zero = d.columns.data();
    Sum(d);
    return d;
  }

  std::vector<int32_t> Zeros(int64_t count, bool is_signed, bool any) {
    return Numbers<int32_t>(count,
                            [&] { return any ? RandomInt(0, 255) - (is_signed ? 128 : 0) : 0; });
  }

  static void Sum(Drawn& d) {
    const auto [m, n, k] = std::tuple(d.shape.m, d.shape.n, d.shape.k);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        int64_t sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          const uint8_t a = d.a[i * k + l], b = d.b[d.transposed ? j * k + l : l * n + j];
          sum += (Value(a, d.shape.a_signed) - d.a_zero[i]) *
                 (Value(b, d.shape.b_signed) - d.b_zero[j]);
        }
        d.sums.push_back(sum);
      }
    }
  }

  template <typename T>
  std::vector<T> Run(const Drawn& d, const Lease& threads, int slices) {
    std::vector<int32_t> packed(PackedInt8Bytes(d.shape.n, d.shape.k) / 4 + 1, 0x5a5a5a5a);
    PackInt8(threads, d.shape, d.transposed, d.b.data(), d.transposed ? d.shape.k : d.shape.n,
             packed.data(), slices);
    std::vector<int32_t> scratch(Int8GemmScratchBytes(d.shape) / 4 + 1, 0x5a5a5a5a);
    std::vector<T> c(static_cast<size_t>(d.shape.m * d.shape.n + 1), T(77));
    Int8Gemm(threads, d.shape, d.a.data(), packed.data(), c.data(), d.epilogue, slices,
             scratch.data());
    EXPECT_EQ(packed.back(), 0x5a5a5a5a);
    EXPECT_EQ(scratch.back(), 0x5a5a5a5a);
    EXPECT_EQ(c.back(), T(77));
    c.pop_back();
    return c;
  }

  // Runs on one thread and on three, and expects what `want` makes of (sum, row, column).
  template <typename T, typename Want>
  void Check(const Drawn& d, const Want& want) {
    SCOPED_TRACE(testing::Message()
                 << d.shape.m << "x" << d.shape.n << "x" << d.shape.k
                 << (d.shape.a_signed ? " s8" : " u8") << (d.shape.b_signed ? " s8" : " u8")
                 << (d.transposed ? " transposed" : ""));
    const std::vector<T> one = Run<T>(d, one_, 1), three = Run<T>(d, three_, 3);
    ASSERT_EQ(one, three) << "threads change the result";
    for (size_t at = 0; at < one.size(); ++at) {
      const auto i = static_cast<int64_t>(at) / d.shape.n, j = static_cast<int64_t>(at) % d.shape.n;
      ASSERT_EQ(one[at], want(d.sums[at], i, j)) << "at " << i << ", " << j;
    }
  }
};

TEST_P(Int8GemmTest, SumsAreExact) {
  for (int round = 0; round < Rounds(60); ++round) {
    const Drawn d = Draw();
    Check<int32_t>(d, [](int64_t sum, int64_t, int64_t) { return static_cast<int32_t>(sum); });
    if (HasFatalFailure()) return;
  }
}

TEST_P(Int8GemmTest, BiasesAreAdded) {
  for (int round = 0; round < Rounds(20); ++round) {
    Drawn d = Draw();
    const auto bias = Numbers<int32_t>(std::max(d.shape.m, d.shape.n),
                                       [&] { return RandomInt(-1 << 20, 1 << 20); });
    const bool rows = RandomInt(0, 1) != 0;
    (rows ? d.epilogue.row_bias : d.epilogue.column_bias) = bias.data();
    Check<int32_t>(d, [&](int64_t sum, int64_t i, int64_t j) {
      return static_cast<int32_t>(sum + bias[static_cast<size_t>(rows ? i : j)]);
    });
    if (HasFatalFailure()) return;
  }
}

TEST_P(Int8GemmTest, QuantizesInDoublePrecision) {
  for (int round = 0; round < Rounds(40); ++round) {
    Drawn d = Draw();
    const bool rows = RandomInt(0, 1) != 0, shifted = RandomInt(0, 1) != 0;
    const bool is_signed = RandomInt(0, 1) != 0;
    const int64_t count = std::max(d.shape.m, d.shape.n);
    const auto factor = Numbers<double>(count, [&] { return Random<double>(1)[0] * 1e-3; });
    const auto shift = Numbers<double>(count, [&] { return Random<double>(1)[0] * 20; });
    Int8Epilogue& e = d.epilogue;
    (rows ? e.row_factor : e.column_factor) = factor.data();
    if (shifted) (rows ? e.row_shift : e.column_shift) = shift.data();
    e.output = is_signed ? Int8Output::kInt8 : Int8Output::kUint8;
    e.zero = is_signed ? -3 : 100;
    e.low = is_signed ? -128 : 0;
    e.high = e.low + 255;
    const auto want = [&](int64_t sum, int64_t i, int64_t j) {
      const auto at = static_cast<size_t>(rows ? i : j);
      const double y = static_cast<double>(sum) * factor[at] + (shifted ? shift[at] : 0);
      return std::clamp(std::nearbyint(y) + e.zero, e.low, e.high);
    };
    if (is_signed) Check<int8_t>(d, want);
    if (!is_signed) Check<uint8_t>(d, want);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Int8GemmTest, ScalesToFloat) {
  for (int round = 0; round < Rounds(40); ++round) {
    Drawn d = Draw();
    const bool rows = RandomInt(0, 1) != 0, offset = RandomInt(0, 1) != 0;
    const bool relu = RandomInt(0, 1) != 0;
    const int64_t count = std::max(d.shape.m, d.shape.n);
    const auto scale = Numbers<float>(count, [&] { return Random<float>(1)[0]; });
    const auto summand = Numbers<float>(count, [&] { return Random<float>(1)[0] * 1000; });
    Int8Epilogue& e = d.epilogue;
    (rows ? e.row_scale : e.column_scale) = scale.data();
    if (offset) (rows ? e.row_offset : e.column_offset) = summand.data();
    if (relu) e.least = 0;
    e.output = Int8Output::kFloat;
    Check<float>(d, [&](int64_t sum, int64_t i, int64_t j) {
      const auto at = static_cast<size_t>(rows ? i : j);
      volatile float y = static_cast<float>(sum) * scale[at];  // rounded before the addition
      y = y + (offset ? summand[at] : 0.0f);
      return relu ? std::max(0.0f, static_cast<float>(y)) : static_cast<float>(y);
    });
    if (HasFatalFailure()) return;
  }
}

TEST_P(Int8GemmTest, NoTermsGiveZeros) {
  Drawn d;
  d.shape = {.m = 3, .n = 5, .k = 0, .a_signed = true};
  d.a.resize(1), d.b.resize(1), d.sums.assign(15, 0);
  Check<int32_t>(d, [](int64_t, int64_t, int64_t) { return 0; });
}

INSTANTIATE_TEST_SUITE_P(Targets, Int8GemmTest, testing::ValuesIn(Int8Targets()),
                         [](const auto& info) { return hwy::TargetName(info.param); });

}  // namespace
}  // namespace hr::cpu
