#include "runtime/ops/control.h"

#include "runtime/ops/builtin.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kBranches[] = {{"then_branch", AttributeKind::kGraph, true},
                                      {"else_branch", AttributeKind::kGraph, true},
                                      {"captured", AttributeKind::kInt}};
constexpr AttributeDef kLoopBody[] = {{"body", AttributeKind::kGraph, true},
                                      {"captured", AttributeKind::kInt}};
constexpr AttributeDef kScanBody[] = {
    {"body", AttributeKind::kGraph, true},           {"captured", AttributeKind::kInt},
    {"num_scan_inputs", AttributeKind::kInt, true},  {"scan_input_axes", AttributeKind::kInts},
    {"scan_input_directions", AttributeKind::kInts}, {"scan_output_axes", AttributeKind::kInts},
    {"scan_output_directions", AttributeKind::kInts}};
constexpr AttributeDef kBatchScanBody[] = {{"body", AttributeKind::kGraph, true},
                                           {"captured", AttributeKind::kInt},
                                           {"num_scan_inputs", AttributeKind::kInt, true},
                                           {"directions", AttributeKind::kInts}};
constexpr AttributeDef kCallBody[] = {{"body", AttributeKind::kGraph, true}};

const ValueType& InputOf(const graph::Graph& body, size_t i) {
  return body.values[body.inputs[i]].type;
}
const ValueType& OutputOf(const graph::Graph& body, size_t i) {
  return body.values[body.outputs[i]].type;
}

// Where both are known the dimensions agree, or differ from run to run. An optional that holds
// something is that thing.
ValueType Either(const ValueType& a, const ValueType& b) {
  ValueType out = a;
  if (a.kind == graph::ValueKind::kOptional) out.kind = b.kind;
  if (!a.ranked || !b.ranked || a.dims.size() != b.dims.size()) {
    out.ranked = false;
    out.dims.clear();
    return out;
  }
  for (size_t i = 0; i < out.dims.size(); ++i) {
    if (!(a.dims[i] == b.dims[i])) out.dims[i] = {};
  }
  return out;
}

// Optionals may hold, or be given, what they are optional for.
bool SameKind(const ValueType& a, const ValueType& b) {
  return a.kind == b.kind || a.kind == graph::ValueKind::kOptional ||
         b.kind == graph::ValueKind::kOptional;
}

Status ExpectFits(const InferContext& context, std::string_view what, const ValueType& wanted,
                  const ValueType& got) {
  if (wanted.dtype == got.dtype && SameKind(wanted, got)) return {};
  return InvalidArgument(what, " is ", context.Text(wanted), " in the body, the node has ",
                         context.Text(got));
}

Status ExpectOne(const InferContext& context, size_t i, DType dtype) {
  if (!context.has_input(i)) return {};
  HR_RETURN_IF_ERROR(context.ExpectDType(i, {dtype}));
  const auto dims = context.input(i).FixedDims();
  if (!dims || ElementCount(*dims) == 1) return {};
  return InvalidArgument(context.InputText(i), " is one element");
}

// Inputs [first, …) of the node are those [at, …) of the body.
Status ExpectInputs(const InferContext& context, const graph::Graph& body, size_t first, size_t at,
                    size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!context.has_input(first + i)) return InvalidArgument("input ", first + i, " is missing");
    HR_RETURN_IF_ERROR(ExpectFits(context, Cat("input ", first + i), InputOf(body, at + i),
                                  context.input(first + i)));
  }
  return {};
}

Status CheckOutputCount(const InferContext& context, size_t most) {
  if (context.output_count() <= most) return {};
  return InvalidArgument(context.def().name, "'s body gives ", most, " outputs, the node has ",
                         context.output_count());
}

Status InferIf(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectOne(context, 0, DType::kBool));
  context.constant(0);  // it is what decides
  const graph::Module& module = context.module();
  HR_ASSIGN_OR_RETURN(const uint32_t then, BodyOf(module, context.node(), "then_branch"));
  HR_ASSIGN_OR_RETURN(const uint32_t otherwise, BodyOf(module, context.node(), "else_branch"));
  const graph::Graph &a = module.graphs[then], &b = module.graphs[otherwise];
  const size_t captured = context.input_count() - 1;
  for (const graph::Graph* body : {&a, &b}) {
    if (body->inputs.size() != captured) {
      return InvalidArgument("each branch takes all ", captured,
                             " values that follow the condition, one takes ", body->inputs.size());
    }
    HR_RETURN_IF_ERROR(ExpectInputs(context, *body, 1, 0, captured));
  }
  if (a.outputs.size() != b.outputs.size()) {
    return InvalidArgument("both branches give the same outputs, they have ", a.outputs.size(),
                           " and ", b.outputs.size());
  }
  HR_RETURN_IF_ERROR(CheckOutputCount(context, a.outputs.size()));
  for (size_t i = 0; i < context.output_count(); ++i) {
    const ValueType &x = OutputOf(a, i), &y = OutputOf(b, i);
    if (x.dtype != y.dtype || !SameKind(x, y)) {
      return InvalidArgument("output ", i, " is ", context.Text(x), " in one branch and ",
                             context.Text(y), " in the other");
    }
    context.SetOutput(i, Either(x, y));
  }
  return {};
}

// `step` of each scan's type with one more axis in front.
ValueType Stacked(const ValueType& step) {
  ValueType out = step;
  if (out.ranked) out.dims.insert(out.dims.begin(), Dim{});
  return out;
}

Status InferLoop(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectOne(context, 0, DType::kInt64));
  HR_RETURN_IF_ERROR(ExpectOne(context, 1, DType::kBool));
  const graph::Module& module = context.module();
  HR_ASSIGN_OR_RETURN(const LoopLayout layout, LoopLayoutOf(module, context.node()));
  HR_ASSIGN_OR_RETURN(const uint32_t index, BodyOf(module, context.node(), "body"));
  const graph::Graph& body = module.graphs[index];
  HR_RETURN_IF_ERROR(ExpectInputs(context, body, 2, 2, layout.states + layout.captured));
  HR_RETURN_IF_ERROR(CheckOutputCount(context, layout.states + layout.scans));
  if (OutputOf(body, 0).dtype != DType::kBool) {
    return InvalidArgument("the body's first output is the condition, a bool, got ",
                           context.Text(OutputOf(body, 0)));
  }
  for (size_t i = 0; i < layout.states; ++i) {
    const ValueType& next = OutputOf(body, 1 + i);
    HR_RETURN_IF_ERROR(ExpectFits(context, Cat("state ", i), next, context.input(2 + i)));
    context.SetOutput(i, Either(next, context.input(2 + i)));
  }
  for (size_t i = layout.states; i < context.output_count(); ++i) {
    context.SetOutput(i, Stacked(OutputOf(body, 1 + i)));
  }
  return {};
}

Status InferScan(InferContext& context) {
  const graph::Module& module = context.module();
  HR_ASSIGN_OR_RETURN(const ScanLayout layout, ScanLayoutOf(module, context.node()));
  HR_ASSIGN_OR_RETURN(const uint32_t index, BodyOf(module, context.node(), "body"));
  const graph::Graph& body = module.graphs[index];
  const size_t inputs = layout.states + layout.scanned + layout.captured;
  HR_RETURN_IF_ERROR(ExpectInputs(context, body, layout.first, 0, inputs));
  HR_RETURN_IF_ERROR(CheckOutputCount(context, layout.states + layout.scans));
  for (size_t i = 0; i < context.output_count(); ++i) {
    const ValueType type = layout.batched ? Stacked(OutputOf(body, i)) : OutputOf(body, i);
    context.SetOutput(
        i, i < layout.states ? Either(type, context.input(layout.first + i)) : Stacked(type));
  }
  const auto axes = context.node().Ints("scan_output_axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    // Where the new axis goes is the composition's matter; it is not the first.
    if (axes[i] != 0)
      context.SetUnranked(layout.states + i, OutputOf(body, layout.states + i).dtype);
  }
  return {};
}

Status InferCall(InferContext& context) {
  HR_ASSIGN_OR_RETURN(const uint32_t index, BodyOf(context.module(), context.node(), "body"));
  const graph::Graph& body = context.module().graphs[index];
  if (body.inputs.size() != context.input_count()) {
    return InvalidArgument("the body takes ", body.inputs.size(), " inputs, the node has ",
                           context.input_count());
  }
  HR_RETURN_IF_ERROR(ExpectInputs(context, body, 0, 0, context.input_count()));
  HR_RETURN_IF_ERROR(CheckOutputCount(context, body.outputs.size()));
  for (size_t i = 0; i < context.output_count(); ++i) {
    context.SetOutput(i, OutputOf(body, i));
  }
  return {};
}

constexpr OpDef If(int since) {
  return {.domain = kOnnx,
          .name = "If",
          .since_version = since,
          .inputs = {1, kUnlimited},
          .outputs = {0, kUnlimited},
          .control = Control::kIf,
          .attributes = kBranches,
          .infer = InferIf};
}
constexpr OpDef Loop(int since) {
  return {.domain = kOnnx,
          .name = "Loop",
          .since_version = since,
          .inputs = {2, kUnlimited},
          .outputs = {0, kUnlimited},
          .omissible_inputs = 3,
          .control = Control::kLoop,
          .attributes = kLoopBody,
          .infer = InferLoop};
}

constexpr OpDef kControlOps[] = {
    If(1),
    Loop(1),
    // Of many examples, each along its first axis.
    {.domain = kOnnx,
     .name = "Scan",
     .since_version = 8,
     .inputs = {2, kUnlimited},
     .outputs = {1, kUnlimited},
     .omissible_inputs = 1,
     .control = Control::kScan,
     .attributes = kBatchScanBody,
     .infer = InferScan},
    {.domain = kOnnx,
     .name = "Scan",
     .since_version = 9,
     .inputs = {1, kUnlimited},
     .outputs = {1, kUnlimited},
     .control = Control::kScan,
     .attributes = kScanBody,
     .infer = InferScan},
    {.domain = kControl,
     .name = "Call",
     .inputs = {0, kUnlimited},
     .outputs = {0, kUnlimited},
     .control = Control::kCall,
     .attributes = kCallBody,
     .infer = InferCall},
};

Status NoFit(std::string_view op, size_t wanted, size_t got) {
  return InvalidArgument(op, "'s body takes ", got, " inputs, the node gives it ", wanted);
}

}  // namespace

Result<uint32_t> BodyOf(const graph::Module& module, const Node& node, Literal attribute) {
  const auto* value = node.Find(attribute);
  const auto* body = value == nullptr ? nullptr : std::get_if<graph::GraphIndex>(value);
  if (body == nullptr || body->index == 0 || body->index >= module.graphs.size()) {
    return InvalidArgument("attribute '", attribute, "' names no body of the model");
  }
  return body->index;
}

Result<LoopLayout> LoopLayoutOf(const graph::Module& module, const Node& node) {
  HR_ASSIGN_OR_RETURN(const uint32_t index, BodyOf(module, node, "body"));
  const graph::Graph& body = module.graphs[index];
  const auto captured = static_cast<uint64_t>(node.Int("captured", 0));
  if (node.inputs.size() < 2 || captured > node.inputs.size() - 2) {
    return InvalidArgument("Loop has ", node.inputs.size(), " inputs, of which ",
                           node.Int("captured", 0), " cannot be captured");
  }
  if (body.inputs.size() != node.inputs.size()) {
    return NoFit("Loop", node.inputs.size(), body.inputs.size());
  }
  LoopLayout out{.states = node.inputs.size() - 2 - captured, .captured = captured};
  if (body.outputs.size() < 1 + out.states) {
    return InvalidArgument("Loop's body gives a condition and ", out.states, " states, it has ",
                           body.outputs.size(), " outputs");
  }
  out.scans = body.outputs.size() - 1 - out.states;
  return out;
}

Result<ScanLayout> ScanLayoutOf(const graph::Module& module, const Node& node) {
  HR_ASSIGN_OR_RETURN(const uint32_t index, BodyOf(module, node, "body"));
  const graph::Graph& body = module.graphs[index];
  const auto captured = static_cast<uint64_t>(node.Int("captured", 0));
  const auto scanned = static_cast<uint64_t>(node.Int("num_scan_inputs", 0));
  const bool batched = module.OperatorOf(node).version < 9;
  const size_t first = batched ? 1 : 0;
  const size_t inputs = node.inputs.size() - std::min(first, node.inputs.size());
  if (scanned == 0 || captured > inputs || scanned > inputs - captured) {
    return InvalidArgument("Scan has ", inputs, " inputs, of which ", node.Int("captured", 0),
                           " cannot be captured and ", node.Int("num_scan_inputs", 0),
                           " be scanned");
  }
  if (body.inputs.size() != inputs) return NoFit("Scan", inputs, body.inputs.size());
  ScanLayout out{.batched = batched,
                 .first = first,
                 .states = inputs - captured - scanned,
                 .scanned = scanned,
                 .captured = captured};
  if (body.outputs.size() < out.states) {
    return InvalidArgument("Scan's body gives ", out.states, " states, it has ",
                           body.outputs.size(), " outputs");
  }
  out.scans = body.outputs.size() - out.states;
  return out;
}

namespace {

// The bodies of a module's nodes; not the initial values of variables.
graph::Marks BodiesIn(const graph::Module& module) {
  graph::Marks bodies(module.graphs.size(), false);
  for (const graph::Graph& graph : module.graphs) {
    for (const Node& node : graph.nodes) {
      for (const graph::Attribute& attribute : node.attributes) {
        const auto* body = std::get_if<graph::GraphIndex>(&attribute.value);
        if (body != nullptr) bodies[body->index] = true;
      }
    }
  }
  return bodies;
}

}  // namespace

Status CheckBody(const OpRegistry& registry, const graph::Module& module, uint32_t index) {
  const graph::Graph& body = module.graphs[index];
  for (NodeId id = 0; id < body.nodes.size(); ++id) {
    const OpDef& def = DefOf(registry, module, body.nodes[id]);
    if (EffectsOf(def, body.nodes[id]).empty()) continue;
    return Unimplemented(def.name,
                         " stands in a body and touches a variable or another resource; read it "
                         "outside and give the value to the body, and assign outside what the "
                         "body gives")
        .WithNode(graph::NodeText(module, body, id));
  }
  return {};
}

Status CheckBodies(const OpRegistry& registry, const graph::Module& module) {
  const graph::Marks bodies = BodiesIn(module);
  for (uint32_t index = 0; index < bodies.size(); ++index) {
    if (bodies[index]) HR_RETURN_IF_ERROR(CheckBody(registry, module, index));
  }
  return {};
}

OpFamily ControlOps() { return Chosen<kControlOps>(); }

}  // namespace hr::ops
