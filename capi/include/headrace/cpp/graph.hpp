// Building graphs. See headrace/graph.h for the functions that have no comment here.
#ifndef HEADRACE_CPP_GRAPH_HPP_
#define HEADRACE_CPP_GRAPH_HPP_

#include <initializer_list>

#include "headrace/control.h"
#include "headrace/cpp/tensor.hpp"
#include "headrace/graph.h"
#include "headrace/training_graph.h"

namespace hr {
inline namespace cpp {

// The description of a node for Graph::add, for everything that op() cannot express: names,
// devices, control inputs, tensors.
class NodeSpec : public detail::Handle<hr_node_spec, hr_node_spec_release> {
 public:
  explicit NodeSpec(const std::string& op)
      : Handle(detail::made<hr_node_spec*>(hr_node_spec_create, op.c_str())) {}
  NodeSpec& name(const std::string& name) {
    hr_node_spec_name(get(), name.c_str());
    return *this;
  }
  NodeSpec& device(const std::string& device) {
    hr_node_spec_device(get(), device.c_str());
    return *this;
  }
  // HR_NONE: the optional input is omitted.
  NodeSpec& input(hr_value value) {
    hr_node_spec_input(get(), value);
    return *this;
  }
  NodeSpec& control(hr_node node) {
    hr_node_spec_control(get(), node);
    return *this;
  }
  NodeSpec& set_int(const std::string& name, int64_t value) {
    hr_node_spec_int(get(), name.c_str(), value);
    return *this;
  }
  NodeSpec& set_float(const std::string& name, double value) {
    hr_node_spec_float(get(), name.c_str(), value);
    return *this;
  }
  NodeSpec& set_string(const std::string& name, const std::string& value) {
    hr_node_spec_string(get(), name.c_str(), value.c_str());
    return *this;
  }
  NodeSpec& set_ints(const std::string& name, const std::vector<int64_t>& values) {
    hr_node_spec_ints(get(), name.c_str(), values.size(), values.data());
    return *this;
  }
  NodeSpec& set_floats(const std::string& name, const std::vector<double>& values) {
    hr_node_spec_floats(get(), name.c_str(), values.size(), values.data());
    return *this;
  }
  NodeSpec& set_strings(const std::string& name, const std::vector<std::string>& values) {
    hr_node_spec_strings(get(), name.c_str(), values.size(), detail::pointers(values).data());
    return *this;
  }
  NodeSpec& set_tensor(const std::string& name, const Tensor& value) {
    hr_node_spec_tensor(get(), name.c_str(), value.get());
    return *this;
  }
  NodeSpec& set_body(const std::string& name, hr_body value) {
    hr_node_spec_body(get(), name.c_str(), value);
    return *this;
  }
};

class Dataset;
class Model;

class Graph : public detail::Handle<hr_graph, hr_graph_release> {
 public:
  explicit Graph(const Env& env) : Handle(detail::made<hr_graph*>(hr_graph_create, env.get())) {}
  // Goes on from a model; see hr_graph_from_model. Defined in headrace/cpp/model.hpp.
  explicit Graph(const Model& model);
  // A dimension of -1 is unknown until a run. `symbols` may name such dimensions; "": no name.
  hr_value input(const std::string& name, hr_dtype dtype, const std::vector<int64_t>& dims,
                 const std::vector<std::string>& symbols = {}) {
    std::vector<const char*> names(dims.size(), nullptr);
    for (size_t i = 0; i < symbols.size() && i < names.size(); ++i) {
      names[i] = detail::or_null(symbols[i]);
    }
    return detail::made<hr_value>(hr_graph_input, get(), name.c_str(), dtype, dims.size(),
                                  dims.data(), names.data());
  }
  // Sets the bounds and buckets of a dimension that inputs name; see hr_graph_bound.
  void bound(const std::string& symbol, int64_t min, int64_t max,
             const std::vector<int64_t>& buckets = {}) {
    check(hr_graph_bound(get(), symbol.c_str(), min, max, buckets.size(), buckets.data()));
  }
  // Sets the device of the nodes that follow; "": the session chooses.
  void device(const std::string& name) { check(hr_graph_device(get(), name.c_str())); }
  hr_value constant(const Tensor& tensor, const char* name = nullptr) {
    return detail::made<hr_value>(hr_graph_constant, get(), name, tensor.get());
  }
  hr_variable variable(const std::string& name, const Tensor& initial, bool trainable = true) {
    return detail::made<hr_variable>(hr_graph_variable, get(), name.c_str(), initial.get(),
                                     trainable ? 1 : 0);
  }
  // The initial value is the output of `op`, such as "RandomUniform" with "low=-0.1 high=0.1".
  hr_variable variable(const std::string& name, hr_dtype dtype, const std::vector<int64_t>& dims,
                       const std::string& op, const std::string& attributes = "",
                       bool trainable = true) {
    return detail::made<hr_variable>(hr_graph_variable_init, get(), name.c_str(), dtype,
                                     dims.size(), dims.data(), trainable ? 1 : 0, op.c_str(),
                                     attributes.c_str());
  }
  hr_value read(hr_variable variable) {
    return detail::made<hr_value>(hr_graph_read, get(), variable);
  }
  // Adds a node and returns its first output. The attributes are a text: "kernel_shape=2,2
  // strides=2,2".
  hr_value op(const std::string& name, std::initializer_list<hr_value> inputs,
              const std::string& attributes = "") {
    return ops(name, inputs, 1, attributes)[0];
  }
  // Adds a node and returns all its outputs.
  std::vector<hr_value> ops(const std::string& name, const std::vector<hr_value>& inputs,
                            size_t outputs, const std::string& attributes = "") {
    std::vector<hr_value> out(outputs);
    check(hr_graph_op(get(), name.c_str(), attributes.c_str(), inputs.size(), inputs.data(),
                      outputs, out.data()));
    return out;
  }
  struct Node {
    hr_node id;
    std::vector<hr_value> outputs;
  };
  Node add(const NodeSpec& spec, size_t outputs = 1) {
    Node out{HR_NONE, std::vector<hr_value>(outputs)};
    check(hr_graph_add(get(), spec.get(), outputs, out.outputs.data(), &out.id));
    return out;
  }
  // ---- Control flow; see headrace/control.h ----

  hr_body body(const Graph& from, const std::string& signature) {
    return detail::made<hr_body>(hr_graph_body, get(), from.get(), signature.c_str());
  }
  hr_value input_sequence(const std::string& name, hr_dtype dtype) {
    return detail::made<hr_value>(hr_graph_input_sequence, get(), name.c_str(), dtype);
  }
  std::vector<hr_value> branch(hr_value condition, hr_body then_body, hr_body else_body,
                               const std::vector<hr_value>& captured, size_t outputs = 1) {
    std::vector<hr_value> out(outputs);
    check(hr_graph_if(get(), condition, then_body, else_body, captured.size(), captured.data(),
                      outputs, out.data()));
    return out;
  }
  // `trip_count` and `condition` may be HR_NONE.
  std::vector<hr_value> loop(hr_value trip_count, hr_value condition, hr_body body,
                             const std::vector<hr_value>& states,
                             const std::vector<hr_value>& captured, size_t outputs) {
    std::vector<hr_value> out(outputs);
    check(hr_graph_loop(get(), trip_count, condition, body, states.size(), states.data(),
                        captured.size(), captured.data(), outputs, out.data()));
    return out;
  }
  std::vector<hr_value> scan(hr_body body, const std::vector<hr_value>& states,
                             const std::vector<hr_value>& scanned,
                             const std::vector<hr_value>& captured, size_t outputs,
                             const std::string& attributes = "") {
    std::vector<hr_value> out(outputs);
    check(hr_graph_scan(get(), body, attributes.c_str(), states.size(), states.data(),
                        scanned.size(), scanned.data(), captured.size(), captured.data(), outputs,
                        out.data()));
    return out;
  }
  std::vector<hr_value> call(hr_body body, const std::vector<hr_value>& inputs,
                             size_t outputs = 1) {
    std::vector<hr_value> out(outputs);
    check(hr_graph_call(get(), body, inputs.size(), inputs.data(), outputs, out.data()));
    return out;
  }

  // An assignment in program order, to be made a target of a signature.
  hr_node assign(hr_variable variable, hr_value value) {
    return detail::made<hr_node>(hr_graph_assign, get(), variable, value);
  }
  hr_node assign_add(hr_variable variable, hr_value value) {
    return detail::made<hr_node>(hr_graph_assign_add, get(), variable, value);
  }
  void set_trainable(hr_variable variable, bool trainable) {
    check(hr_graph_set_trainable(get(), variable, trainable ? 1 : 0));
  }
  void name(hr_value value, const std::string& name) {
    check(hr_graph_name_value(get(), value, name.c_str()));
  }
  hr_value dense(const std::string& name, hr_value x, int64_t units) {
    return detail::made<hr_value>(hr_graph_dense, get(), name.c_str(), x, units);
  }
  hr_value conv2d(const std::string& name, hr_value x, int64_t channels, int64_t kernel,
                  const std::string& attributes = "") {
    return detail::made<hr_value>(hr_graph_conv2d, get(), name.c_str(), x, channels, kernel,
                                  attributes.c_str());
  }
  struct Normalized {
    hr_value value;
    hr_node update;  // to be made a target of the training signature; HR_NONE without training
  };
  Normalized batch_norm(const std::string& name, hr_value x, bool training,
                        const std::string& attributes = "") {
    Normalized out{};
    check(hr_graph_batch_norm(get(), name.c_str(), x, training ? 1 : 0, attributes.c_str(),
                              &out.value, &out.update));
    return out;
  }
  std::vector<hr_value> gradients(hr_value y, const std::vector<hr_value>& xs) {
    std::vector<hr_value> out(xs.size());
    check(hr_graph_add_gradients(get(), y, xs.size(), xs.data(), out.data()));
    return out;
  }
  // Returns the gradient of the loss for each variable; HR_NONE if the loss does not depend on it.
  std::vector<hr_value> variable_gradients(hr_value loss,
                                           const std::vector<hr_variable>& variables) {
    std::vector<hr_value> out(variables.size());
    check(hr_graph_variable_gradients(get(), loss, variables.size(), variables.data(), out.data()));
    return out;
  }
  // Each variable has a gradient in `gradients`, or HR_NONE.
  void apply_gradients(const std::string& signature, const std::string& optimizer,
                       hr_value learning_rate, const std::vector<hr_variable>& variables,
                       const std::vector<hr_value>& gradients) {
    if (variables.size() != gradients.size()) {
      throw std::invalid_argument("apply_gradients wants a gradient for each variable");
    }
    check(hr_graph_apply_gradients(get(), signature.c_str(), optimizer.c_str(), learning_rate,
                                   variables.size(), variables.data(), gradients.data()));
  }
  void minimize(const std::string& signature, hr_value loss, const std::string& optimizer,
                hr_value learning_rate) {
    check(hr_graph_minimize(get(), signature.c_str(), loss, optimizer.c_str(), learning_rate));
  }
  // Each variable with the first group that has a pattern for it; see hr_graph_minimize_groups.
  struct Group {
    std::string patterns, optimizer;
    hr_value learning_rate;
  };
  void minimize(const std::string& signature, hr_value loss, const std::vector<Group>& groups) {
    std::vector<hr_parameter_group> inner;
    for (const Group& group : groups) {
      inner.push_back({sizeof(hr_parameter_group), group.patterns.c_str(), group.optimizer.c_str(),
                       group.learning_rate});
    }
    check(hr_graph_minimize_groups(get(), signature.c_str(), loss, inner.size(), inner.data()));
  }
  // All ranks of a group train one model; see hr_graph_distribute.
  void distribute(const std::string& signature, const std::string& group,
                  const std::string& strategy = "mirrored") {
    check(hr_graph_distribute(get(), signature.c_str(), group.c_str(), strategy.c_str()));
  }
  // A learning rate such as "cosine base=0.1 warmup=500 steps=10000".
  hr_value schedule(const std::string& signature, const std::string& description) {
    return detail::made<hr_value>(hr_graph_schedule, get(), signature.c_str(), description.c_str());
  }
  // Replaces gradients by clipped ones, "global_norm=1", and returns the global norm before.
  hr_value clip(const std::string& bounds, std::vector<hr_value>& gradients) {
    return detail::made<hr_value>(hr_graph_clip_gradients, get(), bounds.c_str(), gradients.size(),
                                  gradients.data());
  }
  // Of all variables whose names fit the patterns; returns how many these are.
  size_t set_trainable(const std::string& patterns, bool trainable) {
    return detail::made<size_t>(hr_graph_set_trainable_matching, get(), patterns.c_str(),
                                trainable ? 1 : 0);
  }
  // The signature `from` once more, of the averages of variables.
  void average_signature(const std::string& from, const std::string& to) {
    check(hr_graph_average_signature(get(), from.c_str(), to.c_str()));
  }
  void swap_averages(const std::string& signature) {
    check(hr_graph_swap_averages(get(), signature.c_str()));
  }
  void copy_signature(const std::string& from, const std::string& to) {
    check(hr_graph_copy_signature(get(), from.c_str(), to.c_str()));
  }
  // An output of the signature such as "top_k k=5", of scores and labels.
  void metric(const std::string& signature, const std::string& name, const std::string& description,
              const std::vector<hr_value>& inputs) {
    check(hr_graph_metric(get(), signature.c_str(), name.c_str(), description.c_str(),
                          inputs.size(), inputs.data()));
  }
  // Low-rank adapters, "rank=8 alpha=16"; returns the number of nodes. `training` is for dropout.
  size_t add_lora(const std::string& patterns, const std::string& settings = "",
                  const std::string& training = "") {
    return detail::made<size_t>(hr_graph_add_lora, get(), patterns.c_str(), settings.c_str(),
                                detail::or_null(training));
  }
  size_t load_adapters(const std::string& path) {
    return detail::made<size_t>(hr_graph_load_adapters, get(), path.c_str());
  }
  // Makes numbers of one signature smaller, "dynamic"; returns the report. `data` is for static.
  // See hr_graph_quantize. Defined in headrace/cpp/dataset.hpp.
  std::string quantize(const std::string& signature, const std::string& settings,
                       const std::string& patterns = "", const Dataset* data = nullptr,
                       const hr_limits* limits = nullptr);
  // Lets all that uses `from` use `to`.
  void replace(hr_value from, hr_value to) { check(hr_graph_replace(get(), from, to)); }
  Graph& signature_input(const std::string& signature, const std::string& name, hr_value value) {
    check(hr_graph_signature_input(get(), signature.c_str(), name.c_str(), value));
    return *this;
  }
  Graph& signature_output(const std::string& signature, const std::string& name, hr_value value) {
    check(hr_graph_signature_output(get(), signature.c_str(), name.c_str(), value));
    return *this;
  }
  Graph& signature_target(const std::string& signature, hr_node node) {
    check(hr_graph_signature_target(get(), signature.c_str(), node));
    return *this;
  }
  // Leaves what only this signature needed, until prune().
  void remove_signature(const std::string& signature) {
    check(hr_graph_remove_signature(get(), signature.c_str()));
  }
  // Removes what no signature needs; values, nodes and variables get new numbers.
  void prune() { check(hr_graph_prune(get())); }
  void set_metadata(const std::string& key, const std::string& value) {
    check(hr_graph_set_metadata(get(), key.c_str(), value.c_str()));
  }
  void save(const std::string& path, const hr_save_options* options = nullptr) const {
    check(hr_graph_save(get(), path.c_str(), options));
  }

  // ---- Reading. Pointers in the structs live until the graph is changed or gone. ----

  hr_graph_info info() const { return described<hr_graph_info>(hr_graph_get); }
  hr_value_info value(hr_value value) const {
    return described<hr_value_info>(hr_graph_get_value, value);
  }
  hr_node_info node(hr_node node) const { return described<hr_node_info>(hr_graph_get_node, node); }
  hr_variable_info variable(hr_variable variable) const {
    return described<hr_variable_info>(hr_graph_get_variable, variable);
  }
  hr_signature_info signature(size_t index) const {
    return described<hr_signature_info>(hr_graph_get_signature, index);
  }
  hr_attribute_info attribute(hr_node node, size_t index) const {
    return described<hr_attribute_info>(hr_graph_get_attribute, node, index);
  }
  hr_value find_value(const std::string& name) const {
    return detail::made<hr_value>(hr_graph_find_value, get(), name.c_str());
  }
  hr_node find_node(const std::string& name) const {
    return detail::made<hr_node>(hr_graph_find_node, get(), name.c_str());
  }
  hr_variable find_variable(const std::string& name) const {
    return detail::made<hr_variable>(hr_graph_find_variable, get(), name.c_str());
  }
  size_t find_signature(const std::string& name) const {
    return detail::made<size_t>(hr_graph_find_signature, get(), name.c_str());
  }
  // Attributes of a node; `fallback`, or nothing, if it does not have the attribute.
  int64_t int_of(hr_node node, const std::string& name, int64_t fallback = 0) const {
    return detail::made<int64_t>(hr_graph_node_int, get(), node, name.c_str(), fallback);
  }
  double float_of(hr_node node, const std::string& name, double fallback = 0) const {
    return detail::made<double>(hr_graph_node_float, get(), node, name.c_str(), fallback);
  }
  std::string string_of(hr_node node, const std::string& name,
                        const std::string& fallback = "") const {
    return detail::made<const char*>(hr_graph_node_string, get(), node, name.c_str(),
                                     fallback.c_str());
  }
  std::vector<int64_t> ints_of(hr_node node, const std::string& name) const {
    return listed<std::vector<int64_t>, const int64_t*>(hr_graph_node_ints, node, name);
  }
  std::vector<double> floats_of(hr_node node, const std::string& name) const {
    return listed<std::vector<double>, const double*>(hr_graph_node_floats, node, name);
  }
  std::vector<std::string> strings_of(hr_node node, const std::string& name) const {
    return listed<std::vector<std::string>, const char* const*>(hr_graph_node_strings, node, name);
  }
  Tensor tensor_of(hr_node node, const std::string& name) const {
    return Tensor(detail::made<hr_tensor*>(hr_graph_node_tensor, get(), node, name.c_str()));
  }
  // The contents of a constant and the initial value of a variable; an empty handle if there are
  // none.
  Tensor value_tensor(hr_value value) const {
    return Tensor(detail::made<hr_tensor*>(hr_graph_value_tensor, get(), value));
  }
  Tensor variable_tensor(hr_variable variable) const {
    return Tensor(detail::made<hr_tensor*>(hr_graph_variable_tensor, get(), variable));
  }
  // Returns the node that computes a value; HR_NONE for inputs and constants.
  hr_node producer(hr_value value) const { return this->value(value).producer; }
  // Returns the type of a value, such as "float32[batch, 10]".
  std::string type_of(hr_value value) const {
    return detail::text_of(hr_graph_type_of, get(), value);
  }

 private:
  template <typename Info, typename Function, typename... Numbers>
  Info described(Function function, Numbers... numbers) const {
    Info out{};
    out.struct_size = sizeof out;
    check(function(get(), numbers..., &out));
    return out;
  }
  template <typename List, typename Values, typename Function>
  List listed(Function function, hr_node node, const std::string& name) const {
    size_t count = 0;
    Values values{};
    check(function(get(), node, name.c_str(), &count, &values));
    return List(values, values + count);
  }
};

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_GRAPH_HPP_
