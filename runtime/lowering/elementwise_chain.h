// Element-wise nodes of a region, with the expressions that they compute.
#pragma once

#include <optional>
#include <vector>

#include "runtime/lowering/expression.h"
#include "runtime/lowering/region.h"

namespace hr::lowering {

// Beyond these a chain is cut: programs have a bounded number of registers.
inline constexpr size_t kMaxChainSteps = 16;
inline constexpr size_t kMaxChainInputs = 12;
inline constexpr size_t kMaxChainOperands = 16;  // inputs and constants

struct ElementwiseChain {
  Expression expression;
  std::vector<graph::ValueId> inputs;  // each once
  std::vector<graph::NodeId> nodes;    // that it stands for

  // Makes each value that the chain reads one input, however often it is used. So a value is
  // absorbed for all its uses or for none.
  void Trim();
};

// Returns what a node computes; nothing if it is not element-wise, has several outputs or waits for
// others.
std::optional<ElementwiseChain> ChainOf(Region& region, graph::NodeId id);

// Returns the one value as large as the chain's `result` that it takes, if it computes in the
// floating type that all its values have, and else takes only single numbers.
std::optional<graph::ValueId> OnlySource(Region& region, const ElementwiseChain& chain,
                                         graph::ValueId result);

bool SameShape(Region& region, graph::ValueId a, graph::ValueId b);

}  // namespace hr::lowering
