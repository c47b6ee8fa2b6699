// Operators that are computed by others. Such an operator has a type rule and a composition, which
// emits the nodes that give its outputs; it needs no kernel and no gradient rule:
//
//   void ComposeSwish(ComposeContext& c) {
//     const double alpha = c.node().Float("alpha", 1);
//     c.SetOutput(0, c.Mul(c.input(0), c.Emit("Sigmoid", {c.Scale(c.input(0), alpha)})));
//   }
//
// Files keep the operator itself. Sizes may be symbolic when a composition is emitted: it takes
// them from DimOf, which costs nothing in a plan, where sizes are known. One that cannot be emitted
// before it knows more fails with FAILED_PRECONDITION; it is emitted when a run brings the sizes.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "runtime/ops/emit.h"

namespace hr::ops {

// Valid during one call of OpDef::compose.
class ComposeContext : public EmitContext {
 public:
  // `inputs` are those of the node, or values that take their places.
  ComposeContext(const OpDef& def, Emitter& emitter, NodeId node, std::vector<ValueId> inputs)
      : EmitContext(def, emitter, node, std::move(inputs)), outputs_(this->node().outputs.size()) {
    std::fill(outputs_.begin(), outputs_.end(), kNone);
  }

  bool wants_output(size_t i) const { return i < outputs_.size() && node().outputs[i] != kNone; }
  void SetOutput(size_t i, ValueId value) {
    if (i < outputs_.size()) outputs_[i] = value;
  }
  const std::vector<ValueId>& outputs() const { return outputs_; }

  // An axis from 0; a failure is kept, and 0 returned, if the rank does not have it.
  size_t Axis(int64_t axis, size_t rank);
  // 1-D int64 values: a number, one size of `value`, and values joined, such as the sizes of a
  // shape. Sizes that are known to be the same are one value.
  ValueId Int(int64_t value);
  ValueId DimOf(ValueId value, size_t axis);
  ValueId Joined(std::span<const ValueId> parts);
  ValueId Reshape(ValueId value, std::span<const ValueId> sizes);
  ValueId Unsqueeze(ValueId value, int64_t axis);
  // From `start` up to `end`, both 1-D, along one axis.
  ValueId Slice(ValueId value, int64_t axis, ValueId start, ValueId end);
  ValueId Concat(std::span<const ValueId> parts, int64_t axis);
  // 0, 1, … as many as a 1-D size says, int64.
  ValueId Counted(ValueId size);
  ValueId Transpose(ValueId value, std::vector<int64_t> order);
  // A reduction over axes that stay as sizes of 1.
  ValueId Reduce(Literal name, ValueId value, std::span<const int64_t> axes);

 private:
  std::vector<ValueId> outputs_;
  std::map<int64_t, ValueId> numbers_;
  std::map<std::pair<ValueId, size_t>, ValueId> sizes_;  // by symbol, or by value and axis
};

}  // namespace hr::ops
