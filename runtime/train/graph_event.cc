#include "runtime/train/graph_event.h"

#include <algorithm>
#include <set>

#include "runtime/base/errors.h"
#include "runtime/base/utf8.h"

namespace hr::train {
namespace {

constexpr int kNode = 1, kVersions = 4;                                         // GraphDef
constexpr int kNodeName = 1, kOp = 2, kInput = 3, kDevice = 4, kAttribute = 5;  // NodeDef
constexpr int kKey = 1, kEntryValue = 2;                                        // a map's entry
constexpr int kList = 1, kBytes = 2;                                            // AttrValue
constexpr int kListShape = 7;                                                   // its ListValue
constexpr int kShapeDim = 2, kShapeDimSize = 1;                                 // TensorShapeProto
constexpr int kProducer = 1;                                                    // VersionDef
constexpr int64_t kProducerVersion = 22;  // an early one: we use nothing newer

Status CheckNode(const EventGraphNode& node) {
  bool valid = !node.name.empty() && IsUtf8(node.name) && IsUtf8(node.op) && IsUtf8(node.device) &&
               std::ranges::all_of(node.inputs, IsUtf8);
  for (const auto& [key, value] : node.attributes) valid = valid && IsUtf8(key);
  if (valid) return {};
  return InvalidArgument("node '", node.name,
                         "' of a graph for TensorBoard needs a name, and all text in UTF-8");
}

void AddAttribute(std::string_view key, const ProtoWriter& value, ProtoWriter* node) {
  ProtoWriter entry;
  entry.String(kKey, key).Message(kEntryValue, value);
  node->Message(kAttribute, entry);
}

ProtoWriter ShapesValue(std::span<const Dims> shapes) {
  ProtoWriter list;
  for (const Dims& dims : shapes) {
    ProtoWriter shape;
    for (int64_t size : dims) shape.Message(kShapeDim, ProtoWriter().Int(kShapeDimSize, size));
    list.Message(kListShape, shape);
  }
  ProtoWriter value;
  value.Message(kList, list);
  return value;
}

ProtoWriter EncodeNode(const EventGraphNode& node) {
  ProtoWriter out;
  out.String(kNodeName, node.name).String(kOp, node.op);
  for (const std::string& input : node.inputs) out.String(kInput, input);
  out.String(kDevice, node.device);
  for (const auto& [key, value] : node.attributes) {
    AddAttribute(key, ProtoWriter().String(kBytes, value), &out);
  }
  if (!node.output_shapes.empty()) {
    AddAttribute("_output_shapes", ShapesValue(node.output_shapes), &out);
  }
  return out;
}

}  // namespace

Result<std::string> EncodeGraphDef(std::span<const EventGraphNode> nodes) {
  std::set<std::string_view> names;
  ProtoWriter graph;
  for (const EventGraphNode& node : nodes) {
    HR_RETURN_IF_ERROR(CheckNode(node));
    if (!names.insert(node.name).second) {
      return InvalidArgument("two nodes of the graph are named '", node.name, "'");
    }
    graph.Message(kNode, EncodeNode(node));
  }
  graph.Message(kVersions, ProtoWriter().Int(kProducer, kProducerVersion));
  return graph.bytes();
}

}  // namespace hr::train
