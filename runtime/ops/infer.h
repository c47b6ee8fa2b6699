// What a type rule sees and sets, and the rules that many operators share.
#pragma once

#include <initializer_list>
#include <optional>

#include "runtime/base/errors.h"
#include "runtime/ops/op_def.h"

namespace hr::ops {

// Valid during one call of OpDef::infer.
class InferContext {
 public:
  // `types` and `constants` have an entry per input: null types for omitted inputs, null constants
  // where the value is not known. `outputs` has an entry per output of the node.
  InferContext(const OpDef& def, const graph::Module& module, const Node& node,
               std::span<const ValueType* const> types, std::span<const Tensor* const> constants,
               std::span<ValueType> outputs)
      : def_(def),
        module_(module),
        node_(node),
        types_(types),
        constants_(constants),
        outputs_(outputs) {}

  const OpDef& def() const { return def_; }
  const Node& node() const { return node_; }
  const graph::Module& module() const { return module_; }

  size_t input_count() const { return types_.size(); }
  bool has_input(size_t i) const { return i < types_.size() && types_[i] != nullptr; }
  const ValueType& input(size_t i) const { return *types_[i]; }
  // The input's value where it is a constant, else null.
  const Tensor* constant(size_t i) const;
  // Bit i: the rule has asked for the value of input i, which is given, but not constant.
  uint64_t asked() const { return asked_; }
  // The elements of a constant int64 or int32 input; nothing where it is not known.
  std::optional<std::vector<int64_t>> ConstantInts(size_t i) const;
  // The single element of a constant float32, float64, int64 or int32 input as a real number.
  std::optional<double> ConstantNumber(size_t i) const;

  size_t output_count() const { return outputs_.size(); }
  const ValueType& output(size_t i) const { return outputs_[i]; }  // as set so far
  void SetOutput(size_t i, const ValueType& type);
  void SetOutput(size_t i, ValueType&& type);
  void SetUnranked(size_t i, DType dtype);
  // The constant that a kTensor attribute names.
  Result<const Tensor*> TensorOf(Literal attribute) const;
  // The variable that a kInt attribute names.
  Result<const graph::Variable*> VariableOf(Literal attribute) const;

  std::string Text(const ValueType& type) const { return graph::TypeText(type, module_.symbols); }
  // "input 0 (float32[2, 3])"
  std::string InputText(size_t i) const { return Cat("input ", i, " (", Text(input(i)), ")"); }

  // Failures that say which input it was.
  Status ExpectDType(size_t i, std::initializer_list<DType> allowed) const;
  Status ExpectFloating(size_t i) const;
  Status ExpectNumeric(size_t i) const;  // floating-point or integer
  Status ExpectSameDType(size_t i, size_t j) const;
  Status ExpectRank(size_t i, int64_t rank) const;  // passes where the rank is unknown
  Status ExpectRankAtLeast(size_t i, int64_t rank) const;
  Status ExpectIndices(size_t i) const;  // int32 or int64
  Status ExpectInts(size_t i) const;     // int64 of rank 1: a shape, axes, …

 private:
  const OpDef& def_;
  const graph::Module& module_;
  const Node& node_;
  std::span<const ValueType* const> types_;
  std::span<const Tensor* const> constants_;
  std::span<ValueType> outputs_;
  mutable uint64_t asked_ = 0;
};

// The elements of an int64 or int32 tensor; nothing for other types.
std::optional<std::vector<int64_t>> IntsOf(const Tensor& tensor);

// Output 0 has the type of input 0.
Status InferSameAsInput(InferContext& context);
// The same, for floating-point inputs only, and for numbers only.
Status InferFloatingUnary(InferContext& context);
Status InferNumericUnary(InferContext& context);
// NumPy broadcasting of two types' dimensions; symbolic ones meet only themselves, 1, or nothing
// known.
Result<std::vector<graph::Dim>> BroadcastTypes(const InferContext& context, const ValueType& a,
                                               const ValueType& b);
// Broadcasts `out` with the dimensions of `next`, in place; unranked where either is.
Status BroadcastInto(const InferContext& context, const ValueType& next, ValueType& out);
// The type of all inputs broadcast together, of input 0's dtype, which the others must share.
Result<ValueType> BroadcastInputs(const InferContext& context);
// Output 0 has that type, and the inputs are numbers.
Status InferBroadcast(InferContext& context);

}  // namespace hr::ops
