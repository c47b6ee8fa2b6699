#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// A momentum buffer's element where the node has one.
Number* Momentum(Call& call, size_t i) {
  if (call.node.Find("momentum_variable") == nullptr) return nullptr;
  return &call.Variable("momentum_variable").data[i];
}

void Sgd(Call& call) {
  Number rate = call.In(0).data[0];
  Number momentum = call.Float("momentum", 0);
  Array& p = call.Variable("variable");
  for (size_t i = 0; i < p.size(); ++i) {
    Number g = call.In(1).data[i] + call.Float("weight_decay", 0) * p.data[i];
    if (Number* b = Momentum(call, i); b != nullptr && momentum != 0) {
      *b = momentum * *b + (1 - call.Float("dampening", 0)) * g;
      g = call.Int("nesterov", 0) != 0 ? g + momentum * *b : *b;
    }
    p.data[i] -= rate * g;
  }
}

void Adam(Call& call) {
  Number rate = call.In(0).data[0];
  Number beta1 = call.Float("beta1", 0.9);
  Number beta2 = call.Float("beta2", 0.999);
  Number decay = call.Float("weight_decay", 0);
  bool decoupled = call.Int("decoupled", 0) != 0;
  Number step = call.Variable("step_variable").data[0] += 1;
  Array& p = call.Variable("variable");
  for (size_t i = 0; i < p.size(); ++i) {
    Number g = call.In(1).data[i] + (decoupled ? 0 : decay * p.data[i]);
    if (decoupled) p.data[i] -= rate * decay * p.data[i];
    Number& m = call.Variable("m_variable").data[i];
    Number& v = call.Variable("v_variable").data[i];
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    Number mean = m / (1 - std::pow(beta1, step));
    Number square = v / (1 - std::pow(beta2, step));
    p.data[i] -= rate * mean / (std::sqrt(square) + call.Float("epsilon", 1e-8));
  }
}

void AdaGrad(Call& call) {
  Array& p = call.Variable("variable");
  for (size_t i = 0; i < p.size(); ++i) {
    Number g = call.In(1).data[i] + call.Float("weight_decay", 0) * p.data[i];
    Number& s = call.Variable("sum_variable").data[i];
    s += g * g;
    p.data[i] -= call.In(0).data[0] * g / (std::sqrt(s) + call.Float("epsilon", 1e-10));
  }
}

void RmsProp(Call& call) {
  Number alpha = call.Float("alpha", 0.99);
  Number momentum = call.Float("momentum", 0);
  Array& p = call.Variable("variable");
  for (size_t i = 0; i < p.size(); ++i) {
    Number g = call.In(1).data[i] + call.Float("weight_decay", 0) * p.data[i];
    Number& s = call.Variable("square_variable").data[i];
    s = alpha * s + (1 - alpha) * g * g;
    Number update = g / (std::sqrt(s) + call.Float("epsilon", 1e-8));
    if (Number* b = Momentum(call, i); b != nullptr && momentum != 0) {
      update = *b = momentum * *b + update;
    }
    p.data[i] -= call.In(0).data[0] * update;
  }
}

void Lion(Call& call) {
  Number rate = call.In(0).data[0];
  Number beta1 = call.Float("beta1", 0.9);
  Number beta2 = call.Float("beta2", 0.99);
  Array& p = call.Variable("variable");
  for (size_t i = 0; i < p.size(); ++i) {
    Number g = call.In(1).data[i];
    Number& m = call.Variable("m_variable").data[i];
    Number c = beta1 * m + (1 - beta1) * g;
    Number sign = c > 0 ? 1 : c < 0 ? -1 : c;
    p.data[i] -= rate * (sign + call.Float("weight_decay", 0) * p.data[i]);
    m = beta2 * m + (1 - beta2) * g;
  }
}

constexpr std::string_view kTrain = "headrace.train";

const Entry kEntries[] = {
    {kTrain, "SGD", Sgd},         {kTrain, "Adam", Adam}, {kTrain, "AdaGrad", AdaGrad},
    {kTrain, "RMSProp", RmsProp}, {kTrain, "Lion", Lion},
};

}  // namespace

std::span<const Entry> OptimizerFunctions() { return kEntries; }

}  // namespace hr::reference
