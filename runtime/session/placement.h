// Which device runs which node of a plan.
#pragma once

#include <vector>

#include "runtime/session/env.h"

namespace hr::session {

// Whether any node asks for a device, or the session does: if not, the CPU runs all, and there is
// nothing to place.
bool WantsPlacement(const graph::Module& module, std::string_view default_device);

// A device for each node of the main graph, which must stand in topological order: the one that the
// node names, else `default_device`, else the CPU. Nodes that use the same variable share a device.
// What the device does not take falls back to the CPU, together with the users of its variables.
// Fails where a name is unknown, or where users of one variable name different devices.
Result<std::vector<Device*>> Place(Env& env, const graph::Module& module,
                                   std::string_view default_device);

}  // namespace hr::session
