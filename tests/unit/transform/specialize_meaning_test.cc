// A specialized graph computes what its module does: outputs, and what becomes of the variables.
#include <map>
#include <random>

#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

using reference::Array;
using reference::Evaluator;

constexpr int64_t kSize = 3;

// Random graphs over vectors of a type, with few different values, so that twins are common, and
// with effects between them. Small whole numbers, which every type holds.
class RandomGraph : public BuiltGraph, public testing::WithParamInterface<DType> {
 protected:
  size_t Below(size_t end) { return static_cast<size_t>(random_() % end); }
  Values Numbers() {
    Values out(kSize);
    for (double& number : out) number = static_cast<double>(Below(7)) - 3;
    return out;
  }
  ValueId Any() { return pool_[Below(pool_.size())]; }

  void Build() {
    builder_ = GraphBuilder(SystemAllocator(), registry_);
    pool_.clear();
    effects_.clear();
    for (const char* name : {"x", "y"}) pool_.push_back(Input(name, {kSize}, GetParam()));
    for (const char* name : {"v", "w"}) Variable(name, Numbers(), GetParam());
    for (int i = 0; i < 3; ++i) pool_.push_back(Constant(Numbers(), GetParam()));
    for (int i = 0; i < 20; ++i) AddAnything();
  }

  void AddAnything() {
    constexpr const char* kBinary[] = {"Add", "Sub", "Max", "Min"};
    constexpr const char* kUnary[] = {"Neg", "Abs"};
    const auto variable = static_cast<uint32_t>(Below(2));
    switch (Below(8)) {
      case 0: effects_.push_back(Effect("Assign", variable, Any())); return;
      case 1: effects_.push_back(Effect("AssignAdd", variable, Any())); return;
      case 2: pool_.push_back(*builder_.Read(variable)); return;
      case 3: return AddTwin();
      case 4: pool_.push_back(Node(kUnary[Below(2)], {Any()})); return;
      default: pool_.push_back(Node(kBinary[Below(4)], {Any(), Any()}));
    }
  }
  // Of a node that is there already; sometimes it waits for an effect.
  void AddTwin() {
    const NodeId producer = Producer(Any());
    if (producer == kNone) return;
    graph::Node node = builder_.graph().nodes[producer];
    NodeSpec spec{.domain = builder_.module().OperatorOf(node).domain,
                  .op = builder_.module().OperatorOf(node).name,
                  .inputs = node.inputs,
                  .attributes = node.attributes};
    if (!effects_.empty() && Below(3) == 0) spec.controls = {effects_[Below(effects_.size())]};
    pool_.push_back(Output(AddNode(std::move(spec))));
  }

  // Feeds the inputs and at times another value, fetches some, and has some effects as targets.
  Request AnyRequest() {
    Request request{.feeds = {{pool_[0], GetParam(), {kSize}}, {pool_[1], GetParam(), {kSize}}}};
    const ValueId other = Any();
    if (Below(3) == 0 && Producer(other) != kNone)
      request.feeds.push_back({other, GetParam(), {kSize}});
    for (int i = 0; i < 3; ++i) request.fetches.push_back(Any());
    for (NodeId effect : effects_) {
      if (Below(2) == 0) request.targets.push_back(effect);
    }
    return request;
  }

  // As a session does, which keeps the variables itself.
  void GiveInitialValues(graph::Module& special) {
    for (graph::Variable& variable : special.variables) {
      special.constants.push_back(builder_.module().constants[variable.initial_constant]);
      variable.initial_constant = static_cast<uint32_t>(special.constants.size() - 1);
    }
  }

  // "" where both modules make the same of the same feeds.
  std::string Compare(graph::Module special, const Request& request) {
    GiveInitialValues(special);
    const graph::Signature& run = special.signatures[0];
    std::map<ValueId, Array> feeds, mapped;
    for (size_t i = 0; i < request.feeds.size(); ++i) {
      Array array(GetParam(), {kSize});
      for (auto& number : array.data) number = static_cast<double>(Below(7)) - 3;
      feeds[request.feeds[i].value] = mapped[run.inputs[i].value] = array;
    }
    std::vector<ValueId> fetches;
    for (const graph::Port& port : run.outputs) fetches.push_back(port.value);
    Evaluator before(builder_.module()), after(special);
    auto expected = before.Run(feeds, request.fetches, request.targets);
    auto got = after.Run(mapped, fetches, run.targets);
    if (!expected.ok() || !got.ok())
      return Cat(expected.status().ToString(), " and ", got.status().ToString());
    for (size_t i = 0; i < expected->size(); ++i) {
      const std::string wrong =
          reference::Difference(reference::ToTensor((*got)[i]), (*expected)[i], 0, 0);
      if (!wrong.empty()) return Cat("fetch ", i, ": ", wrong);
      if (special.main().values[fetches[i]].type != graph::ValueType::Tensor(GetParam(), {kSize}))
        return Cat("fetch ", i, " has another type");
    }
    for (size_t v = 0; v < before.variables().size(); ++v) {
      if (before.variables()[v].data != after.variables()[v].data) return Cat("variable ", v);
    }
    return "";
  }

  std::mt19937_64 random_{20260202};
  std::vector<ValueId> pool_;
  std::vector<NodeId> effects_;
};

TEST_P(RandomGraph, ComputesTheSameWithFewerNodes) {
  size_t nodes = 0, kept = 0;
  int folded = 0;
  for (int round = 0; round < 400; ++round) {
    Build();
    const Request request = AnyRequest();
    ReferenceEvaluator evaluator;
    auto special = Specialize(registry_, builder_.module(), request, &evaluator, SystemAllocator());
    ASSERT_TRUE(special.ok()) << special.status().ToString();
    ASSERT_EQ(Verified(*special), "OK");
    ASSERT_EQ(Compare(*special, request), "") << "round " << round;
    graph::Marks fed(builder_.graph().values.size(), false);
    for (const Feed& feed : request.feeds) fed[feed.value] = true;
    for (char needed : NeededNodes(builder_.graph(), fed, request)) nodes += needed != 0;
    kept += special->main().nodes.size();
    folded += evaluator.calls;
  }
  EXPECT_GT(folded, 100);
  EXPECT_LT(kept + static_cast<size_t>(folded), nodes) << "nothing was merged";
}

INSTANTIATE_TEST_SUITE_P(Types, RandomGraph,
                         testing::Values(DType::kFloat32, DType::kFloat64, DType::kInt64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

// ---- Other sizes ----

// A batch of unknown size n; what is computed from its shape is folded.
class OtherSizes : public BuiltGraph, public testing::WithParamInterface<DType> {
 protected:
  void SetUp() override {
    graph::ValueType type = graph::ValueType::Tensor(GetParam(), {0, 4});
    type.dims[0] = {.symbol = builder_.AddSymbol("n")};
    x_ = *builder_.AddInput("x", type);
    const ValueId flat = Node("Reshape", {x_, Constant({-1}, DType::kInt64)});
    const ValueId count =
        Node("Cast", {Node("Shape", {flat})}, {{"to", static_cast<int64_t>(GetParam())}});
    const ValueId mean = Node("Div", {Node("ReduceSum", {flat}), count});
    const ValueId rows = Node("Shape", {x_}, {{"end", int64_t{1}}});
    const ValueId zeros = Node("Expand", {Constant({0.5}, GetParam()), rows});
    fetches_ = {mean, zeros, Node("Shape", {x_}), Node("Neg", {Node("Neg", {x_})})};
  }
  Request At(int64_t n) { return {.feeds = {{x_, GetParam(), {n, 4}}}, .fetches = fetches_}; }
  std::vector<Array> Run(const graph::Module& module, int64_t n) {
    const graph::Signature& run = module.signatures[0];
    Array x(GetParam(), {n, 4});
    for (size_t i = 0; i < x.size(); ++i) x.data[i] = static_cast<double>(i % 5);
    std::vector<ValueId> fetches;
    for (const graph::Port& port : run.outputs) fetches.push_back(port.value);
    auto result = Evaluator(module).Run({{run.inputs[0].value, x}}, fetches);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ok() ? *result : std::vector<Array>(fetches.size());
  }

  ValueId x_ = kNone;
  std::vector<ValueId> fetches_;
  ReferenceEvaluator evaluator_;
};

TEST_P(OtherSizes, ComeOutAsIfTheyHadBeenTheFirst) {
  Recipe recipe;
  const graph::Module first =
      Specialize(registry_, builder_.module(), At(8), &evaluator_, SystemAllocator(), &recipe)
          .value();
  for (int64_t n : {1, 5, 8}) {
    const Request request = At(n);
    auto again =
        AtSizes(registry_, recipe, first, request.feeds, &evaluator_, SystemAllocator()).value();
    EXPECT_EQ(Verified(again), "OK");
    ASSERT_EQ(again.main().nodes.size(), first.main().nodes.size());
    ASSERT_EQ(again.constants.size(), first.constants.size());
    const graph::Module fresh =
        Specialize(registry_, builder_.module(), request, &evaluator_, SystemAllocator()).value();
    const auto got = Run(again, n), expected = Run(fresh, n);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(reference::Difference(reference::ToTensor(got[i]), expected[i], 1e-6, 0), "");
      const graph::ValueType type = graph::ValueType::Tensor(expected[i].dtype, expected[i].dims);
      EXPECT_EQ(again.main().values[again.signatures[0].outputs[i].value].type, type);
    }
  }
}

TEST_P(OtherSizes, WhatIsTooLargeIsRefused) {
  Recipe recipe;
  const ValueId widened = Node("Tile", {x_, Constant({1, 1 << 30}, DType::kInt64)});
  fetches_ = {widened};
  const graph::Module first =
      Specialize(registry_, builder_.module(), At(8), &evaluator_, SystemAllocator(), &recipe)
          .value();
  const Request request = At(int64_t{1} << 30);
  auto again = AtSizes(registry_, recipe, first, request.feeds, &evaluator_, SystemAllocator());
  ASSERT_FALSE(again.ok());
  const Dims dims = {1 << 30, int64_t{1} << 32};
  const std::string wanted = Cat(graph::ValueText(builder_.graph(), widened),
                                 ": a tensor of shape ", dims, " is too large: ");
  EXPECT_EQ(again.status().message().find(wanted), 0u) << again.status().message();
}

INSTANTIATE_TEST_SUITE_P(Types, OtherSizes, testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

}  // namespace
}  // namespace hr::transform
