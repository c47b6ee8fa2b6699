#include "runtime/lowering/find_gelu.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// Follows what is made of x, node by node.
class GeluFinder {
 public:
  GeluFinder(const Region& region, ValueId x) : region_(region), x_(x) {}

  std::optional<FoundGelu> Find() {
    for (NodeId id : region_.Consumers(x_)) {
      nodes_.clear();
      ValueId at = Scaled(id);
      if (at != kNone) at = Step(at, "Erf", [](ValueId) { return true; });
      if (at != kNone) at = Step(at, "Add", [&](ValueId other) { return Is(other, 1); });
      if (at != kNone) at = Halves(at);
      if (at != kNone && TakesAll()) return FoundGelu{std::move(nodes_), at};
    }
    return std::nullopt;
  }

 private:
  // Whether the value is the number, which a file may have rounded.
  bool Is(ValueId value, double number) const {
    const std::optional<double> found = value == kNone ? std::nullopt : region_.ScalarOf(value);
    return found && std::abs(*found - number) < 1e-6;
  }

  // Takes a node in and returns what it makes.
  ValueId Take(NodeId id) {
    nodes_.push_back(id);
    return region_.node(id).outputs[0];
  }

  // The operand beside `value`; itself if the node is Erf.
  ValueId Other(NodeId id, ValueId value) const {
    const auto& inputs = region_.node(id).inputs;
    if (inputs.size() == 1) return value;
    return inputs[0] == value ? inputs[1] : inputs[0];
  }

  // x / sqrt(2)
  ValueId Scaled(NodeId id) {
    const auto& inputs = region_.node(id).inputs;
    if (region_.Is(id, "", "Div") && inputs[0] == x_ && Is(inputs[1], std::numbers::sqrt2)) {
      return Take(id);
    }
    const bool times = region_.Is(id, "", "Mul") && Is(Other(id, x_), std::numbers::sqrt2 / 2);
    return times ? Take(id) : kNone;
  }

  // The only thing that is made of `value`, if it is this operator with such an operand.
  template <typename Fits>
  ValueId Step(ValueId value, std::string_view op, const Fits& fits) {
    const NodeId id = region_.OnlyConsumer(value);
    if (id == kNone || !region_.Is(id, "", op) || !fits(Other(id, value))) return kNone;
    return Take(id);
  }

  // x / 2
  bool IsHalfOfX(ValueId value) {
    const NodeId id = value == kNone ? kNone : region_.Producer(value);
    if (id == kNone || region_.OnlyConsumer(value) == kNone) return false;
    const auto& inputs = region_.node(id).inputs;
    const bool is = (region_.Is(id, "", "Mul") && Reads(inputs, x_) && Is(Other(id, x_), 0.5)) ||
                    (region_.Is(id, "", "Div") && inputs[0] == x_ && Is(inputs[1], 2));
    if (is) Take(id);
    return is;
  }
  static bool Reads(const std::vector<ValueId>& inputs, ValueId value) {
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
  }

  // `sum` times x and a half, in any order.
  ValueId Halves(ValueId sum) {
    ValueId at = Step(sum, "Mul", [&](ValueId other) { return IsHalfOfX(other); });
    if (at != kNone) return at;
    at = Step(sum, "Mul", [&](ValueId other) { return other == x_; });
    if (at != kNone) return Step(at, "Mul", [&](ValueId other) { return Is(other, 0.5); });
    at = Step(sum, "Mul", [&](ValueId other) { return Is(other, 0.5); });
    return at == kNone ? kNone : Step(at, "Mul", [&](ValueId other) { return other == x_; });
  }

  bool TakesAll() const {
    const std::vector<NodeId> consumers = region_.Consumers(x_);
    return std::all_of(consumers.begin(), consumers.end(), [&](NodeId id) {
      return std::find(nodes_.begin(), nodes_.end(), id) != nodes_.end();
    });
  }

  const Region& region_;
  const ValueId x_;
  std::vector<NodeId> nodes_;
};

}  // namespace

std::optional<FoundGelu> FindGelu(const Region& region, ValueId x) {
  if (region.IsFetched(x)) return std::nullopt;
  const NodeId only = region.OnlyConsumer(x);
  if (only == kNone) return GeluFinder(region, x).Find();
  const graph::Node& node = region.node(only);
  if (!region.Is(only, "", "Gelu") || node.String("approximate", "none") != "none") {
    return std::nullopt;
  }
  return FoundGelu{{only}, node.outputs[0]};
}

}  // namespace hr::lowering
