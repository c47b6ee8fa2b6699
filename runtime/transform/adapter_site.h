// Where adapters go: the products and convolutions of a graph and their weights.
#pragma once

#include <optional>

#include "runtime/graph/graph.h"

namespace hr::transform {

enum class SiteKind : uint8_t { kMatMul, kGemm, kConv, kGather };

struct AdapterSite {
  graph::NodeId node = graph::kNone;
  SiteKind kind = SiteKind::kMatMul;
  std::string weight;  // the name of the variable, or of the constant
  uint32_t variable = graph::kNone;
  graph::ValueId value = graph::kNone;  // what the variable or constant gives; the node's input, or
                                        // what that is transposed from
  bool transposed = false;              // the weight is [outputs, inputs], a table [columns, rows]
};

// The node as a product with a weight of known size, or nothing. `groups`: convolutions may have
// several.
std::optional<AdapterSite> SiteOf(const graph::Module& module, graph::NodeId node,
                                  bool groups = false);
// The node as a Gather of rows of a matrix, its weight, or nothing. Adapters have none of these.
std::optional<AdapterSite> TableOf(const graph::Module& module, graph::NodeId node);
// All of the main graph, but for those of adapters.
std::vector<AdapterSite> SitesOf(const graph::Module& module);

// Sizes of the weight. For Conv, `inputs` counts the elements of a kernel.
struct SiteSizes {
  int64_t inputs = 0, outputs = 0;
};
SiteSizes SizesOf(const graph::Module& module, const AdapterSite& site);

}  // namespace hr::transform
