#include "backends/cpu/onednn/matmul.h"

#include <array>
#include <cmath>

#include "tests/reference/gemm.h"
#include "tests/unit/cpu/blocked_testing.h"

namespace hr::cpu::onednn {
namespace {

class OneDnnMatMul : public BlockedTest {
 protected:
  void Check(GemmShape shape, MatMulOptions options, int64_t gap = 0) {
    shape.lda += gap, shape.ldb += gap, shape.ldc += gap;
    SCOPED_TRACE(testing::Message()
                 << shape.m << "x" << shape.n << "x" << shape.k << (shape.transpose_a ? " TA" : "")
                 << (shape.transpose_b ? " TB" : "") << (options.packed_b ? " packed" : "")
                 << " slices " << options.slices << " gap " << gap);
    const auto a = Random<float>((shape.transpose_a ? shape.k : shape.m) * shape.lda);
    const auto b = Random<float>((shape.transpose_b ? shape.n : shape.k) * shape.ldb);
    const auto bias = Random<float>(shape.n);
    auto want = Random<float>(shape.m * shape.ldc), serial = want, parallel = want;
    GemmEpilogue<float> epilogue{.activation = options.activation};
    if (options.column_bias) epilogue.column_bias = bias.data();
    reference::Gemm(shape, a.data(), b.data(), want.data(), epilogue);
    auto made = MatMul::Create(shape, options);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    const MatMul& product = **made;
    Buffer<char> scratch(static_cast<int64_t>(product.scratch_bytes()));
    Buffer<float> packed(static_cast<int64_t>(product.packed_bytes() / sizeof(float)));
    const float* weights = b.data();
    if (options.packed_b) {
      ASSERT_TRUE(product.Pack(three_, b.data(), packed.data(), scratch.data()).ok());
      weights = packed.data();
    }
    for (auto [lease, c] : {std::pair{&one_, &serial}, {&three_, &parallel}}) {
      Status status =
          product.Run(*lease, a.data(), weights, bias.data(), c->data(), scratch.data());
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    const double limit = 1.2e-7 * (8 + static_cast<double>(shape.k));
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(serial[i], want[i], limit) << "at " << i;
    EXPECT_EQ(serial, parallel) << "threads change the result";
  }

  void CheckKinds(int64_t m, int64_t n, int64_t k, int slices, int64_t gap = 0) {
    for (int which = 0; which < 4 && !HasFatalFailure(); ++which) {
      for (bool packed : {false, true}) {
        const auto shape = GemmShape::Dense(m, n, k, which & 1, which & 2);
        Check(shape, {.packed_b = packed, .slices = slices}, gap);
        Check(shape,
              {.column_bias = true,
               .activation = Activation::kRelu,
               .packed_b = packed,
               .slices = slices},
              gap);
      }
    }
  }
};

TEST_P(OneDnnMatMul, AgreesWithTheDefinition) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                         {3, 5, 7},
                         {64, 500, 80},
                         {17, 33, 129},
                         {130, 70, 200},
                         {1, 300, 40},
                         {300, 1, 40}}) {
    for (int slices : {1, 2, 5}) CheckKinds(m, n, k, slices);
  }
}

TEST_P(OneDnnMatMul, RandomShapes) {
  for (int i = 0; i < 15 && !HasFatalFailure(); ++i) {
    CheckKinds(RandomInt(1, 200), RandomInt(1, 200), RandomInt(1, 300),
               static_cast<int>(RandomInt(1, 7)), RandomInt(0, 5));
  }
}

TEST_P(OneDnnMatMul, ReluKeepsNan) {
  const auto shape = GemmShape::Dense(64, 64, 64);
  std::vector<float> a(64 * 64, 1.0f), b(64 * 64, 1.0f), c(64 * 64);
  a[0] = std::nanf("");
  auto product = MatMul::Create(shape, {.activation = Activation::kRelu}).value();
  Buffer<char> scratch(static_cast<int64_t>(product->scratch_bytes()));
  ASSERT_TRUE(product->Run(one_, a.data(), b.data(), nullptr, c.data(), scratch.data()).ok());
  EXPECT_TRUE(std::isnan(c[5]));
  EXPECT_EQ(c[70], 64);
}

// Square weights and their transpose are packed to memory of one layout, with other contents: one
// may not be taken for the other.
TEST_P(OneDnnMatMul, TellsPackedTransposesApart) {
  std::string formats[2];
  for (const bool transposed : {false, true}) {
    const auto shape = GemmShape::Dense(1024, 384, 384, false, transposed);
    formats[transposed] = MatMul::Create(shape, {.packed_b = true}).value()->packed_format();
  }
  EXPECT_NE(formats[0], formats[1]);
}

INSTANTIATE_TEST_SUITE_P(OneDnn, OneDnnMatMul, testing::Values(HWY_STATIC_TARGET));

}  // namespace
}  // namespace hr::cpu::onednn
