// The nodes and variables that training adds; what comes out of them is
// tests/capi/minimize_test.c's.
#include "runtime/transform/minimize.h"

#include "runtime/ops/optimizer.h"
#include "runtime/transform/gradients.h"
#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class MinimizeTest : public BuiltGraph, public testing::WithParamInterface<DType> {
 protected:
  MinimizeTest() { now_ = *builder_.Read(w_); }

  ValueId Sum(ValueId x) { return Node("ReduceSum", {x}, {{"keepdims", int64_t{0}}}); }
  Status Train(std::string_view signature, ValueId loss, std::string_view optimizer = "sgd") {
    return Minimize(builder_, signature, loss, optimizer, rate_);
  }
  // The only target of a signature.
  const graph::Node& Update(std::string_view signature) {
    const auto& targets = builder_.SignatureNamed(signature).targets;
    EXPECT_EQ(targets.size(), 1u);
    return builder_.graph().nodes[targets.at(0)];
  }
  std::vector<std::string> Variables() const {
    std::vector<std::string> out;
    for (const graph::Variable& variable : builder_.module().variables)
      out.push_back(Cat(variable.name, " ", DTypeName(variable.dtype), variable.dims));
    return out;
  }

  const DType dtype_ = GetParam();
  const uint32_t w_ = Variable("w", {1, 2}, dtype_);
  const ValueId rate_ = Input("rate", {}, dtype_);
  ValueId now_;
};

TEST_P(MinimizeTest, SaysWhereGradientsStop) {
  const ValueId below =
      Output(AddNode({.op = "Floor", .inputs = {Node("Neg", {now_})}, .name = "below"}));
  const Status status = Train("train", Sum(Node("Neg", {below})));
  EXPECT_EQ(status.message(),
            "the loss depends on no trainable variable through differentiable operators: on the "
            "path of 'w', Neg -> below -> Neg_1 -> ReduceSum, Floor has no gradient");
  EXPECT_EQ(status.node(), "below");
  EXPECT_EQ(Train("train", Sum(Input("x", {2}, dtype_))).message(),
            "the loss depends on no trainable variable through differentiable operators");
}

TEST_P(MinimizeTest, AnUpdateTakesTheGradientOfItsVariable) {
  const uint32_t fixed = *builder_.AddVariable("fixed", Make(dtype_, {2}, {1, 2}), false);
  Variable("unused", {1, 2}, dtype_);
  const ValueId loss = Sum(Node("Mul", {now_, *builder_.Read(fixed)}));
  ASSERT_TRUE(Train("train", loss).ok());
  const graph::Node& update = Update("train");
  EXPECT_EQ(builder_.module().OperatorOf(update).name, "SGD");
  EXPECT_EQ(update.Int("variable", -1), w_);
  EXPECT_EQ(update.inputs[0], rate_);
  EXPECT_EQ(builder_.graph().values[update.inputs[1]].type, graph::ValueType::Tensor(dtype_, {2}));
  EXPECT_EQ(update.controls, std::vector<NodeId>()) << "the read is of the start of the step";
  EXPECT_TRUE(builder_.Finish().ok());
}

TEST_P(MinimizeTest, StateHasTheTypeOfItsVariableAndANameOfItsOwn) {
  const ValueId loss = Sum(now_);
  ASSERT_TRUE(Train("a", loss, "sgd momentum=0.5").ok());
  ASSERT_TRUE(Train("b", loss, "sgd momentum=0.5").ok());
  ASSERT_TRUE(Train("c", loss, "adam").ok());
  const std::string type = Cat(DTypeName(dtype_), Dims{2});
  EXPECT_EQ(Variables(), (std::vector<std::string>{"w " + type, "w/momentum " + type,
                                                   "w/b/momentum " + type, "w/adam_m " + type,
                                                   "w/adam_v " + type, "w/adam_step int64[]"}));
  EXPECT_FALSE(builder_.module().variables[1].trainable);
  EXPECT_EQ(Update("b").Int("momentum_variable", -1), 2);
}

TEST_P(MinimizeTest, EveryOptimizerGetsItsSettingsAndItsState) {
  const ValueId loss = Sum(now_);
  for (const ops::OptimizerDef& def : ops::Optimizers()) {
    std::string text(def.name);
    for (const ops::OptimizerState& state : def.state)
      if (const std::string_view setting = state.setting; !setting.empty())
        text += Cat(" ", setting, "=0.5");
    text += Cat(" ", def.settings.back().name, "=1");
    for (bool all : {false, true}) {
      const std::string signature = Cat(def.name, all);
      ASSERT_TRUE(Train(signature, loss, all ? text : std::string(def.name)).ok()) << text;
      const graph::Node& update = Update(signature);
      EXPECT_EQ(builder_.module().OperatorOf(update).name, def.op);
      EXPECT_EQ(ops::SettingsOf(def, update).back(), all ? 1 : def.settings.back().otherwise);
      for (const ops::OptimizerState& state : def.state) {
        const bool always = std::string_view(state.setting).empty();
        ASSERT_EQ(update.Find(state.attribute) != nullptr, all || always) << text;
        if (!all && !always) continue;
        const auto& variable =
            builder_.module().variables.at(static_cast<size_t>(update.Int(state.attribute, -1)));
        EXPECT_TRUE(variable.name.ends_with(state.suffix)) << variable.name;
        EXPECT_EQ(variable.dtype, state.counter ? DType::kInt64 : dtype_) << variable.name;
        EXPECT_EQ(variable.dims, state.counter ? Dims{} : Dims{2}) << variable.name;
      }
    }
  }
  EXPECT_TRUE(builder_.Finish().ok());
}

// For every optimizer.
TEST_P(MinimizeTest, IsGradientsAndTheirApplication) {
  const uint32_t v = Variable("v", {3, 4}, dtype_), unused = Variable("unused", {5, 6}, dtype_);
  const uint32_t frozen = *builder_.AddVariable("frozen", Make(dtype_, {2}, {1, 2}), false);
  const ValueId later = *builder_.Read(v);
  const ValueId loss = Sum(Node("Mul", {now_, Node("Mul", {later, *builder_.Read(frozen)})}));
  const std::string before = Saved();
  for (const ops::OptimizerDef& def : ops::Optimizers()) {
    GraphBuilder one = builder_, two = builder_;
    ASSERT_TRUE(Minimize(one, "train", loss, def.name, rate_).ok());
    const std::vector<uint32_t> variables = {w_, v, unused};
    const auto gradients = *VariableGradients(two, loss, variables);
    EXPECT_EQ(gradients[2], kNone);
    ASSERT_TRUE(ApplyGradients(two, "train", def.name, rate_, variables, gradients).ok());
    EXPECT_EQ(SavedOf(one), SavedOf(two)) << std::string_view(def.name);
    EXPECT_NE(SavedOf(one), before);
  }
}

TEST_P(MinimizeTest, GradientsComeInTheOrderAskedFor) {
  const uint32_t v = Variable("v", {3, 4}, dtype_);
  const ValueId loss = Sum(Node("Mul", {now_, *builder_.Read(v)}));
  const auto gradients = *VariableGradients(builder_, loss, std::vector<uint32_t>{v, w_, v});
  EXPECT_EQ(gradients[0], gradients[2]);
  EXPECT_NE(gradients[0], gradients[1]);
  for (ValueId gradient : gradients)
    EXPECT_EQ(builder_.graph().values[gradient].type, graph::ValueType::Tensor(dtype_, {2}));
}

// Its own signature's effects come before the update; another signature's do not hold it up.
TEST_P(MinimizeTest, UpdatesWaitForTheEffectsOfTheirOwnStep) {
  ASSERT_TRUE(Train("other", Sum(now_)).ok());
  const NodeId add = Effect("AssignAdd", w_, now_);
  const ValueId after = *builder_.Read(w_);
  ASSERT_TRUE(Train("start", Sum(now_)).ok());
  EXPECT_EQ(Update("start").controls, std::vector<NodeId>());
  ASSERT_TRUE(Train("both", Sum(Node("Add", {now_, after}))).ok());
  const auto& controls = Update("both").controls;
  for (NodeId wanted : {add, Producer(after)})
    EXPECT_EQ(std::count(controls.begin(), controls.end(), wanted), 1);
}

TEST_P(MinimizeTest, AFailureLeavesTheGraphAsItWas) {
  const ValueId loss = Sum(now_);
  builder_.SetDevice("TOY:0");
  const std::string before = Saved();
  for (const auto& [words, optimizer] :
       {std::pair("there is no optimizer 'none'; there are: sgd, adam, adamax", "none"),
        std::pair("optimizer 'sgd' has no setting 'beta1'", "sgd beta1=0.5"),
        std::pair("optimizer 'adam' has no setting 'm_variable'", "adam m_variable=0"),
        std::pair("optimizer 'adam': beta1 must be", "adam beta1=1"),
        std::pair("expected name=value", "adam beta1")}) {
    const Status status = Train("train", loss, optimizer);
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  }
  EXPECT_EQ(Train("train", now_).code(), Code::kInvalidArgument);
  EXPECT_EQ(Train("train", 999).code(), Code::kInvalidArgument);
  EXPECT_EQ(Train("train", rate_).code(), Code::kFailedPrecondition);
  EXPECT_EQ(Saved(), before);
  EXPECT_EQ(builder_.SetDevice(""), "TOY:0");
}

// The first variable's update and its state are there when the second variable's is refused.
TEST_P(MinimizeTest, AFailureAtTheLastVariableLeavesTheGraphAsItWas) {
  const ValueId other = *builder_.Read(Variable("other", {1, 2}, dtype_));
  ASSERT_TRUE(Train("train", Sum(other)).ok());
  const ValueId loss = Sum(Node("Mul", {now_, Node("Dropout", {other})}));
  const std::string before = Saved();
  const Status status = Train("train", loss, "adam");
  EXPECT_NE(status.message().find("updates variable 'other' already"), std::string::npos);
  EXPECT_EQ(Saved(), before);
  EXPECT_TRUE(Train("next", loss, "adam").ok());
}

INSTANTIATE_TEST_SUITE_P(Types, MinimizeTest, testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

}  // namespace
}  // namespace hr::transform
