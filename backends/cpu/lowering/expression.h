// Element-wise nodes as expressions that can be joined.
#pragma once

#include <optional>
#include <vector>

#include "backends/cpu/kernels/elementwise.h"
#include "runtime/graph/graph.h"

namespace hr::cpu {

// One output computed from inputs of any broadcasting shapes. Values are numbered: inputs first,
// then constants, then steps; the last step is the output.
struct Expression {
  struct Step {
    ElementOp op;
    std::vector<int> operands;
  };
  DType compute = DType::kUndefined;  // the type in which it is computed
  int inputs = 0;
  std::vector<double> constants;
  std::vector<Step> steps;

  // As attributes of cpu.Elementwise, and back.
  std::vector<graph::Attribute> ToAttributes() const;
  static Expression FromAttributes(const graph::Node& node, int inputs);

  // This expression with input `at` computed by `inner`; the inputs of `inner` are appended, the
  // replaced input stays, unused, at its place.
  Expression Inline(int at, const Expression& inner) const;
  // Returns the expression without the inputs that no step uses; `kept` gets the places of the
  // others.
  Expression DropUnusedInputs(std::vector<int>* kept) const;
  // Returns the expression with `count` inputs, of which input i of this one is number place[i].
  Expression RenumberInputs(std::span<const int> place, int count) const;
  // "Mul+Add+Relu"
  std::string Describe() const;
  Result<ElementProgram> Compile(std::span<const DType> input_types, DType output_type) const;
};

// What an ONNX or headrace.grad element-wise operator computes; nothing where it is another
// operator or has a form that must run some other way. `types`: of the inputs, kUndefined for
// omitted ones.
std::optional<Expression> ExpressionOf(const graph::Operator& op, const graph::Node& node,
                                       std::span<const DType> types);
// Names of the operators that ExpressionOf knows.
bool IsElementwise(const graph::Operator& op);

}  // namespace hr::cpu
