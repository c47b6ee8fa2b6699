// Softmax and the classification losses against plain loops in double.
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "tests/unit/cpu/kernel_fixture.h"
#include "tests/unit/cpu/one_node_run.h"

namespace hr::cpu {
namespace {

struct Lines {
  int64_t outer, n, inner;
  int64_t At(int64_t o, int64_t c, int64_t i) const { return (o * n + c) * inner + i; }
  // Calls body(line, offset of class) for every line.
  void ForEach(
      const std::function<void(int64_t, const std::function<int64_t(int64_t)>&)>& body) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        body(o * inner + i, [&](int64_t c) { return At(o, c, i); });
      }
    }
  }
};

std::vector<double> LogSoftmax(const Lines& lines, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  lines.ForEach([&](int64_t, const auto& at) {
    double sum = 0;
    for (int64_t c = 0; c < lines.n; ++c) sum += std::exp(x[at(c)]);
    for (int64_t c = 0; c < lines.n; ++c) y[at(c)] = x[at(c)] - std::log(sum);
  });
  return y;
}

template <typename T>
void ExpectNear(const Tensor& got, const std::vector<double>& expected, double scale = 1) {
  ASSERT_EQ(got.elements(), static_cast<int64_t>(expected.size()));
  const double tolerance = (sizeof(T) == 4 ? 2e-6 : 2e-14) * scale;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(got.as<T>()[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "at " << i;
  }
}

class SoftmaxTest : public KernelTest {
 protected:
  // Shapes around the sizes of vectors and groups.
  Lines RandomLines() {
    return {RandomInt(1, 40), RandomInt(1, 70), RandomInt(0, 1) == 0 ? 1 : RandomInt(2, 40)};
  }
  template <typename T>
  std::vector<T> Values(const Lines& lines, double scale) {
    std::vector<T> x = Random<T>(lines.outer * lines.n * lines.inner);
    for (T& value : x) value *= static_cast<T>(scale);
    return x;
  }

  template <typename T>
  void CheckSoftmax() {
    const Lines lines = RandomLines();
    const Dims dims = {lines.outer, lines.n, lines.inner};
    const auto x = Values<T>(lines, 10);
    auto expected = LogSoftmax(lines, {x.begin(), x.end()});
    OneNodeRun log("LogSoftmax");
    log.In<T>(dims, x).With("axis", int64_t{1}).Threads(3);
    ExpectNear<T>(log.MustRun()[0], expected, 4);
    for (double& value : expected) value = std::exp(value);
    OneNodeRun run("Softmax");
    run.In<T>(dims, x).With("axis", int64_t{-2}).Threads(2);
    ExpectNear<T>(run.MustRun()[0], expected);
  }

  template <typename T>
  void CheckGradients() {
    const Lines lines = RandomLines();
    const Dims dims = {lines.outer, lines.n, lines.inner};
    const auto dy = Values<T>(lines, 1);
    const auto x = Values<T>(lines, 3);
    std::vector<double> log = LogSoftmax(lines, {x.begin(), x.end()});
    std::vector<T> log_y(log.begin(), log.end());
    std::vector<T> y(log.size());
    for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(std::exp(log[i]));
    std::vector<double> expected(y.size()), expected_log(y.size());
    lines.ForEach([&](int64_t, const auto& at) {
      double sum = 0, weighted = 0;
      for (int64_t c = 0; c < lines.n; ++c) {
        sum += dy[at(c)];
        weighted += double{dy[at(c)]} * y[at(c)];
      }
      for (int64_t c = 0; c < lines.n; ++c) {
        expected[at(c)] = y[at(c)] * (dy[at(c)] - weighted);
        expected_log[at(c)] = dy[at(c)] - std::exp(double{log_y[at(c)]}) * sum;
      }
    });
    OneNodeRun grad("SoftmaxGrad", "headrace.grad");
    grad.In<T>(dims, dy).In(dims, y).With("axis", int64_t{1});
    ExpectNear<T>(grad.MustRun()[0], expected);
    OneNodeRun log_grad("LogSoftmaxGrad", "headrace.grad");
    log_grad.In<T>(dims, dy).In(dims, log_y).With("axis", int64_t{1});
    ExpectNear<T>(log_grad.MustRun()[0], expected_log, 4);
  }

  template <typename T, typename Label>
  void CheckLosses();
};

// A loss and its gradient, computed plainly.
struct PlainLoss {
  Lines lines;
  std::vector<double> log_prob;
  std::vector<int64_t> labels;
  std::vector<double> weights;
  std::optional<int64_t> ignored;
  std::string reduction;

  double Weight(int64_t line) const {
    const int64_t label = labels[static_cast<size_t>(line)];
    return label == ignored ? 0 : weights[static_cast<size_t>(label)];
  }
  double Divisor() const {
    double total = 0;
    for (size_t i = 0; i < labels.size(); ++i) total += Weight(static_cast<int64_t>(i));
    return reduction == "mean" ? total : 1;
  }
  std::vector<double> Loss() const {
    std::vector<double> losses(labels.size());
    double sum = 0;
    lines.ForEach([&](int64_t line, const auto& at) {
      const double weight = Weight(line);
      const auto i = static_cast<size_t>(line);
      if (weight != 0) losses[i] = -weight * log_prob[static_cast<size_t>(at(labels[i]))];
      sum += losses[i];
    });
    return reduction == "none" ? losses : std::vector<double>{sum / Divisor()};
  }
  // Of the scores, or of the log-probabilities.
  std::vector<double> Gradient(const std::vector<double>& dloss, bool of_scores) const {
    std::vector<double> out(log_prob.size());
    lines.ForEach([&](int64_t line, const auto& at) {
      const double d = dloss[reduction == "none" ? static_cast<size_t>(line) : 0];
      const double factor = Weight(line) == 0 ? 0 : d * Weight(line) / Divisor();
      for (int64_t c = 0; c < lines.n; ++c) {
        const auto e = static_cast<size_t>(at(c));
        if (of_scores) out[e] = std::exp(log_prob[e]) * factor;
        if (c == labels[static_cast<size_t>(line)]) out[e] -= factor;
      }
    });
    return out;
  }
};

template <typename T, typename Label>
void SoftmaxTest::CheckLosses() {
  const char* reductions[] = {"none", "sum", "mean"};
  const Lines lines = RandomLines();
  const bool weighted = RandomInt(0, 1) == 1;
  Dims dims = {lines.outer, lines.n};
  Dims label_dims = {lines.outer};
  if (lines.inner != 1) {
    dims.push_back(lines.inner);
    label_dims.push_back(lines.inner);
  }
  const auto scores = Values<T>(lines, 5);
  PlainLoss plain{.lines = lines,
                  .log_prob = LogSoftmax(lines, {scores.begin(), scores.end()}),
                  .weights = std::vector<double>(static_cast<size_t>(lines.n), 1.0),
                  .reduction = reductions[RandomInt(0, 2)]};
  if (RandomInt(0, 1) == 1) plain.ignored = RandomInt(0, 1) == 1 ? -100 : 0;
  std::vector<Label> labels;
  for (int64_t i = 0; i < lines.outer * lines.inner; ++i) {
    bool ignore = plain.ignored && RandomInt(0, 3) == 0;
    labels.push_back(static_cast<Label>(ignore ? *plain.ignored : RandomInt(0, lines.n - 1)));
  }
  plain.labels.assign(labels.begin(), labels.end());
  std::vector<T> weights;
  if (weighted) {
    for (double& w : plain.weights) weights.push_back(static_cast<T>(w = RandomInt(1, 8) / 4.0));
  }
  const bool none = plain.reduction == "none";
  const auto dloss = none ? Random<T>(lines.outer * lines.inner) : std::vector<T>{T(0.75)};
  const std::vector<double> dloss64(dloss.begin(), dloss.end());
  std::vector<T> log_prob(plain.log_prob.begin(), plain.log_prob.end());

  auto finish = [&](OneNodeRun& run) -> OneNodeRun& {
    run.In<Label>(label_dims, labels);
    if (weighted) run.In<T>({lines.n}, weights);
    if (plain.ignored) run.With("ignore_index", *plain.ignored);
    return run.With("reduction", plain.reduction).Threads(static_cast<int>(RandomInt(1, 3)));
  };
  const double many = 1 + static_cast<double>(labels.size()) / 16;
  OneNodeRun loss("SoftmaxCrossEntropyLoss");
  auto outputs = finish(loss.In<T>(dims, scores)).Outputs(2).MustRun();
  if (plain.Divisor() != 0) ExpectNear<T>(outputs[0], plain.Loss(), many);
  ExpectNear<T>(outputs[1], plain.log_prob, 4);
  OneNodeRun likelihood("NegativeLogLikelihoodLoss");
  outputs = finish(likelihood.In<T>(dims, log_prob)).MustRun();
  if (plain.Divisor() != 0) ExpectNear<T>(outputs[0], plain.Loss(), many);
  const Dims dloss_dims = none ? label_dims : Dims{};
  OneNodeRun grad("SoftmaxCrossEntropyLossGrad", "headrace.grad");
  outputs = finish(grad.In<T>(dloss_dims, dloss).In(dims, log_prob)).MustRun();
  ExpectNear<T>(outputs[0], plain.Gradient(dloss64, true), 4);
  OneNodeRun likelihood_grad("NegativeLogLikelihoodLossGrad", "headrace.grad");
  outputs = finish(likelihood_grad.In<T>(dloss_dims, dloss).In(dims, log_prob)).MustRun();
  ExpectNear<T>(outputs[0], plain.Gradient(dloss64, false));
}

TEST_P(SoftmaxTest, Softmax) {
  for (int i = 0; i < 10; ++i) {
    CheckSoftmax<float>();
    CheckSoftmax<double>();
  }
}

TEST_P(SoftmaxTest, Gradients) {
  for (int i = 0; i < 10; ++i) {
    CheckGradients<float>();
    CheckGradients<double>();
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
  run.In<float>({2, 3}, {1e30f, 1e30f, -1e30f, -1e30f, -1e30f, -1e30f});
  ExpectNear<float>(run.MustRun()[0], {0.5, 0.5, 0, 1 / 3.0, 1 / 3.0, 1 / 3.0});
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
