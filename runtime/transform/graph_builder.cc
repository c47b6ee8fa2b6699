#include "runtime/transform/graph_builder.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/device/zeros.h"
#include "runtime/graph/unknown_name.h"
#include "runtime/transform/infer_types.h"
#include "runtime/transform/keep_signatures.h"
#include "runtime/transform/specialize.h"

namespace hr::transform {

namespace {

// The ONNX operator set whose semantics the newest built-in definitions follow.
constexpr int kOnnxOpset = 18;

// Drops what was added; smaller than resize(), which can also add.
template <typename T>
void Shorten(std::vector<T>& items, size_t count) {
  while (items.size() > count) items.pop_back();
}

}  // namespace

GraphBuilder::GraphBuilder(Allocator& allocator, const ops::OpRegistry& registry)
    : GraphBuilder(allocator, registry, graph::Module{.producer = "headrace"}) {}

GraphBuilder::GraphBuilder(Allocator& allocator, const ops::OpRegistry& registry,
                           graph::Module module)
    : allocator_(&allocator), registry_(&registry), module_(std::move(module)) {
  IndexNames();
  IndexEffects();
}

// Bodies have names of their own: nobody looks for one there.
void GraphBuilder::IndexNames() {
  for (const graph::Node& node : module_.main().nodes) names_.try_emplace(node.name);
  for (const graph::Value& value : module_.main().values) names_.try_emplace(value.name);
  for (const graph::Graph& graph : module_.graphs) {
    for (const graph::Node& node : graph.nodes) {
      next_stream_ = std::max(next_stream_, node.Int("stream", -1) + 1);
    }
  }
}

GraphBuilder::Savepoint GraphBuilder::MakeSavepoint() const {
  const graph::Graph& main = module_.main();
  return {.operators = module_.operators.size(),
          .symbols = module_.symbols.size(),
          .graphs = module_.graphs.size(),
          .variables = module_.variables.size(),
          .constants = module_.constants.size(),
          .nodes = main.nodes.size(),
          .values = main.values.size(),
          .opsets = module_.opsets,
          .signatures = module_.signatures,
          .scope = scope_,
          .device = device_,
          .next_stream = next_stream_,
          .replaced = replaced_.size(),
          .retyped = retyped_.size(),
          .divided = divided_.size()};
}

void GraphBuilder::RollBack(Savepoint before) {
  current_ = 0;
  graph::Graph& main = module_.main();
  const auto added = [&](ValueId value) { return value != kNone && value >= before.values; };
  for (; replaced_.size() > before.replaced; replaced_.pop_back()) {
    Replaced& last = replaced_.back();
    graph::Graph& graph = module_.graphs[last.graph];
    for (ValueId output : last.node.outputs) {
      if (output != kNone) graph.values[output].producer = last.id;
    }
    graph.nodes[last.id] = std::move(last.node);
  }
  for (; retyped_.size() > before.retyped; retyped_.pop_back()) {
    main.values[retyped_.back().value].type = std::move(retyped_.back().type);
  }
  for (; divided_.size() > before.divided; divided_.pop_back()) {
    Divided& last = divided_.back();
    module_.constants[last.variable.initial_constant] = std::move(last.initial);
    module_.variables[last.index] = std::move(last.variable);
  }
  Shorten(module_.operators, before.operators);
  Shorten(module_.symbols, before.symbols);
  Shorten(module_.graphs, before.graphs);
  Shorten(module_.variables, before.variables);
  Shorten(module_.constants, before.constants);
  Shorten(main.nodes, before.nodes);
  for (graph::Node& node : main.nodes) std::erase_if(node.outputs, added);
  std::erase_if(main.inputs, added);
  Shorten(main.values, before.values);
  module_.opsets = std::move(before.opsets);
  module_.signatures = std::move(before.signatures);
  scope_ = std::move(before.scope);
  device_ = std::move(before.device);
  next_stream_ = before.next_stream;
  names_.clear();
  IndexNames();
  IndexEffects();
}

uint32_t GraphBuilder::AddSymbol(std::string_view name) {
  for (uint32_t i = 0; i < module_.symbols.size(); ++i) {
    if (module_.symbols[i].name == name) return i;
  }
  module_.symbols.push_back({.name = std::string(name)});
  return static_cast<uint32_t>(module_.symbols.size() - 1);
}

Status GraphBuilder::SetSymbolBounds(std::string_view name, int64_t min, int64_t max,
                                     std::vector<int64_t> buckets) {
  if (min < 0 || (max != graph::kUnknownDim && max < min)) {
    return InvalidArgument("dimension '", name, "' wants 0 <= min <= max, got ", min, " and ", max);
  }
  if (!std::is_sorted(buckets.begin(), buckets.end())) {
    return InvalidArgument("the buckets of dimension '", name, "' must ascend");
  }
  std::vector<std::string> names;
  for (graph::Symbol& symbol : module_.symbols) {
    names.push_back(symbol.name);
    if (symbol.name != name) continue;
    symbol.min = min;
    symbol.max = max;
    symbol.buckets = std::move(buckets);
    return {};
  }
  return NotFound("no input has a dimension '", name, "' yet; there are", ListText(names));
}

Result<ValueId> GraphBuilder::AddValue(graph::Value value) {
  if (!value.name.empty() && !names_.try_emplace(value.name).second) {
    return AlreadyExists("a value or node is already called '", value.name, "'");
  }
  current().values.push_back(std::move(value));
  return static_cast<ValueId>(current().values.size() - 1);
}

Result<ValueId> GraphBuilder::AddInput(std::string_view name, graph::ValueType type) {
  if (!IsSupported(type.dtype)) {
    return InvalidArgument("input '", name, "' has unsupported type ", DTypeName(type.dtype));
  }
  if (name.empty()) return InvalidArgument("an input needs a name");
  HR_ASSIGN_OR_RETURN(ValueId id, AddValue({.type = std::move(type), .name = std::string(name)}));
  current().inputs.push_back(id);
  return id;
}

Result<ValueId> GraphBuilder::Constant(Tensor value) {
  return AddConstant(UniqueName("constant"), std::move(value));
}

Result<ValueId> GraphBuilder::AddConstant(std::string_view name, Tensor value) {
  HR_ASSIGN_OR_RETURN(value, value.Contiguous(*allocator_));
  graph::Value entry{.type = graph::ValueType::Tensor(value.dtype(), value.dims()),
                     .constant = static_cast<uint32_t>(module_.constants.size()),
                     .name = name.empty() ? UniqueName("constant") : std::string(name)};
  HR_ASSIGN_OR_RETURN(ValueId id, AddValue(std::move(entry)));
  module_.constants.push_back(std::move(value));
  return id;
}

Result<uint32_t> GraphBuilder::AddVariable(std::string_view name, Tensor initial, bool trainable) {
  if (name.empty()) return InvalidArgument("a variable needs a name");
  if (module_.FindVariable(name) != kNone) {
    return AlreadyExists("a variable is already called '", name, "'");
  }
  HR_ASSIGN_OR_RETURN(initial, initial.Contiguous(*allocator_));
  module_.variables.push_back(
      {.name = std::string(name),
       .dtype = initial.dtype(),
       .dims = initial.dims(),
       .trainable = trainable,
       .initial_constant = static_cast<uint32_t>(module_.constants.size())});
  module_.constants.push_back(std::move(initial));
  return static_cast<uint32_t>(module_.variables.size() - 1);
}

Result<uint32_t> GraphBuilder::AddVariable(std::string_view name, DType dtype, Dims dims,
                                           bool trainable, NodeSpec initializer) {
  if (name.empty()) return InvalidArgument("a variable needs a name");
  if (module_.FindVariable(name) != kNone) {
    return AlreadyExists("a variable is already called '", name, "'");
  }
  uint32_t outer = std::exchange(current_, static_cast<uint32_t>(module_.graphs.size()));
  module_.graphs.emplace_back();
  auto node = AddNode(std::move(initializer));
  uint32_t body = std::exchange(current_, outer);
  auto fail = [&](Status status) {
    module_.graphs.pop_back();
    return std::move(status).WithContext(Cat("initializer of variable '", name, "'"));
  };
  if (!node.ok()) return fail(std::move(node).status());
  graph::Graph& graph = module_.graphs[body];
  graph.outputs = {graph.nodes[*node].outputs[0]};
  graph::ValueType wanted = graph::ValueType::Tensor(dtype, dims);
  const graph::ValueType& got = graph.values[graph.outputs[0]].type;
  if (!(got == wanted)) {
    return fail(InvalidArgument("expected ", graph::TypeText(wanted, module_.symbols),
                                ", it makes ", graph::TypeText(got, module_.symbols)));
  }
  module_.variables.push_back({.name = std::string(name),
                               .dtype = dtype,
                               .dims = std::move(dims),
                               .trainable = trainable,
                               .initial_graph = body});
  return static_cast<uint32_t>(module_.variables.size() - 1);
}

Result<uint32_t> GraphBuilder::AddVariableLike(std::string_view name, uint32_t other) {
  HR_RETURN_IF_ERROR(CheckVariable(other));
  if (module_.FindVariable(name) != kNone) {
    return AlreadyExists("a variable is already called '", name, "'");
  }
  graph::Variable copy = module_.variables[other];
  copy.name = name;
  copy.trainable = false;
  module_.variables.push_back(std::move(copy));
  return static_cast<uint32_t>(module_.variables.size() - 1);
}

std::string GraphBuilder::UniqueName(std::string_view wanted) {
  std::string base = scope_.empty() ? std::string(wanted) : Cat(scope_, "/", wanted);
  auto known = names_.find(base);
  if (known == names_.end()) return base;
  std::string name;
  do {
    name = Cat(base, "_", ++known->second);
  } while (names_.contains(name));
  return name;
}

Result<NodeId> GraphBuilder::AddNode(NodeSpec spec) {
  const ops::OpDef* def = nullptr;
  if (spec.version == 0) {
    def = registry_->Newest(spec.domain, spec.op);
    spec.version = def != nullptr ? def->since_version : 1;
  }
  HR_ASSIGN_OR_RETURN(def, registry_->Get({spec.domain, spec.op, spec.version}));
  graph::Graph& graph = current();
  for (ValueId input : spec.inputs) {
    if (input != kNone && input >= graph.values.size()) {
      return InvalidArgument(spec.op, " takes value #", input, ", which is not of this graph");
    }
  }
  for (NodeId control : spec.controls) {
    if (control >= graph.nodes.size()) {
      return InvalidArgument(spec.op, " runs after node #", control,
                             ", which is not of this graph");
    }
  }
  if (def->random && std::none_of(spec.attributes.begin(), spec.attributes.end(),
                                  [](const auto& a) { return a.name == "stream"; })) {
    graph::Append(&spec.attributes, {"stream", next_stream_++});
  }
  if (!spec.name.empty() && names_.contains(spec.name)) {
    return AlreadyExists("a value or node is already called '", spec.name, "'");
  }
  const size_t operators = module_.operators.size();
  graph::Node node{.op = module_.InternOperator(spec.domain, spec.op, spec.version),
                   .inputs = std::move(spec.inputs),
                   .controls = std::move(spec.controls),
                   .attributes = std::move(spec.attributes),
                   .device = std::move(spec.device),
                   .name = spec.name.empty() ? UniqueName(spec.op) : std::move(spec.name)};
  if (node.device.empty() && current_ == 0) node.device = device_;
  NodeId id = static_cast<NodeId>(graph.nodes.size());
  size_t first_value = graph.values.size();
  for (size_t i = 0; i < spec.outputs; ++i) {
    node.outputs.push_back(static_cast<ValueId>(graph.values.size()));
    graph.values.push_back({.producer = id, .name = Cat(node.name, ":", i)});
  }
  graph.nodes.push_back(std::move(node));
  if (Status status = InferNode(*registry_, module_, graph, id); !status.ok()) {
    graph.nodes.pop_back();
    graph.values.resize(first_value);
    module_.operators.resize(operators);
    return status;
  }
  names_.try_emplace(graph.nodes[id].name);
  for (size_t i = first_value; i < graph.values.size(); ++i)
    names_.try_emplace(graph.values[i].name);
  ChainEffects(*def, id, spec.chained);
  int& opset = module_.opsets[spec.domain];
  opset = std::max(opset, spec.domain.empty() ? std::max(kOnnxOpset, spec.version) : spec.version);
  return id;
}

Result<std::vector<ValueId>> GraphBuilder::Emit(std::string_view domain, std::string_view name,
                                                std::span<const ValueId> inputs, size_t outputs,
                                                std::vector<graph::Attribute> attributes) {
  HR_ASSIGN_OR_RETURN(NodeId node, AddNode({.domain = std::string(domain),
                                            .op = std::string(name),
                                            .inputs = {inputs.begin(), inputs.end()},
                                            .outputs = outputs,
                                            .attributes = std::move(attributes)}));
  return current().nodes[node].outputs;
}

Result<ValueId> GraphBuilder::EmitOne(std::string_view domain, std::string_view op,
                                      std::initializer_list<ValueId> inputs,
                                      std::initializer_list<graph::AttributeInit> attributes,
                                      std::string name) {
  HR_ASSIGN_OR_RETURN(NodeId node, AddNode({.domain = std::string(domain),
                                            .op = std::string(op),
                                            .inputs = inputs,
                                            .attributes = graph::Attributes(attributes),
                                            .name = std::move(name)}));
  return current().nodes[node].outputs[0];
}

Result<ValueId> GraphBuilder::RequireOutput(NodeId id, size_t index) {
  graph::Graph& graph = current();
  while (graph.nodes[id].outputs.size() <= index) {
    size_t at = graph.nodes[id].outputs.size();
    graph.nodes[id].outputs.push_back(static_cast<ValueId>(graph.values.size()));
    std::string name = Cat(graph.nodes[id].name, ":", at);
    names_.try_emplace(name);
    graph.values.push_back({.producer = id, .name = std::move(name)});
  }
  HR_RETURN_IF_ERROR(InferNode(*registry_, module_, graph, id));
  return graph.nodes[id].outputs[index];
}

Status GraphBuilder::AddSignature(graph::Signature signature) {
  if (signature.name.empty()) return InvalidArgument("a signature needs a name");
  if (module_.FindSignature(signature.name) != nullptr) {
    return AlreadyExists("a signature is already called '", signature.name, "'");
  }
  module_.signatures.push_back(std::move(signature));
  return {};
}

graph::Signature& GraphBuilder::SignatureNamed(std::string_view name) {
  for (graph::Signature& signature : module_.signatures) {
    if (signature.name == name) return signature;
  }
  return module_.signatures.emplace_back(graph::Signature{.name = std::string(name)});
}

Status GraphBuilder::RemoveSignature(std::string_view name) {
  auto& signatures = module_.signatures;
  const auto found = std::find_if(signatures.begin(), signatures.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  if (found == signatures.end())
    return graph::UnknownName("graph", "signature", name, graph::NamesOf(signatures));
  signatures.erase(found);
  return {};
}

Status GraphBuilder::SetTrainable(uint32_t variable, bool trainable) {
  HR_RETURN_IF_ERROR(CheckVariable(variable));
  module_.variables[variable].trainable = trainable;
  return {};
}

Status GraphBuilder::CheckVariable(uint32_t variable) const {
  if (variable < module_.variables.size()) return {};
  return InvalidArgument("variable ", variable, " does not exist; there are ",
                         module_.variables.size());
}

Status GraphBuilder::CheckValue(ValueId value) const {
  if (value < graph().values.size()) return {};
  return InvalidArgument("there is no value #", value, "; the graph has ", graph().values.size());
}

void GraphBuilder::SetMetadata(std::string_view key, std::string_view value) {
  module_.metadata[std::string(key)] = value;
}

Status GraphBuilder::RenameValue(ValueId value, std::string_view name) {
  if (value >= current().values.size()) return InvalidArgument("there is no value #", value);
  if (!names_.try_emplace(std::string(name)).second) {
    return AlreadyExists("a value or node is already called '", name, "'");
  }
  names_.erase(current().values[value].name);
  current().values[value].name = name;
  return {};
}

void GraphBuilder::SetInput(NodeId id, size_t input, ValueId value) {
  NoteReplaced(id);
  std::vector<ValueId>& inputs = current().nodes[id].inputs;
  if (inputs.size() <= input) inputs.resize(input + 1, kNone);
  inputs[input] = value;
}

void GraphBuilder::AddControl(NodeId id, NodeId before) {
  NoteReplaced(id);
  current().nodes[id].controls.push_back(before);
}

Status GraphBuilder::InferAgain(NodeId id) {
  for (ValueId output : graph().nodes[id].outputs) {
    if (output != kNone) retyped_.push_back({output, graph().values[output].type});
  }
  return InferNode(*registry_, module_, current(), id);
}

Status GraphBuilder::DivideVariable(uint32_t index, int64_t elements) {
  graph::Variable& variable = module_.variables[index];
  const uint32_t constant = variable.initial_constant;
  const auto starts_alike = [&](const auto& other) { return other.initial_constant == constant; };
  const auto is_zero = [](std::byte one) { return one == std::byte(0); };
  const bool own = constant != kNone && std::count_if(module_.variables.begin(),
                                                      module_.variables.end(), starts_alike) == 1;
  const auto* bytes =
      own ? static_cast<const std::byte*>(module_.constants[constant].data()) : nullptr;
  if (!own || !std::all_of(bytes, bytes + module_.constants[constant].bytes(), is_zero)) {
    return FailedPrecondition("variable '", variable.name,
                              "' does not start as zeros of its own; divide a training before it "
                              "begins");
  }
  HR_ASSIGN_OR_RETURN(auto&& part, MakeZeros(*allocator_, variable.dtype, {elements}));
  divided_.push_back(
      {index, variable, std::exchange(module_.constants[constant], std::move(part))});
  variable.dims = {elements};
  return {};
}

void GraphBuilder::Redirect(NodeId id, std::span<const ValueId> values) {
  const std::vector<ValueId> outputs = graph().nodes[id].outputs;
  const ops::OpDef& def = *registry_->Newest(ops::kOnnx, "Identity");
  const uint32_t identity = module_.InternOperator(def.domain, def.name, def.since_version);
  NoteReplaced(id);
  bool first = true;
  const std::string device = graph().nodes[id].device;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNone) continue;
    if (!std::exchange(first, false)) {
      id = static_cast<NodeId>(graph().nodes.size());
      current().nodes.push_back({.device = device});
    }
    graph::Node& node = current().nodes[id];
    node.op = identity;
    node.inputs = {values[i]};
    node.outputs = {outputs[i]};
    node.attributes.clear();
    current().values[outputs[i]].producer = id;
  }
}

namespace {

// Whether a value of type `b` can stand where one of type `a` stood.
bool Fits(const graph::ValueType& a, const graph::ValueType& b) {
  if (a.dtype != b.dtype || a.kind != b.kind) return false;
  if (!a.ranked || !b.ranked) return !a.ranked;
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](const graph::Dim& was, const graph::Dim& is) {
                      return !was.fixed() || !is.fixed() || was.size == is.size;
                    });
}

}  // namespace

Status GraphBuilder::ReplaceValue(ValueId from, ValueId to) {
  HR_RETURN_IF_ERROR(CheckValue(from));
  HR_RETURN_IF_ERROR(CheckValue(to));
  graph::Graph& graph = current();
  if (!Fits(graph.values[from].type, graph.values[to].type)) {
    const auto text = [&](ValueId id) {
      return graph::TypeText(graph.values[id].type, module_.symbols);
    };
    return InvalidArgument("'", graph::ValueText(graph, from), "' is ", text(from),
                           ", and cannot be replaced by a value of type ", text(to));
  }
  const graph::Marks makers =
      NeededNodes(graph, graph::Marks(graph.values.size(), false), {.fetches = {to}});
  bool used = from == to;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    auto& inputs = graph.nodes[id].inputs;
    if (!makers[id]) std::replace(inputs.begin(), inputs.end(), from, to);
    used = used || std::find(inputs.begin(), inputs.end(), from) != inputs.end();
  }
  for (graph::Signature& signature : module_.signatures) {
    for (graph::Port& port : signature.outputs) {
      if (port.value == from) port.value = to;
    }
    if (used) continue;
    std::erase_if(signature.inputs, [&](const graph::Port& port) { return port.value == from; });
  }
  return {};
}

void GraphBuilder::Prune() {
  module_ = KeepSignatures(*registry_, module_);
  names_.clear();
  IndexNames();
  IndexEffects();
}

Result<graph::Module> GraphBuilder::Finish() {
  HR_RETURN_IF_ERROR(graph::Verify(module_));
  HR_RETURN_IF_ERROR(ops::CheckModule(*registry_, module_));
  return std::move(module_);
}

}  // namespace hr::transform
