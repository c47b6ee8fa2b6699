// Finds Gelu (Hendrycks and Gimpel, arXiv:1606.08415) where it is an operator, and where exporters
// wrote it as x (1 + erf(x / sqrt(2))) / 2.
#pragma once

#include <optional>

#include "runtime/lowering/region.h"

namespace hr::lowering {

struct FoundGelu {
  std::vector<graph::NodeId> nodes;  // that nobody else needs
  graph::ValueId y;
};

// Returns the Gelu of `x` that takes all that is made of x; nothing if there is none. The form with
// tanh is another function.
std::optional<FoundGelu> FindGelu(const Region& region, graph::ValueId x);

}  // namespace hr::lowering
