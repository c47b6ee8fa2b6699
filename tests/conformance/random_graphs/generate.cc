#include "tests/conformance/random_graphs/generate.h"

#include <algorithm>

#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

struct Family {
  std::span<const Row> rows;
  int weight;
};

class Generator {
 public:
  Generator(const ops::OpRegistry& registry, uint64_t seed) : draft_(registry, seed) {}

  Program Run() {
    switch (rng().Between(0, 9)) {
      case 0:
      case 1:
      case 2: Chain(); break;
      case 3:
      case 4:
      case 5:
        Mixed({{LayerRows(), 50},
               {ComposedLayerRows(), 25},
               {Bfloat16Rows(), 25},
               {MlRows(), 4},
               {RegionRows(), 4},
               {SamplingRows(), 8},
               {ElementwiseRows(), 25},
               {ReductionRows(), 10},
               {MovementRows(), 10},
               {RandomRows(), 5}});
        break;
      case 6:
        Mixed({{MovementRows(), 40},
               {IndexingRows(), 40},
               {OlderRows(), 20},
               {SignalRows(), 15},
               {GenerateRows(), 10},
               {ElementwiseRows(), 10}});
        break;
      default:
        Mixed({{ElementwiseRows(), 40},
               {MovementRows(), 20},
               {IndexingRows(), 10},
               {ReductionRows(), 10},
               {LayerRows(), 8},
               {ComposedLayerRows(), 10},
               {OlderRows(), 8},
               {QuantizedRows(), 10},
               {Bfloat16Rows(), 8},
               {SignalRows(), 8},
               {GenerateRows(), 8},
               {RandomRows(), 4}});
    }
    const bool trains = rng().Chance(55) && Train();
    if (!trains && rng().Chance(35)) InputGradient();
    ChooseFetches();
    ChooseBound();
    draft_.program().Prune();
    return std::move(draft_.program());
  }

 private:
  Rng& rng() { return draft_.rng(); }

  const Row& AnyRow(const std::vector<Family>& families) {
    int total = 0;
    for (const Family& family : families) total += family.weight;
    int64_t at = rng().Between(0, total - 1);
    size_t i = 0;
    while (at >= families[i].weight) at -= families[i++].weight;
    return AnyRow(families[i].rows);
  }
  const Row& AnyRow(std::span<const Row> rows) {
    int total = 0;
    for (const Row& row : rows) total += row.weight;
    int64_t at = rng().Between(0, total - 1);
    size_t i = 0;
    while (at >= rows[i].weight) at -= rows[i++].weight;
    return rows[i];
  }

  void Mixed(const std::vector<Family>& families) {
    const int64_t length = rng().Chance(15) ? rng().Between(15, 40) : rng().Between(2, 14);
    std::string last;
    for (int64_t i = 0; i < length; ++i) {
      // Half of the time straight on from the last value.
      draft_.Focus(rng().Chance(50) ? last : "");
      const Row& row = AnyRow(families);
      std::string next = row.draw(draft_, row);
      if (next.empty()) continue;
      if (rng().Chance(20)) next = Residual(next);
      if (!next.empty()) last = next;
    }
    draft_.Focus("");
  }

  // The value together with another of its shape, often one that leads to it.
  std::string Residual(const std::string& name) {
    const Known known = draft_[name];
    if ((KindOf(known.dtype) & kFloats) == 0) return name;
    const std::string other =
        draft_.Find([&](const Known& k) { return k.dtype == known.dtype && k.dims == known.dims; });
    return draft_.One(rng().Pick({"Add", "Mul", "Sub", "Max"}), 14, {name, other});
  }

  // Element-wise operators one on the other, longer than any fusion, whose ends meet.
  void Chain() {
    const DType dtype =
        KindOf(draft_.main_type()) == kFloats ? draft_.main_type() : DType::kFloat64;
    std::string last = draft_.Leaf(dtype, draft_.AnyDims(1, 3));
    const int64_t parts = rng().Between(1, 4);
    for (int64_t part = 0; part < parts && !last.empty(); ++part) {
      const bool unary = rng().Chance(60);
      const int64_t length = rng().Between(2, 12);
      for (int64_t i = 0; i < length; ++i) {
        draft_.Focus(last);
        const Row& row = unary ? AnyUnary() : AnyRow(ElementwiseRows());
        const std::string next = row.draw(draft_, row);
        if (!next.empty() && draft_[next].dtype == dtype) last = next;
      }
      draft_.Focus("");
      const std::string met = rng().Chance(60)
                                  ? draft_.One(rng().Pick({"Mul", "Add", "Max"}), 14, {last, last})
                                  : Residual(last);
      if (!met.empty()) last = met;
    }
  }
  const Row& AnyUnary() {
    static constexpr const char* kUnary[] = {"Sin", "Cos", "Tanh", "Sigmoid", "Neg",     "Atan",
                                             "Erf", "Abs", "Exp",  "Relu",    "Softsign"};
    const std::string_view wanted = kUnary[rng().Index(std::size(kUnary))];
    for (const Row& row : ElementwiseRows()) {
      if (row.op == wanted) return row;
    }
    return ElementwiseRows()[0];
  }

  // Those of the leaves through which the value has a gradient.
  std::vector<std::string> Differentiable(const std::string& of, char prefix) {
    std::vector<std::string> out;
    for (const Statement& statement : std::vector<Statement>(draft_.program().statements)) {
      const bool candidate = statement.leaf() && statement.results[0][0] == prefix &&
                             (KindOf(statement.data.dtype) & kFloats) != 0;
      if (!candidate || out.size() >= 6) continue;
      auto& statements = draft_.program().statements;
      if (draft_.Gradient(of, {statement.results[0]}).empty()) continue;
      statements.pop_back();
      out.push_back(statement.results[0]);
    }
    return out;
  }

  // A scalar of the value, or of its distance from labels.
  std::string Loss(const std::string& of) {
    const Known known = draft_[of];
    if (known.rank() == 2 && known.high < 50 && known.low > -50 && rng().Chance(60)) {
      return draft_.One("SoftmaxCrossEntropyLoss", 13,
                        {of, draft_.Indices({known.dims[0]}, known.dims[1], false)});
    }
    const std::string squared = rng().Chance(50) ? draft_.One("Mul", 14, {of, of}) : of;
    return draft_.One(rng().Chance(70) ? "ReduceMean" : "ReduceSum", 13, {squared},
                      {Int("keepdims", 0)});
  }

  bool Train() {
    const std::string value = draft_.Find([](const Known& k) {
      return k.trainable && KindOf(k.dtype) == kFloats && k.name[0] == 'h';
    });
    const std::string loss = value.empty() ? "" : Loss(value);
    if (loss.empty()) return false;
    const auto variables = Differentiable(loss, 'v');
    if (variables.empty()) return false;
    const auto gradients = draft_.Gradient(loss, variables);
    if (gradients.empty()) return false;
    const size_t optimizer = rng().Index(std::size(kOptimizers));
    for (size_t i = 0; i < variables.size(); ++i)
      Update(rng().Chance(80) ? optimizer : rng().Index(std::size(kOptimizers)), variables[i],
             gradients[i]);
    draft_.program().fetches = {loss};
    if (rng().Chance(30)) draft_.program().fetches.push_back(gradients[0]);
    draft_.program().steps = static_cast<int>(rng().Between(1, 3));
    return true;
  }

  std::string StateOf(const std::string& variable) {
    const Known known = draft_[variable];
    return draft_.Variable(known.dtype, known.dims, 0, 0);
  }
  NamedAttribute Refers(const char* name, const std::string& variable) {
    return {name, {}, "%" + variable};
  }

  static constexpr const char* kOptimizers[] = {"SGD",  "Adam", "AdaGrad", "RMSProp",
                                                "Lion", "LAMB", "FTRL",    "Adamax"};

  void Update(size_t optimizer, const std::string& variable, const std::string& gradient) {
    std::vector<NamedAttribute> attributes = {Refers("variable", variable)};
    const bool momentum = rng().Chance(50);
    if ((optimizer == 0 || optimizer == 3) && momentum) {
      attributes.push_back(Refers("momentum_variable", StateOf(variable)));
      attributes.push_back(Float("momentum", 0.75));
    }
    if (optimizer == 0 && momentum && rng().Chance(30)) attributes.push_back(Int("nesterov", 1));
    if (optimizer == 1) {
      attributes.push_back(Refers("m_variable", StateOf(variable)));
      attributes.push_back(Refers("v_variable", StateOf(variable)));
      attributes.push_back(Refers("step_variable", draft_.Variable(DType::kInt64, {}, 0, 0)));
      if (rng().Chance(30)) attributes.push_back(Int("decoupled", 1));
      if (rng().Chance(50)) attributes.push_back(Float("beta1", 0.75));
      if (rng().Chance(50)) attributes.push_back(Float("beta2", 0.95));
    }
    if (optimizer == 2) attributes.push_back(Refers("sum_variable", StateOf(variable)));
    if (optimizer == 3) attributes.push_back(Refers("square_variable", StateOf(variable)));
    if (optimizer == 4) {
      // Its step is a sign, which noise would decide for gradients near 0 if this began at 0.
      const Known known = draft_[variable];
      attributes.push_back(Refers("m_variable", draft_.Variable(known.dtype, known.dims, -1, 1)));
      if (rng().Chance(50)) attributes.push_back(Float("beta1", 0.75));
      if (rng().Chance(50)) attributes.push_back(Float("beta2", 0.95));
    }
    if (optimizer == 5) {
      attributes.push_back(Refers("m_variable", StateOf(variable)));
      attributes.push_back(Refers("v_variable", StateOf(variable)));
      attributes.push_back(Refers("step_variable", draft_.Variable(DType::kInt64, {}, 0, 0)));
      if (rng().Chance(50)) attributes.push_back(Float("beta2", 0.95));
    }
    if (optimizer == 6) {
      attributes.push_back(Refers("sum_variable", StateOf(variable)));
      attributes.push_back(Refers("z_variable", StateOf(variable)));
      if (rng().Chance(50)) attributes.push_back(Float("l1", 0.125));
      if (rng().Chance(50)) attributes.push_back(Float("l2", 0.25));
    }
    if (optimizer == 7) {
      attributes.push_back(Refers("m_variable", StateOf(variable)));
      attributes.push_back(Refers("u_variable", StateOf(variable)));
      attributes.push_back(Refers("step_variable", draft_.Variable(DType::kInt64, {}, 0, 0)));
      if (rng().Chance(50)) attributes.push_back(Float("beta1", 0.75));
      if (rng().Chance(50)) attributes.push_back(Float("beta2", 0.95));
    }
    // With the usual 1e-8 the first step would be the gradient's sign, and noise decide it.
    const bool divides = optimizer != 0 && optimizer != 4 && optimizer != 6;
    if (divides) attributes.push_back(Float("epsilon", 0.0625));
    // LAMB would make a step of any size of a gradient that is nothing but noise.
    const bool decays = optimizer == 5 || (optimizer != 6 && rng().Chance(30));
    if (decays) attributes.push_back(Float("weight_decay", 0.125));
    const std::string rate =
        draft_.Constant(rng().Pick({DType::kFloat32, DType::kFloat64}), {}, {0.0625});
    std::vector<std::string> inputs = {rate, gradient};
    if (rng().Chance(20))
      inputs.push_back(draft_.Constant(DType::kBool, {}, {rng().Chance(70) ? 1.0 : 0.0}));
    draft_.Node(Cat("headrace.train.", kOptimizers[optimizer]), 1, inputs, 0, attributes);
  }

  void InputGradient() {
    const std::string value =
        draft_.Find([](const Known& k) { return KindOf(k.dtype) == kFloats && k.name[0] == 'h'; });
    if (value.empty()) return;
    const auto inputs = Differentiable(value, 'x');
    if (inputs.empty()) return;
    for (const std::string& gradient : draft_.Gradient(value, inputs))
      draft_.program().fetches.push_back(gradient);
  }

  void ChooseFetches() {
    std::vector<std::string> ends, inner;
    for (const Known& known : draft_.known()) {
      if (known.name[0] != 'h') continue;
      (known.used ? inner : ends).push_back(known.name);
    }
    auto& fetches = draft_.program().fetches;
    while (ends.size() > 4)
      ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(rng().Index(ends.size())));
    if (!fetches.empty() && rng().Chance(60)) ends.clear();
    fetches.insert(fetches.end(), ends.begin(), ends.end());
    if (!inner.empty() && rng().Chance(20)) fetches.push_back(rng().Pick(inner));
    if (draft_.program().steps == 1 && draft_.program().stateful()) draft_.program().steps = 2;
    std::sort(fetches.begin(), fetches.end());
    fetches.erase(std::unique(fetches.begin(), fetches.end()), fetches.end());
  }

  void ChooseBound() {
    if (rng().Chance(30)) return;
    draft_.program().batch = draft_.batch();
    draft_.program().bound = draft_.batch() + rng().Pick<int64_t>({0, 1, 9});
  }

  Draft draft_;
};

}  // namespace

Program Generate(const ops::OpRegistry& registry, uint64_t seed) {
  return Generator(registry, seed).Run();
}

}  // namespace hr::random_graphs
