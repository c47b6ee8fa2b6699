#include "runtime/transform/specialize.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "runtime/base/errors.h"
#include "runtime/transform/extract.h"
#include "runtime/transform/name_dequantizations.h"

namespace hr::transform {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

Status CheckConcrete(const graph::Module& module) {
  const graph::Graph& graph = module.main();
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const graph::ValueType& type = graph.values[id].type;
    if (type.FixedDims()) continue;
    return Unimplemented("the shape of '", graph::ValueText(graph, id), "', ",
                         graph::TypeText(type, module.symbols),
                         ", depends on data; this version plans for concrete shapes only");
  }
  return {};
}

// Lets all that use small constants of the same type and bytes use the first of them, so that nodes
// are equal that differ in these alone, as those of two gradients do.
void MergeEqualConstants(graph::Module& module) {
  constexpr size_t kMostBytes = 64;
  graph::Graph& graph = module.main();
  std::map<std::tuple<DType, Dims, std::string_view>, ValueId> first;
  std::vector<ValueId> replacement(graph.values.size());
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    replacement[id] = id;
    const uint32_t constant = graph.values[id].constant;
    if (constant == kNone) continue;
    const Tensor& tensor = module.constants[constant];
    if (!tensor.defined() || !tensor.contiguous() || tensor.bytes() > kMostBytes) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
    replacement[id] = first.try_emplace({tensor.dtype(), tensor.dims(), bytes}, id).first->second;
  }
  for (graph::Node& node : graph.nodes) {
    for (ValueId& input : node.inputs) {
      if (input != kNone) input = replacement[input];
    }
  }
}

bool IsIdentity(const ops::OpDef& def) {
  return def.domain == ops::kOnnx && def.name == "Identity";
}

}  // namespace

void MergeEqualNodes(const ops::OpRegistry& registry, const std::vector<NodeId>& order,
                     graph::Module& module) {
  graph::Graph& graph = module.main();
  std::vector<ValueId> replacement(graph.values.size());
  for (ValueId i = 0; i < replacement.size(); ++i) replacement[i] = i;
  // Nodes met so far, in lists by the hash of what must be equal.
  std::vector<NodeId> first(graph.nodes.size(), kNone), next = first;
  for (NodeId id : order) {
    graph::Node& node = graph.nodes[id];
    for (ValueId& input : node.inputs) {
      if (input != kNone) input = replacement[input];
    }
    const ops::OpDef& def = ops::DefOf(registry, module, node);
    if (!def.foldable() || !node.controls.empty()) continue;
    if (IsIdentity(def)) {
      if (node.outputs[0] != kNone) replacement[node.outputs[0]] = node.inputs[0];
      continue;
    }
    uint64_t hash = node.op;
    for (ValueId input : node.inputs) hash = (hash ^ input) * 0x9E3779B97F4A7C15u;
    const auto differs = [&](const graph::Node& other) {
      return other.op != node.op || other.inputs != node.inputs ||
             other.attributes != node.attributes || other.outputs.size() != node.outputs.size() ||
             other.device != node.device;
    };
    NodeId& head = first[(hash >> 32) % first.size()];
    NodeId twin = head;
    while (twin != kNone && differs(graph.nodes[twin])) twin = next[twin];
    if (twin == kNone) {
      next[id] = std::exchange(head, id);
      continue;
    }
    const auto& kept = graph.nodes[twin].outputs;
    bool covers = true;
    for (size_t i = 0; i < kept.size(); ++i) covers &= node.outputs[i] == kNone || kept[i] != kNone;
    if (!covers) continue;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (node.outputs[i] != kNone) replacement[node.outputs[i]] = kept[i];
    }
  }
  for (graph::Port& port : module.signatures[0].outputs) {
    const NodeId producer = graph.values[port.value].producer;
    if (producer != kNone && IsIdentity(ops::DefOf(registry, module, graph.nodes[producer]))) {
      continue;  // the copy is asked for
    }
    port.value = replacement[port.value];
  }
}

Status CheckFed(const graph::Module& module) {
  const graph::Graph& graph = module.main();
  std::vector<std::string> missing;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const graph::Value& value = graph.values[id];
    if (value.producer != kNone || value.constant != kNone) continue;
    if (std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end()) continue;
    missing.push_back(Cat("'", graph::ValueText(graph, id), "' (",
                          graph::TypeText(value.type, module.symbols), ")"));
  }
  if (missing.empty()) return {};
  return InvalidArgument("the run needs ", Join(missing), ", which nothing feeds; bind ",
                         missing.size() == 1 ? "it" : "them", " first");
}

Result<graph::Module> RequestedPart(const graph::Module& module, const Request& request) {
  HR_RETURN_IF_ERROR(CheckRequest(module, request));
  graph::Module part = Extract(module, request).module;
  HR_RETURN_IF_ERROR(CheckFed(part));
  return part;
}

Result<graph::Module> Specialize(const ops::OpRegistry& registry, const graph::Module& module,
                                 const Request& request, ConstantEvaluator* evaluator,
                                 Allocator& allocator, Recipe* recipe) {
  HR_ASSIGN_OR_RETURN(graph::Module part, RequestedPart(module, request));
  NameDequantizations(registry, part);
  MergeEqualConstants(part);
  Recipe once;
  if (recipe == nullptr) {
    recipe = &once;
  } else {
    recipe->part = part;
  }
  // A node that another one waits for must run, even if the value of that other one becomes a
  // constant.
  for (const graph::Node& node : part.main().nodes) {
    for (NodeId awaited : node.controls) part.signatures[0].targets.push_back(awaited);
  }
  HR_RETURN_IF_ERROR(InferAndFold({registry, evaluator, allocator}, part, &recipe->folds));
  MergeEqualNodes(registry, recipe->folds.order, part);
  Extraction needed = NeededPart(part);
  part = std::move(needed.module);
  recipe->origins = std::move(needed.origins);
  HR_RETURN_IF_ERROR(CheckConcrete(part));
  return part;
}

Result<graph::Module> AtSizes(const ops::OpRegistry& registry, const Recipe& recipe,
                              const graph::Module& specialized, std::span<const Feed> feeds,
                              ConstantEvaluator* evaluator, Allocator& allocator) {
  graph::Module part = recipe.part;
  for (size_t i = 0; i < feeds.size(); ++i) {
    part.main().values[part.main().inputs[i]].type =
        graph::ValueType::Tensor(feeds[i].dtype, feeds[i].dims);
  }
  HR_RETURN_IF_ERROR(InferAndFoldAgain({registry, evaluator, allocator}, recipe.folds, part));
  graph::Module out = specialized;
  for (ValueId id = 0; id < out.main().values.size(); ++id) {
    graph::Value& value = out.main().values[id];
    const graph::Value& now = part.main().values[recipe.origins[id]];
    value.type = now.type;
    if (value.constant != kNone) out.constants[value.constant] = part.constants[now.constant];
  }
  HR_RETURN_IF_ERROR(CheckConcrete(out));
  return out;
}

}  // namespace hr::transform
