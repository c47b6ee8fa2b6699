// Trees as the operands of headrace.ml.Forest: a matrix with a row for each node, and lists. What
// type rules, compositions and kernels have in common.
#pragma once

#include <cstdint>

namespace hr::ops {

// The columns of the nodes [nodes, kColumns], int64.
struct ForestColumns {
  enum : int64_t {
    kMode,
    kFeature,       // that is compared with the node's split
    kYes,           // the node to go on with if the comparison holds; it has a larger number
    kNo,            // … if it does not
    kMissing,       // 1: NaN goes on with kYes, whatever the comparison says
    kMembersBegin,  // of kMember: its numbers among the members
    kMembersEnd,
    kColumns
  };
};

// How a node compares its feature x with its split. A leaf has its weights from kYes up to kNo.
enum class ForestMode : int64_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };

// What becomes of the weights that several trees have for one target; 0 if none has any.
enum class ForestAggregate : int64_t { kAverage, kSum, kMin, kMax };

}  // namespace hr::ops
