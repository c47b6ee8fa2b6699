// The handle of a graph, and how each call holds it.
#pragma once

#include <atomic>
#include <map>

#include "capi/src/handles.h"

namespace hr::capi {

// What the descriptions of a graph point to, beside the graph itself; by the address of what it was
// made of.
struct GraphViews {
  std::map<const void*, std::string> texts;
  std::map<const void*, std::vector<const char*>> names;
  std::map<const void*, std::vector<int64_t>> dims;
  std::map<const void*, std::vector<uint32_t>> numbers;
};

}  // namespace hr::capi

struct hr_graph {
  std::shared_ptr<hr::session::Env> env;
  hr::transform::GraphBuilder rep;
  mutable hr::capi::GraphViews views = {};  // until the next call that may change the graph
  mutable std::atomic<bool> in_use = false;
};

namespace hr::capi {

// Holds a graph during a call. Two calls at once are a mistake of the host, which only one of them
// survives.
class GraphUse {
 public:
  explicit GraphUse(const hr_graph* graph)
      : graph_(*graph), held_(!graph->in_use.exchange(true, std::memory_order_acquire)) {}
  // For a call that may change the graph.
  explicit GraphUse(hr_graph* graph) : GraphUse(static_cast<const hr_graph*>(graph)) {
    if (held_) graph->views = {};
  }
  GraphUse(const GraphUse&) = delete;
  GraphUse& operator=(const GraphUse&) = delete;
  ~GraphUse() {
    if (held_) graph_.in_use.store(false, std::memory_order_release);
  }
  bool held() const { return held_; }

 private:
  const hr_graph& graph_;
  const bool held_;
};

// Says that `function` was called while another call had the graph.
[[gnu::cold]] hr_status* GraphInUse(const char* function);

// The value through `out`, or the failure.
template <typename T, typename From>
hr_status* Give(T* out, Result<From> result) {
  if (!result.ok()) return Wrap(std::move(result).status());
  *out = std::move(result).value();
  return nullptr;
}

// Whether the number is one of the graph's.
Status CheckValue(const hr_graph* graph, hr_value value);
Status CheckNode(const hr_graph* graph, hr_node node);

}  // namespace hr::capi

// Holds the graph until the function ends, or leaves the function.
#define HR_USE_GRAPH(graph)                 \
  HR_REQUIRE(graph);                        \
  const ::hr::capi::GraphUse hr_use(graph); \
  if (!hr_use.held()) return ::hr::capi::GraphInUse(__func__)
