// A body under construction.
#pragma once

#include <utility>

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// As long as it lives, the builder adds nodes to a new body.
class BodyScope {
 public:
  explicit BodyScope(GraphBuilder& builder)
      : builder_(builder), outer_(builder.BeginBody()), body_(builder.current_graph()) {}
  BodyScope(const BodyScope&) = delete;
  BodyScope& operator=(const BodyScope&) = delete;
  ~BodyScope() { builder_.EndBody(outer_, std::move(outputs_)); }

  Result<ValueId> AddInput(const graph::ValueType& type) {
    return builder_.AddInput(builder_.UniqueName("input"), type);
  }
  // Inputs of the types that values of the graph around have.
  Result<std::vector<ValueId>> AddInputsLike(std::span<const ValueId> outside) {
    std::vector<ValueId> out;
    for (ValueId value : outside) {
      const graph::ValueType type = builder_.module().graphs[outer_].values[value].type;
      HR_ASSIGN_OR_RETURN(ValueId input, AddInput(type));
      out.push_back(input);
    }
    return out;
  }
  void SetOutputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }
  graph::GraphIndex index() const { return {body_}; }

 private:
  GraphBuilder& builder_;
  const uint32_t outer_;
  const uint32_t body_;
  std::vector<ValueId> outputs_;
};

}  // namespace hr::transform
