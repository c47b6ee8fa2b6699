// Cuts a plan into parts, one region of one device each, that can run one after the other.
#pragma once

#include <vector>

#include "runtime/device/backend.h"
#include "runtime/ops/op_def.h"

namespace hr::session {

struct Part {
  Device* device = nullptr;
  graph::Module module;  // a region: its types, names and variables are those of the whole
  // What the slots of the region are in the whole: values, and numbers of constants.
  std::vector<graph::ValueId> inputs;
  std::vector<graph::ValueId> outputs;
  std::vector<uint32_t> constants;
  bool writes = false;  // variables
};

// Puts the nodes of the main graph into topological order.
Status SortNodes(graph::Module* module);

// `devices` has one for each node, which stand in topological order; all users of a variable share
// theirs. Parts come in the order in which they can run: whatever one needs of another comes
// earlier, control edges included, and every read of a variable that has no control input comes
// before the first write or in its part.
std::vector<Part> Cut(const ops::OpRegistry& operators, const graph::Module& module,
                      const std::vector<Device*>& devices);

}  // namespace hr::session
