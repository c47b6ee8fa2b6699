#include "runtime/transform/adapter_site.h"

#include <numeric>

#include "runtime/ops/op_def.h"
#include "runtime/transform/adapter.h"

namespace hr::transform {
namespace {

using graph::kNone;

std::optional<SiteKind> KindOf(const graph::Operator& op) {
  if (op.domain != ops::kOnnx) return {};
  if (op.name == "MatMul") return SiteKind::kMatMul;
  if (op.name == "Gemm") return SiteKind::kGemm;
  if (op.name == "Conv") return SiteKind::kConv;
  return {};
}

bool SwapsTwo(const graph::Node& node) {
  const auto order = node.Ints("perm");
  return order.empty() || (order.size() == 2 && order[0] == 1 && order[1] == 0);
}

// Follows the node's weight back to its variable or constant. Returns false if it is computed.
bool FindWeight(const graph::Module& module, AdapterSite* site) {
  const graph::Graph& graph = module.main();
  for (graph::ValueId value = site->value;;) {
    site->value = value;
    const graph::Value& at = graph.values[value];
    if (at.constant != kNone) {
      site->weight = at.name;
      return !at.name.empty();
    }
    if (at.producer == kNone) return false;
    const graph::Node& node = graph.nodes[at.producer];
    const graph::Operator& op = module.OperatorOf(node);
    if (op.domain == ops::kState && op.name == "Read") {
      site->variable = static_cast<uint32_t>(node.Int("variable", 0));
      site->weight = module.variables[site->variable].name;
      return true;
    }
    const bool swaps = op.name == "Transpose" && SwapsTwo(node) && site->kind != SiteKind::kConv;
    if (op.domain != ops::kOnnx || (!swaps && op.name != "Identity")) return false;
    if (swaps) site->transposed = !site->transposed;
    value = node.inputs[0];
  }
}

bool FitsKind(const graph::Module& module, const AdapterSite& site, bool groups) {
  const auto dims = module.main().values[site.value].type.FixedDims();
  if (!dims || !IsFloating(module.main().values[site.value].type.dtype)) return false;
  if (site.kind != SiteKind::kConv) return dims->size() == 2;
  return dims->size() >= 3 && (groups || module.main().nodes[site.node].Int("group", 1) == 1);
}

}  // namespace

std::optional<AdapterSite> SiteOf(const graph::Module& module, graph::NodeId id, bool groups) {
  const graph::Node& node = module.main().nodes[id];
  const auto kind = KindOf(module.OperatorOf(node));
  if (!kind || node.inputs.size() < 2 || node.outputs[0] == kNone) return {};
  AdapterSite site{.node = id, .kind = *kind, .value = node.inputs[1]};
  site.transposed = *kind == SiteKind::kGemm && node.Int("transB", 0) != 0;
  if (!FindWeight(module, &site) || !FitsKind(module, site, groups)) return {};
  return site;
}

std::optional<AdapterSite> TableOf(const graph::Module& module, graph::NodeId id) {
  const graph::Node& node = module.main().nodes[id];
  const graph::Operator& op = module.OperatorOf(node);
  const int64_t axis = node.Int("axis", 0);
  if (op.domain != ops::kOnnx || op.name != "Gather" || (axis != 0 && axis != -2)) return {};
  AdapterSite site{.node = id, .kind = SiteKind::kGather, .value = node.inputs[0]};
  if (!FindWeight(module, &site) || !FitsKind(module, site, false)) return {};
  return site;
}

std::vector<AdapterSite> SitesOf(const graph::Module& module) {
  std::vector<AdapterSite> out;
  for (graph::NodeId id = 0; id < module.main().nodes.size(); ++id) {
    auto site = SiteOf(module, id);
    if (site && !IsAdapterPart(site->weight)) out.push_back(std::move(*site));
  }
  return out;
}

SiteSizes SizesOf(const graph::Module& module, const AdapterSite& site) {
  const Dims dims = *module.main().values[site.value].type.FixedDims();
  if (site.kind != SiteKind::kConv)
    return {dims[site.transposed ? 1 : 0], dims[site.transposed ? 0 : 1]};
  return {std::accumulate(dims.begin() + 1, dims.end(), int64_t{1}, std::multiplies<>()), dims[0]};
}

}  // namespace hr::transform
