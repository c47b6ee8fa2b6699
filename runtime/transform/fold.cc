#include "runtime/transform/fold.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/base/errors.h"
#include "runtime/transform/infer_types.h"

namespace hr::transform {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// Folding stops growing constants beyond this many bytes: a broadcast constant is cheaper computed.
constexpr size_t kMaxFoldedBytes = 1 << 20;

// Turns a node's outputs into constants; the node itself is dead from now on.
void ReplaceByConstants(graph::Module& module, NodeId id, std::vector<Tensor> tensors) {
  graph::Graph& graph = module.main();
  for (size_t i = 0; i < tensors.size() && i < graph.nodes[id].outputs.size(); ++i) {
    ValueId output = graph.nodes[id].outputs[i];
    if (output == kNone) continue;
    graph::Value& value = graph.values[output];
    value.type = graph::ValueType::Tensor(tensors[i].dtype(), tensors[i].dims());
    value.producer = kNone;
    value.constant = static_cast<uint32_t>(module.constants.size());
    module.constants.push_back(std::move(tensors[i]));
    graph.nodes[id].outputs[i] = kNone;
  }
}

bool AllInputsConstant(const graph::Graph& graph, const graph::Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return input == kNone || graph.values[input].constant != kNone;
  });
}

size_t OutputBytes(const graph::Graph& graph, const graph::Node& node) {
  size_t bytes = 0;
  for (ValueId output : node.outputs) {
    if (output == kNone) continue;
    const graph::ValueType& type = graph.values[output].type;
    auto dims = type.FixedDims();
    if (!dims) return SIZE_MAX;
    bytes += static_cast<size_t>(ElementCount(*dims)) * DTypeSize(type.dtype);
  }
  return bytes;
}

// Weights of fewer bits than their product has.
bool WidensWeights(const graph::Module& module, const graph::Node& node) {
  const graph::Operator& op = module.OperatorOf(node);
  const auto& values = module.main().values;
  if (!op.domain.empty() || node.outputs.size() != 1 || node.outputs[0] == kNone) return false;
  const graph::ValueType& type = values[node.outputs[0]].type;
  if (!type.ranked || type.rank() < 2 || type.dtype != DType::kFloat32) return false;
  if (op.name == "DequantizeLinear") return true;
  if (op.name != "Cast") return false;
  const DType from = values[node.inputs[0]].type.dtype;
  return from == DType::kFloat16 || from == DType::kBfloat16;
}

bool IsFirstAxis(int64_t axis, const graph::ValueType& type) {
  return axis == 0 || axis == -static_cast<int64_t>(type.rank());
}

// Whether the node takes rows of the weights before these are widened (fuse_narrow_tables.h).
bool TakesRows(const graph::Module& module, const graph::Node& weights, const graph::Node& node) {
  const auto& values = module.main().values;
  const graph::Operator& op = module.OperatorOf(node);
  if (op.name != "Gather" || node.inputs[0] != weights.outputs[0]) return false;
  const graph::ValueType& table = values[weights.outputs[0]].type;
  if (!IsFirstAxis(node.Int("axis", 0), table)) return false;
  if (module.OperatorOf(weights).name == "Cast") return true;
  const auto scales = values[weights.inputs[1]].type.FixedDims();
  const bool one = scales && ElementCount(*scales) == 1;
  const DType dtype = values[weights.inputs[0]].type.dtype;
  return (dtype == DType::kInt8 || dtype == DType::kUint8) && weights.Int("block_size", 0) == 0 &&
         (one || IsFirstAxis(weights.Int("axis", 1), table));
}

bool WidensBfloat16(const graph::Module& module, const graph::Node& node) {
  return module.OperatorOf(node).name == "Cast" &&
         module.main().values[node.inputs[0]].type.dtype == DType::kBfloat16;
}

// Whether a convolution of this image is one of 8-bit numbers, or of bfloat16 where the device
// multiplies it.
bool IsOfFewBits(const FoldTools& tools, const graph::Module& module, const graph::Node& image,
                 const graph::Node& weights) {
  if (module.OperatorOf(image).name == "DequantizeLinear") return true;
  return WidensBfloat16(module, image) && WidensBfloat16(module, weights) &&
         tools.evaluator->MultipliesBfloat16();
}

// Whether lowering joins what takes the weights with them, as they are (fuse_quantized.h).
bool AreJoined(const FoldTools& tools, const graph::Module& module, const graph::Node& weights) {
  const graph::Graph& graph = module.main();
  for (const graph::Node& node : graph.nodes) {
    const auto& inputs = node.inputs;
    if (std::find(inputs.begin(), inputs.end(), weights.outputs[0]) == inputs.end()) continue;
    const graph::Operator& op = module.OperatorOf(node);
    if (op.domain.empty() && TakesRows(module, weights, node)) continue;
    if (!op.domain.empty() || inputs.size() < 2 || inputs[1] != weights.outputs[0]) return false;
    if (op.name == "MatMul" || op.name == "Gemm") continue;
    const NodeId image = graph.values[inputs[0]].producer;
    if (op.name != "Conv" || image == kNone) return false;
    if (!IsOfFewBits(tools, module, graph.nodes[image], weights)) return false;
  }
  return true;
}

bool IsFoldable(const FoldTools& tools, const graph::Module& module, NodeId id) {
  const graph::Graph& graph = module.main();
  const graph::Node& node = graph.nodes[id];
  const ops::OpDef& def = ops::DefOf(tools.operators, module, node);
  const bool one_kernel = !def.is_composed(graph, node) && def.control == ops::Control::kNone &&
                          (!def.containers || def.name == "Identity");
  if (tools.evaluator == nullptr || !one_kernel || !def.foldable() || node.outputs.empty() ||
      !AllInputsConstant(graph, node)) {
    return false;
  }
  // A weight is wanted in every run, however large it is.
  if (WidensWeights(module, node)) return tools.widen_weights && !AreJoined(tools, module, node);
  return OutputBytes(graph, node) <= kMaxFoldedBytes;
}

bool IsShape(const graph::Operator& op) { return op.name == "Shape" && op.domain.empty(); }

// The value of a Shape node: known as soon as its input's type is. Nothing for other nodes.
Result<std::optional<Tensor>> ShapeOf(const FoldTools& tools, const graph::Module& module,
                                      NodeId id) {
  const graph::Node& node = module.main().nodes[id];
  if (!IsShape(module.OperatorOf(node))) return std::optional<Tensor>();
  auto dims = module.main().values[node.inputs[0]].type.FixedDims();
  if (!dims) return std::optional<Tensor>();
  auto rank = static_cast<int64_t>(dims->size());
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = clamp(node.Int("start", 0));
  int64_t end = std::max(start, clamp(node.Int("end", rank)));
  std::span<const int64_t> part(dims->data() + start, static_cast<size_t>(end - start));
  HR_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor<int64_t>(tools.allocator, {end - start}, part));
  return std::optional<Tensor>(std::move(tensor));
}

bool SameContents(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() &&
         (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

// Folds the nodes of a record once more.
class Repeater {
 public:
  Repeater(const FoldTools& tools, const FoldRecord& record, graph::Module& module)
      : tools_(tools),
        record_(record),
        module_(module),
        graph_(module.main()),
        changed_(graph_.values.size(), false) {}

  Status Run() {
    for (NodeId id : record_.order) {
      HR_RETURN_IF_ERROR(InferNode(tools_.operators, module_, graph_, id));
      if (record_.folded[id]) HR_RETURN_IF_ERROR(Fold(id));
    }
    return {};
  }

 private:
  Status Fold(NodeId id) {
    HR_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, ValuesOf(id));
    const auto& outputs = graph_.nodes[id].outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNone) continue;
      changed_[outputs[i]] = !SameContents(tensors[i], record_.known[outputs[i]]);
    }
    ReplaceByConstants(module_, id, std::move(tensors));
    return {};
  }

  Result<std::vector<Tensor>> ValuesOf(NodeId id) {
    HR_ASSIGN_OR_RETURN(auto&& shape, ShapeOf(tools_, module_, id));
    if (shape) return std::vector<Tensor>{*std::move(shape)};
    const graph::Node& node = graph_.nodes[id];
    const bool same = std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input != kNone && changed_[input];
    });
    if (!same) return tools_.evaluator->Evaluate(module_, id);
    std::vector<Tensor> known;
    for (ValueId output : node.outputs) {
      known.push_back(output == kNone ? Tensor() : record_.known[output]);
    }
    return known;
  }

  const FoldTools& tools_;
  const FoldRecord& record_;
  graph::Module& module_;
  graph::Graph& graph_;
  graph::Marks changed_;  // values that come out otherwise
};

// Nothing waits for a folded node any more, but for what that waited for.
void PassOver(const FoldRecord& record, graph::Module& module) {
  graph::Graph& graph = module.main();
  for (NodeId id : record.order) {
    std::vector<NodeId> awaited;
    for (NodeId control : graph.nodes[id].controls) {
      if (record.folded[control]) {
        const auto& before = graph.nodes[control].controls;
        awaited.insert(awaited.end(), before.begin(), before.end());
      } else {
        awaited.push_back(control);
      }
    }
    graph.nodes[id].controls = std::move(awaited);
  }
  for (graph::Signature& signature : module.signatures) {
    std::erase_if(signature.targets, [&](NodeId target) { return record.folded[target]; });
  }
}

}  // namespace

Status InferAndFold(const FoldTools& tools, graph::Module& module, FoldRecord* record) {
  graph::Graph& graph = module.main();
  HR_ASSIGN_OR_RETURN(record->order, graph::TopologicalOrder(graph));
  record->folded.assign(graph.nodes.size(), false);
  record->known.resize(graph.values.size());
  for (NodeId id : record->order) {
    HR_RETURN_IF_ERROR(InferNode(tools.operators, module, graph, id));
    std::vector<Tensor> tensors;
    HR_ASSIGN_OR_RETURN(auto&& shape, ShapeOf(tools, module, id));
    if (shape) {
      tensors.push_back(*std::move(shape));
    } else if (IsFoldable(tools, module, id)) {
      HR_ASSIGN_OR_RETURN(tensors, tools.evaluator->Evaluate(module, id));
    } else {
      continue;
    }
    record->folded[id] = true;
    const auto& outputs = graph.nodes[id].outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != kNone) record->known[outputs[i]] = tensors[i];
    }
    ReplaceByConstants(module, id, std::move(tensors));
  }
  PassOver(*record, module);
  return {};
}

Status InferAndFoldAgain(const FoldTools& tools, const FoldRecord& record, graph::Module& module) {
  return Repeater(tools, record, module).Run();
}

}  // namespace hr::transform
