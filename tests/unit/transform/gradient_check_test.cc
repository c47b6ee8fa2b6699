// Symbolic gradients, evaluated in exact arithmetic, against central finite differences; and the
// types that the rules inferred against the arrays that came out.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/transform/compose.h"
#include "runtime/transform/gradients.h"
#include "tests/reference/evaluator.h"
#include "tests/unit/transform/gradient_cases.h"

namespace hr::transform {
namespace {

using reference::Array;
using reference::Number;
using Kind = GradientCase::Input::Kind;

// How much the type rules get to know about differentiated inputs.
enum class Shapes { kFixed, kUnknown, kUnranked };

class Check {
 public:
  Check(const GradientCase& row, Shapes shapes)
      : row_(row), shapes_(shapes), builder_(SystemAllocator(), registry_) {}

  // "" where everything agrees.
  std::string Run() {
    Status status = Build();
    if (!status.ok()) return status.ToString();
    std::string wrong = CompareTypes();
    for (size_t i = 0; wrong.empty() && i < xs_.size(); ++i) wrong = CompareGradient(i);
    return wrong;
  }

 private:
  graph::ValueType TypeOf(const Array& value, const std::vector<size_t>& known = {}) const {
    graph::ValueType type = graph::ValueType::Tensor(value.dtype, value.dims);
    if (shapes_ == Shapes::kFixed) return type;
    if (shapes_ == Shapes::kUnranked) return {.dtype = value.dtype};
    for (graph::Dim& dim : type.dims) dim = {};
    for (size_t axis : known) type.dims[axis].size = value.dims[axis];
    return type;
  }

  Result<ValueId> AddInput(const GradientCase::Input& input) {
    if (input.kind == Kind::kOmitted) return kNone;
    if (input.kind == Kind::kConstant) return builder_.Constant(reference::ToTensor(input.value));
    HR_ASSIGN_OR_RETURN(ValueId id, builder_.AddInput(Cat("x", feeds_.size()),
                                                      TypeOf(input.value, input.known_axes)));
    feeds_[id] = input.value;
    if (input.kind == Kind::kDifferentiated) xs_.push_back(id);
    return id;
  }

  Status Build() {
    NodeSpec spec{.domain = row_.domain,
                  .op = row_.op,
                  .version = row_.version,
                  .outputs = row_.outputs,
                  .attributes = row_.attributes};
    for (const auto& input : row_.inputs) {
      HR_ASSIGN_OR_RETURN(ValueId id, AddInput(input));
      spec.inputs.push_back(id);
    }
    HR_ASSIGN_OR_RETURN(NodeId node, builder_.AddNode(spec));
    for (ValueId output : builder_.graph().nodes[node].outputs) {
      if (IsFloating(builder_.graph().values[output].type.dtype)) ys_.push_back(output);
    }
    HR_RETURN_IF_ERROR(FeedOutputGradients());
    HR_ASSIGN_OR_RETURN(grads_, AddGradients(builder_, ys_, xs_, grad_ys_));
    return Compose();
  }

  // The reference evaluates what composed operators are composed of.
  Status Compose() {
    HR_ASSIGN_OR_RETURN(module_, Composed(SystemAllocator(), registry_, builder_.module(), true));
    return {};
  }

  // Weights of the outputs' elements, all different.
  Status FeedOutputGradients() {
    HR_RETURN_IF_ERROR(Compose());
    HR_ASSIGN_OR_RETURN(std::vector<Array> ys, Evaluate(feeds_, ys_));
    for (size_t o = 0; o < ys.size(); ++o) {
      for (size_t i = 0; i < ys[o].size(); ++i) {
        ys[o].data[i] = std::cos(static_cast<Number>(1 + i + 10 * o)) + Number{0.3};
      }
      HR_ASSIGN_OR_RETURN(ValueId id, builder_.AddInput(Cat("dy", o), TypeOf(ys[o])));
      feeds_[id] = ys[o];
      grad_ys_.push_back(id);
    }
    return {};
  }

  Result<std::vector<Array>> Evaluate(const std::map<ValueId, Array>& feeds,
                                      std::span<const ValueId> fetches) const {
    return reference::Evaluator(module_).Run(feeds, fetches);
  }

  // What every node computes has the type that was inferred for it.
  std::string CompareTypes() const {
    std::vector<ValueId> produced;
    for (const graph::Node& node : module_.main().nodes) {
      for (ValueId output : node.outputs) produced.push_back(output);
    }
    auto values = Evaluate(feeds_, produced);
    if (!values.ok()) return values.status().ToString();
    for (size_t i = 0; i < produced.size(); ++i) {
      const graph::Value& value = module_.main().values[produced[i]];
      const Array& got = (*values)[i];
      bool fits = value.type.dtype == got.dtype &&
                  (!value.type.ranked || value.type.dims.size() == got.dims.size());
      for (size_t d = 0; fits && d < value.type.dims.size(); ++d) {
        fits = !value.type.dims[d].fixed() || value.type.dims[d].size == got.dims[d];
      }
      bool complete = shapes_ != Shapes::kFixed || value.type.FixedDims() || Computed();
      if (!fits || !complete) {
        return Cat(graph::NodeText(module_, module_.main(), value.producer), " has type ",
                   graph::TypeText(value.type, {}), ", computed ", DTypeName(got.dtype),
                   ShapeText(got.dims));
      }
    }
    return "";
  }

  // Fed integers may be axes or shapes, which leave types open; so are the shapes that compositions
  // compute until a plan folds them.
  bool Computed() const {
    if (HasComposed(registry_, builder_.module())) return true;
    for (const auto& input : row_.inputs) {
      if (input.kind == Kind::kFed && input.value.dtype == DType::kInt64) return true;
    }
    return false;
  }

  // The weighted sum of the outputs with element `i` of x moved.
  Number Loss(ValueId x, size_t i, Number move) const {
    std::map<ValueId, Array> feeds = feeds_;
    feeds[x].data[i] += move;
    std::vector<Array> ys = Evaluate(feeds, ys_).value();
    Number loss = 0;
    for (size_t o = 0; o < ys.size(); ++o) {
      const Array& weights = feeds_.at(grad_ys_[o]);
      for (size_t k = 0; k < ys[o].size(); ++k) loss += ys[o].data[k] * weights.data[k];
    }
    return loss;
  }

  std::string CompareGradient(size_t which) const {
    constexpr Number kMove = 1e-6L;
    if (grads_[which] == kNone) return Cat("input ", which, " got no gradient");
    auto values = Evaluate(feeds_, std::span(&grads_[which], 1));
    if (!values.ok()) return values.status().ToString();
    const Array& grad = (*values)[0];
    ValueId x = xs_[which];
    if (grad.dims != feeds_.at(x).dims || grad.dtype != DType::kFloat64) {
      return Cat("the gradient has type ", DTypeName(grad.dtype), ShapeText(grad.dims));
    }
    for (size_t i = 0; i < grad.size(); ++i) {
      Number expected = (Loss(x, i, kMove) - Loss(x, i, -kMove)) / (2 * kMove);
      if (std::fabs(grad.data[i] - expected) <= 1e-8L * (1 + std::fabs(expected))) continue;
      return Cat("gradient of input ", which, ", element ", i, ": expected ",
                 static_cast<double>(expected), ", got ", static_cast<double>(grad.data[i]));
    }
    return "";
  }

  const GradientCase& row_;
  Shapes shapes_;
  ops::OpRegistry registry_;
  GraphBuilder builder_;
  graph::Module module_;
  std::map<ValueId, Array> feeds_;
  std::vector<ValueId> xs_, ys_, grad_ys_, grads_;
};

class GradientCheck : public ::testing::TestWithParam<GradientCase> {};

TEST_P(GradientCheck, AgreesWithFiniteDifferences) {
  EXPECT_EQ(Check(GetParam(), Shapes::kFixed).Run(), "");
}

TEST_P(GradientCheck, AgreesWhereShapesAreUnknown) {
  EXPECT_EQ(Check(GetParam(), Shapes::kUnknown).Run(), "");
}

// Rules either do without a rank, or say that they need it.
TEST_P(GradientCheck, AgreesWhereRanksAreUnknownOrSaysSo) {
  const std::string wrong = Check(GetParam(), Shapes::kUnranked).Run();
  EXPECT_TRUE(wrong.empty() || wrong.find("needs to know") != std::string::npos) << wrong;
}

std::string CaseName(const ::testing::TestParamInfo<GradientCase>& info) {
  return Cat(info.param.op, info.param.version, "_", info.index);
}

INSTANTIATE_TEST_SUITE_P(Table, GradientCheck, ::testing::ValuesIn(GradientCases()), CaseName);

// Composed operators without a gradient: they round, choose, or take integers only.
bool Differentiable(const ops::OpDef& def) {
  const std::set<std::string_view> none = {"Hardmax",
                                           "QuantizeLinear",
                                           "DynamicQuantizeLinear",
                                           "MatMulInteger",
                                           "ConvInteger",
                                           "QLinearMatMul",
                                           "QLinearConv",
                                           "HannWindow",
                                           "HammingWindow",
                                           "BlackmanWindow",
                                           "MelWeightMatrix",
                                           "NonZero",
                                           "NonMaxSuppression",
                                           "Binarizer",
                                           "LabelEncoder",
                                           "OneHotEncoder",
                                           "TreeEnsembleClassifier",
                                           "TreeEnsembleRegressor",
                                           "TreeEnsemble"};
  // Their rules say that there is none.
  if ((def.containers && def.name != "Identity") || def.name == "CouplePairs") return false;
  return def.gradient || (def.compose != nullptr && none.count(def.name) == 0);
}

TEST(GradientTable, HasEveryDifferentiableOperator) {
  ops::OpRegistry registry;
  std::set<const ops::OpDef*> covered;
  for (const GradientCase& row : GradientCases()) {
    covered.insert(row.version == 0 ? registry.Newest(row.domain, row.op)
                                    : registry.Find(row.domain, row.op, row.version));
  }
  for (const ops::OpDef* def : registry.all()) {
    // Those of the ranks of a group take processes: tests/capi/comm_graph_test.c.
    if (!Differentiable(*def) || def->domain == ops::kComm) continue;
    EXPECT_EQ(covered.count(def), 1u)
        << def->name.data() << " since " << def->since_version << " has no row in gradient_cases.h";
  }
}

}  // namespace
}  // namespace hr::transform
