#include "runtime/lowering/elementwise_chain.h"

#include <algorithm>

namespace hr::lowering {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

namespace {

// Whether the scale and the zero point of a node that quantizes are single numbers, which repeat as
// operands of element-wise nodes do.
bool HasOneScale(Region& region, NodeId id) {
  const bool quantizes =
      region.Is(id, "", "QuantizeLinear") || region.Is(id, "", "DequantizeLinear");
  if (!quantizes) return true;
  return region.Decide([inputs = region.node(id).inputs](const Region& r) {
    const size_t rank = r.DimsOf(inputs[0]).size();
    return std::all_of(inputs.begin() + 1, inputs.end(), [&](ValueId input) {
      if (input == kNone) return true;
      const Dims dims = r.DimsOf(input);
      return dims.size() <= rank && ElementCount(dims) == 1;
    });
  });
}

std::optional<Expression> ExpressionOfNode(const Region& region, const graph::Node& node) {
  const graph::Operator& op = region.module.OperatorOf(node);
  if (op.domain == kLowered && op.name == "Elementwise") {
    return Expression::FromAttributes(node, static_cast<int>(node.inputs.size()));
  }
  std::vector<DType> types;
  for (ValueId input : node.inputs)
    types.push_back(input == kNone ? DType::kUndefined : region.DTypeOf(input));
  return ExpressionOf(op, node, types);
}

}  // namespace

void ElementwiseChain::Trim() {
  std::vector<int> kept;
  expression = expression.DropUnusedInputs(&kept);
  std::vector<ValueId> values;
  std::vector<int> place;
  for (int i : kept) {
    const ValueId input = inputs[static_cast<size_t>(i)];
    const auto known = std::find(values.begin(), values.end(), input);
    place.push_back(static_cast<int>(known - values.begin()));
    if (known == values.end()) values.push_back(input);
  }
  expression = expression.RenumberInputs(place, static_cast<int>(values.size())).MergeEqual();
  inputs = std::move(values);
}

std::optional<ElementwiseChain> ChainOf(Region& region, NodeId id) {
  const graph::Node& node = region.node(id);
  if (node.outputs.size() != 1 || node.outputs[0] == kNone || !node.controls.empty())
    return std::nullopt;
  if (!HasOneScale(region, id)) return std::nullopt;
  auto expression = ExpressionOfNode(region, node);
  if (!expression) return std::nullopt;
  ElementwiseChain chain{std::move(*expression), node.inputs, {id}};
  chain.Trim();
  return chain;
}

std::optional<ValueId> OnlySource(Region& region, const ElementwiseChain& chain, ValueId result) {
  const DType dtype = chain.expression.compute;
  const auto typed = [&](ValueId value) { return region.DTypeOf(value) == dtype; };
  if (!IsFloating(dtype) || !typed(result)) return std::nullopt;
  if (!std::all_of(chain.inputs.begin(), chain.inputs.end(), typed)) return std::nullopt;
  const auto source = std::find_if(chain.inputs.begin(), chain.inputs.end(), [&](ValueId input) {
    return region.DimsOf(input) == region.DimsOf(result);
  });
  if (source == chain.inputs.end()) return std::nullopt;
  const bool only = region.Decide([inputs = chain.inputs, one = *source, result](const Region& r) {
    return r.DimsOf(one) == r.DimsOf(result) &&
           std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
             return input == one || ElementCount(r.DimsOf(input)) == 1;
           });
  });
  return only ? std::optional(*source) : std::nullopt;
}

bool SameShape(Region& region, ValueId a, ValueId b) {
  return region.Decide([a, b](const Region& r) { return r.DimsOf(a) == r.DimsOf(b); });
}

}  // namespace hr::lowering
