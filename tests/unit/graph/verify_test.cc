#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "runtime/graph/graph.h"

namespace hr::graph {
namespace {

// x → a → b, in the main graph; b waits for a besides.
Module Chain() {
  Module m;
  m.operators = {{"", "Relu", 13}};
  ValueType type = ValueType::Tensor(DType::kFloat32, {4});
  m.main().values = {{.type = type}, {.type = type, .producer = 0}, {.type = type, .producer = 1}};
  m.main().nodes = {{.op = 0, .inputs = {0}, .outputs = {1}, .name = "a"},
                    {.op = 0, .inputs = {1}, .outputs = {2}, .controls = {0}, .name = "b"}};
  m.main().inputs = {0};
  m.symbols = {{"n"}};
  m.constants = {Tensor::WithoutData(DType::kFloat32, {4})};
  m.graphs.push_back(m.main());
  m.graphs.push_back({.values = {{.type = type, .constant = 0}}, .outputs = {0}});
  m.variables = {{"v", DType::kFloat32, {4}, true, 0, kNone},
                 {"w", DType::kFloat32, {4}, true, kNone, 2}};
  m.signatures = {{"infer", {{"x", 0}}, {{"y", 2}}, {1}}};
  return m;
}

struct Damage {
  const char* expected;  // a part of the message
  std::function<void(Module&)> apply;
};

TEST(Verify, AcceptsTheChain) {
  Status status = Verify(Chain());
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(Verify, FindsEachDamage) {
  const Damage damages[] = {
      {"no main graph", [](Module& m) { m.graphs.clear(); }},
      {"operator 1 is out of range", [](Module& m) { m.main().nodes[0].op = 1; }},
      {"input: value 3", [](Module& m) { m.main().nodes[0].inputs = {3}; }},
      {"output: value 9", [](Module& m) { m.main().nodes[0].outputs = {9}; }},
      {"control: node 2", [](Module& m) { m.main().nodes[0].controls = {2}; }},
      {"has a cycle", [](Module& m) { m.main().nodes[0].controls = {1}; }},
      {"has a cycle", [](Module& m) { m.main().nodes[0].controls = {0}; }},
      {"#1 is an output twice",
       [](Module& m) {
         m.main().nodes[0].outputs = {1, 1};
       }},
      {"#1 is an output twice", [](Module& m) { m.main().nodes[1].outputs = {1}; }},
      {"does not list it", [](Module& m) { m.main().nodes[1].outputs = {}; }},
      {"constant 5", [](Module& m) { m.main().values[0].constant = 5; }},
      {"also a constant", [](Module& m) { m.main().values[0].constant = 0; }},
      {"a constant and a node's", [](Module& m) { m.main().values[1].constant = 0; }},
      {"its constant is", [](Module& m) { m.graphs[2].values[0].type.dims[0].size = 3; }},
      {"negative dimension", [](Module& m) { m.main().values[0].type.dims[0].size = -2; }},
      {"a size and a symbol", [](Module& m) { m.main().values[0].type.dims[0].symbol = 0; }},
      {"symbol 7", [](Module& m) { m.main().values[0].type.dims[0] = {.symbol = 7}; }},
      {"but no rank", [](Module& m) { m.main().values[0].type.ranked = false; }},
      {"has rank 65", [](Module& m) { m.main().values[0].type.dims.resize(65); }},
      {"graph input: value 3", [](Module& m) { m.main().inputs = {3}; }},
      {"input twice",
       [](Module& m) {
         m.main().inputs = {0, 0};
       }},
      {"also a constant or", [](Module& m) { m.main().inputs = {1}; }},
      {"graph output: value 3", [](Module& m) { m.main().outputs = {3}; }},
      {"bounds 5 to 4",
       [](Module& m) {
         m.symbols[0] = {"n", 5, 4, {}};
       }},
      {"bounds -1", [](Module& m) { m.symbols[0].min = -1; }},
      {"do not ascend",
       [](Module& m) {
         m.symbols[0].buckets = {2, 2};
       }},
      {"attribute k: constant 1",
       [](Module& m) {
         m.main().nodes[0].attributes = {{"k", TensorIndex{1}}};
       }},
      {"attribute k: graph 3",
       [](Module& m) {
         m.main().nodes[0].attributes = {{"k", GraphIndex{3}}};
       }},
      {"contains itself",
       [](Module& m) {
         m.main().nodes[0].attributes = {{"k", GraphIndex{0}}};
       }},
      {"variables are called 'v'", [](Module& m) { m.variables[1].name = "v"; }},
      {"variable has no name", [](Module& m) { m.variables[1].name = ""; }},
      {"initial value: constant 1", [](Module& m) { m.variables[0].initial_constant = 1; }},
      {"its initial value is", [](Module& m) { m.variables[0].dims = {5}; }},
      {"unsupported type", [](Module& m) { m.variables[0].dtype = DType::kString; }},
      {"initial value: graph 9", [](Module& m) { m.variables[1].initial_graph = 9; }},
      {"initializer graph", [](Module& m) { m.variables[1].initial_graph = 1; }},
      {"signature infer: value 3", [](Module& m) { m.signatures[0].inputs[0].value = 3; }},
      {"target: node 2", [](Module& m) { m.signatures[0].targets = {2}; }},
      {"are called 'x'",
       [](Module& m) {
         m.signatures[0].inputs.push_back({"x", 1});
       }},
      {"node's name is not UTF-8", [](Module& m) { m.main().nodes[0].name = "\xFF"; }},
      {"value's name is not UTF-8", [](Module& m) { m.main().values[0].name.push_back(0); }},
      {"device is not UTF-8", [](Module& m) { m.main().nodes[0].device = "CPU\xC3"; }},
      {"operator's name is not", [](Module& m) { m.operators[0].name = "\xED\xA0\x80"; }},
      {"variable's name is not", [](Module& m) { m.variables[0].name = "\xC0\x80"; }},
      {"output's name is not", [](Module& m) { m.signatures[0].outputs[0].name = "\x80"; }},
      {"symbol's name is not", [](Module& m) { m.symbols[0].name = "\xF5\x80\x80\x80"; }},
      {"producer is not UTF-8", [](Module& m) { m.producer = "\xE0\x80\x80"; }},
      {"metadata value is not", [](Module& m) { m.metadata["k"] = "\xF4\x90\x80\x80"; }},
      {"attribute's name is not",
       [](Module& m) {
         m.main().nodes[0].attributes = {{"\xFE", int64_t{1}}};
       }},
      {"has no name", [](Module& m) { m.signatures[0].name = ""; }},
  };
  for (const Damage& damage : damages) {
    Module module = Chain();
    damage.apply(module);
    Status status = Verify(module);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << damage.expected;
    EXPECT_NE(status.message().find(damage.expected), std::string::npos)
        << "expected '" << damage.expected << "', got: " << status.ToString();
  }
}

TEST(Verify, NamesMayBeAnyText) {
  Module module = Chain();
  module.main().nodes[0].name = "größe \xE2\x82\xAC \xF0\x9F\x8C\x8A \xED\x9F\xBF";
  module.main().nodes[0].attributes = {{"bytes", std::string("\xFF\0", 2)}};
  EXPECT_TRUE(Verify(module).ok()) << Verify(module).ToString();
}

TEST(Verify, NamesTheNode) {
  Module module = Chain();
  module.main().nodes[1].op = 4;
  EXPECT_EQ(Verify(module).node(), "b");
  module.main().nodes[1].name.clear();
  EXPECT_EQ(Verify(module).node(), "#1");
}

// `count` graphs, each the body of the next.
Module Nested(uint32_t count) {
  Module module;
  module.operators = {{"", "Call", 1}};
  module.graphs.resize(count);
  for (uint32_t i = 1; i < count; ++i) {
    module.graphs[i].nodes = {{.attributes = {{"body", GraphIndex{i - 1}}}}};
  }
  return module;
}

TEST(Verify, NestingIsLimited) {
  EXPECT_TRUE(Verify(Nested(65)).ok());
  EXPECT_FALSE(Verify(Nested(66)).ok());
  EXPECT_FALSE(Verify(Nested(100'000)).ok());
  Module round = Nested(3);
  round.graphs[0].nodes = {{.attributes = {{"body", GraphIndex{2}}}}};
  EXPECT_FALSE(Verify(round).ok());
}

// Shapes that make a quadratic check take minutes: one node with all outputs, one value read by
// all, one node that all wait for.
TEST(Verify, HostileShapesTakeLinearTime) {
  constexpr uint32_t kCount = 300'000;
  auto start = std::chrono::steady_clock::now();
  Module wide;
  wide.operators = {{"", "Split", 13}};
  wide.main().values.resize(kCount, {.producer = 0});
  wide.main().nodes.resize(kCount);
  for (uint32_t i = 0; i < kCount; ++i) wide.main().nodes[0].outputs.push_back(i);
  for (uint32_t i = 1; i < kCount; ++i) {
    wide.main().nodes[i].inputs = {kCount - 1};
    wide.main().nodes[i].controls = {0, 0};
  }
  EXPECT_TRUE(Verify(wide).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace hr::graph
