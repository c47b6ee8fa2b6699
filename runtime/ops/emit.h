// What rules that emit nodes have in common. A failure inside Emit is kept and reported once at the
// end, so rules read as formulas.
#pragma once

#include <initializer_list>
#include <optional>

#include "runtime/base/errors.h"
#include "runtime/ops/op_def.h"

namespace hr::ops {

// Adds nodes to a graph under construction; implemented by transform::GraphBuilder.
class Emitter {
 public:
  virtual ~Emitter() = default;
  // `domain` and `name` at the newest version; the outputs' types are inferred.
  virtual Result<std::vector<ValueId>> Emit(std::string_view domain, std::string_view name,
                                            std::span<const ValueId> inputs, size_t outputs,
                                            std::vector<graph::Attribute> attributes) = 0;
  // A constant of the main graph; equal small constants may be shared.
  virtual Result<ValueId> Constant(Tensor value) = 0;
  // Gives a node an optional output that it did not have; returns the known one otherwise.
  virtual Result<ValueId> RequireOutput(NodeId node, size_t index) = 0;
  virtual const graph::Module& module() const = 0;
  virtual const graph::Graph& graph() const = 0;
  virtual Allocator& allocator() = 0;
};

// The view that a rule has of one node, and of the graph to which it adds others.
class EmitContext {
 public:
  const OpDef& def() const { return def_; }
  // References into the graph hold until the next Emit.
  const Node& node() const { return emitter_.graph().nodes[node_id_]; }
  size_t input_count() const { return inputs_.size(); }
  // kNone where the node does not have this optional input.
  ValueId input(size_t i) const { return i < inputs_.size() ? inputs_[i] : kNone; }
  const ValueType& type(ValueId value) const { return emitter_.graph().values[value].type; }
  // The elements of an int64 or int32 constant; nothing for any other value.
  std::optional<std::vector<int64_t>> ConstantInts(ValueId value) const;
  // The rank of a value; a failure is kept, and 0 returned, where it is not known.
  size_t Rank(ValueId value);

  // The first output of a new node; kNone after a failure. Emit makes a node of ONNX, EmitGrad one
  // of headrace.grad, EmitGradAlike gives that the attributes of this node.
  using Inputs = std::initializer_list<ValueId>;
  using Attributes = std::initializer_list<graph::AttributeInit>;
  ValueId Emit(Literal name, Inputs inputs, Attributes attributes = {});
  ValueId EmitGrad(Literal name, Inputs inputs, Attributes attributes = {});
  ValueId EmitGradAlike(Literal name, Inputs inputs);
  // All outputs.
  std::vector<ValueId> EmitMany(std::string_view domain, std::string_view name,
                                std::span<const ValueId> inputs, size_t outputs,
                                std::vector<graph::Attribute> attributes);
  ValueId Add(ValueId a, ValueId b);
  ValueId Sub(ValueId a, ValueId b);
  ValueId Mul(ValueId a, ValueId b);
  ValueId Div(ValueId a, ValueId b);
  ValueId Neg(ValueId a);
  // value * factor; no node where the factor is 1.
  ValueId Scale(ValueId value, double factor);
  // No node where it has the type.
  ValueId Cast(ValueId value, DType to);
  // `value` as the floating type of `like`.
  ValueId CastLike(ValueId value, ValueId like);
  // A scalar constant of the floating type of `like`.
  ValueId Scalar(double value, ValueId like);
  // Zeros in the shape of `like`.
  ValueId ZerosLike(ValueId like);
  // A 1-D int64 constant, for axes and shapes.
  ValueId Ints(std::span<const int64_t> values);
  // A constant of float32, with as many values as these dimensions have elements.
  ValueId Floats(std::span<const double> values, Dims dims);
  // Any constant; a failure is kept.
  ValueId Constant(Result<Tensor> tensor) { return KeepConstant(std::move(tensor)); }
  // The constant that a kTensor attribute names; null if the node does not have the attribute.
  const Tensor* TensorOf(Literal attribute) const;
  Allocator& allocator() { return emitter_.allocator(); }
  // Sums a gradient that was broadcast back to the shape of `like`; no node where the types are the
  // same already.
  ValueId SumTo(ValueId value, ValueId like);
  // The same elements in the shape of `like`; no node where the types are the same already.
  ValueId ReshapeLike(ValueId value, ValueId like);

  std::string Text(const ValueType& type) const {
    return graph::TypeText(type, emitter_.module().symbols);
  }
  bool Has(ValueId value) const { return value < emitter_.graph().values.size(); }

  // Whether nothing has failed yet; afterwards ids may be kNone.
  bool ok() const { return status_.ok(); }
  const Status& failure() const { return status_; }
  void Fail(Status status);
  // The first failure, once.
  Status status() { return std::move(status_); }

 protected:
  EmitContext(const OpDef& def, Emitter& emitter, NodeId node, std::vector<ValueId> inputs)
      : def_(def), emitter_(emitter), node_id_(node), inputs_(std::move(inputs)) {}
  // Returns the value, or kNone if it failed; the failure is kept.
  ValueId Keep(Result<ValueId> value);

  const OpDef& def_;
  Emitter& emitter_;
  const NodeId node_id_;

 private:
  bool SameShape(ValueId a, ValueId b) const;
  ValueId EmitOne(std::string_view domain, std::string_view name, Inputs inputs,
                  std::vector<graph::Attribute> attributes);
  ValueId KeepConstant(Result<Tensor> tensor);

  const std::vector<ValueId> inputs_;
  Status status_;
};

}  // namespace hr::ops
