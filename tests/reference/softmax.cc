#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// The sum of f over the axis, for each line of x along it.
Array SumAlong(const Array& x, size_t axis, const std::function<Number(const Dims&)>& f) {
  Dims dims = x.dims;
  dims.at(axis) = 1;
  Array out(x.dtype, dims);
  ForEach(x.dims, [&](const Dims& i) {
    Dims line = i;
    line[axis] = 0;
    out[line] += f(i);
  });
  return out;
}

Array LogSoftmaxOf(const Array& x, size_t axis) {
  Array out = x;
  Array total = SumAlong(x, axis, [&](const Dims& i) { return std::exp(x[i]); });
  ForEach(x.dims, [&](const Dims& i) { out[i] = x[i] - std::log(total.Broadcast(i)); });
  return out;
}

void LogSoftmax(Call& call) {
  call.Out(0, LogSoftmaxOf(call.In(0), call.Axis(-1, call.In(0).rank())));
}

void Softmax(Call& call) {
  LogSoftmax(call);
  for (Number& x : call.outputs[0].data) x = std::exp(x);
}

void SoftmaxGrad(Call& call) {
  const Array& dy = call.In(0);
  const Array& y = call.In(1);
  Array dx = dy;
  Array total = SumAlong(y, call.Axis(-1, y.rank()), [&](const Dims& i) { return dy[i] * y[i]; });
  ForEach(y.dims, [&](const Dims& i) { dx[i] = y[i] * (dy[i] - total.Broadcast(i)); });
  call.Out(0, std::move(dx));
}

void LogSoftmaxGrad(Call& call) {
  const Array& dy = call.In(0);
  const Array& y = call.In(1);
  Array dx = dy;
  Array total = SumAlong(y, call.Axis(-1, y.rank()), [&](const Dims& i) { return dy[i]; });
  ForEach(y.dims, [&](const Dims& i) { dx[i] = dy[i] - std::exp(y[i]) * total.Broadcast(i); });
  call.Out(0, std::move(dx));
}

// The labels of a loss with their weights, 0 where the label is ignored.
struct Labels {
  const Array& labels;
  Array weights;
  Number total = 0;  // by which a mean is divided

  Labels(const Call& call, size_t labels_input)
      : labels(call.In(labels_input)), weights(DType::kFloat64, labels.dims) {
    const graph::AttributeValue* ignored = call.node.Find("ignore_index");
    for (size_t i = 0; i < labels.size(); ++i) {
      bool skip = ignored != nullptr && labels.data[i] == call.Int("ignore_index", 0);
      bool weighted = call.Has(labels_input + 1);
      if (skip) continue;
      auto label = static_cast<int64_t>(labels.data[i]);
      weights.data[i] = weighted ? call.In(labels_input + 1)[{label}] : 1;
    }
    for (Number weight : weights.data) total += weight;
  }

  // The index of the label's own score.
  Dims Score(const Dims& at) const {
    Dims index = at;
    index.insert(index.begin() + 1, static_cast<int64_t>(labels[at]));
    return index;
  }
};

// Minus the weighted log-probability of each label, reduced.
Array Likelihood(const Call& call, const Array& log_prob) {
  Labels labels(call, 1);
  Array loss(log_prob.dtype, labels.labels.dims);
  ForEach(loss.dims, [&](const Dims& i) {
    if (labels.weights[i] != 0) loss[i] = -labels.weights[i] * log_prob[labels.Score(i)];
  });
  std::string_view reduction = call.String("reduction", "mean");
  if (reduction == "none") return loss;
  Array sum = SumTo(loss, {});
  if (reduction == "mean") sum.data[0] /= labels.total;
  return sum;
}

void NegativeLogLikelihoodLoss(Call& call) { call.Out(0, Likelihood(call, call.In(0))); }

void SoftmaxCrossEntropyLoss(Call& call) {
  Array log_prob = LogSoftmaxOf(call.In(0), 1);
  call.Out(0, Likelihood(call, log_prob));
  call.Out(1, std::move(log_prob));
}

// The gradient of each label's loss: dloss times its weight, divided where the mean is taken.
Number Share(const Call& call, const Labels& labels, const Dims& i) {
  Number share = call.In(0).Broadcast(i) * labels.weights[i];
  return call.String("reduction", "mean") == "mean" ? share / labels.total : share;
}

void NegativeLogLikelihoodLossGrad(Call& call) {
  Labels labels(call, 2);
  Array dx(call.In(1).dtype, call.In(1).dims);
  ForEach(labels.labels.dims, [&](const Dims& i) {
    if (labels.weights[i] != 0) dx[labels.Score(i)] = -Share(call, labels, i);
  });
  call.Out(0, std::move(dx));
}

void SoftmaxCrossEntropyLossGrad(Call& call) {
  const Array& log_prob = call.In(1);
  Labels labels(call, 2);
  Array dx(log_prob.dtype, log_prob.dims);
  ForEach(dx.dims, [&](const Dims& i) {
    Dims at = i;
    at.erase(at.begin() + 1);
    if (labels.weights[at] == 0) return;
    Number target = i[1] == static_cast<int64_t>(labels.labels[at]);
    dx[i] = Share(call, labels, at) * (std::exp(log_prob[i]) - target);
  });
  call.Out(0, std::move(dx));
}

constexpr std::string_view kGrad = "headrace.grad";

const Entry kSoftmaxEntries[] = {
    {"", "Softmax", Softmax},
    {"", "LogSoftmax", LogSoftmax},
    {"", "SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLoss},
    {"", "NegativeLogLikelihoodLoss", NegativeLogLikelihoodLoss},
    {kGrad, "SoftmaxGrad", SoftmaxGrad},
    {kGrad, "LogSoftmaxGrad", LogSoftmaxGrad},
    {kGrad, "SoftmaxCrossEntropyLossGrad", SoftmaxCrossEntropyLossGrad},
    {kGrad, "NegativeLogLikelihoodLossGrad", NegativeLogLikelihoodLossGrad},
};

}  // namespace

std::span<const Entry> SoftmaxFunctions() { return kSoftmaxEntries; }

}  // namespace hr::reference
