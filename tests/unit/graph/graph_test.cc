#include "runtime/graph/graph.h"

#include <gtest/gtest.h>

#include <limits>

namespace hr::graph {
namespace {

// Nodes that wait for each other as `controls` says.
Graph Waiting(std::vector<std::vector<NodeId>> controls) {
  Graph graph;
  for (auto& waits : controls) graph.nodes.push_back({.controls = std::move(waits)});
  return graph;
}

TEST(TopologicalOrder, SmallestIdFirst) {
  EXPECT_EQ(TopologicalOrder(Waiting({{}, {}, {}})).value(), (std::vector<NodeId>{0, 1, 2}));
  EXPECT_EQ(TopologicalOrder(Waiting({{3}, {}, {0, 1}, {}})).value(),
            (std::vector<NodeId>{1, 3, 0, 2}));
  EXPECT_EQ(TopologicalOrder(Waiting({})).value(), std::vector<NodeId>());
}

TEST(TopologicalOrder, FollowsValues) {
  Graph graph;
  graph.values = {{.producer = 1}, {.producer = kNone}};
  graph.nodes = {{.inputs = {0, 0, 1, kNone}}, {.outputs = {0}}};
  EXPECT_EQ(TopologicalOrder(graph).value(), (std::vector<NodeId>{1, 0}));
}

TEST(TopologicalOrder, FindsCycles) {
  auto order = TopologicalOrder(Waiting({{}, {2}, {1}}));
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(order.status().message(), "the graph has a cycle: 2 of 3 nodes wait for each other");
}

TEST(Node, AttributesByType) {
  Node node;
  node.attributes = {{"i", int64_t{-3}},
                     {"f", 0.5},
                     {"s", std::string("text")},
                     {"ints", std::vector<int64_t>{1, 2}}};
  EXPECT_EQ(node.Int("i", 7), -3);
  EXPECT_EQ(node.Int("missing", 7), 7);
  EXPECT_EQ(node.Int("f", 7), 7);  // another type
  EXPECT_EQ(node.Float("f", 0), 0.5);
  EXPECT_EQ(node.String("s", ""), "text");
  EXPECT_EQ(node.Ints("ints").size(), 2u);
  EXPECT_TRUE(node.Ints("missing").empty());
}

TEST(Module, InternsOperators) {
  Module module;
  EXPECT_EQ(module.InternOperator("", "Add", 13), 0u);
  EXPECT_EQ(module.InternOperator("", "Add", 14), 1u);
  EXPECT_EQ(module.InternOperator("x", "Add", 13), 2u);
  EXPECT_EQ(module.InternOperator("", "Add", 13), 0u);
}

TEST(TypeText, NamesSymbols) {
  ValueType type{
      .dtype = DType::kFloat32, .ranked = true, .dims = {{.symbol = 0}, {.size = 10}, {}}};
  EXPECT_EQ(TypeText(type, {{"batch"}}), "float32[batch, 10, ?]");
  EXPECT_EQ(TypeText(ValueType::Unranked(DType::kInt64), {}), "int64 of unknown rank");
}

}  // namespace
}  // namespace hr::graph
