#include "runtime/transform/request.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::transform {
namespace {

using graph::kNone;
using graph::kUnknownDim;
using graph::ValueId;

// Returns the symbol of a feed's dimension; kNone if it has none.
uint32_t SymbolOf(const graph::Module& module, const Request& request, const Feed& feed, size_t i) {
  const graph::ValueType& type = module.graphs[request.graph].values[feed.value].type;
  return type.ranked && i < type.dims.size() ? type.dims[i].symbol : kNone;
}

std::string BoundsText(const graph::Symbol& symbol) {
  if (symbol.max == kUnknownDim) return Cat("at least ", symbol.min);
  return Cat(symbol.min, " to ", symbol.max);
}

class FeedChecker {
 public:
  FeedChecker(const graph::Module& module, const graph::Graph& graph)
      : module_(module), graph_(graph), seen_(module.symbols.size()) {}

  Status Check(const Feed& feed) {
    const graph::ValueType& type = graph_.values[feed.value].type;
    if (type.kind != graph::ValueKind::kTensor) {
      return FailedPrecondition("'", graph::ValueText(graph_, feed.value), "' is a ",
                                graph::KindName(type.kind), ", and runs are fed with tensors; ",
                                "make it in the graph: SequenceConstruct joins inputs, ",
                                "SplitToSequence divides one");
    }
    if (auto bytes = CheckedTensorBytes(feed.dtype, feed.dims); !bytes.ok())
      return std::move(bytes).status().WithContext(graph::ValueText(graph_, feed.value));
    if (feed.dtype != type.dtype) return Mismatch(feed);
    if (!type.ranked) return {};
    if (feed.dims.size() != type.dims.size()) return Mismatch(feed);
    for (size_t i = 0; i < feed.dims.size(); ++i) {
      const graph::Dim& dim = type.dims[i];
      if (dim.fixed() && dim.size != feed.dims[i]) return Mismatch(feed);
      if (dim.symbol != kNone) HR_RETURN_IF_ERROR(CheckNamed(feed, dim.symbol, feed.dims[i]));
    }
    return {};
  }

 private:
  // The size of a named dimension, and the feed that had it first.
  struct Seen {
    int64_t size = kUnknownDim;
    ValueId value = kNone;
  };

  Status CheckNamed(const Feed& feed, uint32_t index, int64_t size) {
    const graph::Symbol& symbol = module_.symbols[index];
    Seen& seen = seen_[index];
    if (seen.value != kNone && seen.size != size) {
      return Mismatch(feed, Cat(": dimension '", symbol.name, "' is ", size, " here and ",
                                seen.size, " in '", graph::ValueText(graph_, seen.value),
                                "'; a name stands for one size in a run"));
    }
    seen = {size, feed.value};
    if (size >= symbol.min && (symbol.max == kUnknownDim || size <= symbol.max)) return {};
    return Mismatch(feed, Cat(": dimension '", symbol.name, "' is ", size, ", the model wants ",
                              BoundsText(symbol), "; feed such a size or declare other bounds"));
  }

  Status Mismatch(const Feed& feed, const std::string& why = {}) const {
    return InvalidArgument("'", graph::ValueText(graph_, feed.value), "' takes ",
                           graph::TypeText(graph_.values[feed.value].type, module_.symbols),
                           ", got ", DTypeName(feed.dtype), feed.dims, why);
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  std::vector<Seen> seen_;  // by symbol
};

}  // namespace

Status CheckRequest(const graph::Module& module, const Request& request) {
  const graph::Graph& graph = module.graphs[request.graph];
  for (const Feed& feed : request.feeds) {
    if (feed.value >= graph.values.size())
      return InvalidArgument("there is no value #", feed.value);
    auto same = [&](const Feed& other) { return other.value == feed.value; };
    if (std::count_if(request.feeds.begin(), request.feeds.end(), same) > 1) {
      return InvalidArgument("'", graph::ValueText(graph, feed.value),
                             "' is fed twice; give each value once");
    }
  }
  for (ValueId fetch : request.fetches) {
    if (fetch >= graph.values.size()) return InvalidArgument("there is no value #", fetch);
  }
  for (graph::NodeId target : request.targets) {
    if (target >= graph.nodes.size()) return InvalidArgument("there is no node #", target);
  }
  FeedChecker checker(module, graph);
  for (const Feed& feed : request.feeds) HR_RETURN_IF_ERROR(checker.Check(feed));
  return {};
}

std::optional<SizeRange> RangeOf(const graph::Module& module, uint32_t index, int64_t size) {
  if (index == kNone) return std::nullopt;
  const graph::Symbol& symbol = module.symbols[index];
  if (size < symbol.min || (symbol.max != kUnknownDim && size > symbol.max)) return std::nullopt;
  const auto& buckets = symbol.buckets;
  const auto bucket = std::lower_bound(buckets.begin(), buckets.end(), size);
  SizeRange range{.symbol = index, .first = symbol.min, .last = symbol.max};
  if (bucket != buckets.begin()) range.first = std::max(range.first, *(bucket - 1) + 1);
  if (bucket != buckets.end()) {
    range.last = symbol.max == kUnknownDim ? *bucket : std::min(*bucket, symbol.max);
  }
  if (range.last == kUnknownDim) return std::nullopt;
  return range;
}

std::vector<SizeRange> RangesOf(const graph::Module& module, const Request& request) {
  std::vector<SizeRange> out;
  for (const Feed& feed : request.feeds) {
    for (size_t i = 0; i < feed.dims.size(); ++i) {
      const auto range = RangeOf(module, SymbolOf(module, request, feed, i), feed.dims[i]);
      const bool known = range && std::any_of(out.begin(), out.end(), [&](const SizeRange& other) {
                           return other.symbol == range->symbol;
                         });
      if (range && !known) out.push_back(*range);
    }
  }
  return out;
}

Request AtRangeEnds(const graph::Module& module, const Request& request) {
  Request out = request;
  for (Feed& feed : out.feeds) {
    for (size_t i = 0; i < feed.dims.size(); ++i) {
      const auto range = RangeOf(module, SymbolOf(module, request, feed, i), feed.dims[i]);
      if (range) feed.dims[i] = range->last;
    }
  }
  return out;
}

}  // namespace hr::transform
