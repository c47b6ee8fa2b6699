#include "headrace/control.h"

#include "capi/src/graph_handle.h"
#include "runtime/ops/op_def.h"
#include "runtime/transform/attribute_text.h"
#include "runtime/transform/extract.h"
#include "runtime/transform/specialize.h"

namespace hr::capi {
namespace {

Result<uint32_t> AddBody(hr_graph* graph, const hr_graph* from, const char* name) {
  const graph::Module& module = from->rep.module();
  const graph::Signature* signature = module.FindSignature(name);
  if (signature == nullptr) {
    std::vector<std::string> known;
    for (const graph::Signature& entry : module.signatures) known.push_back(entry.name);
    return NotFound("the body has no signature '", name, "'; there are", ListText(known));
  }
  transform::Request request{.targets = signature->targets};
  for (const graph::Port& port : signature->inputs) request.feeds.push_back({.value = port.value});
  for (const graph::Port& port : signature->outputs) request.fetches.push_back(port.value);
  graph::Module part = transform::Extract(module, request).module;
  HR_RETURN_IF_ERROR(transform::CheckFed(part));
  part.signatures[0].name = name;
  return graph->rep.AddBody(std::move(part));
}

Status CheckBody(const hr_graph* graph, hr_body body) {
  const size_t count = graph->rep.module().graphs.size();
  if (body != 0 && body < count) return {};
  return InvalidArgument("there is no body ", body, " in this graph; hr_graph_body adds them");
}

graph::Attribute Body(const char* name, hr_body body) { return {name, graph::GraphIndex{body}}; }

void Append(std::vector<hr_value>& inputs, size_t count, const hr_value* values) {
  inputs.insert(inputs.end(), values, values + count);
}

Status Add(hr_graph* graph, std::string_view domain, std::string_view op,
           std::vector<hr_value> inputs, std::vector<graph::Attribute> attributes,
           size_t output_count, hr_value* outputs) {
  for (const graph::Attribute& attribute : attributes) {
    const auto* body = std::get_if<graph::GraphIndex>(&attribute.value);
    if (body != nullptr) HR_RETURN_IF_ERROR(CheckBody(graph, body->index));
  }
  HR_ASSIGN_OR_RETURN(auto&& values, graph->rep.AllOrNothing([&] {
    return graph->rep.Emit(domain, op, inputs, output_count, std::move(attributes));
  }));
  for (size_t i = 0; i < output_count; ++i) outputs[i] = values[i];
  return {};
}

Result<std::vector<graph::Attribute>> ScanAttributes(const ops::OpRegistry& registry,
                                                     const char* text) {
  if (text == nullptr) return std::vector<graph::Attribute>();
  graph::Operator op{.name = "Scan", .version = 1};
  if (const ops::OpDef* newest = registry.Newest(ops::kOnnx, op.name))
    op.version = newest->since_version;
  HR_ASSIGN_OR_RETURN(const ops::OpDef* scan, registry.Get(op));
  return transform::ParseAttributes(*scan, text);
}

}  // namespace
}  // namespace hr::capi

using hr::capi::Body;
using hr::capi::Give;
using hr::capi::Wrap;

extern "C" {

hr_status* hr_graph_body(hr_graph* graph, const hr_graph* body, const char* signature,
                         hr_body* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(body);
  HR_REQUIRE(signature);
  HR_REQUIRE(out);
  const hr::capi::GraphUse use(body);
  if (!use.held()) return hr::capi::GraphInUse(__func__);
  return Give(out,
              graph->rep.AllOrNothing([&] { return hr::capi::AddBody(graph, body, signature); }));
}

hr_status* hr_graph_input_sequence(hr_graph* graph, const char* name, hr_dtype dtype,
                                   hr_value* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  return Give(out, graph->rep.AddInput(name, {.dtype = static_cast<hr::DType>(dtype),
                                              .kind = hr::graph::ValueKind::kSequence}));
}

hr_status* hr_graph_if(hr_graph* graph, hr_value condition, hr_body then_body, hr_body else_body,
                       size_t captured_count, const hr_value* captured, size_t output_count,
                       hr_value* outputs) {
  HR_USE_GRAPH(graph);
  if (captured_count != 0) HR_REQUIRE(captured);
  if (output_count != 0) HR_REQUIRE(outputs);
  std::vector<hr_value> inputs = {condition};
  hr::capi::Append(inputs, captured_count, captured);
  return Wrap(hr::capi::Add(graph, "", "If", std::move(inputs),
                            {Body("then_branch", then_body),
                             Body("else_branch", else_body),
                             {"captured", static_cast<int64_t>(captured_count)}},
                            output_count, outputs));
}

hr_status* hr_graph_loop(hr_graph* graph, hr_value trip_count, hr_value condition, hr_body body,
                         size_t state_count, const hr_value* states, size_t captured_count,
                         const hr_value* captured, size_t output_count, hr_value* outputs) {
  HR_USE_GRAPH(graph);
  if (state_count != 0) HR_REQUIRE(states);
  if (captured_count != 0) HR_REQUIRE(captured);
  if (output_count != 0) HR_REQUIRE(outputs);
  std::vector<hr_value> inputs = {trip_count, condition};
  hr::capi::Append(inputs, state_count, states);
  hr::capi::Append(inputs, captured_count, captured);
  return Wrap(
      hr::capi::Add(graph, "", "Loop", std::move(inputs),
                    {Body("body", body), {"captured", static_cast<int64_t>(captured_count)}},
                    output_count, outputs));
}

hr_status* hr_graph_scan(hr_graph* graph, hr_body body, const char* attributes, size_t state_count,
                         const hr_value* states, size_t scanned_count, const hr_value* scanned,
                         size_t captured_count, const hr_value* captured, size_t output_count,
                         hr_value* outputs) {
  HR_USE_GRAPH(graph);
  if (state_count != 0) HR_REQUIRE(states);
  if (scanned_count != 0) HR_REQUIRE(scanned);
  if (captured_count != 0) HR_REQUIRE(captured);
  if (output_count != 0) HR_REQUIRE(outputs);
  HR_ASSIGN_OR_WRAP(auto&& given, hr::capi::ScanAttributes(graph->rep.registry(), attributes));
  std::vector<hr_value> inputs;
  hr::capi::Append(inputs, state_count, states);
  hr::capi::Append(inputs, scanned_count, scanned);
  hr::capi::Append(inputs, captured_count, captured);
  given.push_back(Body("body", body));
  given.push_back({"num_scan_inputs", static_cast<int64_t>(scanned_count)});
  given.push_back({"captured", static_cast<int64_t>(captured_count)});
  return Wrap(
      hr::capi::Add(graph, "", "Scan", std::move(inputs), std::move(given), output_count, outputs));
}

hr_status* hr_graph_call(hr_graph* graph, hr_body body, size_t input_count, const hr_value* inputs,
                         size_t output_count, hr_value* outputs) {
  HR_USE_GRAPH(graph);
  if (input_count != 0) HR_REQUIRE(inputs);
  if (output_count != 0) HR_REQUIRE(outputs);
  return Wrap(hr::capi::Add(graph, hr::ops::kControl, "Call", {inputs, inputs + input_count},
                            {Body("body", body)}, output_count, outputs));
}

void hr_node_spec_body(hr_node_spec* spec, const char* name, hr_body value) {
  if (spec == nullptr || !spec->fault.ok()) return;
  if (name == nullptr) {
    spec->fault =
        hr::InvalidArgument("the name of an attribute of ", spec->rep.op, " must not be NULL");
  } else {
    spec->rep.attributes.push_back(Body(name, value));
  }
}

}  // extern "C"
