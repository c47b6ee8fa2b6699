#include "converters/onnx/roles.h"

#include <algorithm>
#include <span>

namespace hr::onnx {
namespace {

using Names = std::set<std::string_view>;

struct Position {
  std::string_view op;
  size_t first;  // from here on
};
constexpr Position kKnown[] = {
    {"Clip", 1},           {"DequantizeLinear", 1},
    {"Dropout", 1},        {"MelWeightMatrix", 0},
    {"OneHot", 1},         {"Pad", 1},
    {"QuantizeLinear", 1}, {"Range", 0},
    {"Resize", 1},         {"STFT", 1},
    {"Upsample", 1},       {"QLinearConv", 1},
    {"QLinearMatMul", 1},  {"Pow", 1},
    {"Where", 1},
};
constexpr Position kFrozen[] = {{"BatchNormalization", 3}};
constexpr Position kWeights[] = {
    {"BatchNormalization", 1},
    {"Conv", 1},
    {"ConvTranspose", 1},
    {"Gemm", 1},
    {"GroupNormalization", 1},
    {"InstanceNormalization", 1},
    {"LayerNormalization", 1},
    {"MatMul", 1},
    {"PRelu", 1},
};

// What comes out of these is what went in.
constexpr std::string_view kMovements[] = {"Cast", "Concat", "Identity", "Squeeze", "Unsqueeze"};

// The names at some positions of a graph, of its bodies, and of the functions that it calls.
class Walk {
 public:
  Walk(const Functions& functions, std::span<const Position> positions)
      : functions_(functions), positions_(positions) {}

  // From the last node to the first: what a movement makes comes before the movement.
  void Add(const std::vector<NodeProto>& nodes, Names* names, int depth = 0) {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      for (const AttributeProto& attribute : node->attributes) {
        if (attribute.g != nullptr) Add(attribute.g->nodes, names, depth);
      }
      const auto function = functions_.find({node->domain, node->op_type});
      if (function != functions_.end()) {
        AddCall(*node, *function->second, names, depth);
      } else if (node->domain.empty()) {
        AddNode(*node, names);
      }
    }
  }

 private:
  void AddNode(const NodeProto& node, Names* names) const {
    for (const Position& position : positions_) {
      if (node.op_type == position.op) AddInputs(node, position.first, names);
    }
    const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](auto output) { return names->contains(output); });
    const bool moves = std::find(std::begin(kMovements), std::end(kMovements), node.op_type) !=
                       std::end(kMovements);
    if (wanted && moves) AddInputs(node, 0, names);
  }

  static void AddInputs(const NodeProto& node, size_t first, Names* names) {
    for (size_t i = first; i < node.inputs.size(); ++i) names->insert(node.inputs[i]);
  }

  void AddCall(const NodeProto& node, const FunctionProto& function, Names* names, int depth) {
    if (depth == kMostCalls) return;  // the converter says so
    const Names& inside = NamesOf(function, depth + 1);
    for (size_t i = 0; i < std::min(node.inputs.size(), function.inputs.size()); ++i) {
      if (inside.contains(function.inputs[i])) names->insert(node.inputs[i]);
    }
  }

  // Each function once: they may call each other many times, in a bad file without end.
  const Names& NamesOf(const FunctionProto& function, int depth) {
    const auto [found, added] = of_functions_.try_emplace(&function);
    if (added) Add(function.nodes, &found->second, depth);
    return found->second;
  }

  const Functions& functions_;
  const std::span<const Position> positions_;
  std::map<const FunctionProto*, Names> of_functions_;
};

bool IsOfBytes(const TensorProto& tensor) {
  const auto dtype = static_cast<DType>(tensor.data_type);
  return dtype == DType::kInt8 || dtype == DType::kUint8;
}

// Calls visit(one, other) for both inputs of each node of a binary operator.
template <typename Visit>
void ForOperands(const GraphProto& graph, std::string_view op, const Visit& visit) {
  for (const NodeProto& node : graph.nodes) {
    if (node.op_type != op || node.inputs.size() != 2) continue;
    for (size_t i = 0; i < 2; ++i) visit(node.inputs[i], node.inputs[1 - i]);
  }
}

// What multiplies bytes that a Cast widens is their scale.
void AddScales(const GraphProto& graph, Names* known) {
  Names bytes, widened;
  for (const TensorProto& tensor : graph.initializers) {
    if (IsOfBytes(tensor)) bytes.insert(tensor.name);
  }
  for (const NodeProto& node : graph.nodes) {
    const bool casts = node.op_type == "Cast" && !node.inputs.empty() && !node.outputs.empty();
    if (casts && bytes.contains(node.inputs[0])) widened.insert(node.outputs[0]);
  }
  ForOperands(graph, "Mul", [&](std::string_view one, std::string_view other) {
    if (widened.contains(one)) known->insert(other);
  });
}

// A row of one element that is added to a product.
void AddBiases(const GraphProto& graph, Names* weights) {
  Names rows, products;
  for (const TensorProto& tensor : graph.initializers) {
    if (tensor.dims.size() == 1) rows.insert(tensor.name);
  }
  for (const NodeProto& node : graph.nodes) {
    const bool product = node.op_type == "MatMul" && !node.outputs.empty();
    if (product) products.insert(node.outputs[0]);
  }
  ForOperands(graph, "Add", [&](std::string_view one, std::string_view other) {
    if (products.contains(one) && rows.contains(other)) weights->insert(other);
  });
}

}  // namespace

Roles::Roles(const GraphProto& graph, const Functions& functions) {
  Walk(functions, kKnown).Add(graph.nodes, &known_);
  AddScales(graph, &known_);
  Walk(functions, kFrozen).Add(graph.nodes, &frozen_);
  Walk(functions, kWeights).Add(graph.nodes, &weights_);
  AddBiases(graph, &weights_);
}

}  // namespace hr::onnx
