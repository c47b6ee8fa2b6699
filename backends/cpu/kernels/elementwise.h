// Chains of element-wise operators in one pass over memory: a small program of operations on
// registers, each a block of elements, so that no code is generated and intermediate values stay in
// the first-level cache.
//
//   ElementProgramBuilder builder(DType::kFloat32);          // relu(x * 2 + bias)
//   int x = builder.Input(DType::kFloat32), bias = builder.Input(DType::kFloat32);
//   int scaled = builder.Apply(ElementOp::kMul, {x, builder.Constant(2)});
//   int sum = builder.Apply(ElementOp::kAdd, {scaled, bias});
//   builder.Output(builder.Apply(ElementOp::kRelu, {sum}), DType::kFloat32);
//   HR_ASSIGN_OR_RETURN(ElementProgram program, builder.Build());
//   HR_ASSIGN_OR_RETURN(ElementLayout layout, ElementLayout::Make(out_dims, {x_dims, bias_dims}));
//   RunElementProgram(threads, program, layout, inputs, outputs, slices);
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/element_op.h"
#include "runtime/base/executor.h"
#include "runtime/base/result.h"
#include "runtime/base/shape.h"

namespace hr::cpu {

// Immutable; may run on many threads at once.
class ElementProgram {
 public:
  static constexpr int kMaxInputs = 12;
  static constexpr int kMaxOutputs = 8;
  // Values alive at one time, inputs and constants included.
  static constexpr int kMaxRegisters = 24;

  int inputs() const { return static_cast<int>(inputs_.size()); }
  int outputs() const { return static_cast<int>(outputs_.size()); }
  ElementType type() const { return type_; }

 private:
  friend class ElementProgramBuilder;
  friend class ElementRun;
  struct Input {
    ConvertLoop load;  // null where no conversion is needed
    int64_t size;      // bytes of an element
    int reg;
  };
  struct Constant {
    alignas(8) char bits[8];
    int reg;
  };
  struct Instruction {
    ElementLoop loop;
    ConvertLoop narrow, widen;  // keep what the dtype can hold; null where nothing gets lost
    int8_t out;
    int8_t in[3];
    int8_t output;  // writes this output's memory instead of a register; -1 for none
  };
  struct Output {
    ConvertLoop store;  // null where the instruction wrote the memory itself
    int64_t size;
    int reg;
  };

  ElementType type_ = ElementType::kFloat;
  int registers_ = 0;
  int cost_ = 1;  // of one element, about in additions
  std::vector<Input> inputs_;
  std::vector<Constant> constants_;
  std::vector<Instruction> instructions_;
  std::vector<Output> outputs_;
};

class ElementProgramBuilder {
 public:
  // Computes in the ElementType of `dtype`; integers wrap around as `dtype` does.
  explicit ElementProgramBuilder(DType dtype);

  // Each returns the number of a value. Inputs and outputs are numbered in the order of the calls
  // and may have any supported dtype; they are converted.
  int Input(DType dtype);
  int Constant(double value);
  int Constant(int64_t value);
  int Apply(ElementOp op, std::span<const int> operands);
  int Apply(ElementOp op, std::initializer_list<int> operands) {
    return Apply(op, std::span(operands.begin(), operands.size()));
  }
  void Output(int value, DType dtype);

  // Fails where an operation does not exist for the type or has another number of operands, or
  // where a program grew too large (split the chain). Consumes the builder.
  Result<ElementProgram> Build();

 private:
  struct Value {
    enum class Kind : uint8_t { kInput, kConstant, kApply } kind;
    DType dtype = DType::kUndefined;
    double number = 0;
    int64_t integer = 0;
    ElementOp op = ElementOp::kIdentity;
    std::vector<int> operands = {};
    int last_use = -1;
    int reg = -1;
  };
  struct Out {
    int value;
    DType dtype;
  };
  int Add(Value value);
  Status Check() const;
  Status CheckApply(const Value& value, int index) const;
  void FindLastUses();
  int AllocateRegister(std::vector<bool>& used) const;
  void Emit(const Value& value, int index, ElementProgram& program) const;

  DType dtype_;
  std::vector<Value> values_;
  std::vector<Out> outputs_;
  int last_reader_ = -1;  // the last value that is computed of an input
};

// The shapes of a run: all outputs have `dims`, to which each input broadcasts as in NumPy.
class ElementLayout {
 public:
  static Result<ElementLayout> Make(std::span<const int64_t> dims,
                                    std::span<const std::span<const int64_t>> input_dims);
  // Inputs with `strides` of their own, in elements, one for each of `dims`.
  static ElementLayout Strided(std::span<const int64_t> dims,
                               std::span<const std::span<const int64_t>> strides);

  int64_t count() const { return count_; }

 private:
  friend class ElementRun;
  enum class Access : uint8_t { kContiguous, kScalar, kStrided };
  struct Input {
    Access access;
    Dims dims, strides;  // collapsed
  };
  int64_t count_ = 1;
  std::vector<Input> inputs_;
};

// Inputs and outputs are arrays as the program and the layout say. An output may be the memory of a
// contiguous input of the same element size. Nothing is allocated.
void RunElementProgram(const Lease& threads, const ElementProgram& program,
                       const ElementLayout& layout, std::span<const void* const> inputs,
                       std::span<void* const> outputs, int slices);

}  // namespace hr::cpu
