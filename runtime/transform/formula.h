// Formulas of a training step that become nodes: what schedules, clipping, averages, metrics and
// adapters are written with. A failure is kept and reported once at the end.
#pragma once

#include "runtime/ops/emit.h"
#include "runtime/transform/graph_builder.h"

namespace hr::transform {

class Formula : public ops::EmitContext {
 public:
  // Nodes are named below `scope` until the object is gone.
  Formula(GraphBuilder& builder, std::string scope);
  ~Formula() { builder_.SetScope(""); }
  Formula(const Formula&) = delete;
  Formula& operator=(const Formula&) = delete;

  // Scalars: a constant of the floating type, and one of int64.
  ValueId Number(double value, DType dtype = DType::kFloat64);
  ValueId Integer(int64_t value);
  // No node where the type is `to` already.
  ValueId Cast(ValueId value, DType to);
  // Over all axes, to a scalar.
  ValueId ReduceAll(Literal op, ValueId value);
  // The number of elements, as the floating type.
  ValueId SizeOf(ValueId value, DType dtype);
  ValueId Less(ValueId a, ValueId b) { return Emit("Less", {a, b}); }
  ValueId Min(ValueId a, ValueId b) { return Emit("Min", {a, b}); }
  ValueId Max(ValueId a, ValueId b) { return Emit("Max", {a, b}); }
  ValueId Where(ValueId condition, ValueId yes, ValueId no) {
    return Emit("Where", {condition, yes, no});
  }

  // A variable of zeros that is not trained.
  uint32_t Zeros(const std::string& name, DType dtype, const Dims& dims);
  // The value of the variable at the start of the step.
  ValueId AtStart(uint32_t variable);
  // The value of the variable behind a node that changes it.
  ValueId After(uint32_t variable, NodeId node);
  // The variable becomes the value; ordered by nothing but the value and `after`, if that is not
  // kNone. The node is for a signature's targets.
  NodeId Assign(uint32_t variable, ValueId value, NodeId after = kNone);

 private:
  template <typename T>
  ValueId ConstantOf(T value);

  GraphBuilder& builder_;
};

}  // namespace hr::transform
