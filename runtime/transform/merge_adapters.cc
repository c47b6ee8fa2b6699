// Adapters that become part of their weights.
#include <algorithm>
#include <functional>

#include "runtime/base/errors.h"
#include "runtime/transform/adapter.h"
#include "runtime/transform/adapter_site.h"
#include "runtime/transform/keep_signatures.h"
#include "runtime/transform/tensor_numbers.h"

namespace hr::transform {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// A product and the sum with what its adapter gives.
struct AdaptedSite {
  AdapterSite site;
  ValueId product = kNone, sum = kNone;
};

class Merger {
 public:
  Merger(const graph::Module& module, Allocator& allocator)
      : module_(module), allocator_(allocator) {}

  Result<graph::Module> Run() {
    HR_RETURN_IF_ERROR(FindSites());
    for (auto& [weight, sites] : sites_) {
      HR_RETURN_IF_ERROR(CheckUses(weight, sites));
      HR_RETURN_IF_ERROR(Merge(weight, sites.front().site));
    }
    for (auto& [weight, sites] : sites_) {
      for (const AdaptedSite& adapted : sites) Disconnect(adapted);
    }
    return std::move(module_);
  }

 private:
  const graph::Graph& graph() const { return module_.main(); }

  const graph::Node* Producer(ValueId value, std::string_view op) const {
    if (value == kNone || graph().values[value].producer == kNone) return nullptr;
    const graph::Node& node = graph().nodes[graph().values[value].producer];
    return module_.OperatorOf(node).name == op ? &node : nullptr;
  }

  // The name of the variable that is read, or "".
  std::string_view NameRead(ValueId value) const {
    const graph::Node* read = Producer(value, "Read");
    if (read == nullptr) return "";
    return module_.variables[static_cast<size_t>(read->Int("variable", 0))].name;
  }

  // product + delta * scale.
  Status FindSites() {
    for (const graph::Node& node : graph().nodes) {
      if (module_.OperatorOf(node).name != "Add") continue;
      const graph::Node* scaled = Producer(node.inputs[1], "Mul");
      if (scaled == nullptr) continue;
      const std::string_view scale = NameRead(scaled->inputs[1]);
      if (!scale.ends_with(kLoraScale)) continue;
      const std::string weight(scale.substr(0, scale.size() - kLoraScale.size()));
      const auto site = SiteOf(module_, graph().values[node.inputs[0]].producer);
      if (!site || site->weight != weight)
        return FailedPrecondition("the adapter of '", weight, "' is not beside its product");
      sites_[weight].push_back({*site, node.inputs[0], node.outputs[0]});
    }
    return {};
  }

  // Whether all that uses the value is a product of `sites`, with the value as its weight.
  Status CheckUsesOf(ValueId value, const std::string& weight,
                     const std::vector<AdaptedSite>& sites) const {
    for (NodeId id = 0; id < graph().nodes.size(); ++id) {
      const graph::Node& node = graph().nodes[id];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != value) continue;
        const bool is_site = i == 1 && std::ranges::any_of(sites, [&](const AdaptedSite& adapted) {
                               return adapted.site.node == id;
                             });
        if (is_site) continue;
        const std::string& op = module_.OperatorOf(node).name;
        if (op != "Transpose" && op != "Identity") return UsedElsewhere(weight, id);
        HR_RETURN_IF_ERROR(CheckUsesOf(node.outputs[0], weight, sites));
      }
    }
    for (const graph::Signature& signature : module_.signatures) {
      for (const graph::Port& port : signature.outputs) {
        if (port.value == value)
          return FailedPrecondition("weight '", weight, "' is an output of signature '",
                                    signature.name, "', so its adapter cannot be merged into it");
      }
    }
    return {};
  }

  Status UsedElsewhere(const std::string& weight, NodeId node) const {
    return FailedPrecondition("weight '", weight, "' is also used by '",
                              graph::NodeText(module_, graph(), node),
                              "', which has no adapter, so its adapter cannot be merged into it; "
                              "save the model with its adapters");
  }

  Status CheckUses(const std::string& weight, const std::vector<AdaptedSite>& sites) const {
    const AdapterSite& site = sites.front().site;
    if (site.variable == kNone) return CheckUsesOf(site.value, weight, sites);
    for (const graph::Node& node : graph().nodes) {
      const graph::Operator& op = module_.OperatorOf(node);
      if (op.domain != ops::kState || node.Int("variable", -1) != site.variable) continue;
      if (op.name != "Read")
        return FailedPrecondition("weight '", weight, "' is changed by '", op.name,
                                  "', so its adapter cannot be merged into it");
      HR_RETURN_IF_ERROR(CheckUsesOf(node.outputs[0], weight, sites));
    }
    return {};
  }

  Result<Tensor> ValueOf(const std::string& name) const {
    const uint32_t variable = module_.FindVariable(name);
    const uint32_t constant =
        variable == kNone ? kNone : module_.variables[variable].initial_constant;
    if (constant != kNone) return module_.constants[constant];
    return FailedPrecondition("'", name,
                              "' has no value before a session draws it; export the model from a "
                              "session to merge its adapters");
  }

  Status Merge(const std::string& weight, const AdapterSite& site) {
    HR_ASSIGN_OR_RETURN(const Tensor a, ValueOf(Cat(weight, kLoraA)));
    HR_ASSIGN_OR_RETURN(const Tensor b, ValueOf(Cat(weight, kLoraB)));
    HR_ASSIGN_OR_RETURN(const Tensor scale, ValueOf(Cat(weight, kLoraScale)));
    uint32_t* constant = &module_.main().values[site.value].constant;
    if (site.variable != kNone) {
      HR_RETURN_IF_ERROR(ValueOf(weight).status().Clone());
      constant = &module_.variables[site.variable].initial_constant;
    }
    HR_ASSIGN_OR_RETURN(Tensor merged, module_.constants[*constant].Clone(allocator_));
    AddProduct(merged, site, a, b, NumberAt(scale, 0));
    *constant = static_cast<uint32_t>(module_.constants.size());
    module_.constants.push_back(std::move(merged));
    return {};
  }

  // weight += scale * A * B, each element rounded once.
  void AddProduct(Tensor& weight, const AdapterSite& site, const Tensor& a, const Tensor& b,
                  double scale) const {
    const SiteSizes sizes = SizesOf(module_, site);
    const bool conv = site.kind == SiteKind::kConv;
    const int64_t rank = conv ? a.dims()[0] : a.dims()[1];
    // As rows by columns, the first factor [rows, rank] and the second [rank, columns].
    const Tensor &left = conv ? b : a, &right = conv ? a : b;
    const int64_t rows = conv ? sizes.outputs : sizes.inputs;
    const int64_t columns = conv ? sizes.inputs : sizes.outputs;
    std::vector<double> sums(static_cast<size_t>(columns));
    for (int64_t row = 0; row < rows; ++row) {
      std::fill(sums.begin(), sums.end(), 0);
      for (int64_t k = 0; k < rank; ++k) {
        const double factor = scale * NumberAt(left, row * rank + k);
        for (int64_t j = 0; j < columns; ++j)
          sums[static_cast<size_t>(j)] += factor * NumberAt(right, k * columns + j);
      }
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t at = site.transposed ? j * rows + row : row * columns + j;
        SetNumberAt(weight, at, NumberAt(weight, at) + sums[static_cast<size_t>(j)]);
      }
    }
  }

  // The product takes the place of the sum, and its name.
  void Disconnect(const AdaptedSite& adapted) {
    graph::Graph& graph = module_.main();
    for (graph::Node& node : graph.nodes)
      std::replace(node.inputs.begin(), node.inputs.end(), adapted.sum, adapted.product);
    for (graph::Signature& signature : module_.signatures) {
      for (graph::Port& port : signature.outputs) {
        if (port.value == adapted.sum) port.value = adapted.product;
      }
    }
    std::swap(graph.values[adapted.sum].name, graph.values[adapted.product].name);
  }

  graph::Module module_;
  Allocator& allocator_;
  std::map<std::string, std::vector<AdaptedSite>> sites_;  // by weight
};

}  // namespace

Result<graph::Module> MergeAdapters(const ops::OpRegistry& registry, const graph::Module& module,
                                    Allocator& allocator) {
  // What no signature needs must not keep a weight from being changed.
  HR_ASSIGN_OR_RETURN(const graph::Module merged,
                      Merger(KeepSignatures(registry, module), allocator).Run());
  return KeepSignatures(registry, merged);
}

}  // namespace hr::transform
