// Bodies of If, Loop and Scan: graphs in attributes become graphs of the module. What they use of
// the graph around them is given to them as inputs (runtime/ops/control.h has the layout).
#include <algorithm>

#include "converters/onnx/graph_converter.h"
#include "runtime/base/errors.h"

namespace hr::onnx {
namespace {

using graph::kNone;
using graph::ValueId;

// Constants up to this size are repeated in a body, where shapes and axes must be known.
constexpr size_t kRepeatedBytes = 4096;

// The names that a graph takes from around it, in the order of their first use.
class FreeNames {
 public:
  explicit FreeNames(const GraphProto& graph) { Walk(graph, {}); }
  const std::vector<std::string_view>& names() const { return names_; }

 private:
  using Names = std::set<std::string_view>;

  void Walk(const GraphProto& graph, Names known) {
    for (const TensorProto& tensor : graph.initializers) known.insert(tensor.name);
    for (const ValueInfoProto& input : graph.inputs) known.insert(input.name);
    for (const NodeProto& node : graph.nodes) {
      for (const std::string_view input : node.inputs) Use(known, input);
      for (const AttributeProto& attribute : node.attributes) {
        if (attribute.g != nullptr) Walk(*attribute.g, known);
      }
      known.insert(node.outputs.begin(), node.outputs.end());
    }
    for (const ValueInfoProto& output : graph.outputs) Use(known, output.name);
  }

  void Use(const Names& known, std::string_view name) {
    if (!name.empty() && !known.contains(name) && seen_.insert(name).second) names_.push_back(name);
  }

  std::vector<std::string_view> names_;
  Names seen_;
};

graph::ValueType Scalar(DType dtype) { return graph::ValueType::Tensor(dtype, {}); }

// The type of a body's own input: what the file says, which holds in every iteration, else that of
// what it is given. Sizes with names may differ between iterations. An optional that holds
// something is that thing.
graph::ValueType InputType(const ValueInfoProto& info, graph::ValueType given) {
  if (info.elem_type != 0) given.dtype = static_cast<DType>(info.elem_type);
  if (info.of_sequence) given.kind = graph::ValueKind::kSequence;
  if (!info.ranked || info.kind != "tensor") return given;
  given.ranked = true;
  given.dims.clear();
  for (const DimProto& dim : info.dims) {
    given.dims.push_back({.size = std::max(dim.size, graph::kUnknownDim)});
  }
  return given;
}

}  // namespace

bool GraphConverter::IsControl(const NodeProto& node) {
  return node.domain.empty() && (node.op_type == "If" || node.op_type == "Loop" ||
                                 node.op_type == "Scan" || node.op_type == "SequenceMap");
}

// What the bodies of a node take of the graph around it.
Result<GraphConverter::Captures> GraphConverter::CapturesOf(
    const Scope& scope, std::span<const GraphProto* const> bodies) {
  Captures out;
  std::set<std::string_view> seen;
  for (const GraphProto* body : bodies) {
    const FreeNames free(*body);
    for (const std::string_view name : free.names()) {
      if (!seen.insert(name).second) continue;
      const auto found = scope.values.find(name);
      if (found == scope.values.end() && missing_.contains(name)) {
        out.complete = false;
        continue;
      }
      if (found == scope.values.end()) {
        return InvalidArgument("nothing before the node makes '", name,
                               "', which its body takes; the file is damaged, or its nodes are ",
                               "not in order");
      }
      const graph::Value& value = builder_.graph().values[found->second];
      const bool small = value.constant != kNone &&
                         builder_.module().constants[value.constant].bytes() <= kRepeatedBytes;
      if (small) {
        out.constants.emplace_back(name, builder_.module().constants[value.constant]);
      } else {
        out.values.emplace_back(name, found->second);
      }
    }
  }
  return out;
}

// `given`: the types of what the node gives to the body's first inputs.
Result<uint32_t> GraphConverter::AddBody(const Scope& around, const GraphProto& body,
                                         std::span<const graph::ValueType> given,
                                         const Captures& captures, bool sized) {
  std::vector<graph::ValueType> types;
  for (const auto& [captured, value] : captures.values) {
    const graph::ValueType& type = types.emplace_back(builder_.graph().values[value].type);
    if (!sized) types.back() = {.dtype = type.dtype, .kind = type.kind};
  }
  if (body.inputs.size() != given.size()) {
    return InvalidArgument("its body has ", body.inputs.size(), " inputs, the node gives it ",
                           given.size(), "; the file is damaged");
  }
  const uint32_t outer = builder_.BeginBody();
  const uint32_t index = builder_.current_graph();
  Scope scope = {.opsets = around.opsets,
                 .prefix = around.prefix,
                 .given = around.given,
                 .defaults = around.defaults,
                 .depth = around.depth};
  Status status = [&]() -> Status {
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      HR_RETURN_IF_ERROR(
          AddBodyInput(scope, body.inputs[i].name, InputType(body.inputs[i], given[i])));
    }
    for (size_t i = 0; i < captures.values.size(); ++i) {
      HR_RETURN_IF_ERROR(AddBodyInput(scope, captures.values[i].first, types[i]));
    }
    for (const auto& [constant, tensor] : captures.constants) {
      HR_RETURN_IF_ERROR(AddBodyConstant(scope, constant, tensor));
    }
    for (const TensorProto& proto : body.initializers) {
      HR_ASSIGN_OR_RETURN(auto&& tensor, tensors_.Read(proto));
      HR_RETURN_IF_ERROR(AddBodyConstant(scope, proto.name, std::move(tensor)));
    }
    AddNodes(scope, body.nodes);
    return {};
  }();
  std::vector<ValueId> outputs;
  for (const ValueInfoProto& output : body.outputs) {
    const auto found = scope.values.find(output.name);
    if (found != scope.values.end()) {
      outputs.push_back(found->second);
    } else if (status.ok() && problems_.empty()) {
      status = InvalidArgument("its body does not make the output '", output.name,
                               "'; the file is damaged");
    }
  }
  builder_.EndBody(outer, std::move(outputs));
  if (!status.ok()) return status;
  return index;
}

// A branch may be meant for other sizes, and then never runs: what does not fit the sizes that are
// there may fit those that come.
Result<uint32_t> GraphConverter::AddBranch(const Scope& around, const GraphProto& body,
                                           const Captures& captures) {
  const auto attempt = [&](bool sized) -> Result<uint32_t> {
    const size_t known = problems_.size();
    auto index = AddBody(around, body, {}, captures, sized);
    if (index.ok() && problems_.size() > known) return InvalidArgument("its body has problems");
    return index;
  };
  if (builder_.current_graph() != 0) return AddBody(around, body, {}, captures);  // no way back
  const Problems problems = problems_;
  const auto missing = missing_;
  const auto operators = operators_;
  auto made = builder_.AllOrNothing([&] { return attempt(true); });
  if (made.ok()) return made;
  const Problems found = std::exchange(problems_, problems);
  missing_ = missing;
  operators_ = operators;
  auto again = builder_.AllOrNothing([&] { return attempt(false); });
  if (again.ok()) return again;
  problems_ = found;
  if (problems_.size() > problems.size()) return uint32_t{0};  // which say it all
  return made;
}

Status GraphConverter::AddBodyInput(Scope& scope, std::string_view name, graph::ValueType type) {
  HR_ASSIGN_OR_RETURN(
      scope.values[name],
      builder_.AddInput(builder_.UniqueName(Cat(scope.prefix, name)), std::move(type)));
  return {};
}

Status GraphConverter::AddBodyConstant(Scope& scope, std::string_view name, Tensor tensor) {
  HR_ASSIGN_OR_RETURN(
      scope.values[name],
      builder_.AddConstant(builder_.UniqueName(Cat(scope.prefix, name)), std::move(tensor)));
  return {};
}

// If: nothing. Loop: iteration, condition, states. Scan: states, and slices, which have one axis
// less than what the node is given; in operator set 8 the lengths are not given. SequenceMap: the
// elements.
std::vector<graph::ValueType> GraphConverter::GivenToBody(const NodeProto& node, bool lengths,
                                                          std::span<const ValueId> inputs) {
  if (node.op_type == "If") return {};
  std::vector<graph::ValueType> out;
  for (const ValueId input : inputs.subspan(lengths ? 1 : 0)) {
    out.push_back(graph::ValueType::Unranked(DType::kUndefined));
    if (input == kNone) continue;
    const graph::ValueType& type = builder_.graph().values[input].type;
    out.back().dtype = type.dtype;
    if (node.op_type != "SequenceMap") out.back().kind = type.kind;
  }
  if (node.op_type == "Loop") {
    out[0] = Scalar(DType::kInt64);
    out[1] = Scalar(DType::kBool);
  }
  return out;
}

Status GraphConverter::AddControl(Scope& scope, const NodeProto& node, int64_t version) {
  std::vector<const GraphProto*> bodies;
  for (const AttributeProto& given : node.attributes) {
    const AttributeProto* attribute = Resolve(scope, given);
    if (attribute == nullptr || attribute->g == nullptr) continue;
    if (attribute != &given) {
      return Unimplemented("a body comes from the call of a function, which cannot be converted");
    }
    bodies.push_back(attribute->g.get());
  }
  HR_ASSIGN_OR_RETURN(auto&& inputs, InputsOf(scope, node));
  if (node.op_type == "Loop") inputs.resize(std::max<size_t>(inputs.size(), 2), kNone);
  HR_ASSIGN_OR_RETURN(auto&& captures, CapturesOf(scope, bodies));
  const bool lengths = node.op_type == "Scan" && version < 9 && !inputs.empty();
  const std::vector<graph::ValueType> to_body = GivenToBody(node, lengths, inputs);
  HR_ASSIGN_OR_RETURN(auto&& attributes, AttributesOf(scope, node));
  for (const AttributeProto& given : node.attributes) {
    if (given.g == nullptr) continue;
    HR_ASSIGN_OR_RETURN(const uint32_t body, node.op_type == "If"
                                                 ? AddBranch(scope, *given.g, captures)
                                                 : AddBody(scope, *given.g, to_body, captures));
    attributes.push_back({std::string(given.name), graph::GraphIndex{body}});
  }
  if (!captures.complete || !problems_.empty()) {
    missing_.insert(node.outputs.begin(), node.outputs.end());
    return {};
  }
  for (const auto& [captured, value] : captures.values) inputs.push_back(value);
  attributes.push_back({"captured", static_cast<int64_t>(captures.values.size())});
  return Emit(scope, node, version, std::move(inputs), std::move(attributes));
}

}  // namespace hr::onnx
