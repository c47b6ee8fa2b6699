#include "backends/cpu/kernels/optimizer.h"

#include <cmath>
#include <limits>

#include "tests/unit/cpu/kernel_fixture.h"

namespace hr::cpu {
namespace {

// Steps a few tensors of odd sizes several times and compares with the same formula in double.
class OptimizerTest : public KernelTest {
 protected:
  static constexpr int64_t kCounts[] = {1, 0, 17, 40000, 3};

  // want(step, g, p, s0, s1) is one element's step, counted from 1.
  template <typename T, typename Options, typename Want>
  void Check(Options options, Want want, double tolerance) {
    std::vector<std::vector<T>> p, s0, s1;
    std::vector<std::vector<double>> wp, w0, w1;
    for (int64_t count : kCounts) {
      const auto size = static_cast<size_t>(count);
      p.push_back(Random<T>(count));
      wp.emplace_back(p.back().begin(), p.back().end());
      s0.emplace_back(size), s1.emplace_back(size), w0.emplace_back(size), w1.emplace_back(size);
    }
    for (int step = 1; step <= 4; ++step) {
      std::vector<std::vector<T>> g;
      std::vector<OptimizerTensor<T>> tensors;
      for (size_t i = 0; i < p.size(); ++i) {
        g.push_back(Random<T>(kCounts[i]));
        tensors.push_back({p[i].data(), g[i].data(), {s0[i].data(), s1[i].data()}, kCounts[i]});
        for (size_t j = 0; j < g[i].size(); ++j) want(step, g[i][j], wp[i][j], w0[i][j], w1[i][j]);
      }
      if constexpr (requires { options.step; }) options.step = step;
      if constexpr (requires { options.first; }) options.first = step == 1;
      UpdateParameters<T>(three_, tensors, options, 3);
    }
    for (size_t i = 0; i < p.size(); ++i) {
      for (size_t j = 0; j < p[i].size(); ++j) {
        ASSERT_NEAR(p[i][j], wp[i][j], tolerance) << "tensor " << i << " at " << j;
      }
    }
  }

  template <typename Options, typename Want>
  void CheckBoth(const Options& options, Want want) {
    Check<float>(options, want, 2e-6);
    Check<double>(options, want, 1e-13);
  }
};

TEST_P(OptimizerTest, Sgd) {
  CheckBoth(SgdOptions{.learning_rate = 0.1, .weight_decay = 0.01},
            [](int, double g, double& p, double&, double&) { p -= 0.1 * (g + 0.01 * p); });
}

TEST_P(OptimizerTest, SgdWithMomentum) {
  for (bool nesterov : {false, true}) {
    CheckBoth(SgdOptions{.learning_rate = 0.1,
                         .momentum = 0.9,
                         .dampening = 0.2,
                         .weight_decay = 0.01,
                         .nesterov = nesterov},
              [=](int step, double g, double& p, double& v, double&) {
                g += 0.01 * p;
                v = step == 1 ? g : 0.9 * v + 0.8 * g;
                p -= 0.1 * (nesterov ? g + 0.9 * v : v);
              });
  }
}

TEST_P(OptimizerTest, Adam) {
  for (bool decoupled : {false, true}) {
    CheckBoth(AdamOptions{.learning_rate = 0.01, .weight_decay = 0.1, .decoupled = decoupled},
              [=](int step, double g, double& p, double& m, double& v) {
                if (decoupled) p *= 1 - 0.01 * 0.1;
                if (!decoupled) g += 0.1 * p;
                m = 0.9 * m + 0.1 * g;
                v = 0.999 * v + 0.001 * g * g;
                const double mean = m / (1 - std::pow(0.9, step));
                const double square = v / (1 - std::pow(0.999, step));
                p -= 0.01 * mean / (std::sqrt(square) + 1e-8);
              });
  }
}

TEST_P(OptimizerTest, AdaGrad) {
  CheckBoth(AdaGradOptions{.learning_rate = 0.1, .epsilon = 1e-3, .weight_decay = 0.1},
            [](int, double g, double& p, double& sum, double&) {
              g += 0.1 * p;
              sum += g * g;
              p -= 0.1 * g / (std::sqrt(sum) + 1e-3);
            });
}

TEST_P(OptimizerTest, RmsProp) {
  for (double momentum : {0.0, 0.9}) {
    CheckBoth(RmsPropOptions{.learning_rate = 0.01, .momentum = momentum, .epsilon = 1e-2},
              [=](int, double g, double& p, double& square, double& v) {
                square = 0.99 * square + 0.01 * g * g;
                v = momentum * v + g / (std::sqrt(square) + 1e-2);
                p -= 0.01 * v;
              });
  }
}

// Momentum of weights without gradients ends at 0, not among the subnormal numbers; what is no
// number stays.
TEST_P(OptimizerTest, FadedStateIsZero) {
  const auto fade = [&](auto one) {
    using T = decltype(one);
    std::vector<T> p(35), g(35), velocity(35, one);
    velocity[3] = std::numeric_limits<T>::quiet_NaN();
    velocity[34] = -one;
    const OptimizerTensor<T> tensor = {p.data(), g.data(), {velocity.data(), nullptr}, 35};
    for (int step = 0; step < 8000; ++step) {
      UpdateParameters<T>(three_, std::span(&tensor, 1), SgdOptions{.momentum = 0.9}, 3);
      for (T v : velocity) ASSERT_NE(std::fpclassify(v), FP_SUBNORMAL) << step;
    }
    for (size_t i = 0; i < velocity.size(); ++i) {
      EXPECT_TRUE(i == 3 ? std::isnan(velocity[i]) : velocity[i] == 0) << i;
    }
  };
  fade(1.0f);
  fade(1.0);
}

TEST_P(OptimizerTest, SlicesDoNotMatter) {
  std::vector<float> once = Random<float>(100000), twice = once;
  const auto gradient = Random<float>(100000);
  const SgdOptions options{.learning_rate = 0.1};
  const OptimizerTensor<float> a{once.data(), gradient.data(), {}, 100000};
  const OptimizerTensor<float> b{twice.data(), gradient.data(), {}, 100000};
  UpdateParameters<float>(one_, {&a, 1}, options, 1);
  UpdateParameters<float>(three_, {&b, 1}, options, 3);
  EXPECT_EQ(once, twice);
}

HR_KERNEL_TESTS(OptimizerTest);

}  // namespace
}  // namespace hr::cpu
