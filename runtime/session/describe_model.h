// A model as JSON: everything but the nodes, which capi's graph text gives.
#pragma once

#include <string>

#include "runtime/graph/graph.h"

namespace hr::session {

std::string DescribeModel(const graph::Module& module);

}  // namespace hr::session
