// Attention, products and chains among nodes that wait for others give what they give unfused.
// tests/unit/cpu/attention_test.cc has the forms of attention.
#include "tests/unit/lowering/quantized_chains.h"

namespace hr::lowering {
namespace {

using graph::NodeId;

class WaitingNodes : public QuantizedChains {
 protected:
  static constexpr double kDistance = 1e-5;

  ValueId After(NodeId node, std::string op, std::vector<ValueId> inputs,
                std::vector<graph::Attribute> attributes = {}) {
    const auto id = builder_->AddNode({.op = std::move(op),
                                       .inputs = std::move(inputs),
                                       .attributes = std::move(attributes),
                                       .controls = {node}});
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return builder_->module().main().nodes[*id].outputs[0];
  }
  NodeId Producer(ValueId value) const { return builder_->module().main().values[value].producer; }
  ValueId Transposed(ValueId x, std::vector<int64_t> perm) {
    return Apply("Transpose", {x}, {{"perm", std::span<const int64_t>(perm)}});
  }
  std::vector<graph::Attribute> Perm(std::vector<int64_t> perm) { return {{"perm", perm}}; }
  ValueId Fed4(int64_t rows, int64_t features) { return Fed({2, 3, rows, features}, -1, 1); }
};

TEST_F(WaitingNodes, OperandsOfAttentionAreReadBehindThem) {
  const ValueId q = Fed({2, 5, 3, 8}, -1, 1), k = Fed({2, 7, 3, 8}, -1, 1), v = Fed4(7, 6);
  const ValueId first = Apply("MatMul", {Fed4(5, 4), Fed4(4, 6)});
  const ValueId heads = After(Producer(first), "Transpose", {q}, Perm({0, 2, 1, 3}));
  const ValueId scores = Apply("MatMul", {heads, Transposed(k, {0, 2, 3, 1})});
  const ValueId y = Apply("MatMul", {Apply("Softmax", {scores}), v});
  Check(Apply("Add", {y, first}), kDistance, "\"attention", "nothing");
  EXPECT_NE(described_.find("\"transpose"), std::string::npos) << described_;
}

// Something between the products waits for what the first product must come before.
TEST_F(WaitingNodes, InsideAttention) {
  const ValueId q = Fed4(5, 8), k = Fed4(8, 7), v = Fed4(7, 6), x = Fed4(5, 6);
  const ValueId scores = Apply("MatMul", {q, k});
  const ValueId other = After(Producer(scores), "Relu", {x});
  const ValueId y = Apply("MatMul", {After(Producer(other), "Softmax", {scores}), v});
  Check(Apply("Add", {y, other}), kDistance, "", "\"attention");
}

// The values can only be made when the scores are there.
TEST_F(WaitingNodes, ForTheScores) {
  const ValueId q = Fed4(5, 8), k = Fed4(8, 7), v = Fed4(7, 6);
  const ValueId p = Apply("Softmax", {Apply("MatMul", {q, k})});
  const ValueId values = After(Producer(p), "Relu", {v});
  Check(Apply("MatMul", {p, values}), kDistance, "", "\"attention");
}

// What takes the result waits for a node that waits for the product.
TEST_F(WaitingNodes, BehindProductsAndAttention) {
  for (const bool attention : {false, true}) {
    Reset();
    ValueId a = Fed4(5, 7);
    if (attention) a = Apply("Softmax", {Apply("MatMul", {Fed4(5, 8), Fed4(8, 7)})});
    const ValueId y = Apply("MatMul", {a, Fed4(7, 6)});
    const ValueId other = After(Producer(y), "Relu", {Fed({2, 5, 3, 6}, -1, 1)});
    const ValueId turned = After(Producer(other), "Transpose", {y}, Perm({0, 2, 1, 3}));
    Check(Apply("Add", {turned, other}), kDistance, attention ? "\"attention" : "\"matmul",
          "nothing");
  }
}

// Queries and keys of float32 beside values of 16 bits are no operands of one kernel.
TEST_F(WaitingNodes, AttentionOfTwoTypesStays) {
  const auto cast = [&](ValueId x, DType to) {
    return Apply("Cast", {x}, {{"to", static_cast<int64_t>(to)}});
  };
  const ValueId p = Apply("Softmax", {Apply("MatMul", {Fed4(5, 8), Fed4(8, 7)})});
  const ValueId v = cast(Fed4(7, 6), DType::kBfloat16);
  const ValueId y = Apply("MatMul", {cast(p, DType::kBfloat16), v});
  Check(cast(y, DType::kFloat32), 1e-2, "", "\"attention");
}

// What a chain's end takes waits for its beginning.
TEST_F(WaitingNodes, BetweenTheNodesOfAChain) {
  const ValueId first = Apply("Relu", {Fed4(5, 6)});
  const ValueId other = After(Producer(first), "Softmax", {Fed4(5, 6)});
  Check(Apply("Add", {first, other}), kDistance, "", "nothing");
}

TEST_F(WaitingNodes, BetweenAProductAndWhatIsAdded) {
  for (const bool bytes : {false, true}) {
    Reset();
    const ValueId x = Fed({5, 8}, -1, 1);
    const ValueId product = bytes ? Apply("MatMul", {Limited(x, 0.01), Weights({8, 6}, 1)})
                                  : Apply("MatMul", {x, Fed({8, 6}, -1, 1)});
    const ValueId row = After(Producer(product), "Softmax", {Fed({6}, -1, 1)});
    Check(Apply("Relu", {Apply("Add", {product, row})}), bytes ? 0.05 : kDistance, "", "nothing");
  }
}

}  // namespace
}  // namespace hr::lowering
