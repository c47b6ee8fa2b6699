#include "runtime/format/decode.h"

namespace hr::format {
namespace {

using graph::Attribute;
using graph::Graph;
using graph::kNone;

// A dimension in a file: its size, -1, or -2 - n for symbol n.
Status DecodeDim(int64_t code, graph::Dim* dim) {
  if (code >= graph::kUnknownDim) {
    dim->size = code;
    return {};
  }
  if (code < -2 - int64_t{kNone - 1})
    return InvalidArgument("dimension ", code, " is out of range");
  dim->symbol = static_cast<uint32_t>(-2 - code);
  return {};
}

Status DecodeValue(const fbs::Value& def, DecodeContext* context, graph::Value* value) {
  graph::ValueType& type = value->type;
  if (def.kind() > fbs::ValueKind::MAX) {
    return context->Unknown("kind of value", static_cast<int>(def.kind()));
  }
  type.kind = static_cast<graph::ValueKind>(def.kind());
  HR_RETURN_IF_ERROR(DecodeDType(def.dtype(), *context, &type.dtype));
  type.ranked = def.ranked();
  value->constant = def.constant();
  std::vector<int64_t> codes;
  HR_RETURN_IF_ERROR(context->DimList(def.dims(), &codes));
  if (!type.ranked && !codes.empty()) return InvalidArgument("has dimensions, but no rank");
  HR_RETURN_IF_ERROR(context->Charge(codes.size(), sizeof(graph::Dim)));
  type.dims.resize(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    HR_RETURN_IF_ERROR(DecodeDim(codes[i], &type.dims[i]));
  }
  return {};
}

Status DecodeAttribute(const fbs::Attribute& def, DecodeContext* context, Attribute* attribute) {
  HR_RETURN_IF_ERROR(context->Text(def.name(), &attribute->name));
  graph::AttributeValue& value = attribute->value;
  switch (def.type()) {
    case fbs::AttributeType::Int: value = def.i(); return {};
    case fbs::AttributeType::Float: value = def.f().value_or(0.0); return {};
    case fbs::AttributeType::String: return context->Text(def.s(), &value.emplace<std::string>());
    case fbs::AttributeType::Ints:
      return context->List(def.ints(), &value.emplace<std::vector<int64_t>>());
    case fbs::AttributeType::Floats:
      return context->List(def.floats(), &value.emplace<std::vector<double>>());
    case fbs::AttributeType::Strings:
      return context->Each("string", def.strings(), &value.emplace<std::vector<std::string>>(),
                           [&](const fbs::Text& text, std::string& out) {
                             return context->Text(text.text(), &out);
                           });
    case fbs::AttributeType::Tensor: value = graph::TensorIndex{def.index()}; return {};
    case fbs::AttributeType::Graph: value = graph::GraphIndex{def.index()}; return {};
  }
  return context->Unknown("type of attribute", static_cast<int>(def.type()));
}

Status DecodeNode(const fbs::Node& def, DecodeContext* context, graph::Node* node) {
  node->op = def.op();
  HR_RETURN_IF_ERROR(context->List(def.inputs(), &node->inputs));
  HR_RETURN_IF_ERROR(context->List(def.outputs(), &node->outputs));
  HR_RETURN_IF_ERROR(context->List(def.controls(), &node->controls));
  HR_RETURN_IF_ERROR(context->Text(def.device(), &node->device));
  return context->Each("attribute", def.attributes(), &node->attributes,
                       [&](const fbs::Attribute& from, Attribute& to) {
                         return DecodeAttribute(from, context, &to);
                       });
}

// Gives names to `items`, nodes or values.
template <typename Items>
Status DecodeNames(Literal what, const Tables<fbs::Name>* names, DecodeContext* context,
                   Items* items) {
  if (names == nullptr) return {};
  for (const fbs::Name* name : *names) {
    if (name->index() >= items->size()) {
      return InvalidArgument("a name is given to ", what, " ", name->index(), ", there are ",
                             items->size());
    }
    HR_RETURN_IF_ERROR(context->Text(name->text(), &(*items)[name->index()].name));
  }
  return {};
}

// graph::Verify finds a value with two producers.
Status SetProducers(Graph* graph) {
  for (graph::NodeId id = 0; id < graph->nodes.size(); ++id) {
    for (graph::ValueId output : graph->nodes[id].outputs) {
      if (output == kNone) continue;
      if (output >= graph->values.size()) {
        return InvalidArgument("node #", id, " has value ", output, " as an output, there are ",
                               graph->values.size(), " values");
      }
      graph->values[output].producer = id;
    }
  }
  return {};
}

}  // namespace

Status DecodeGraph(const fbs::Graph& def, DecodeContext* context, Graph* graph) {
  auto value = [&](const fbs::Value& from, graph::Value& to) {
    return DecodeValue(from, context, &to);
  };
  auto node = [&](const fbs::Node& from, graph::Node& to) {
    return DecodeNode(from, context, &to);
  };
  HR_RETURN_IF_ERROR(context->Each("value", def.values(), &graph->values, value));
  HR_RETURN_IF_ERROR(context->Each("node", def.nodes(), &graph->nodes, node));
  HR_RETURN_IF_ERROR(context->List(def.inputs(), &graph->inputs));
  HR_RETURN_IF_ERROR(context->List(def.outputs(), &graph->outputs));
  HR_RETURN_IF_ERROR(DecodeNames("node", def.node_names(), context, &graph->nodes));
  HR_RETURN_IF_ERROR(DecodeNames("value", def.value_names(), context, &graph->values));
  return SetProducers(graph);
}

}  // namespace hr::format
