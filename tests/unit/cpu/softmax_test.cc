// Softmax and the classification losses.
#include <cmath>
#include <limits>

#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

class SoftmaxTest : public KernelTest {
 protected:
  // [n, classes, d…] around the sizes of vectors and groups.
  Dims RandomDims() {
    Dims dims = {RandomInt(1, 40), RandomInt(1, 70)};
    for (int64_t i = RandomInt(0, 2); i > 0; --i) dims.push_back(RandomInt(1, 9));
    return dims;
  }
  template <typename T>
  std::vector<T> Values(const Dims& dims, double scale) {
    std::vector<T> x = Random<T>(ElementCount(dims));
    for (T& value : x) value *= static_cast<T>(scale);
    return x;
  }
  int RandomThreads() { return static_cast<int>(RandomInt(1, 3)); }

  template <typename T>
  void CheckSoftmax(const char* op) {
    const Dims dims = RandomDims();
    const auto rank = static_cast<int64_t>(dims.size());
    OneNodeRun run(op);
    run.In(dims, Values<T>(dims, 10)).With("axis", RandomInt(-rank, rank - 1));
    run.Threads(RandomThreads()).Check(DTypeOf<T>::value);
  }

  template <typename T>
  void CheckGradient(const char* op, bool logarithms) {
    const Dims dims = RandomDims();
    const auto rank = static_cast<int64_t>(dims.size());
    auto y = Values<T>(dims, 1);
    if (logarithms) {
      for (T& value : y) value -= T(1);
    }
    OneNodeRun run(op, "headrace.grad");
    run.In(dims, Values<T>(dims, 1)).In(dims, y).With("axis", RandomInt(-rank, rank - 1));
    const double error = sizeof(T) == 4 ? 4e-5 : 1e-13;
    run.Threads(RandomThreads()).Check(error, error);
  }

  template <typename T, typename Label>
  void CheckLosses();
};

template <typename T, typename Label>
void SoftmaxTest::CheckLosses() {
  const Dims dims = RandomDims();
  Dims label_dims = dims;
  label_dims.erase(label_dims.begin() + 1);
  const bool weighted = RandomInt(0, 1) == 1;
  const char* reductions[] = {"none", "sum", "mean"};
  const std::string reduction = reductions[RandomInt(0, 2)];
  const int64_t ignored = RandomInt(0, 1) == 1 ? -100 : 0;
  std::vector<Label> labels;
  for (int64_t i = ElementCount(label_dims); i > 0; --i) {
    bool ignore = !labels.empty() && RandomInt(0, 3) == 0;
    labels.push_back(static_cast<Label>(ignore ? ignored : RandomInt(0, dims[1] - 1)));
  }
  std::vector<T> weights;
  for (int64_t i = 0; i < dims[1]; ++i) weights.push_back(static_cast<T>(RandomInt(1, 8) / 4.0));
  const auto finish = [&](OneNodeRun& run) {
    run.In(label_dims, labels);
    if (weighted) run.In<T>({dims[1]}, weights);
    run.With("ignore_index", ignored).With("reduction", reduction).Threads(RandomThreads());
    run.Check(DTypeOf<T>::value);
  };
  auto log_prob = Values<T>(dims, 2);
  for (T& value : log_prob) value -= T(3);
  const Dims dloss_dims = reduction == "none" ? label_dims : Dims{};
  const auto dloss = Random<T>(ElementCount(dloss_dims));

  OneNodeRun loss("SoftmaxCrossEntropyLoss");
  finish(loss.In(dims, Values<T>(dims, 5)).Outputs(static_cast<size_t>(RandomInt(1, 2))));
  OneNodeRun likelihood("NegativeLogLikelihoodLoss");
  finish(likelihood.In(dims, log_prob));
  OneNodeRun grad("SoftmaxCrossEntropyLossGrad", "headrace.grad");
  finish(grad.In(dloss_dims, dloss).In(dims, log_prob));
  OneNodeRun likelihood_grad("NegativeLogLikelihoodLossGrad", "headrace.grad");
  finish(likelihood_grad.In(dloss_dims, dloss).In(dims, log_prob));
}

TEST_P(SoftmaxTest, Softmax) {
  for (int i = 0; i < 10; ++i) {
    for (const char* op : {"Softmax", "LogSoftmax"}) {
      CheckSoftmax<float>(op);
      CheckSoftmax<double>(op);
    }
  }
}

TEST_P(SoftmaxTest, Gradients) {
  for (int i = 0; i < 10; ++i) {
    CheckGradient<float>("SoftmaxGrad", false);
    CheckGradient<double>("SoftmaxGrad", false);
    CheckGradient<float>("LogSoftmaxGrad", true);
    CheckGradient<double>("LogSoftmaxGrad", true);
  }
}

TEST_P(SoftmaxTest, Losses) {
  for (int i = 0; i < 20; ++i) {
    CheckLosses<float, int64_t>();
    CheckLosses<float, int32_t>();
    CheckLosses<double, int64_t>();
  }
}

TEST_P(SoftmaxTest, LargeScoresDoNotOverflow) {
  OneNodeRun run("Softmax");
  run.In<float>({2, 4}, {1e30f, 1e30f, -1e30f, -1e30f, -1e30f, -1e30f, -1e30f, -1e30f});
  EXPECT_EQ(ValuesOf<float>(run.MustRun()[0]),
            (std::vector<float>{0.5, 0.5, 0, 0, 0.25, 0.25, 0.25, 0.25}));
}

TEST_P(SoftmaxTest, NanMakesItsLineNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (int64_t axis : {0, 1}) {
      std::vector<float> x(21 * 21, 0.5f);
      x[5 * 21 + 20] = nan;
      OneNodeRun run(op);
      Tensor y = run.In<float>({21, 21}, x).With("axis", axis).MustRun()[0];
      for (int64_t i = 0; i < 21 * 21; ++i) {
        bool same_line = axis == 1 ? i / 21 == 5 : i % 21 == 20;
        ASSERT_EQ(std::isnan(y.as<float>()[i]), same_line)
            << op << " along " << axis << " at " << i;
      }
    }
  }
}

TEST_P(SoftmaxTest, ThreadsDoNotChangeTheLoss) {
  const auto scores = Random<float>(3000 * 50);
  std::vector<int64_t> labels(3000, 7);
  float first = 0;
  for (int i = 0; i < 5; ++i) {
    OneNodeRun run("SoftmaxCrossEntropyLoss");
    Tensor loss =
        run.In<float>({3000, 50}, scores).In<int64_t>({3000}, labels).Threads(3).MustRun()[0];
    if (i == 0) first = *loss.as<float>();
    EXPECT_EQ(*loss.as<float>(), first);
  }
}

TEST(SoftmaxLoss, LabelOutsideTheClasses) {
  OneNodeRun run("SoftmaxCrossEntropyLoss");
  run.In<float>({3, 4}, std::vector<float>(12)).In<int32_t>({3}, {0, 3, 4});
  ExpectFailure(run, "label 4 at position 2 lies outside [0, 4), the classes of the scores");
  OneNodeRun grad("NegativeLogLikelihoodLossGrad", "headrace.grad");
  grad.In<float>({}, {1}).In<float>({1, 2}, {0, 0}).In<int64_t>({1}, {-1});
  ExpectFailure(grad, "label -1 at position 0 lies outside [0, 2)");
}

TEST(SoftmaxLoss, NothingCounts) {
  OneNodeRun loss("SoftmaxCrossEntropyLoss");
  loss.In<float>({2, 3}, std::vector<float>(6))
      .In<int64_t>({2}, {9, 9})
      .With("ignore_index", int64_t{9});
  EXPECT_TRUE(std::isnan(*loss.MustRun()[0].as<float>()));
  OneNodeRun grad("SoftmaxCrossEntropyLossGrad", "headrace.grad");
  grad.In<float>({}, {1}).In<float>({2, 3}, std::vector<float>(6)).In<int64_t>({2}, {9, 9});
  EXPECT_EQ(ValuesOf<float>(grad.With("ignore_index", int64_t{9}).MustRun()[0]),
            std::vector<float>(6));
}

TEST(SoftmaxLoss, EmptyTensors) {
  OneNodeRun softmax("Softmax");
  EXPECT_EQ(softmax.In<float>({0, 3}, {}).MustRun()[0].elements(), 0);
  OneNodeRun along("Softmax");
  EXPECT_EQ(along.In<float>({3, 0}, {}).MustRun()[0].elements(), 0);
  OneNodeRun loss("NegativeLogLikelihoodLoss");
  loss.In<float>({0, 3}, {}).In<int64_t>({0}, {}).With("reduction", std::string("sum"));
  EXPECT_EQ(*loss.MustRun()[0].as<float>(), 0);
}

HR_KERNEL_TESTS(SoftmaxTest);

}  // namespace
}  // namespace hr::cpu
