// Products of float32 on a matrix unit, judged by sums of double.
#include "backends/cpu/kernels/split_cell.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/reference/gemm.h"

namespace hr::cpu {
namespace {

class SplitCellTest : public testing::Test {
 protected:
  void SetUp() override {
    if (unit_ == nullptr) GTEST_SKIP() << "this processor has no matrix unit for bfloat16";
  }

  struct Operands {
    GemmShape shape;
    std::vector<float> a, b, c;
  };

  // Normal numbers.
  Operands Draw(GemmShape shape, int64_t gap = 0) {
    shape.lda += gap, shape.ldb += gap, shape.ldc += gap;
    Operands out{.shape = shape};
    const auto fill = [&](std::vector<float>& values, int64_t count) {
      values.resize(static_cast<size_t>(count));
      for (float& value : values) value = normal_(engine_);
    };
    fill(out.a, (shape.transpose_a ? shape.k : shape.m) * shape.lda);
    fill(out.b, (shape.transpose_b ? shape.n : shape.k) * shape.ldb);
    fill(out.c, shape.m * shape.ldc);
    return out;
  }

  static float& A(Operands& o, int64_t i, int64_t l) {
    return o
        .a[static_cast<size_t>(o.shape.transpose_a ? l * o.shape.lda + i : i * o.shape.lda + l)];
  }
  static float& B(Operands& o, int64_t l, int64_t j) {
    return o
        .b[static_cast<size_t>(o.shape.transpose_b ? j * o.shape.ldb + l : l * o.shape.ldb + j)];
  }

  std::vector<float> Run(const Operands& o, const GemmEpilogue<float>& epilogue = {}) {
    Product<float> product = PlainProduct(o.shape, epilogue);
    std::vector<float> c = o.c;
    product.a = o.a.data(), product.b = o.b.data(), product.c = c.data();
    const SplitBlocks blocks(o.shape.m, o.shape.n, o.shape.k);
    std::vector<char> memory(blocks.scratch_bytes() + 128, 0x5a);
    char* const scratch =
        reinterpret_cast<char*>(RoundUp(reinterpret_cast<int64_t>(memory.data()), 64));
    RunSplitCell(*unit_, KernelsForGemm<float>(), product, blocks, 0, scratch);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(scratch[blocks.scratch_bytes() + i], 0x5a);
    return c;
  }

  // The root of the mean square of errors, and that of a chain of multiply-adds.
  struct Errors {
    double ours = 0, chain = 0;
  };
  Errors Compare(Operands& o) {
    const std::vector<float> got = Run(o);
    Errors errors;
    for (int64_t i = 0; i < o.shape.m; ++i) {
      for (int64_t j = 0; j < o.shape.n; ++j) {
        double want = 0;
        float chain = 0;
        for (int64_t l = 0; l < o.shape.k; ++l) {
          want += static_cast<double>(A(o, i, l)) * static_cast<double>(B(o, l, j));
          chain = std::fma(A(o, i, l), B(o, l, j), chain);
        }
        const double ours = got[static_cast<size_t>(i * o.shape.ldc + j)];
        errors.ours += (ours - want) * (ours - want);
        errors.chain += (chain - want) * (chain - want);
      }
    }
    return {std::sqrt(errors.ours), std::sqrt(errors.chain)};
  }

  const SplitKernels* const unit_ = KernelsForSplit();
  std::mt19937_64 engine_{11};
  std::normal_distribution<float> normal_;
};

TEST_F(SplitCellTest, ErrorsAreThoseOfAChainAtMost) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{64, 64, 384}, {33, 47, 1000}, {40, 96, 96}}) {
    for (int which = 0; which < 4; ++which) {
      Operands o = Draw(GemmShape::Dense(m, n, k, which & 1, which & 2), 3);
      const Errors errors = Compare(o);
      EXPECT_LE(errors.ours, errors.chain) << m << "x" << n << "x" << k << ", " << which;
    }
  }
}

// Terms of one sign, whose errors would add up if what is left out had one.
TEST_F(SplitCellTest, ErrorsHaveNoSign) {
  Operands o = Draw(GemmShape::Dense(64, 64, 256));
  for (float& x : o.a) x = std::abs(x);
  for (float& x : o.b) x = std::abs(x);
  const Errors errors = Compare(o);
  EXPECT_LE(errors.ours, errors.chain);
}

// Products of numbers of 24 bits by powers of two, and sums that fit: every part counts.
TEST_F(SplitCellTest, AllBitsAreMultiplied) {
  Operands o = Draw(GemmShape::Dense(17, 35, 5));
  for (int64_t i = 0; i < 17; ++i) {
    for (int64_t l = 0; l < 5; ++l)
      A(o, i, l) = l == i % 5 ? std::ldexp(1.f, static_cast<int>(i)) : 0;
  }
  const std::vector<float> got = Run(o);
  for (int64_t i = 0; i < 17; ++i) {
    for (int64_t j = 0; j < 35; ++j) {
      ASSERT_EQ(got[static_cast<size_t>(i * 35 + j)],
                std::ldexp(B(o, i % 5, j), static_cast<int>(i)));
    }
  }
}

// Rows, columns and terms beyond whole registers, blocks of both, and what C was.
TEST_F(SplitCellTest, AnyShapeAndEpilogue) {
  std::uniform_int_distribution<int64_t> rows(1, 70), columns(1, 100), terms(1, 140);
  std::vector<float> bias(1000);
  for (float& x : bias) x = normal_(engine_);
  for (int round = 0; round < 60; ++round) {
    const int64_t k = round % 10 == 0 ? 1100 + terms(engine_) : terms(engine_);
    const bool ta = round % 2 != 0, tb = round % 4 >= 2;
    Operands o = Draw(GemmShape::Dense(rows(engine_), columns(engine_), k, ta, tb), round % 3);
    GemmEpilogue<float> epilogue;
    if (round % 5 == 1) epilogue = {.alpha = 0.5, .beta = -1};
    if (round % 5 == 2) epilogue = {.beta = 1};
    if (round % 5 == 3) epilogue = {.column_bias = bias.data(), .activation = Activation::kRelu};
    if (round % 5 == 4) epilogue = {.beta = 2, .row_bias = bias.data()};
    std::vector<float> want = o.c;
    reference::Gemm(o.shape, o.a.data(), o.b.data(), want.data(), epilogue);
    const std::vector<float> got = Run(o, epilogue);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-6 * static_cast<double>(k + 20))
          << o.shape.m << "x" << o.shape.n << "x" << k << " at " << i;
    }
  }
}

// More rows than a block has.
TEST_F(SplitCellTest, SeveralBlocksOfRows) {
  Operands o = Draw(GemmShape::Dense(700, 40, 600));
  const Errors errors = Compare(o);
  EXPECT_LE(errors.ours, errors.chain);
}

TEST_F(SplitCellTest, WhatIsNotFiniteGoesItsUsualWay) {
  for (int which = 0; which < 4; ++which) {
    Operands o = Draw(GemmShape::Dense(50, 70, 90, which & 1, which & 2));
    for (float& x : o.a) x = std::round(x * 4);  // whose lower parts are zeros
    for (float& x : o.b) x = 1 + std::abs(std::round(x));
    A(o, 3, 7) = INFINITY, A(o, 20, 8) = -INFINITY, A(o, 40, 9) = std::nanf("");
    B(o, 60, 69) = INFINITY, A(o, 10, 60) = 0;
    const std::vector<float> got = Run(o);
    std::vector<float> want = o.c;
    reference::Gemm(o.shape, o.a.data(), o.b.data(), want.data(), GemmEpilogue<float>{});
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(want[i])) {
        ASSERT_TRUE(std::isnan(got[i])) << got[i] << " at " << i << ", " << which;
      } else {
        ASSERT_EQ(got[i], want[i]) << "at " << i << ", " << which;
      }
    }
  }
}

// What is too large for a float is infinite, whatever becomes of parts, and what is not, is not.
TEST_F(SplitCellTest, OverflowsLikeMultiplyAdds) {
  for (const auto& [x, y] : {std::pair{5.118265e29F, 2.8381366e19F},
                             {-5.118265e29F, 2.8381366e19F},
                             {1.2345e25F, 1.2345e20F},
                             {0x1.ff8p63F, 0x1.ff8p63F},
                             {3e38F, 1e5F}}) {
    Operands o = Draw(GemmShape::Dense(40, 40, 40));
    for (float& value : o.a) value = 0;
    for (int64_t i = 0; i < 40; ++i) A(o, i, i) = x;
    for (float& value : o.b) value = y;
    for (const float got : Run(o)) ASSERT_EQ(got, x * y) << x << " " << y;
  }
}

// Products of small numbers, which are not small for a float, keep their bits.
TEST_F(SplitCellTest, SmallProductsAreKept) {
  for (const float scale : {0x1p-45F, 0x1p-51F, 0x1p-58F, 0x1p-62F}) {
    Operands o = Draw(GemmShape::Dense(40, 50, 256));
    for (float& x : o.a) x *= scale;
    for (float& x : o.b) x *= scale;
    const Errors errors = Compare(o);
    EXPECT_LE(errors.ours, errors.chain) << scale;
    EXPECT_GT(errors.chain, 0) << scale;
  }
  // Of a few rows among others.
  Operands o = Draw(GemmShape::Dense(70, 70, 100));
  for (int64_t l = 0; l < 100; ++l) A(o, 5, l) *= 0x1p-100F, A(o, 60, l) *= 0x1p-90F;
  for (int64_t l = 0; l < 100; ++l) B(o, l, 40) *= 0x1p-20F;
  std::vector<float> want = o.c;
  reference::Gemm(o.shape, o.a.data(), o.b.data(), want.data(), GemmEpilogue<float>{});
  const std::vector<float> got = Run(o);
  for (int64_t i : {5, 60}) {
    for (size_t j = 0; j < 70; ++j) {
      const auto at = static_cast<size_t>(i) * 70 + j;
      const double size =
          std::abs(want[at]) + (i == 5 ? 0x1p-100 : 0x1p-90) * (j == 40 ? 0x1p-20 : 1);
      ASSERT_NEAR(got[at], want[at], 1e-5 * size) << i << ", " << j;
    }
  }
}

// Positive terms, of which a single chain's rounding would add up.
TEST_F(SplitCellTest, LongSumsAreMadeOfShorterOnes) {
  Operands o = Draw(GemmShape::Dense(32, 32, 6000));
  for (float& x : o.a) x = std::max(x, 0.F);
  for (float& x : o.b) x = std::abs(x);
  const Errors errors = Compare(o);
  EXPECT_LE(errors.ours, errors.chain / 8);
}

// Rounded to eight bits, the largest would be infinite.
TEST_F(SplitCellTest, TheLargestNumbersAreMultiplied) {
  Operands o = Draw(GemmShape::Dense(20, 40, 33));
  for (float& x : o.a) x = 0;
  for (float& x : o.b) x = 0.25F;
  for (int64_t i = 0; i < 20; ++i) A(o, i, i) = i % 2 == 0 ? 0x1.fffffep127F : -0x1.ff8p127F;
  const std::vector<float> got = Run(o);
  for (int64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(got[static_cast<size_t>(i * 40)], A(o, i, i) / 4) << i;
  }
}

// Parts below 2^-126 are lost, and nothing worse.
TEST_F(SplitCellTest, SubnormalsAreZeros) {
  Operands o = Draw(GemmShape::Dense(20, 40, 33));
  for (float& x : o.a) x = 0x1.23456p-120F * normal_(engine_);
  for (int64_t i = 0; i < 20; ++i) A(o, i, 5) = 0x1p-130F;
  std::vector<float> want = o.c;
  reference::Gemm(o.shape, o.a.data(), o.b.data(), want.data(), GemmEpilogue<float>{});
  const std::vector<float> got = Run(o);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 33 * 8 * 0x1p-126) << i;
}

}  // namespace
}  // namespace hr::cpu
