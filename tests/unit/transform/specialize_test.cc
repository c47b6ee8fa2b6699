#include "runtime/transform/specialize.h"

#include <algorithm>

#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class SpecializeTest : public BuiltGraph {
 protected:
  // What the request needs of what was built; every input that it names is fed with its type.
  Result<graph::Module> Try(const std::vector<ValueId>& feeds, std::vector<ValueId> fetches,
                            std::vector<NodeId> targets = {},
                            ConstantEvaluator* evaluator = nullptr) {
    Request request{.fetches = std::move(fetches), .targets = std::move(targets)};
    for (ValueId feed : feeds) {
      const graph::ValueType& type = builder_.graph().values[feed].type;
      request.feeds.push_back({feed, type.dtype, type.FixedDims().value_or(Dims{})});
    }
    return Specialize(registry_, builder_.module(), request, evaluator, SystemAllocator());
  }
  graph::Module Get(const std::vector<ValueId>& feeds, std::vector<ValueId> fetches,
                    std::vector<NodeId> targets = {}, ConstantEvaluator* evaluator = nullptr) {
    auto made = Try(feeds, std::move(fetches), std::move(targets), evaluator);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    if (!made.ok()) return {};
    EXPECT_EQ(Verified(*made), "OK");
    return std::move(made).value();
  }
  static ValueId OutputOf(const graph::Module& module, size_t i) {
    return module.signatures[0].outputs[i].value;
  }
  // Whether two values are computed once, where both are fetched.
  bool Merged(ValueId a, ValueId b, const std::vector<ValueId>& feeds) {
    const graph::Module module = Get(feeds, {a, b});
    return OutputOf(module, 0) == OutputOf(module, 1);
  }
};

// ---- Pruning ----

class Pruning : public SpecializeTest {};

TEST_F(Pruning, KeepsWhatTheFetchesNeedAlone) {
  const ValueId x = Input("x", {2}), y = Input("y", {2});
  const ValueId needed = Node("Neg", {x});
  Node("Abs", {x});
  Node("Exp", {y});
  Effect("Assign", Variable("unused", {0, 0}), x);
  const graph::Module module = Get({x}, {Node("Sqrt", {needed})});
  EXPECT_EQ(module.main().nodes.size(), 2u);
  EXPECT_EQ(CountOf(module, "Neg") + CountOf(module, "Sqrt"), 2u);
  EXPECT_EQ(module.main().values.size(), 3u);
  EXPECT_TRUE(module.constants.empty());
  EXPECT_EQ(module.variables.size(), 1u) << "variables keep their indices";
}

TEST_F(Pruning, TheSignatureHasThePortsOfTheRequest) {
  const ValueId x = Input("x", {2}, DType::kFloat64), y = Input("y", {2}, DType::kFloat64);
  const ValueId sum = Node("Add", {x, y}), product = Node("Mul", {x, y});
  const graph::Module module = Get({y, x}, {product, sum, y, product});
  ASSERT_EQ(module.signatures.size(), 1u);
  const graph::Signature& run = module.signatures[0];
  EXPECT_EQ(run.name, "run");
  ASSERT_EQ(run.inputs.size(), 2u);
  EXPECT_EQ(run.inputs[0].name, "y");
  EXPECT_EQ(run.inputs[1].name, "x");
  ASSERT_EQ(run.outputs.size(), 4u);
  EXPECT_EQ(run.outputs[0].name, builder_.graph().values[product].name);
  EXPECT_EQ(run.outputs[1].name, builder_.graph().values[sum].name);
  EXPECT_EQ(run.outputs[2].value, run.inputs[0].value);
  EXPECT_EQ(run.outputs[3].value, run.outputs[0].value);
  const graph::ValueType type = graph::ValueType::Tensor(DType::kFloat64, {2});
  for (const graph::Value& value : module.main().values) EXPECT_EQ(value.type, type);
}

TEST_F(Pruning, AFedValueCutsOffWhatComputesIt) {
  const ValueId x = Input("x", {2});
  const ValueId middle = Node("Neg", {x});
  const graph::Module module = Get({middle}, {Node("Sqrt", {middle})});
  EXPECT_EQ(module.main().nodes.size(), 1u);
  EXPECT_EQ(CountOf(module, "Sqrt"), 1u);
}

// Its other output is still wanted. Its kernel may not be able to leave the first one out.
TEST_F(Pruning, ANodeMakesTheOutputThatIsFedForNobody) {
  const ValueId x = Input("x", {4});
  const NodeId split = Split(x);
  const ValueId sum = Node("Add", {Output(split, 0), Output(split, 1)});
  const graph::Module module = Get({x, Output(split, 0)}, {sum});
  ASSERT_EQ(CountOf(module, "Split"), 1u);
  const graph::Node& kept = module.main().nodes[0];
  EXPECT_NE(kept.outputs[0], module.main().inputs[1]);
  EXPECT_EQ(module.main().values[kept.outputs[0]].producer, 0u);
  EXPECT_EQ(module.main().values[kept.outputs[0]].type,
            graph::ValueType::Tensor(DType::kFloat32, {2}));
  EXPECT_NE(kept.outputs[1], kNone);
}

TEST_F(Pruning, TargetsAndWhatTheyWaitForStay) {
  const ValueId x = Input("x", {2});
  const uint32_t w = Variable("w", {0, 0});
  Effect("Assign", w, x);
  Effect("AssignAdd", w, Node("Neg", {x}));
  const NodeId other = Effect("Assign", Variable("v", {0, 0}), x);
  const NodeId last = Effect("AssignAdd", w, x);
  const graph::Module module = Get({x}, {}, {last});
  EXPECT_EQ(CountOf(module, "AssignAdd"), 2u);
  EXPECT_EQ(CountOf(module, "Assign"), 1u);
  EXPECT_EQ(CountOf(module, "Neg"), 1u);
  const graph::Node& target = module.main().nodes[module.signatures[0].targets[0]];
  EXPECT_EQ(target.controls.size(), builder_.graph().nodes[last].controls.size());
  EXPECT_EQ(CountOf(Get({x}, {}, {other}), "AssignAdd"), 0u);
}

// The read waits for the update, which nobody asked for otherwise.
TEST_F(Pruning, AReadBehindAnUpdateKeepsIt) {
  const ValueId x = Input("x", {2});
  const uint32_t w = Variable("w", {1, 2});
  const ValueId before = *builder_.Read(w);
  Effect("AssignAdd", w, x);
  const ValueId after = *builder_.Read(w);
  EXPECT_EQ(CountOf(Get({}, {before}), "AssignAdd"), 0u);
  EXPECT_EQ(CountOf(Get({x}, {after}), "AssignAdd"), 1u);
}

// A pure node between two effects: its value is known, the order that it stands for remains.
TEST_F(Pruning, OrderThroughAFoldedNodeRemains) {
  const ValueId x = Input("x", {2});
  const NodeId first = Effect("Assign", Variable("v", {0, 0}), x);
  const NodeId between = AddNode({.op = "Neg", .inputs = {Constant({1, 2})}, .controls = {first}});
  const NodeId last = AddNode({.domain = std::string(ops::kState),
                               .op = "AssignAdd",
                               .inputs = {Output(between)},
                               .outputs = 0,
                               .attributes = {{"variable", int64_t{Variable("w", {0, 0})}}},
                               .controls = {between}});
  ReferenceEvaluator evaluator;
  const graph::Module module = Get({x}, {}, {last}, &evaluator);
  EXPECT_EQ(evaluator.calls, 1);
  ASSERT_EQ(module.main().nodes.size(), 2u) << "a step without results would have no memory";
  const auto order = graph::TopologicalOrder(module.main()).value();
  EXPECT_EQ(module.OperatorOf(module.main().nodes[order[0]]).name, "Assign");
  EXPECT_EQ(module.OperatorOf(module.main().nodes[order[1]]).name, "AssignAdd");
  EXPECT_EQ(module.main().nodes[order[1]].controls, std::vector{order[0]});
}

TEST_F(Pruning, AFoldedOutputStaysAnOutput) {
  ReferenceEvaluator evaluator;
  const ValueId sum = Node("Add", {Constant({1, 2}, DType::kFloat64),  //
                                   Constant({3, 4}, DType::kFloat64)});
  const graph::Module module = Get({}, {sum}, {}, &evaluator);
  EXPECT_TRUE(module.main().nodes.empty());
  ASSERT_EQ(module.constants.size(), 1u) << "what it was made of is gone";
  const graph::Value& value = module.main().values[OutputOf(module, 0)];
  EXPECT_EQ(value.type, graph::ValueType::Tensor(DType::kFloat64, {2}));
  EXPECT_EQ(module.constants[value.constant].as<double>()[1], 6);
}

TEST_F(Pruning, NeededPartChangesNothingThatIsNeeded) {
  const ValueId x = Input("x", {2});
  const uint32_t w = Variable("w", {1, 2});
  const ValueId y = Node("Add", {Node("Mul", {x, Constant({2, 2})}), *builder_.Read(w)});
  graph::Module module = Get({x}, {y}, {Effect("Assign", w, y)});
  const size_t nodes = module.main().nodes.size(), values = module.main().values.size();
  EXPECT_EQ(NeededPart(module).module.main().nodes.size(), nodes);
  graph::Node dead = module.main().nodes[0];
  dead.outputs = {kNone};
  module.main().nodes.push_back(dead);
  module.main().values.push_back({.type = graph::ValueType::Tensor(DType::kFloat32, {2}),
                                  .constant = static_cast<uint32_t>(module.constants.size())});
  module.constants.push_back(Make(DType::kFloat32, {2}, {1, 2}));
  const graph::Module pruned = NeededPart(module).module;
  EXPECT_EQ(pruned.main().nodes.size(), nodes);
  EXPECT_EQ(pruned.main().values.size(), values);
  EXPECT_EQ(pruned.constants.size(), module.constants.size() - 1);
  EXPECT_EQ(pruned.signatures[0].targets.size(), 1u);
}

// ---- Merging of equal nodes ----

class Merging : public SpecializeTest {
 protected:
  ValueId x_ = Input("x", {2, 2}), y_ = Input("y", {2, 2});
  bool Same(ValueId a, ValueId b) { return Merged(a, b, {x_, y_}); }
};

TEST_F(Merging, EqualNodesAndThoseBehindThemAreComputedOnce) {
  const ValueId a = Node("Exp", {Node("Add", {x_, y_})});
  const ValueId b = Node("Exp", {Node("Add", {x_, y_})});
  const graph::Module module = Get({x_, y_}, {a, b, Node("Sub", {a, b})});
  EXPECT_EQ(OutputOf(module, 0), OutputOf(module, 1));
  EXPECT_EQ(module.main().nodes.size(), 3u);
}

TEST_F(Merging, DoublesAreMergedLikeFloats) {
  const ValueId x = Input("doubles", {3}, DType::kFloat64);
  const ValueId a = Node("Softmax", {x}), b = Node("Softmax", {x});
  const graph::Module module = Get({x}, {a, b});
  EXPECT_EQ(OutputOf(module, 0), OutputOf(module, 1));
  EXPECT_EQ(module.main().values[OutputOf(module, 0)].type,
            graph::ValueType::Tensor(DType::kFloat64, {3}));
}

TEST_F(Merging, WhatDiffersAnywhereIsKept) {
  EXPECT_FALSE(Same(Node("Add", {x_, y_}), Node("Mul", {x_, y_}))) << "operator";
  EXPECT_FALSE(Same(Node("Sub", {x_, y_}), Node("Sub", {y_, x_}))) << "order of inputs";
  EXPECT_FALSE(Same(Node("Softmax", {x_}, {{"axis", int64_t{0}}}),
                    Node("Softmax", {x_}, {{"axis", int64_t{1}}})))
      << "attribute";
  EXPECT_FALSE(Same(Node("Cast", {x_}, {{"to", static_cast<int64_t>(DType::kFloat64)}}),
                    Node("Cast", {x_}, {{"to", static_cast<int64_t>(DType::kFloat16)}})))
      << "type";
  const auto sum = [&](int version) {
    return Output(AddNode({.op = "ReduceMean", .version = version, .inputs = {x_}}));
  };
  EXPECT_FALSE(Same(sum(13), sum(18))) << "version";
  const auto on = [&](std::string device) {
    return Output(AddNode({.op = "Exp", .inputs = {x_}, .device = std::move(device)}));
  };
  EXPECT_FALSE(Same(on("CPU:0"), on("TOY:0"))) << "device";
  EXPECT_TRUE(Same(on("CPU:0"), on("CPU:0")));
  const ValueId zero = *builder_.Constant(Make(DType::kFloat32, {}, {0}));
  EXPECT_FALSE(Same(Node("Clip", {x_, zero}), Node("Clip", {x_, kNone, zero}))) << "input";
}

// As those that each of two gradients makes for itself.
TEST_F(Merging, EqualSmallConstantsAreOne) {
  const auto number = [&](double value, DType dtype = DType::kFloat32, Dims dims = {}) {
    return *builder_.Constant(Make(dtype, std::move(dims), {value}));
  };
  const auto times = [&](ValueId factor) { return Node("Mul", {x_, factor}); };
  EXPECT_TRUE(Same(times(number(3)), times(number(3))));
  EXPECT_FALSE(Same(times(number(3)), times(number(4)))) << "bytes";
  EXPECT_FALSE(Same(times(number(0.0)), times(number(-0.0)))) << "sign of zero";
  EXPECT_FALSE(Same(times(number(3)), times(number(3, DType::kFloat32, {1})))) << "shape";
  EXPECT_FALSE(Same(Node("Cast", {number(0, DType::kInt32)}, {{"to", int64_t{1}}}),
                    Node("Cast", {number(0)}, {{"to", int64_t{1}}})))
      << "type";
}

// Even where two draw from one stream, which two nodes of a file may do.
TEST_F(Merging, RandomNodesAreKept) {
  const Attributes attributes = {{"shape", std::vector<int64_t>{2, 2}}, {"stream", int64_t{3}}};
  EXPECT_FALSE(Same(Node("RandomNormal", {}, attributes), Node("RandomNormal", {}, attributes)));
  EXPECT_FALSE(Same(Node("Dropout", {x_}), Node("Dropout", {x_})));
}

TEST_F(Merging, ReadsBeforeAndBehindAnUpdateAreKept) {
  const ValueId x = Input("z", {2});
  const uint32_t w = Variable("w", {1, 2});
  const ValueId before = *builder_.Read(w);
  Effect("Assign", w, x);
  const ValueId after = *builder_.Read(w);
  const graph::Module module =
      Get({x}, {before, after, Node("Neg", {before}), Node("Neg", {after})});
  EXPECT_EQ(CountOf(module, "Read"), 2u);
  EXPECT_EQ(CountOf(module, "Neg"), 2u);
  EXPECT_NE(OutputOf(module, 0), OutputOf(module, 1));
}

TEST_F(Merging, EqualEffectsAreKept) {
  const ValueId x = Input("z", {2});
  const uint32_t w = Variable("w", {1, 2});
  const NodeId first = Effect("AssignAdd", w, x), second = Effect("AssignAdd", w, x);
  EXPECT_EQ(CountOf(Get({x}, {}, {first, second}), "AssignAdd"), 2u);
}

TEST_F(Merging, NodesThatWaitForOthersAreKept) {
  const ValueId z = Input("z", {2});
  const NodeId effect = Effect("Assign", Variable("w", {1, 2}), z);
  const ValueId waits = Output(AddNode({.op = "Exp", .inputs = {x_}, .controls = {effect}}));
  const ValueId free = Node("Exp", {x_});
  EXPECT_FALSE(Merged(free, waits, {x_, z}));
}

// One whose twin has the value that it wants itself, and one whose twin lacks it.
TEST_F(Merging, ANodeStandsForATwinWhoseOutputsItHas) {
  const NodeId one = Split(x_), other = Split(x_);
  EXPECT_EQ(CountOf(Get({x_}, {Output(one, 0), Output(other, 1)}), "Split"), 1u);
  const graph::ValueType& type = builder_.graph().values[x_].type;
  const Request request = {.feeds = {{x_, type.dtype, *type.FixedDims()}},
                           .fetches = {Output(one, 1), Output(other, 0), Output(other, 1)}};
  graph::Module lacking = builder_.module();
  lacking.main().nodes[one].outputs[0] = kNone;
  auto made = Specialize(registry_, lacking, request, nullptr, SystemAllocator());
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ(CountOf(*made, "Split"), 2u);
}

// ---- What cannot be planned ----

class Refusals : public SpecializeTest {
 protected:
  std::string Message(const std::vector<ValueId>& feeds, std::vector<ValueId> fetches) {
    auto made = Try(feeds, std::move(fetches));
    EXPECT_FALSE(made.ok());
    return made.ok() ? "" : std::string(made.status().message());
  }
};

TEST_F(Refusals, WhatIsNotFedIsNamed) {
  const ValueId x = Input("x", {2}), y = Input("y", {2}), z = Input("z", {2});
  const ValueId sum = Node("Add", {Node("Mul", {x, y}), z});
  EXPECT_EQ(Message({z}, {sum}),
            "the run needs 'x' (float32[2]), 'y' (float32[2]), which nothing feeds; bind them "
            "first");
}

TEST_F(Refusals, AShapeThatDependsOnDataIsNamed) {
  const ValueId x = Input("x", {6}), shape = Input("shape", {2}, DType::kInt64);
  const ValueId reshaped = Node("Reshape", {x, shape});
  const std::string message = Message({x, shape}, {Node("Exp", {reshaped})});
  EXPECT_NE(message.find(builder_.graph().values[reshaped].name), std::string::npos) << message;
  EXPECT_NE(message.find("depends on data"), std::string::npos) << message;
}

TEST_F(Refusals, RequestsAreChecked) {
  const ValueId x = Input("x", {2});
  EXPECT_NE(Message({x}, {99}).find("no value #99"), std::string::npos);
  EXPECT_NE(Message({x, x}, {x}).find("fed twice"), std::string::npos);
}

// ---- Sizes that overflow when they are known ----

class HugeSizes : public SpecializeTest {
 protected:
  static constexpr int64_t kLarge = int64_t{1} << 40;

  // An input of that rank and of unknown sizes.
  ValueId Open(std::string_view name, size_t rank) {
    graph::ValueType type{.dtype = DType::kFloat32, .ranked = true};
    type.dims.resize(rank);
    return *builder_.AddInput(name, type);
  }
  Result<graph::Module> At(const std::vector<std::pair<ValueId, Dims>>& sizes, ValueId fetch) {
    Request request{.fetches = {fetch}};
    for (const auto& [value, dims] : sizes) request.feeds.push_back({value, DType::kFloat32, dims});
    return Specialize(registry_, builder_.module(), request, nullptr, SystemAllocator());
  }
  std::string Message(const std::vector<std::pair<ValueId, Dims>>& sizes, ValueId fetch) {
    auto made = At(sizes, fetch);
    return made.ok() ? "it was done" : std::string(made.status().message());
  }
  // The dimensions of the only output.
  Dims DimsAt(const std::vector<std::pair<ValueId, Dims>>& sizes, ValueId fetch) {
    auto made = At(sizes, fetch);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return made.ok() ? *made->main().values[OutputOf(*made, 0)].type.FixedDims() : Dims{};
  }
  // The output, whose shape is told, is too large.
  void ExpectTooLarge(const std::string& message, ValueId value, const Dims& dims) {
    const std::string wanted = Cat(graph::ValueText(builder_.graph(), value),
                                   ": a tensor of shape ", dims, " is too large: ");
    EXPECT_EQ(message.find(wanted), 0u) << message;
  }
};

TEST_F(HugeSizes, OfFeedsAreRefused) {
  const ValueId x = Open("x", 3), y = Node("Flatten", {x}, {{"axis", int64_t{2}}});
  for (const Dims& dims : {Dims{kLarge, kLarge, 0}, Dims{0, kLarge, kLarge}})
    ExpectTooLarge(Message({{x, dims}}, y), x, dims);
  EXPECT_EQ(DimsAt({{x, {1 << 27, 1 << 27, 0}}}, y), (Dims{1ll << 54, 0}));
}

TEST_F(HugeSizes, OfViewsAreRefused) {
  const ValueId x = Open("x", 3);
  const ValueId flat = Node("Reshape", {x, Constant({-1}, DType::kInt64)});
  const ValueId rows = Node("Reshape", {x, Constant({-1, 2}, DType::kInt64)});
  EXPECT_EQ(DimsAt({{x, {1 << 27, 1 << 27, 1}}}, flat), Dims{1ll << 54});
  EXPECT_EQ(DimsAt({{x, {1 << 27, 1 << 27, 0}}}, flat), Dims{0});
  EXPECT_EQ(DimsAt({{x, {1 << 27, 1 << 27, 1}}}, rows), (Dims{1ll << 53, 2}));
  ExpectTooLarge(Message({{x, {1 << 27, 1 << 27, 2}}}, flat), x, {1 << 27, 1 << 27, 2});
  EXPECT_EQ(DimsAt({{x, {1 << 27, 1 << 27, 1}}}, Node("Size", {x})), Dims{});
}

TEST_F(HugeSizes, OfProductsAndConvolutionsAreRefused) {
  const ValueId a = Open("a", 2), b = Open("b", 2);
  const ValueId product = Node("MatMul", {a, b}), sum = Node("Add", {a, b});
  ExpectTooLarge(Message({{a, {kLarge, 1}}, {b, {1, kLarge}}}, product), product, {kLarge, kLarge});
  ExpectTooLarge(Message({{a, {kLarge, 1}}, {b, {1, kLarge}}}, sum), sum, {kLarge, kLarge});
  const ValueId x = Open("x", 4), w = Open("w", 4), y = Node("Conv", {x, w});
  ExpectTooLarge(Message({{x, {kLarge, 1, 3, 3}}, {w, {kLarge, 1, 2, 2}}}, y), y,
                 {kLarge, kLarge, 2, 2});
  const ValueId line = Open("line", 1),
                tiled = Node("Tile", {line, Constant({1 << 30}, DType::kInt64)});
  EXPECT_EQ(Message({{line, {kLarge}}}, tiled),
            Cat("Tile: the product of the dimensions ", Dims{kLarge, 1 << 30},
                " does not fit into 64 bits; give smaller sizes"));
  const ValueId joined = Node("Concat", {line, line, line}, {{"axis", int64_t{0}}});
  ExpectTooLarge(Message({{line, {1ll << 53}}}, joined), joined, {3ll << 53});
  // A value that nobody needs, even as a shape, is not looked at.
  EXPECT_EQ(DimsAt({{a, {kLarge, 1}}, {b, {1, kLarge}}}, Node("Neg", {a})), (Dims{kLarge, 1}));
}

// Numbers of elements or bytes that do not fit into 64 bits, one of which wraps around to 0.
TEST_F(HugeSizes, OfExpandedValuesAreRefused) {
  const int64_t large = int64_t{1} << 32;
  const ValueId x = Open("x", 1);
  for (const Dims& dims : {Dims{large / 2, large}, Dims{large, large}, Dims{large, 1, large}}) {
    // The shape is known when the size of x is: 1.
    const Values factors(dims.begin(), dims.end());
    const ValueId shape = Node("Mul", {Node("Shape", {x}), Constant(factors, DType::kInt64)});
    const ValueId expanded = Node("Expand", {x, shape});
    Request request{.feeds = {{x, DType::kFloat32, {1}}},
                    .fetches = {Node("ReduceMax", {expanded})}};
    ReferenceEvaluator evaluator;
    auto made = Specialize(registry_, builder_.module(), request, &evaluator, SystemAllocator());
    ASSERT_FALSE(made.ok());
    ExpectTooLarge(std::string(made.status().message()), expanded, dims);
  }
}

}  // namespace
}  // namespace hr::transform
