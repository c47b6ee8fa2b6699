// Variables of which each rank of a group holds a part: what a module's metadata say of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/graph.h"

namespace hr::graph {

// A variable [⌈n / ranks⌉]: rank r has the elements from r ⌈n / ranks⌉ on of a tensor of n
// elements, and zeros behind its end.
struct Shard {
  uint32_t variable = kNone;
  std::string group;
  int64_t ranks = 1;
  // Of the whole; nothing for a copy that a step makes of another variable, which is in no
  // checkpoint.
  std::optional<Dims> dims;
};

// What the copy of a variable is called.
std::string NameOfCopy(std::string_view variable);
// The elements of each rank's part of so many.
inline int64_t PartOf(int64_t elements, int64_t ranks) { return (elements + ranks - 1) / ranks; }
// The elements of the whole; INVALID_ARGUMENT if it is the copy of no variable.
Result<int64_t> ElementsOf(const Module& module, const Shard& shard);
// The key and the value in the module's metadata.
std::pair<std::string, std::string> ShardMetadata(const Module& module, const Shard& shard);
// Of all variables that the metadata name. INVALID_ARGUMENT if they cannot be.
Result<std::vector<Shard>> ShardsOf(const Module& module);

}  // namespace hr::graph
