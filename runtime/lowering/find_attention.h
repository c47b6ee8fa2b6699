// The nodes of attention in a region, forward and backward.
#pragma once

#include <optional>
#include <vector>

#include "runtime/lowering/fuse_attention.h"
#include "runtime/lowering/transpose_axes.h"

namespace hr::lowering {

struct FoundMask {
  graph::ValueId value = graph::kNone;
  ScoreMask kind = ScoreMask::kAdd;
  graph::ValueId fill = graph::kNone;  // the constant; its number is `number`
  double number = 0;
};

// A constant by which scores are multiplied, or divided.
struct FoundFactor {
  graph::ValueId value = graph::kNone;
  bool divides = false;
  double number = 1;  // to multiply by

  friend bool operator==(const FoundFactor&, const FoundFactor&) = default;
};

struct FoundAttention {
  graph::NodeId product = graph::kNone, softmax = graph::kNone, output = graph::kNone;
  graph::ValueId probabilities = graph::kNone;  // of the softmax
  graph::ValueId result = graph::kNone;
  bool narrow = false;  // operands and result are of 16 bits
  std::vector<FoundFactor> factors;
  std::vector<FoundMask> masks;              // in the order in which they are applied
  graph::ValueId nan_number = graph::kNone;  // the constant that takes the place of NaN
  TransposedView q, k, v;                    // k may have columns in the place of rows
  std::vector<graph::NodeId> nodes;          // that vanish

  double scale() const;
};

// The values by which the gradient is tied to other nodes, and the nodes that vanish.
struct FoundAttentionGrad {
  graph::ValueId dout = graph::kNone, dq = graph::kNone, dk_transposed = graph::kNone,
                 dv = graph::kNone;
  std::vector<graph::NodeId> nodes;
};

// Returns the attention whose last product is `output`. Nobody else takes what is between its
// nodes, unless the probabilities. `fold`: factors of queries and keys are those of the scores.
// Between products of 16 bits, which targets compute in float32 (widen.h), results are rounded to
// 16 bits and widened again; these casts are passed, so nothing is rounded until the result.
std::optional<FoundAttention> FindAttention(const Region& region, graph::NodeId output, bool fold);

// Returns the nodes that take the probabilities besides, if they are the gradient's.
std::optional<FoundAttentionGrad> FindAttentionGrad(const Region& region,
                                                    const FoundAttention& forward);

}  // namespace hr::lowering
