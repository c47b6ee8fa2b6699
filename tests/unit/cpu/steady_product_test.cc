// Products with a matrix that stays the same, against sums of doubles.
#include "backends/cpu/kernels/steady_product.h"

#include <cmath>
#include <limits>

#include "tests/unit/cpu/kernel_fixture.h"

namespace hr::cpu {
namespace {

class SteadyProductTest : public KernelTest {
 protected:
  template <typename T>
  struct Case {
    SteadyShape shape;
    int64_t distance, columns;  // of the pieces, between and in them
    std::vector<T> a, b, bias;

    // The product's element of column j of a row.
    double Want(int64_t row, int64_t j) const {
      const int64_t piece = j / shape.columns, column = j % shape.columns;
      double sum = 0;
      for (int64_t l = 0; l < shape.k; ++l) {
        const auto of_b = static_cast<size_t>((piece * distance + column) * shape.k + l);
        sum += static_cast<double>(a[static_cast<size_t>(row * (shape.k + 3) + l)]) *
               static_cast<double>(b[of_b]);
      }
      return sum;
    }
  };

  template <typename T>
  Case<T> Draw() {
    Case<T> out;
    out.shape = {.rows = RandomInt(1, 150), .k = RandomInt(1, 200), .pieces = RandomInt(1, 3)};
    out.columns = RandomInt(1, 80);
    out.shape.columns = out.columns;
    if (out.shape.pieces > 1) out.shape.columns = RoundUp(out.columns, SteadyColumns<T>());
    out.distance = out.columns + RandomInt(0, 5);
    out.a = Random<T>(out.shape.rows * (out.shape.k + 3));
    out.b = Random<T>(out.shape.pieces * out.distance * out.shape.k);
    out.bias = Random<T>(out.shape.n());
    return out;
  }

  template <typename T>
  void Check(const Case<T>& drawn) {
    const SteadyShape& shape = drawn.shape;
    const SteadyProduct<T> product(shape, RandomInt(0, 1) * 10'000'000);
    const auto aligned = [](std::vector<std::byte>& bytes) {
      return reinterpret_cast<std::byte*>(RoundUp(reinterpret_cast<intptr_t>(bytes.data()), 64));
    };
    std::vector<std::byte> memory(product.memory_bytes() + 64);
    std::vector<std::byte> scratch(product.scratch_bytes({shape.rows}, shape.k + 3) + 64);
    const SteadyMatrix<T> b{drawn.b.data(), drawn.distance, drawn.columns, aligned(memory)};
    const int64_t half = product.panels() / 2;
    product.Prepare(b, {0, half});
    product.Prepare(b, {half, product.panels()});
    for (const bool add : {false, true}) {
      const int64_t ldc = shape.n() + 2;
      const std::vector<T> before = Random<T>(shape.rows * ldc);
      std::vector<T> c = before;
      product.Run(b,
                  {.rows = shape.rows,
                   .a = drawn.a.data(),
                   .lda = shape.k + 3,
                   .c = c.data(),
                   .ldc = ldc,
                   .add = add,
                   .bias = add ? nullptr : drawn.bias.data()},
                  aligned(scratch));
      ExpectResult(drawn, add, before, c);
    }
  }

  template <typename T>
  void ExpectResult(const Case<T>& drawn, bool add, const std::vector<T>& before,
                    const std::vector<T>& got) {
    const int64_t n = drawn.shape.n();
    const double limit =
        std::numeric_limits<T>::epsilon() * (8 + static_cast<double>(drawn.shape.k) / 2);
    for (int64_t i = 0; i < drawn.shape.rows; ++i) {
      for (int64_t j = 0; j < n + 2; ++j) {
        const auto at = static_cast<size_t>(i * (n + 2) + j);
        if (j >= n) {
          ASSERT_EQ(got[at], before[at]) << "behind row " << i;
          continue;
        }
        if (j % drawn.shape.columns >= drawn.columns) continue;  // not defined
        const double want =
            drawn.Want(i, j) +
            static_cast<double>(add ? before[at] : drawn.bias[static_cast<size_t>(j)]);
        if (std::isnan(want) && std::isnan(got[at])) continue;
        if (static_cast<double>(got[at]) == want) continue;  // also if it is infinite
        ASSERT_NEAR(got[at], want, limit) << "at " << i << ", " << j;
      }
    }
  }
};

TEST_P(SteadyProductTest, RandomShapes) {
  for (int i = 0; i < Rounds(40) && !HasFailure(); ++i) {
    Check(Draw<float>());
    Check(Draw<double>());
  }
}

TEST_P(SteadyProductTest, InfinitiesAndNaN) {
  const float special[] = {std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  for (int i = 0; i < Rounds(20) && !HasFailure(); ++i) {
    Case<float> drawn = Draw<float>();
    for (std::vector<float>* operand : {&drawn.a, &drawn.b}) {
      const auto last = static_cast<int64_t>(operand->size()) - 1;
      (*operand)[static_cast<size_t>(RandomInt(0, last))] = special[RandomInt(0, 2)];
    }
    Check(drawn);
  }
}

HR_KERNEL_TESTS(SteadyProductTest);

}  // namespace
}  // namespace hr::cpu
