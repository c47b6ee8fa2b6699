// What a run asks of a graph, and the sizes that plans for it are made for.
#pragma once

#include <optional>

#include "runtime/graph/graph.h"

namespace hr::transform {

// A value that the caller gives, which cuts off whatever would compute it.
struct Feed {
  graph::ValueId value = graph::kNone;
  DType dtype = DType::kUndefined;
  Dims dims;
  friend bool operator==(const Feed&, const Feed&) = default;
};

struct Request {
  uint32_t graph = 0;  // index into Module::graphs
  std::vector<Feed> feeds;
  std::vector<graph::ValueId> fetches;
  std::vector<graph::NodeId> targets;
};

// Whether the request names what the module has, and its feeds have the declared types: fixed
// sizes, the bounds of named ones, and one size wherever a name stands.
Status CheckRequest(const graph::Module& module, const Request& request);

// Sizes of a named dimension that one plan serves, from `first` to `last`.
struct SizeRange {
  uint32_t symbol = graph::kNone;
  int64_t first = 0;
  int64_t last = 0;
};

// Those around `size`: up to the smallest bucket that holds it and above the bucket before, else up
// to the upper bound. Nothing where the dimension has neither, or the size lies beyond them.
std::optional<SizeRange> RangeOf(const graph::Module& module, uint32_t symbol, int64_t size);

// The ranges of all the dimensions of the feeds that have one.
std::vector<SizeRange> RangesOf(const graph::Module& module, const Request& request);

// The request with its feeds at the ends of their ranges.
Request AtRangeEnds(const graph::Module& module, const Request& request);

}  // namespace hr::transform
