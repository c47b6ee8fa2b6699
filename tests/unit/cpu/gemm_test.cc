#include "backends/cpu/kernels/gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/reference/gemm.h"
#include "tests/unit/cpu/kernel_fixture.h"

namespace hr::cpu {
namespace {

class GemmTest : public KernelTest {
 protected:
  template <typename T>
  void ExpectClose(const std::vector<T>& got, const std::vector<T>& want, int64_t k,
                   const char* what) {
    const double limit = std::numeric_limits<T>::epsilon() * (8 + static_cast<double>(k) / 2);
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(want[i]) && std::isnan(got[i])) continue;
      if (got[i] == want[i]) continue;  // also if it is infinite
      const double size = std::max(1.0, std::abs(static_cast<double>(want[i])) / 8);
      ASSERT_NEAR(got[i], want[i], limit * size) << what << " at " << i;
    }
  }

  // Bytes around scratch are watched.
  struct Scratch {
    explicit Scratch(size_t bytes) : memory(bytes + 16, 0x5a) {}
    void* data() { return memory.data(); }
    bool intact() const {
      return std::all_of(memory.end() - 16, memory.end(), [](uint8_t b) { return b == 0x5a; });
    }
    std::vector<uint8_t> memory;
  };

  template <typename T>
  void Check(GemmShape shape, const GemmEpilogue<T>& epilogue, int slices, int64_t gap = 0) {
    shape.lda += gap;
    shape.ldb += gap;
    shape.ldc += gap;
    SCOPED_TRACE(testing::Message()
                 << shape.m << "x" << shape.n << "x" << shape.k << (shape.transpose_a ? " TA" : "")
                 << (shape.transpose_b ? " TB" : "") << " slices " << slices << " gap " << gap);
    const auto a = Random<T>((shape.transpose_a ? shape.k : shape.m) * shape.lda);
    const auto b = Random<T>((shape.transpose_b ? shape.n : shape.k) * shape.ldb);
    const auto c = Random<T>(shape.m * shape.ldc);
    auto want = c, serial = c, parallel = c;
    reference::Gemm(shape, a.data(), b.data(), want.data(), epilogue);
    Scratch scratch(GemmScratchBytes<T>(shape, slices));
    Gemm(one_, shape, a.data(), b.data(), serial.data(), epilogue, slices, scratch.data());
    ExpectClose(serial, want, shape.k, "serial");
    Gemm(three_, shape, a.data(), b.data(), parallel.data(), epilogue, slices, scratch.data());
    EXPECT_EQ(serial, parallel) << "threads change the result";
    EXPECT_TRUE(scratch.intact());
    CheckPacked(shape, epilogue, slices, a, b, c, want);
  }

  template <typename T>
  void CheckPacked(const GemmShape& shape, const GemmEpilogue<T>& epilogue, int slices,
                   const std::vector<T>& a, const std::vector<T>& b, std::vector<T> c,
                   const std::vector<T>& want) {
    std::vector<T> packed(PackedBBytes<T>(shape.n, shape.k) / sizeof(T));
    PackB(three_, shape.n, shape.k, shape.transpose_b, b.data(), shape.ldb, packed.data(), slices);
    Scratch scratch(GemmPackedBScratchBytes<T>(shape, slices));
    GemmPackedB(three_, shape, a.data(), packed.data(), c.data(), epilogue, slices, scratch.data());
    ExpectClose(c, want, shape.k, "packed");
    EXPECT_TRUE(scratch.intact());
  }

  template <typename T>
  void CheckTransposes(int64_t m, int64_t n, int64_t k, const GemmEpilogue<T>& epilogue, int slices,
                       int64_t gap = 0) {
    for (int which = 0; which < 4; ++which) {
      Check<T>(GemmShape::Dense(m, n, k, which & 1, which & 2), epilogue, slices, gap);
    }
  }
};

TEST_P(GemmTest, SmallShapes) {
  for (int64_t m : {1, 2, 3, 5, 13}) {
    for (int64_t n : {1, 3, 16, 33, 70, 140}) {
      for (int64_t k : {1, 7, 32, 65}) CheckTransposes<float>(m, n, k, {}, 2);
    }
  }
}

TEST_P(GemmTest, Doubles) {
  for (int64_t m : {1, 4, 25}) {
    for (int64_t n : {1, 9, 67}) {
      for (int64_t k : {3, 130}) CheckTransposes<double>(m, n, k, {.alpha = 1.5}, 3, 1);
    }
  }
}

TEST_P(GemmTest, BlockedAndSliced) {
  CheckTransposes<float>(64, 500, 80, {}, 2);
  CheckTransposes<float>(150, 170, 800, {}, 4);
  CheckTransposes<float>(37, 41, 3000, {}, 3, 3);  // k is cut
  CheckTransposes<float>(256, 130, 256, {}, 1);
  for (int64_t n : {65, 70, 128}) CheckTransposes<float>(512, n, 130, {}, 2);  // A's rows conflict
  CheckTransposes<double>(150, 90, 500, {.beta = 1}, 3);
}

// Weights beyond the first-level cache by few rows, their gradients of few terms, and rows of B
// that are copied panel by panel.
TEST_P(GemmTest, ThinProductsAndTheirGradients) {
  for (int64_t m : {1, 2, 4, 7, 12, 13, 31}) {
    CheckTransposes<float>(m, 129, 340, {}, 2);
    CheckTransposes<float>(m, 523, 130, {.beta = 1}, 1, 3);
    CheckTransposes<float>(127, 131, m, {}, 3, 1);
  }
  for (int64_t m : {25, 70}) CheckTransposes<float>(m, 300, 290, {}, 1);
  CheckTransposes<float>(130, 300, 800, {}, 2, 5);
  CheckTransposes<double>(14, 300, 200, {}, 2);
}

// Several blocks of A for each of several blocks of B.
TEST_P(GemmTest, ManyBlocks) { Check<float>(GemmShape::Dense(340, 2060, 200), {}, 1); }

TEST_P(GemmTest, NotFiniteStaysInItsRowAndColumn) {
  for (int64_t m : {3, 20, 110}) {
    const int64_t n = 150, k = 260;
    for (int which = 0; which < 4; ++which) {
      const GemmShape shape = GemmShape::Dense(m, n, k, which & 1, which & 2);
      std::vector<float> a(static_cast<size_t>(m * k), 1), b(static_cast<size_t>(k * n), 1);
      a[static_cast<size_t>(shape.transpose_a ? 7 * m + 1 : k + 7)] = std::nanf("");
      b[static_cast<size_t>(shape.transpose_b ? 149 * k + 9 : 9 * n + 149)] = INFINITY;
      std::vector<float> c(static_cast<size_t>(m * n));
      Scratch scratch(GemmScratchBytes<float>(shape, 2));
      Gemm(three_, shape, a.data(), b.data(), c.data(), {}, 2, scratch.data());
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const float got = c[static_cast<size_t>(i * n + j)];
          EXPECT_TRUE(i == 1     ? std::isnan(got)
                      : j == 149 ? got == INFINITY
                                 : got == k)
              << got << " at " << i << ", " << j;
        }
      }
    }
  }
}

TEST_P(GemmTest, RandomShapes) {
  for (int i = 0; i < Rounds(40); ++i) {
    CheckTransposes<float>(RandomInt(1, 90), RandomInt(1, 200), RandomInt(1, 300),
                           {.alpha = 0.5, .beta = -1}, static_cast<int>(RandomInt(1, 7)),
                           RandomInt(0, 5));
  }
}

TEST_P(GemmTest, Epilogues) {
  const auto bias = Random<float>(2000);
  for (auto [m, n, k] : {std::array{5, 50, 20}, {64, 40, 2000}, {3, 3, 100}, {100, 64, 1100}}) {
    CheckTransposes<float>(m, n, k, {.column_bias = bias.data()}, 2, 2);
    CheckTransposes<float>(m, n, k, {.row_bias = bias.data(), .activation = Activation::kRelu}, 2);
    CheckTransposes<float>(m, n, k, {.column_bias = bias.data(), .activation = Activation::kGelu},
                           2);
    CheckTransposes<float>(
        m, n, k,
        {.alpha = 2, .beta = 1, .column_bias = bias.data(), .activation = Activation::kRelu}, 3, 1);
  }
}

TEST_P(GemmTest, EmptySumIsTheBias) {
  const std::vector<float> bias = {1, 2, 3};
  CheckTransposes<float>(4, 3, 0, {.column_bias = bias.data()}, 2);
  CheckTransposes<float>(4, 3, 0, {.beta = 2}, 2);
  CheckTransposes<float>(0, 3, 5, {}, 2);
  CheckTransposes<float>(3, 0, 5, {}, 2);
}

TEST_P(GemmTest, BetaZeroDoesNotReadC) {
  const float a = 2, b = 3;
  float c = std::nanf("");
  Gemm(one_, GemmShape::Dense(1, 1, 1), &a, &b, &c, {}, 1, nullptr);
  EXPECT_EQ(c, 6);
  c = std::nanf("");
  Gemm(one_, GemmShape::Dense(1, 1, 1), &a, &b, &c, {.alpha = 0.5}, 1, nullptr);
  EXPECT_EQ(c, 3);
}

TEST_P(GemmTest, ReluKeepsNan) {
  const float a = std::nanf(""), b = 3;
  float c = 0;
  Gemm(one_, GemmShape::Dense(1, 1, 1), &a, &b, &c, {.activation = Activation::kRelu}, 1, nullptr);
  EXPECT_TRUE(std::isnan(c));
}

TEST_P(GemmTest, BatchesBroadcast) {
  const std::vector<int64_t> dims = {2, 3};
  for (auto [m, n, k] : {std::array{4, 6, 5}, {40, 70, 300}}) {
    const auto shape = GemmShape::Dense(m, n, k);
    const auto a = Random<float>(2 * m * k), b = Random<float>(3 * k * n);
    const std::vector<int64_t> a_strides = {m * k, 0}, b_strides = {0, k * n};
    const std::vector<int64_t> c_strides = {3 * m * n, m * n};
    const GemmBatch batch{dims, a_strides, b_strides, c_strides};
    for (int slices : {1, 3, 8}) {
      std::vector<float> got(static_cast<size_t>(6 * m * n)), want = got;
      Scratch scratch(GemmBatchedScratchBytes<float>(shape, batch, slices));
      GemmBatched(three_, shape, batch, a.data(), b.data(), got.data(), {}, slices, scratch.data());
      for (int i = 0; i < 6; ++i) {
        reference::Gemm(shape, a.data() + i / 3 * m * k, b.data() + i % 3 * k * n,
                        want.data() + i * m * n, {});
      }
      ExpectClose(got, want, k, "batched");
      EXPECT_TRUE(scratch.intact());
    }
  }
}

// Matrices of heads: their rows, and those of C, lie between those of others.
TEST_P(GemmTest, BatchesOfInterleavedRows) {
  constexpr int64_t kBatch = 5, kHeads = 3, m = 14, n = 18, k = 20;
  const std::vector<int64_t> dims = {kBatch, kHeads}, a_strides = {m * kHeads * k, k},
                             b_strides = {kHeads * n * k, n * k}, c_strides = {m * kHeads * n, n};
  GemmShape shape = GemmShape::Dense(m, n, k, false, true);
  shape.lda = kHeads * k;
  shape.ldc = kHeads * n;
  const auto a = Random<float>(kBatch * m * kHeads * k), b = Random<float>(kBatch * kHeads * n * k);
  const GemmBatch batch{dims, a_strides, b_strides, c_strides};
  for (int slices : {1, 2, 11}) {
    std::vector<float> got(static_cast<size_t>(kBatch * m * kHeads * n)), want = got;
    Scratch scratch(GemmBatchedScratchBytes<float>(shape, batch, slices));
    GemmBatched(three_, shape, batch, a.data(), b.data(), got.data(), {}, slices, scratch.data());
    for (int64_t i = 0; i < kBatch; ++i) {
      for (int64_t h = 0; h < kHeads; ++h) {
        reference::Gemm(shape, a.data() + i * a_strides[0] + h * a_strides[1],
                        b.data() + i * b_strides[0] + h * b_strides[1],
                        want.data() + i * c_strides[0] + h * c_strides[1], {});
      }
    }
    ExpectClose(got, want, k, "interleaved");
    EXPECT_TRUE(scratch.intact());
  }
}

// Long sums of positive numbers, of which each step of a chain rounds the whole. PyTorch's errors
// of such products are 0.8 to 4.5 times 2^-24 (2.15, two threads): dots of few rows have the least.
TEST_P(GemmTest, LongSumsOfPositiveNumbersRoundLittle) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{4, 64, 8000},
                                {12, 48, 4000},
                                {48, 5, 3000},
                                {1, 64, 5000},
                                {64, 64, 1000}}) {
    for (int which = 0; which < 4; ++which) {
      const GemmShape shape = GemmShape::Dense(m, n, k, which & 1, which & 2);
      SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << " " << which);
      auto a = Random<float>(m * k), b = Random<float>(k * n);
      for (float& value : a) value = (value + 1) / 2;
      for (float& value : b) value = (value + 1) / 2;
      const std::vector<double> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
      std::vector<double> want(m * n);
      reference::Gemm(shape, wide_a.data(), wide_b.data(), want.data(), GemmEpilogue<double>());
      std::vector<float> got(m * n);
      Scratch scratch(GemmScratchBytes<float>(shape, 2));
      Gemm(three_, shape, a.data(), b.data(), got.data(), {}, 2, scratch.data());
      double squares = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        const double error = got[i] / want[i] - 1;
        squares += error * error / static_cast<double>(got.size());
      }
      EXPECT_LE(std::sqrt(squares), 4 * 0.8 * 0x1p-24);
    }
  }
}

HR_KERNEL_TESTS(GemmTest);

}  // namespace
}  // namespace hr::cpu
