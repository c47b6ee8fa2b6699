// How the elements of a tensor lie in memory, and where values change it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/ops/op_def.h"

namespace hr::lowering {

// kPlain is row-major without gaps. What other numbers mean is the target's business.
enum class Layout : uint8_t { kPlain = 0 };

// The layouts in which a node reads its inputs and writes its outputs.
struct NodeLayouts {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
};

class Region;
class Target;

// Gives each value the layout in which its node writes it, and inserts conversions for the nodes
// that read it in another one; one that only uses its type takes it as it is. What is fetched is
// plain.
Status AssignLayouts(Region& region, const Target& target, const ops::OpRegistry& operators);

}  // namespace hr::lowering
