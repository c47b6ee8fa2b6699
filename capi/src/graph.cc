#include "headrace/graph.h"

#include "capi/src/graph_handle.h"
#include "runtime/format/writer.h"
#include "runtime/transform/adapter.h"
#include "runtime/transform/attribute_text.h"

namespace hr::capi {
namespace {

Result<graph::ValueType> InputType(transform::GraphBuilder& builder, hr_dtype dtype, size_t rank,
                                   const int64_t* dims, const char* const* symbols) {
  HR_ASSIGN_OR_RETURN(auto&& sizes, DimsFrom(rank, dims));
  graph::ValueType type{.dtype = static_cast<DType>(dtype), .ranked = true};
  for (size_t i = 0; i < rank; ++i) {
    if (sizes[i] < graph::kUnknownDim) {
      return InvalidArgument("dimension ", i, " is ", sizes[i], "; use -1 for an unknown one");
    }
    graph::Dim dim{.size = sizes[i]};
    if (symbols != nullptr && symbols[i] != nullptr) {
      if (dim.fixed()) {
        return InvalidArgument("dimension ", i, " is both ", dim.size, " and '", symbols[i],
                               "'; give -1 with a name");
      }
      dim.symbol = builder.AddSymbol(symbols[i]);
    }
    type.dims.push_back(dim);
  }
  return type;
}

Result<graph::ValueId> AddInput(transform::GraphBuilder& builder, const char* name, hr_dtype dtype,
                                size_t rank, const int64_t* dims, const char* const* symbols) {
  HR_ASSIGN_OR_RETURN(auto&& type, InputType(builder, dtype, rank, dims, symbols));
  return builder.AddInput(name, std::move(type));
}

Status AddNode(hr_graph* graph, transform::NodeSpec spec, size_t output_count, hr_value* outputs,
               hr_node* out_node) {
  spec.outputs = output_count;
  HR_ASSIGN_OR_RETURN(graph::NodeId node, graph->rep.AddNode(std::move(spec)));
  const auto& values = graph->rep.graph().nodes[node].outputs;
  for (size_t i = 0; i < output_count; ++i) outputs[i] = values[i];
  if (out_node != nullptr) *out_node = node;
  return {};
}

Status AddSpec(hr_graph* graph, const hr_node_spec& spec, size_t output_count, hr_value* outputs,
               hr_node* out_node) {
  transform::NodeSpec complete = spec.rep;
  for (const auto& [name, tensor] : spec.tensors) {
    HR_ASSIGN_OR_RETURN(hr_value value, graph->rep.Constant(tensor));
    const uint32_t constant = graph->rep.graph().values[value].constant;
    complete.attributes.push_back({name, graph::TensorIndex{constant}});
  }
  return AddNode(graph, std::move(complete), output_count, outputs, out_node);
}

// The entries of graph signatures are put together in the graph's own module.
Status AddPort(hr_graph* graph, const char* signature, const char* name, hr_value value,
               bool input) {
  HR_RETURN_IF_ERROR(CheckValue(graph, value));
  graph::Signature& entry = graph->rep.SignatureNamed(signature);
  auto& ports = input ? entry.inputs : entry.outputs;
  for (const graph::Port& port : ports) {
    if (port.name == name) {
      return AlreadyExists("signature '", signature, "' already has an ",
                           input ? "input" : "output", " '", name, "'");
    }
  }
  ports.push_back({name, value});
  return {};
}

Result<uint32_t> InitVariable(hr_graph* graph, const char* name, hr_dtype dtype, size_t rank,
                              const int64_t* dims, int trainable, const char* op,
                              const char* attributes) {
  HR_ASSIGN_OR_RETURN(auto&& shape, DimsFrom(rank, dims));
  HR_ASSIGN_OR_RETURN(auto&& spec, SpecFor(graph->rep.registry(), op, attributes));
  graph::Append(&spec.attributes, {"shape", shape});
  graph::Append(&spec.attributes, {"dtype", static_cast<int64_t>(dtype)});
  return graph->rep.AddVariable(name, static_cast<DType>(dtype), std::move(shape), trainable != 0,
                                std::move(spec));
}

// A wrong argument is kept for hr_graph_add.
void SetAttribute(hr_node_spec* spec, const char* name, Result<graph::AttributeValue> value) {
  if (spec == nullptr || !spec->fault.ok()) return;
  if (name == nullptr) {
    spec->fault =
        InvalidArgument("the name of an attribute of ", spec->rep.op, " must not be NULL");
  } else if (!value.ok()) {
    spec->fault =
        std::move(value).status().WithContext(Cat("attribute '", name, "' of ", spec->rep.op));
  } else {
    spec->rep.attributes.push_back({name, std::move(value).value()});
  }
}

template <typename T>
Result<graph::AttributeValue> ValuesFrom(size_t count, const T* values) {
  if (count != 0 && values == nullptr) return InvalidArgument("'values' must not be NULL");
  return graph::AttributeValue(std::vector<T>(values, values + count));
}

Result<graph::AttributeValue> TextFrom(const char* value) {
  if (value == nullptr) return InvalidArgument("'value' must not be NULL");
  return graph::AttributeValue(std::string(value));
}

Result<graph::AttributeValue> TextsFrom(size_t count, const char* const* values) {
  HR_ASSIGN_OR_RETURN(auto texts, StringsFrom(count, values, "values"));
  return graph::AttributeValue(std::move(texts));
}

}  // namespace

hr_status* GraphInUse(const char* function) {
  return Wrap(FailedPrecondition(
      function,
      ": another call is using the graph; let one thread at a time use a graph, and call "
      "nothing on it from a function that such a call calls"));
}

Status CheckValue(const hr_graph* graph, hr_value value) {
  size_t count = graph->rep.graph().values.size();
  if (value < count) return {};
  return InvalidArgument("value ", value, " is not of this graph, which has ", count);
}

Status CheckNode(const hr_graph* graph, hr_node node) {
  size_t count = graph->rep.graph().nodes.size();
  if (node < count) return {};
  return InvalidArgument("node ", node, " is not of this graph, which has ", count);
}

Result<transform::NodeSpec> SpecFor(const ops::OpRegistry& registry, const char* op,
                                    const char* attributes) {
  HR_ASSIGN_OR_RETURN(auto&& parsed, transform::ParseOperator(op));
  transform::NodeSpec spec{.domain = parsed.domain, .op = parsed.name, .version = parsed.version};
  if (attributes == nullptr) return spec;
  const ops::OpDef* newest = registry.Newest(parsed.domain, parsed.name);
  if (parsed.version == 0 && newest != nullptr) parsed.version = newest->since_version;
  HR_ASSIGN_OR_RETURN(const ops::OpDef* def, registry.Get(parsed));
  HR_ASSIGN_OR_RETURN(spec.attributes, transform::ParseAttributes(*def, attributes));
  return spec;
}

Status SaveModule(const session::Env& env, const graph::Module& module, const char* path,
                  const hr_save_options* options) {
  HR_ASSIGN_OR_RETURN(hr_save_options copy, CopySized(options, "hr_save_options"));
  const format::WriteOptions how{.names = copy.strip_names == 0,
                                 .side_file = copy.side_file == nullptr ? "" : copy.side_file,
                                 .allocator = &env.allocator()};
  if (copy.merge_adapters == 0) return format::WriteModule(module, path, how);
  HR_ASSIGN_OR_RETURN(const graph::Module merged,
                      transform::MergeAdapters(env.operators(), module, env.allocator()));
  return format::WriteModule(merged, path, how);
}

}  // namespace hr::capi

using hr::capi::AddNode;
using hr::capi::Give;
using hr::capi::SetAttribute;
using hr::capi::Wrap;

extern "C" {

hr_status* hr_graph_create(hr_env* env, hr_graph** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(out);
  *out = new hr_graph{env->rep, {env->rep->allocator(), env->rep->operators()}};
  return nullptr;
}

void hr_graph_release(hr_graph* graph) { delete graph; }

hr_status* hr_graph_input(hr_graph* graph, const char* name, hr_dtype dtype, size_t rank,
                          const int64_t* dims, const char* const* symbols, hr_value* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  return Give(out, graph->rep.AllOrNothing([&] {
    return hr::capi::AddInput(graph->rep, name, dtype, rank, dims, symbols);
  }));
}

hr_status* hr_graph_bound(hr_graph* graph, const char* symbol, int64_t min, int64_t max,
                          size_t bucket_count, const int64_t* buckets) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(symbol);
  if (bucket_count != 0) HR_REQUIRE(buckets);
  return Wrap(graph->rep.SetSymbolBounds(symbol, min, max, {buckets, buckets + bucket_count}));
}

hr_status* hr_graph_constant(hr_graph* graph, const char* name, const hr_tensor* tensor,
                             hr_value* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(tensor);
  HR_REQUIRE(out);
  return Give(out, graph->rep.AddConstant(name == nullptr ? "" : name, tensor->rep));
}

hr_status* hr_graph_variable(hr_graph* graph, const char* name, const hr_tensor* initial,
                             int trainable, hr_variable* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(initial);
  HR_REQUIRE(out);
  return Give(out, graph->rep.AddVariable(name, initial->rep, trainable != 0));
}

hr_status* hr_graph_variable_init(hr_graph* graph, const char* name, hr_dtype dtype, size_t rank,
                                  const int64_t* dims, int trainable, const char* op,
                                  const char* attributes, hr_variable* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(op);
  HR_REQUIRE(out);
  return Give(out, graph->rep.AllOrNothing([&] {
    return hr::capi::InitVariable(graph, name, dtype, rank, dims, trainable, op, attributes);
  }));
}

hr_status* hr_graph_read(hr_graph* graph, hr_variable variable, hr_value* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  return Give(out, graph->rep.Read(variable));
}

hr_status* hr_graph_set_trainable(hr_graph* graph, hr_variable variable, int trainable) {
  HR_USE_GRAPH(graph);
  return Wrap(graph->rep.SetTrainable(variable, trainable != 0));
}

hr_status* hr_graph_assign(hr_graph* graph, hr_variable variable, hr_value value, hr_node* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  return Give(
      out, graph->rep.AllOrNothing([&] { return graph->rep.Assign("Assign", variable, value); }));
}

hr_status* hr_graph_assign_add(hr_graph* graph, hr_variable variable, hr_value value,
                               hr_node* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  return Give(out, graph->rep.AllOrNothing(
                       [&] { return graph->rep.Assign("AssignAdd", variable, value); }));
}

hr_status* hr_graph_op(hr_graph* graph, const char* op, const char* attributes, size_t input_count,
                       const hr_value* inputs, size_t output_count, hr_value* outputs) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(op);
  if (input_count != 0) HR_REQUIRE(inputs);
  if (output_count != 0) HR_REQUIRE(outputs);
  HR_ASSIGN_OR_WRAP(auto&& spec, hr::capi::SpecFor(graph->rep.registry(), op, attributes));
  spec.inputs.assign(inputs, inputs + input_count);
  return Wrap(graph->rep.AllOrNothing(
      [&] { return AddNode(graph, std::move(spec), output_count, outputs, nullptr); }));
}

hr_status* hr_graph_device(hr_graph* graph, const char* device) {
  HR_USE_GRAPH(graph);
  graph->rep.SetDevice(device == nullptr ? "" : device);
  return nullptr;
}

hr_status* hr_node_spec_create(const char* op, hr_node_spec** out) {
  HR_REQUIRE(op);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto&& parsed, hr::transform::ParseOperator(op));
  *out = new hr_node_spec{
      .rep = {.domain = parsed.domain, .op = parsed.name, .version = parsed.version}};
  return nullptr;
}

void hr_node_spec_release(hr_node_spec* spec) { delete spec; }

void hr_node_spec_name(hr_node_spec* spec, const char* name) {
  if (spec != nullptr && name != nullptr) spec->rep.name = name;
}
void hr_node_spec_device(hr_node_spec* spec, const char* device) {
  if (spec != nullptr && device != nullptr) spec->rep.device = device;
}
void hr_node_spec_input(hr_node_spec* spec, hr_value value) {
  if (spec != nullptr) spec->rep.inputs.push_back(value);
}
void hr_node_spec_control(hr_node_spec* spec, hr_node node) {
  if (spec != nullptr) spec->rep.controls.push_back(node);
}
void hr_node_spec_int(hr_node_spec* spec, const char* name, int64_t value) {
  SetAttribute(spec, name, hr::graph::AttributeValue(value));
}
void hr_node_spec_float(hr_node_spec* spec, const char* name, double value) {
  SetAttribute(spec, name, hr::graph::AttributeValue(value));
}
void hr_node_spec_string(hr_node_spec* spec, const char* name, const char* value) {
  SetAttribute(spec, name, hr::capi::TextFrom(value));
}
void hr_node_spec_ints(hr_node_spec* spec, const char* name, size_t count, const int64_t* values) {
  SetAttribute(spec, name, hr::capi::ValuesFrom(count, values));
}
void hr_node_spec_floats(hr_node_spec* spec, const char* name, size_t count, const double* values) {
  SetAttribute(spec, name, hr::capi::ValuesFrom(count, values));
}
void hr_node_spec_strings(hr_node_spec* spec, const char* name, size_t count,
                          const char* const* values) {
  SetAttribute(spec, name, hr::capi::TextsFrom(count, values));
}

void hr_node_spec_tensor(hr_node_spec* spec, const char* name, const hr_tensor* value) {
  if (spec == nullptr || !spec->fault.ok()) return;
  if (name == nullptr || value == nullptr) {
    spec->fault = hr::InvalidArgument("a tensor of ", spec->rep.op, " needs a name and a value");
  } else {
    spec->tensors.emplace_back(name, value->rep);
  }
}

hr_status* hr_graph_add(hr_graph* graph, const hr_node_spec* spec, size_t output_count,
                        hr_value* outputs, hr_node* out_node) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(spec);
  if (output_count != 0) HR_REQUIRE(outputs);
  if (!spec->fault.ok()) return Wrap(spec->fault.Clone());
  return Wrap(graph->rep.AllOrNothing(
      [&] { return hr::capi::AddSpec(graph, *spec, output_count, outputs, out_node); }));
}

hr_status* hr_graph_replace(hr_graph* graph, hr_value from, hr_value to) {
  HR_USE_GRAPH(graph);
  return Wrap(graph->rep.ReplaceValue(from, to));
}

hr_status* hr_graph_name_value(hr_graph* graph, hr_value value, const char* name) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  return Wrap(graph->rep.RenameValue(value, name));
}

hr_status* hr_graph_signature_input(hr_graph* graph, const char* signature, const char* name,
                                    hr_value value) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  HR_REQUIRE(name);
  return Wrap(hr::capi::AddPort(graph, signature, name, value, true));
}

hr_status* hr_graph_signature_output(hr_graph* graph, const char* signature, const char* name,
                                     hr_value value) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  HR_REQUIRE(name);
  return Wrap(hr::capi::AddPort(graph, signature, name, value, false));
}

hr_status* hr_graph_signature_target(hr_graph* graph, const char* signature, hr_node node) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  HR_WRAP_IF_ERROR(hr::capi::CheckNode(graph, node));
  graph->rep.SignatureNamed(signature).targets.push_back(node);
  return nullptr;
}

hr_status* hr_graph_remove_signature(hr_graph* graph, const char* signature) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  return Wrap(graph->rep.RemoveSignature(signature));
}

hr_status* hr_graph_prune(hr_graph* graph) {
  HR_USE_GRAPH(graph);
  graph->rep.Prune();
  return nullptr;
}

hr_status* hr_graph_set_metadata(hr_graph* graph, const char* key, const char* value) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(key);
  HR_REQUIRE(value);
  graph->rep.SetMetadata(key, value);
  return nullptr;
}

hr_status* hr_graph_save(const hr_graph* graph, const char* path, const hr_save_options* options) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(path);
  return Wrap(hr::capi::SaveModule(*graph->env, graph->rep.module(), path, options));
}

}  // extern "C"
