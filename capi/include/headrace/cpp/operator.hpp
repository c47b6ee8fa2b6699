// Custom operators: operators that are functions of the host.
#ifndef HEADRACE_CPP_OPERATOR_HPP_
#define HEADRACE_CPP_OPERATOR_HPP_

#include "headrace/cpp/base.hpp"
#include "headrace/operator.h"

namespace hr {
inline namespace cpp {

// A node of a custom operator, as the operator's functions see it. It is valid during their call.
class Op {
 public:
  explicit Op(hr_op* op) : op_(op) {}
  hr_op* get() const { return op_; }

  size_t input_count() const { return hr_op_input_count(op_); }
  size_t output_count() const { return hr_op_output_count(op_); }
  // Return an attribute; see hr_op_int.
  int64_t get_int(const char* name, int64_t fallback = 0) const {
    return hr_op_int(op_, name, fallback);
  }
  double get_float(const char* name, double fallback = 0) const {
    return hr_op_float(op_, name, fallback);
  }
  std::string get_string(const char* name, const char* fallback = "") const {
    return hr_op_string(op_, name, fallback);
  }
  std::vector<int64_t> get_ints(const char* name) const {
    const int64_t* values = nullptr;
    const size_t count = hr_op_ints(op_, name, &values);
    return {values, values + count};
  }
  std::vector<double> get_floats(const char* name) const {
    const double* values = nullptr;
    const size_t count = hr_op_floats(op_, name, &values);
    return {values, values + count};
  }

  // ---- In compute ----

  // Return an input and an output, which the node must have; see hr_op_tensor.
  const hr_op_tensor& input_tensor(size_t input) const { return *hr_op_input_tensor(op_, input); }
  const hr_op_tensor& output_tensor(size_t output) const {
    return *hr_op_output_tensor(op_, output);
  }

  // ---- In infer ----

  struct Type {
    hr_dtype dtype;             // HR_UNDEFINED if the optional input is omitted
    bool ranked;                // false: the rank and the dims are unknown
    std::vector<int64_t> dims;  // -1: the dimension is unknown
  };
  Type input_type(size_t input) const {
    int32_t rank = -1;
    const int64_t* dims = nullptr;
    const hr_dtype dtype = hr_op_input_type(op_, input, &rank, &dims);
    if (rank < 0) return {dtype, false, {}};
    return {dtype, true, {dims, dims + rank}};
  }
  void set_output(size_t output, hr_dtype dtype, const std::vector<int64_t>& dims) {
    check(hr_op_set_output(op_, output, dtype, static_cast<int32_t>(dims.size()), dims.data()));
  }
  // Sets the type of an output of unknown rank.
  void set_output(size_t output, hr_dtype dtype) {
    check(hr_op_set_output(op_, output, dtype, -1, nullptr));
  }
  void set_output_like(size_t output, size_t input) {
    check(hr_op_set_output_like(op_, output, input));
  }

  // ---- In compute ----

  // Calls fn(task) once for each task in [0, tasks) on the threads of the run. `fn` must not throw.
  template <typename Function>
  void parallel_for(int32_t tasks, const Function& fn) {
    hr_op_parallel_for(
        op_, tasks,
        [](void* context, int task) noexcept { (*static_cast<const Function*>(context))(task); },
        const_cast<Function*>(&fn));
  }

  // ---- In gradient ----

  hr_value input(size_t i) const { return hr_op_input(op_, i); }
  hr_value output(size_t i) const { return hr_op_output(op_, i); }
  hr_value output_gradient(size_t i) const { return hr_op_output_gradient(op_, i); }
  bool wants_gradient(size_t input) const { return hr_op_wants_gradient(op_, input) != 0; }
  // Adds a node and returns its outputs.
  std::vector<hr_value> add(const std::string& name, const std::vector<hr_value>& inputs,
                            const std::string& attributes, size_t outputs) {
    std::vector<hr_value> out(outputs);
    check(hr_op_add(op_, name.c_str(), attributes.c_str(), inputs.size(), inputs.data(), outputs,
                    out.data()));
    return out;
  }
  hr_value add(const std::string& name, const std::vector<hr_value>& inputs,
               const std::string& attributes = "") {
    return add(name, inputs, attributes, 1)[0];
  }
  hr_value scalar(double value, hr_value like) {
    return detail::made<hr_value>(hr_op_scalar, op_, value, like);
  }
  void set_gradient(size_t input, hr_value gradient) {
    check(hr_op_set_gradient(op_, input, gradient));
  }

 private:
  hr_op* op_;
};

// A custom operator; see hr_operator. Env::add_operator keeps the functions as long as the env
// lives. They may be called from any thread, several at a time. If one throws, the library fails
// the call during which it called the function.
struct Operator {
  struct Attribute {
    std::string name;
    hr_attribute_kind kind = HR_ATTRIBUTE_INT;
    bool required = false;
  };

  std::string name;
  int32_t version = 1;
  int32_t min_inputs = 1, max_inputs = 1;    // max -1: any number
  int32_t min_outputs = 1, max_outputs = 1;  // max -1: any number
  std::vector<Attribute> attributes;
  std::function<void(Op)> infer;
  std::function<void(Op)> compute;
  std::function<void(Op)> gradient;  // empty: gradients stop at this node
};

namespace detail {

template <std::function<void(Op)> Operator::*Function>
hr_status* call_operator(void* context, hr_op* op) noexcept {
  try {
    (static_cast<Operator*>(context)->*Function)(Op(op));
    return nullptr;
  } catch (...) {
    return status_of_exception();
  }
}

inline void add_operator(hr_env* env, Operator given) {
  auto held = std::make_unique<Operator>(std::move(given));
  std::vector<hr_operator_attribute> attributes;
  for (const Operator::Attribute& attribute : held->attributes) {
    attributes.push_back({sizeof(hr_operator_attribute), attribute.name.c_str(), attribute.kind,
                          attribute.required ? 1 : 0});
  }
  hr_operator op{};
  op.struct_size = sizeof op;
  op.name = held->name.c_str();
  op.version = held->version;
  op.min_inputs = held->min_inputs;
  op.max_inputs = held->max_inputs;
  op.min_outputs = held->min_outputs;
  op.max_outputs = held->max_outputs;
  op.attribute_count = attributes.size();
  op.attributes = attributes.data();
  op.context = held.get();
  op.release = [](void* context) { delete static_cast<Operator*>(context); };
  if (held->infer) op.infer = call_operator<&Operator::infer>;
  if (held->compute) op.compute = call_operator<&Operator::compute>;
  if (held->gradient) op.gradient = call_operator<&Operator::gradient>;
  check(hr_env_add_operator(env, &op));
  held.release();
}

}  // namespace detail
}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_OPERATOR_HPP_
