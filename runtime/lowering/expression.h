// Element-wise nodes as expressions that can be joined.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/ops/element_op.h"

namespace hr::lowering {

// An output computed from inputs of any broadcasting shapes. Values are numbered: inputs first,
// then constants, then steps; the last step is the output.
struct Expression {
  struct Step {
    ops::ElementOp op;
    std::vector<int> operands;
  };
  DType compute = DType::kUndefined;  // the type in which it is computed
  int inputs = 0;
  std::vector<double> constants;
  std::vector<Step> steps;
  std::vector<int> also;  // steps that are outputs, too, behind the last one; of the same shape

  // The attributes of a node lowered.Elementwise, and the expression that they hold.
  std::vector<graph::Attribute> ToAttributes() const;
  static Expression FromAttributes(const graph::Node& node, int inputs);

  // Returns this expression with input `at` computed by `inner`; the inputs of `inner` are
  // appended, the replaced input stays, unused, at its place. `inner` has one output.
  Expression Inline(int at, const Expression& inner) const;
  // Returns this expression with the output of `other` as one more; its inputs are appended.
  Expression Beside(const Expression& other) const;
  // Returns the expression without the inputs that no step uses; `kept` gets the places of the
  // others.
  Expression DropUnusedInputs(std::vector<int>* kept) const;
  // Returns the expression with `count` inputs, of which input i of this one is number place[i].
  Expression RenumberInputs(std::span<const int> place, int count) const;
  // Returns the expression with steps that compute the same as one, and constants likewise.
  Expression MergeEqual() const;
  bool Has(ops::ElementOp op) const;
  // About how many additions it takes.
  int Cost() const;
  // Returns the names of the steps: "Mul+Add+Relu".
  std::string Describe() const;
};

// Returns what an element-wise operator computes; nothing for other operators, and for forms of
// element-wise ones that must run some other way. `types`: of the inputs, kUndefined for omitted
// ones. QuantizeLinear and DequantizeLinear are meant with one scale for the whole tensor.
std::optional<Expression> ExpressionOf(const graph::Operator& op, const graph::Node& node,
                                       std::span<const DType> types);
// Returns whether ExpressionOf knows the operator.
bool IsElementwise(const graph::Operator& op);

}  // namespace hr::lowering
