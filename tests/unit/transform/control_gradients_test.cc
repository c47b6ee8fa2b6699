// Gradients through branches, loops, scans and calls, against central finite differences.
#include <cmath>

#include "gtest/gtest.h"
#include "runtime/transform/body_scope.h"
#include "runtime/transform/compose.h"
#include "runtime/transform/gradients.h"
#include "tests/reference/evaluator.h"

namespace hr::transform {
namespace {

using ops::kOnnx;
using reference::Array;
using reference::Number;
using ValueIds = std::vector<ValueId>;

const graph::ValueType kVector = graph::ValueType::Tensor(DType::kFloat64, {3});
const graph::ValueType kStep = graph::ValueType::Tensor(DType::kInt64, {});
const graph::ValueType kFlag = graph::ValueType::Tensor(DType::kBool, {});

class ControlGradient : public ::testing::Test {
 protected:
  ValueId Op(Literal name, std::initializer_list<ValueId> inputs,
             std::initializer_list<graph::AttributeInit> attributes = {}) {
    auto out = builder_.EmitOne(kOnnx, name, inputs, attributes);
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return out.ok() ? *out : kNone;
  }
  ValueIds Node(Literal name, ValueIds inputs, size_t outputs,
                std::vector<graph::Attribute> attributes, std::string_view domain = kOnnx) {
    auto out = builder_.Emit(domain, name, inputs, outputs, std::move(attributes));
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return out.ok() ? *out : ValueIds(outputs, kNone);
  }
  ValueId Int(int64_t value) {
    return *builder_.Constant(
        *MakeTensor<int64_t>(SystemAllocator(), {}, std::span<const int64_t>(&value, 1)));
  }
  // A body of these inputs; `make` gives its outputs.
  template <typename Make>
  graph::GraphIndex Body(const std::vector<graph::ValueType>& types, Make make) {
    BodyScope scope(builder_);
    ValueIds inputs;
    for (const auto& type : types) inputs.push_back(*scope.AddInput(type));
    scope.SetOutputs(make(inputs));
    return scope.index();
  }
  ValueId Input(const char* name, const graph::ValueType& type, std::vector<Number> data) {
    const ValueId id = *builder_.AddInput(name, type);
    feeds_[id] = Array(type.dtype, *type.FixedDims());
    feeds_[id].data = std::move(data);
    return id;
  }

  // The sum of y's elements has the gradients that differences say, for each of xs.
  void Check(ValueId y, const ValueIds& xs) {
    const ValueId loss = Op("ReduceSum", {y}, {{"keepdims", int64_t{0}}});
    auto grads = AddGradients(builder_, std::span(&loss, 1), xs);
    ASSERT_TRUE(grads.ok()) << grads.status().ToString();
    auto module = Composed(SystemAllocator(), registry_, builder_.module());
    ASSERT_TRUE(module.ok()) << module.status().ToString();
    for (size_t i = 0; i < xs.size(); ++i) {
      ASSERT_NE((*grads)[i], kNone);
      const Array grad = Run(*module, feeds_, (*grads)[i]);
      for (size_t k = 0; k < grad.size(); ++k) {
        constexpr Number kMove = 1e-6L;
        auto up = feeds_, down = feeds_;
        up[xs[i]].data[k] += kMove;
        down[xs[i]].data[k] -= kMove;
        const Number expected =
            (Run(*module, up, loss).data[0] - Run(*module, down, loss).data[0]) / (2 * kMove);
        EXPECT_NEAR(static_cast<double>(grad.data[k]), static_cast<double>(expected), 1e-7)
            << "x " << i << ", element " << k;
      }
    }
  }
  static Array Run(const graph::Module& module, const std::map<ValueId, Array>& feeds,
                   ValueId fetch) {
    auto out = reference::Evaluator(module).Run(feeds, std::span(&fetch, 1));
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return out.ok() ? (*out)[0] : Array(DType::kFloat64, {0});
  }

  // h ← tanh(h * w), with h * h as a scan.
  graph::GraphIndex Recurrence() {
    return Body({kStep, kFlag, kVector, kVector}, [&](const ValueIds& in) {
      return ValueIds{Op("Identity", {in[1]}), Op("Tanh", {Op("Mul", {in[2], in[3]})}),
                      Op("Mul", {in[2], in[2]})};
    });
  }
  ValueIds Loop(graph::GraphIndex body, ValueId trips, ValueIds operands, int64_t captured,
                size_t outputs) {
    operands.insert(operands.begin(), {trips, kNone});
    return Node("Loop", std::move(operands), outputs, {{"body", body}, {"captured", captured}});
  }

  ops::OpRegistry registry_;
  GraphBuilder builder_{SystemAllocator(), registry_};
  std::map<ValueId, Array> feeds_;
};

TEST_F(ControlGradient, OfALoop) {
  const ValueId h = Input("h", kVector, {0.5, -0.25, 1}), w = Input("w", kVector, {1.2, 0.7, -1});
  const ValueIds out = Loop(Recurrence(), Int(4), {h, w}, 1, 2);
  const ValueId scans = Op("ReduceSum", {out[1]}, {{"keepdims", int64_t{0}}});
  Check(Op("Add", {out[0], scans}), {h, w});
}

// The gradient of a loop is a loop, which has a gradient in turn.
TEST_F(ControlGradient, OfALoopTwice) {
  const ValueId h = Input("h", kVector, {0.5, -0.25, 1}), w = Input("w", kVector, {1.2, 0.7, -1});
  const ValueId y = Loop(Recurrence(), Int(3), {h, w}, 1, 2)[0];
  const ValueId loss = Op("ReduceSum", {y}, {{"keepdims", int64_t{0}}});
  auto first = AddGradients(builder_, std::span(&loss, 1), std::span(&w, 1));
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  Check(Op("Mul", {(*first)[0], (*first)[0]}), {h, w});
}

// Each branch in some iterations, chosen by the iteration's number.
TEST_F(ControlGradient, OfABranchInALoop) {
  const auto square = Body({kVector}, [&](const ValueIds& in) {
    return ValueIds{Op("Mul", {in[0], in[0]})};
  });
  const auto sine =
      Body({kVector}, [&](const ValueIds& in) { return ValueIds{Op("Sin", {in[0]})}; });
  const auto body = Body({kStep, kFlag, kVector}, [&](const ValueIds& in) {
    const ValueId odd = Op("Equal", {Op("Mod", {in[0], Int(2)}), Int(1)});
    const ValueIds y =
        Node("If", {odd, in[2]}, 1,
             {{"then_branch", square}, {"else_branch", sine}, {"captured", int64_t{1}}});
    return ValueIds{Op("Identity", {in[1]}), y[0]};
  });
  const ValueId h = Input("h", kVector, {0.5, -0.25, 1});
  Check(Loop(body, Int(5), {h}, 0, 1)[0], {h});
}

// Of a scan from the end along another axis, and of a call.
TEST_F(ControlGradient, OfAScanAndACall) {
  const auto body = Body({kVector, kVector}, [&](const ValueIds& in) {
    const ValueId next = Op("Sin", {Op("Add", {in[0], in[1]})});
    return ValueIds{next, Op("Mul", {next, in[1]})};
  });
  const ValueId h = Input("h", kVector, {0.5, -0.25, 1});
  const ValueId x =
      Input("x", graph::ValueType::Tensor(DType::kFloat64, {3, 2}), {0.1, 0.2, 0.3, 0.4, 0.5, 0.6});
  const ValueIds out = Node("Scan", {h, x}, 2,
                            {{"body", body},
                             {"num_scan_inputs", int64_t{1}},
                             {"scan_input_axes", std::vector<int64_t>{1}},
                             {"scan_input_directions", std::vector<int64_t>{1}},
                             {"scan_output_axes", std::vector<int64_t>{1}}});
  const auto exp =
      Body({kVector}, [&](const ValueIds& in) { return ValueIds{Op("Exp", {in[0]})}; });
  const ValueId called = Node("Call", {out[0]}, 1, {{"body", exp}}, ops::kControl)[0];
  const ValueId scans = Op("ReduceSum", {out[1]}, {{"keepdims", int64_t{0}}});
  Check(Op("Add", {called, scans}), {h, x});
}

// Of operator set 8: two examples, each along its own first axis, one from the end.
TEST_F(ControlGradient, OfAScanOfManyExamples) {
  const auto body = Body({kVector, kVector, kVector}, [&](const ValueIds& in) {
    const ValueId next = Op("Sin", {Op("Add", {Op("Mul", {in[0], in[2]}), in[1]})});
    return ValueIds{next, Op("Mul", {next, in[1]})};
  });
  const auto batch = [](Dims dims) { return graph::ValueType::Tensor(DType::kFloat64, dims); };
  const ValueId h = Input("h", batch({2, 3}), {0.5, -0.25, 1, 0.1, 0.2, 0.3});
  const ValueId x = Input("x", batch({2, 2, 3}), {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1});
  const ValueId w = Input("w", kVector, {1.2, 0.7, -1});
  auto node = builder_.AddNode({.domain = std::string(kOnnx),
                                .op = "Scan",
                                .version = 8,
                                .inputs = {kNone, h, x, w},
                                .outputs = 2,
                                .attributes = {{"body", body},
                                               {"num_scan_inputs", int64_t{1}},
                                               {"captured", int64_t{1}},
                                               {"directions", std::vector<int64_t>{1}}}});
  ASSERT_TRUE(node.ok()) << node.status().ToString();
  const ValueIds out = builder_.graph().nodes[*node].outputs;
  const ValueId scans = Op("ReduceSum", {out[1]}, {{"keepdims", int64_t{0}}});
  Check(Op("Add", {out[0], scans}), {h, x, w});
}

// A captured value on which a branch does not depend has the gradient 0 there.
TEST_F(ControlGradient, IsZeroWhereABranchDoesNotDepend) {
  const auto first =
      Body({kVector, kVector}, [&](const ValueIds& in) { return ValueIds{Op("Exp", {in[0]})}; });
  const auto second =
      Body({kVector, kVector}, [&](const ValueIds& in) { return ValueIds{Op("Exp", {in[1]})}; });
  const ValueId which = Input("which", kFlag, {1});
  const ValueId a = Input("a", kVector, {1, 2, 3}), b = Input("b", kVector, {3, 2, 1});
  const ValueId y =
      Node("If", {which, a, b}, 1,
           {{"then_branch", first}, {"else_branch", second}, {"captured", int64_t{2}}})[0];
  Check(y, {a, b});
}

TEST_F(ControlGradient, FailsForSequencesAndLeavesTheGraphAsItWas) {
  const graph::ValueType list{.dtype = DType::kFloat64, .kind = graph::ValueKind::kSequence};
  const auto body = Body({kStep, kFlag, list, kVector}, [&](const ValueIds& in) {
    return ValueIds{Op("Identity", {in[1]}), Op("SequenceInsert", {in[2], in[3]})};
  });
  const ValueId x = Input("x", kVector, {1, 2, 3});
  const ValueId empty = Op("SequenceEmpty", {}, {{"dtype", int64_t{11}}});
  const ValueIds out = Loop(body, Int(2), {empty, x}, 1, 1);
  const ValueId y = Op("ConcatFromSequence", {out[0]}, {{"axis", int64_t{0}}});
  const size_t nodes = builder_.graph().nodes.size();
  auto grads = AddGradients(builder_, std::span(&y, 1), std::span(&x, 1));
  ASSERT_FALSE(grads.ok());
  EXPECT_NE(grads.status().message().find("do not flow through sequences"), std::string::npos);
  EXPECT_EQ(builder_.graph().nodes.size(), nodes);
}

}  // namespace
}  // namespace hr::transform
