// Signatures that train on many ranks: what a module's metadata say of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/graph.h"

namespace hr::graph {

struct Distribution {
  std::string signature;
  std::string group;
  std::string strategy;  // such as "mirrored bucket=4194304"
};

// The key and the value in the module's metadata.
std::pair<std::string, std::string> DistributionMetadata(const Distribution& distribution);
// Of all signatures that the metadata name, in the order of their names.
std::vector<Distribution> DistributionsOf(const Module& module);

}  // namespace hr::graph
