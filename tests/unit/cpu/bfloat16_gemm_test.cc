#include "backends/cpu/kernels/bfloat16_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/unit/cpu/bfloat16_fixture.h"

namespace hr::cpu {
namespace {

// The smallest magnitude that the instructions do not take for zero.
constexpr double kSmallest = 0x1p-126;

class Bfloat16GemmTest : public Bfloat16Test {
 protected:
  struct Drawn {
    GemmShape shape;
    std::vector<uint16_t> a, b;
    std::vector<float> bias;
    Bfloat16Epilogue epilogue;
  };

  // With gaps between rows where nothing may be read that changes the result, or be written.
  Drawn Draw(int64_t most) {
    Drawn d;
    GemmShape& s = d.shape;
    s = GemmShape::Dense(Between(1, most), Between(1, most), Between(1, 2 * most), Coin(), Coin());
    s.lda += Between(0, 3), s.ldb += Between(0, 3), s.ldc += Between(0, 3);
    d.a = Numbers(s.lda * (s.transpose_a ? s.k : s.m));
    d.b = Numbers(s.ldb * (s.transpose_b ? s.n : s.k));
    return d;
  }

  void DrawEpilogue(Drawn& d) {
    Bfloat16Epilogue& e = d.epilogue;
    e.narrow = Coin();
    if (Coin()) e.activation = Activation::kRelu;
    if (Coin()) e.alpha = 0.5F + Number() / 4;
    if (Coin()) return;
    if (Coin()) e.beta = 1 + Number() / 2;
    e.bias_column = Between(0, 1);
    e.bias_row = Coin() ? 0 : e.bias_column != 0 ? d.shape.n : 1;
    const int64_t count = (e.bias_row != 0 ? d.shape.m : 1) * (e.bias_column != 0 ? d.shape.n : 1);
    for (int64_t i = 0; i < count; ++i) d.bias.push_back(Number());
    e.bias = d.bias.data();
  }

  static double At(const std::vector<uint16_t>& matrix, int64_t ld, bool transposed, int64_t row,
                   int64_t column) {
    return Bfloat16ToFloat(
        matrix[static_cast<size_t>(transposed ? column * ld + row : row * ld + column)]);
  }

  // Element (i, j) in float64, and the sum of the magnitudes of what is added.
  struct Exact {
    double value, magnitude;
  };
  static Exact Element(const Drawn& d, int64_t i, int64_t j) {
    const GemmShape& s = d.shape;
    const Bfloat16Epilogue& e = d.epilogue;
    double sum = 0, magnitude = 0;
    for (int64_t l = 0; l < s.k; ++l) {
      const double term = At(d.a, s.lda, s.transpose_a, i, l) * At(d.b, s.ldb, s.transpose_b, l, j);
      sum += term, magnitude += std::abs(term);
    }
    sum *= e.alpha, magnitude *= std::abs(e.alpha);
    if (e.bias != nullptr) {
      const double bias = e.beta * e.bias[i * e.bias_row + j * e.bias_column];
      sum += bias, magnitude += std::abs(bias);
    }
    if (e.activation == Activation::kRelu && sum < 0) sum = 0;
    return {sum, magnitude};
  }

  // C's bytes, those between its rows included.
  std::vector<std::byte> Run(const Drawn& d, const Lease& threads, int slices) {
    const GemmShape& s = d.shape;
    Buffer packed(PackedBfloat16Bytes(s.n, s.k)), scratch(Bfloat16ScratchBytes(s));
    std::vector<std::byte> c(static_cast<size_t>(s.m * s.ldc * Size(d)), kUntouched);
    PackBfloat16(*kernels_, threads, s, d.b.data(), packed.get<uint16_t>(), slices);
    Bfloat16Gemm(*kernels_, threads, s, d.a.data(), packed.get<uint16_t>(), c.data(), d.epilogue,
                 slices, scratch.get<void>());
    EXPECT_TRUE(packed.kept() && scratch.kept()) << "written behind its end";
    return c;
  }
  static int64_t Size(const Drawn& d) { return d.epilogue.narrow ? 2 : 4; }
  static double Result(const Drawn& d, const std::vector<std::byte>& c, int64_t i, int64_t j) {
    const std::byte* const at = c.data() + (i * d.shape.ldc + j) * Size(d);
    if (!d.epilogue.narrow) return *reinterpret_cast<const float*>(at);
    return Bfloat16ToFloat(*reinterpret_cast<const uint16_t*>(at));
  }

  // Sums are those of float32, and C is rounded once.
  static void ExpectRight(const Drawn& d, const std::vector<std::byte>& c) {
    const GemmShape& s = d.shape;
    SCOPED_TRACE(testing::Message()
                 << s.m << "x" << s.n << "x" << s.k << (s.transpose_a ? " transA" : "")
                 << (s.transpose_b ? " transB" : ""));
    const double terms = static_cast<double>(s.k) + 3;
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        const Exact want = Element(d, i, j);
        double bound = terms * (0x1p-24 * want.magnitude + kSmallest);
        if (d.epilogue.narrow) bound += 0x1p-8 * (std::abs(want.value) + bound);
        ASSERT_NEAR(Result(d, c, i, j), want.value, bound) << "at " << i << ", " << j;
      }
      for (int64_t byte = s.n * Size(d); byte < s.ldc * Size(d); ++byte) {
        ASSERT_EQ(c[static_cast<size_t>(i * s.ldc * Size(d) + byte)], kUntouched);
      }
    }
  }

  void Check(const Drawn& d) {
    const auto one = Run(d, one_, 3), three = Run(d, three_, 3);
    ASSERT_EQ(one, three) << "threads change the result";
    ExpectRight(d, one);
    ExpectRight(d, Run(d, one_, 1));
  }

  static constexpr std::byte kUntouched{0x5a};

  // Memory on a cache line.
  class Buffer {
   public:
    explicit Buffer(size_t bytes) : bytes_(bytes), memory_(bytes + 128, kUntouched) {}
    template <typename T>
    T* get() {
      return reinterpret_cast<T*>(start());
    }
    bool kept() { return start()[bytes_] == kUntouched; }

   private:
    std::byte* start() {
      const auto address = reinterpret_cast<uintptr_t>(memory_.data());
      return memory_.data() + (64 - address % 64) % 64;
    }
    size_t bytes_;
    std::vector<std::byte> memory_;
  };
};

TEST_P(Bfloat16GemmTest, SumsAreThoseOfFloat32) {
  for (int round = 0; round < 150; ++round) {
    Drawn d = Draw(round < 100 ? 40 : 110);
    DrawEpilogue(d);
    Check(d);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Bfloat16GemmTest, NoTermsGiveTheBias) {
  Drawn d = Draw(40);
  d.shape.k = 0;
  d.bias.assign(static_cast<size_t>(d.shape.n), 2.5F);
  d.epilogue.bias = d.bias.data();
  d.epilogue.bias_column = 1;
  Check(d);
}

// Each operand can be a number that is not one, and the others stay what they are.
TEST_P(Bfloat16GemmTest, InfinitiesAndNansStayInTheirRow) {
  for (float special : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    Drawn d;
    d.shape = GemmShape::Dense(21, 37, 45);
    d.a.assign(21 * 45, FloatToBfloat16(1));
    d.b.assign(45 * 37, FloatToBfloat16(1));
    d.a[4 * 45 + 44] = FloatToBfloat16(special);
    d.epilogue.narrow = true;
    const auto c = Run(d, one_, 1);
    for (int64_t i = 0; i < 21; ++i) {
      for (int64_t j = 0; j < 37; ++j) {
        const double y = Result(d, c, i, j);
        const bool right = i != 4 ? y == 45 : std::isnan(special) ? std::isnan(y) : std::isinf(y);
        ASSERT_TRUE(right) << y << " at " << i << ", " << j;
      }
    }
  }
}

// What bfloat16_gemm.h says of subnormal operands: at most 2^-126 of each is lost.
TEST_P(Bfloat16GemmTest, SubnormalsAreZerosAndNothingWorse) {
  Drawn d = Draw(40);
  for (size_t i = 0; i < d.a.size(); i += 3) d.a[i] = static_cast<uint16_t>(1 + i % 0x7f);
  const auto c = Run(d, one_, 1);
  const GemmShape& s = d.shape;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      const Exact want = Element(d, i, j);
      const double terms = static_cast<double>(s.k);
      ASSERT_NEAR(Result(d, c, i, j), want.value,
                  terms * (0x1p-24 * want.magnitude + 2 * kSmallest));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Units, Bfloat16GemmTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "with_the_unit" : "vectors");
});

}  // namespace
}  // namespace hr::cpu
