// What compositions are written with.
#include "runtime/ops/compose.h"

#include "runtime/ops/infer.h"
#include "runtime/transform/compose.h"
#include "tests/unit/transform/built_graph.h"

namespace hr::ops {
namespace {

using transform::BuiltGraph;
using transform::CountOf;

class ComposeContextTest : public BuiltGraph {
 protected:
  // A graph with an operator of this composition over an input; what it becomes.
  Result<graph::Module> Compose(void (*compose)(ComposeContext&), graph::ValueType type,
                                size_t outputs = 1) {
    def_.compose = compose;
    EXPECT_TRUE(registry_.Add(def_).ok());
    x_ = *builder_.AddInput("x", std::move(type));
    const NodeId node =
        AddNode({.domain = "test", .op = "Composed", .inputs = {x_}, .outputs = outputs});
    y_ = Output(node);
    return transform::Composed(SystemAllocator(), registry_, builder_.module());
  }
  Result<graph::Module> Compose(void (*compose)(ComposeContext&), const Dims& dims) {
    return Compose(compose, ValueType::Tensor(DType::kFloat32, dims));
  }
  ValueType Symbolic() {
    ValueType type = ValueType::Tensor(DType::kFloat32, {2, 3, 0});
    type.dims[0] = type.dims[2] = {.symbol = builder_.AddSymbol("n")};
    return type;
  }
  reference::Array Run(const graph::Module& module, const reference::Array& x) {
    auto results = reference::Evaluator(module).Run({{x_, x}}, std::span(&y_, 1));
    EXPECT_TRUE(results.ok()) << results.status().ToString();
    return results.ok() ? (*results)[0] : reference::Array();
  }

  OpDef def_ = {.domain = "test", .name = "Composed", .outputs = {1, 3}, .infer = InferSameAsInput};
  ValueId x_ = kNone, y_ = kNone;
};

TEST_F(ComposeContextTest, KnownSizesAreConstants) {
  const auto module = Compose(
      [](ComposeContext& c) {
        EXPECT_EQ(c.DimOf(c.input(0), 0), c.DimOf(c.input(0), 2));
        EXPECT_EQ(c.DimOf(c.input(0), 0), c.Int(2));
        EXPECT_NE(c.DimOf(c.input(0), 0), c.DimOf(c.input(0), 1));
        EXPECT_EQ(c.ConstantInts(c.DimOf(c.input(0), 1)), std::vector<int64_t>{3});
        c.SetOutput(0, c.input(0));
      },
      {2, 3, 2});
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(CountOf(*module, "Shape"), 0u);
}

// Sizes of one name are asked for once.
TEST_F(ComposeContextTest, SymbolsAreReadWhereTheyAreKnown) {
  const auto module = Compose(
      [](ComposeContext& c) {
        EXPECT_EQ(c.DimOf(c.input(0), 0), c.DimOf(c.input(0), 2));
        const ValueId sizes[] = {c.DimOf(c.input(0), 2), c.Int(-1)};
        c.SetOutput(0, c.Reshape(c.input(0), sizes));
      },
      Symbolic());
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(CountOf(*module, "Shape"), 1u);
  EXPECT_EQ(Run(*module, reference::Array(DType::kFloat32, {4, 3, 4})).dims, (Dims{4, 12}));
}

TEST_F(ComposeContextTest, SizesOfUnknownNamesAreReadEach) {
  ValueType type = Symbolic();
  type.dims[0] = type.dims[2] = {};
  const auto module = Compose(
      [](ComposeContext& c) {
        EXPECT_NE(c.DimOf(c.input(0), 0), c.DimOf(c.input(0), 2));
        EXPECT_EQ(c.DimOf(c.input(0), 0), c.DimOf(c.input(0), 0));
        c.SetOutput(0, c.input(0));
      },
      type);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(CountOf(*module, "Shape"), 2u);
}

TEST_F(ComposeContextTest, MovesAndCounts) {
  const auto module = Compose(
      [](ComposeContext& c) {
        const ValueId x = c.Transpose(c.input(0), {1, 0});                // [3, 2]
        const ValueId part = c.Slice(x, -1, c.Int(1), c.Int(INT64_MAX));  // [3, 1]
        const ValueId counted = c.Cast(c.Unsqueeze(c.Counted(c.DimOf(x, 0)), 1), DType::kFloat32);
        const ValueId sum = c.Reduce("ReduceSum", x, std::array<int64_t, 1>{1});
        c.SetOutput(0, c.Concat(std::array{part, counted, sum}, 1));
      },
      {2, 3});
  ASSERT_TRUE(module.ok());
  reference::Array x(DType::kFloat32, {2, 3});
  x.data = {1, 2, 3, 4, 5, 6};
  const reference::Array y = Run(*module, x);
  EXPECT_EQ(y.dims, (Dims{3, 3}));
  EXPECT_EQ(y.data, (std::vector<reference::Number>{4, 0, 5, 5, 1, 7, 6, 2, 9}));
}

TEST_F(ComposeContextTest, NothingIsEmittedForNothing) {
  const auto module = Compose(
      [](ComposeContext& c) {
        const ValueId x = c.input(0);
        EXPECT_EQ(c.Cast(x, DType::kFloat32), x);
        EXPECT_EQ(c.Scale(x, 1), x);
        EXPECT_EQ(c.CastLike(x, x), x);
        c.SetOutput(0, x);
      },
      {2});
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->main().nodes.size(), 1u);
  EXPECT_EQ(CountOf(*module, "Identity"), 1u);
}

// The first failure is the one that is told, with the node.
TEST_F(ComposeContextTest, KeepsTheFirstFailure) {
  const auto module = Compose(
      [](ComposeContext& c) {
        EXPECT_EQ(c.Axis(-1, 2), 1u);
        EXPECT_TRUE(c.ok());
        EXPECT_EQ(c.Axis(2, 2), 0u);
        EXPECT_FALSE(c.ok());
        EXPECT_EQ(c.DimOf(c.input(0), 7), kNone);
        EXPECT_EQ(c.Emit("NoSuchOperator", {c.input(0)}), kNone);
        c.SetOutput(0, kNone);
      },
      {2, 3});
  EXPECT_EQ(module.status().ToString(),
            "INVALID_ARGUMENT: axis 2 is outside a tensor of rank 2 (node 'Composed')");
}

TEST_F(ComposeContextTest, OnlyOutputsOfTheNodeAreWanted) {
  const auto module = Compose(
      [](ComposeContext& c) {
        EXPECT_TRUE(c.wants_output(0));
        EXPECT_FALSE(c.wants_output(1));
        c.SetOutput(0, c.input(0));
        c.SetOutput(1, c.Emit("Exp", {c.input(0)}));  // left out
        EXPECT_EQ(c.outputs().size(), 1u);
      },
      {2});
  EXPECT_TRUE(module.ok());
}

}  // namespace
}  // namespace hr::ops
