// Where gradients stop, add up or are refused; their values are gradient_check_test.cc's.
#include "runtime/transform/gradients.h"

#include "runtime/ops/infer.h"
#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class Gradients : public BuiltGraph {
 protected:
  Result<std::vector<ValueId>> Of(std::vector<ValueId> ys, std::vector<ValueId> xs,
                                  std::vector<ValueId> grad_ys = {}) {
    return AddGradients(builder_, ys, xs, grad_ys);
  }
  std::string MessageOf(const Result<std::vector<ValueId>>& result) {
    return result.ok() ? "it was done" : std::string(result.status().message());
  }
  // The value where x is {3, 5}.
  Values At35(ValueId value) {
    reference::Array x(DType::kFloat32, {2});
    x.data = {3, 5};
    auto result = reference::Evaluator(builder_.module()).Run({{x_, x}}, std::vector{value});
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return {(*result)[0].data.begin(), (*result)[0].data.end()};
  }

  const ValueId x_ = Input("x", {2});
};

TEST_F(Gradients, StopWhereNothingDependsOnX) {
  const ValueId other = Input("other", {2});
  const ValueId y = Node("Exp", {other});
  const size_t nodes = builder_.graph().nodes.size();
  EXPECT_EQ(Of({y}, {x_}).value(), std::vector<ValueId>{kNone});
  for (size_t i = nodes; i < builder_.graph().nodes.size(); ++i)
    EXPECT_NE(builder_.module().OperatorOf(builder_.graph().nodes[i]).name, "Mul");
}

TEST_F(Gradients, StopAtIntegersAndAtWhatIsNotDifferentiable) {
  const auto cast = [&](ValueId value, DType dtype) {
    return Node("Cast", {value}, {{"to", static_cast<int64_t>(dtype)}});
  };
  const ValueId through = cast(cast(x_, DType::kInt64), DType::kFloat32);
  EXPECT_EQ(Of({through}, {x_}).value(), std::vector<ValueId>{kNone});
  const ValueId doubled = cast(cast(x_, DType::kFloat64), DType::kFloat32);
  const ValueId grad = Of({doubled}, {x_}).value()[0];
  EXPECT_EQ(builder_.graph().values[grad].type.dtype, DType::kFloat32);
  EXPECT_EQ(At35(grad), (Values{1, 1}));
}

TEST_F(Gradients, OfSeveralUsesAddUp) {
  const ValueId y = Node("Add", {Node("Mul", {x_, x_}), x_});
  EXPECT_EQ(At35(Of({y}, {x_}).value()[0]), (Values{7, 11}));
  const ValueId z = Node("Neg", {x_});
  EXPECT_EQ(At35(Of({y, z, y}, {x_}).value()[0]), (Values{13, 21}));
}

TEST_F(Gradients, AreWeighedByWhatIsGiven) {
  const ValueId y = Node("Mul", {x_, x_}), z = Node("Neg", {x_});
  EXPECT_EQ(At35(Of({y, z}, {x_}, {Constant({10, 100}), kNone}).value()[0]), (Values{59, 999}));
  EXPECT_EQ(At35(Of({x_}, {x_}, {Constant({10, 100})}).value()[0]), (Values{10, 100}));
}

TEST_F(Gradients, AreComputedWhereTheirNodesAre) {
  const ValueId y = Output(AddNode({.op = "Exp", .inputs = {x_}, .device = "TOY:0"}));
  const ValueId grad = Of({y}, {x_}).value()[0];
  EXPECT_EQ(builder_.graph().nodes[Producer(grad)].device, "TOY:0");
  EXPECT_EQ(builder_.graph().nodes[AddNode({.op = "Exp", .inputs = {x_}})].device, "");
}

// ---- What is refused ----

void AddNodeAndFail(ops::GradientContext& g) {
  g.SetGrad(0, g.Neg(g.grad(0)));
  g.Fail(Unavailable("not today"));
}

constexpr ops::OpDef kBroken{
    .domain = "test", .name = "Broken", .infer = ops::InferSameAsInput, .gradient = AddNodeAndFail};

class RefusedGradients : public Gradients {
 protected:
  RefusedGradients() { EXPECT_TRUE(registry_.Add(kBroken).ok()); }

  ValueId Broken(ValueId x) {
    return Output(AddNode({.domain = "test", .op = "Broken", .inputs = {x}}));
  }
};

TEST_F(RefusedGradients, LeaveTheGraphAsItWas) {
  const ValueId image = Input("image", {1, 1, 4, 4});
  // Its gradient asks for the second output, the indices.
  const auto pool = [&](ValueId x) {
    return Node("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  };
  const ValueId early = Broken(pool(image)), late = pool(Broken(image)), good = pool(image);
  ASSERT_TRUE(builder_.AddSignature({.name = "infer", .outputs = {{"good", good}}}).ok());
  builder_.SetDevice("TOY:0");
  const std::string before = Saved();
  for (const ValueId y : {early, late}) {
    EXPECT_NE(MessageOf(Of({good, y}, {image})).find("not today"), std::string::npos);
    EXPECT_EQ(Saved(), before);
  }
  EXPECT_EQ(builder_.SetDevice("TOY:0"), "TOY:0");
  // What is added afterwards is what is added without any refusal.
  const ValueId grad = Of({good}, {image}).value()[0];
  EXPECT_EQ(builder_.graph().values[grad].name, "gradients/MaxPoolGrad:0");
  EXPECT_EQ(builder_.graph().nodes[AddNode({.op = "Exp", .inputs = {grad}})].name, "Exp");
}

TEST_F(Gradients, WrongRequestsAreRefused) {
  const ValueId ints = Input("ints", {2}, DType::kInt64);
  const ValueId y = Node("Exp", {x_});
  EXPECT_EQ(MessageOf(Of({99}, {x_})), "gradients: y #99 is not a value of this graph");
  EXPECT_EQ(MessageOf(Of({y}, {99})), "gradients: x #99 is not a value of this graph");
  EXPECT_EQ(MessageOf(Of({y}, {x_}, {kNone, kNone})),
            "gradients want no grad_ys or one per y: 1, got 2");
  EXPECT_EQ(MessageOf(Of({y}, {ints})),
            "cannot differentiate with respect to 'ints' of type int64");
  EXPECT_NE(MessageOf(Of({ints}, {x_})).find("'ints' is int64"), std::string::npos);
}

}  // namespace
}  // namespace hr::transform
