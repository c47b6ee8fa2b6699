#include <algorithm>
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
  const Number correction1 = 1 - std::pow(beta1, step);
  const Number correction2 = 1 - std::pow(beta2, step);
  Array& p = call.Variable("variable");
  for (size_t i = 0; i < p.size(); ++i) {
    Number g = call.In(1).data[i] + (decoupled ? 0 : decay * p.data[i]);
    if (decoupled) p.data[i] -= rate * decay * p.data[i];
    Number& m = call.Variable("m_variable").data[i];
    Number& v = call.Variable("v_variable").data[i];
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    Number mean = m / correction1;
    Number square = v / correction2;
    p.data[i] -= rate * mean / (std::sqrt(square) + call.Float("epsilon", 1e-8));
  }
}

void Adamax(Call& call) {
  const Number beta1 = call.Float("beta1", 0.9), beta2 = call.Float("beta2", 0.999);
  const Number step = call.Variable("step_variable").data[0] += 1;
  const Number correction1 = 1 - std::pow(beta1, step);
  Array& p = call.Variable("variable");
  for (size_t i = 0; i < p.size(); ++i) {
    const Number g = call.In(1).data[i] + call.Float("weight_decay", 0) * p.data[i];
    Number& m = call.Variable("m_variable").data[i];
    Number& u = call.Variable("u_variable").data[i];
    m = beta1 * m + (1 - beta1) * g;
    u = std::max(beta2 * u, std::abs(g) + call.Float("epsilon", 1e-8));
    p.data[i] -= call.In(0).data[0] / correction1 * m / u;
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

void Lamb(Call& call) {
  const Number rate = call.In(0).data[0];
  const Number beta1 = call.Float("beta1", 0.9), beta2 = call.Float("beta2", 0.999);
  const Number step = call.Variable("step_variable").data[0] += 1;
  const Number correction1 = 1 - std::pow(beta1, step);
  const Number correction2 = 1 - std::pow(beta2, step);
  Array& p = call.Variable("variable");
  std::vector<Number> direction;
  Number p_squares = 0, direction_squares = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const Number g = call.In(1).data[i];
    Number& m = call.Variable("m_variable").data[i];
    Number& v = call.Variable("v_variable").data[i];
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const Number mean = m / correction1;
    const Number square = v / correction2;
    direction.push_back(mean / (std::sqrt(square) + call.Float("epsilon", 1e-6)) +
                        call.Float("weight_decay", 0) * p.data[i]);
    p_squares += p.data[i] * p.data[i];
    direction_squares += direction[i] * direction[i];
  }
  const bool both = p_squares > 0 && direction_squares > 0;
  const Number trust = both ? std::sqrt(p_squares / direction_squares) : 1;
  for (size_t i = 0; i < p.size(); ++i) p.data[i] -= rate * trust * direction[i];
}

void Ftrl(Call& call) {
  const Number rate = call.In(0).data[0];
  const Number l1 = call.Float("l1", 0);
  if (rate == 0) return;
  Array& p = call.Variable("variable");
  for (size_t i = 0; i < p.size(); ++i) {
    const Number g = call.In(1).data[i];
    Number& n = call.Variable("sum_variable").data[i];
    Number& z = call.Variable("z_variable").data[i];
    const Number sigma = (std::sqrt(n + g * g) - std::sqrt(n)) / rate;
    z += g - sigma * p.data[i];
    n += g * g;
    const Number strength = (call.Float("beta", 1) + std::sqrt(n)) / rate + call.Float("l2", 0);
    if (std::abs(z) <= l1) {
      p.data[i] = 0;
    } else {
      p.data[i] = -(z - (z < 0 ? -l1 : l1)) / strength;
    }
  }
}

// Nothing happens where the third input says so.
template <void (*kUpdate)(Call&)>
void When(Call& call) {
  if (call.Scalar(2, 1) != 0) kUpdate(call);
}

constexpr std::string_view kTrain = "headrace.train";

const Entry kOptimizerEntries[] = {
    {kTrain, "SGD", When<Sgd>},         {kTrain, "Adam", When<Adam>},
    {kTrain, "Adamax", When<Adamax>},   {kTrain, "AdaGrad", When<AdaGrad>},
    {kTrain, "RMSProp", When<RmsProp>}, {kTrain, "Lion", When<Lion>},
    {kTrain, "LAMB", When<Lamb>},       {kTrain, "FTRL", When<Ftrl>},
};

}  // namespace

std::span<const Entry> OptimizerFunctions() { return kOptimizerEntries; }

}  // namespace hr::reference
