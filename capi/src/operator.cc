#include "headrace/operator.h"

#include <algorithm>
#include <cstddef>

#include "capi/src/operator.h"
#include "runtime/ops/infer.h"
#include "runtime/plugin/status.h"
#include "runtime/transform/attribute_text.h"

namespace hr::capi {
namespace {

static_assert(sizeof(hr_op_tensor) == sizeof(ops::CustomTensor) &&
              offsetof(hr_op_tensor, rank) == offsetof(ops::CustomTensor, rank) &&
              offsetof(hr_op_tensor, dims) == offsetof(ops::CustomTensor, dims) &&
              offsetof(hr_op_tensor, data) == offsetof(ops::CustomTensor, data));

// Owns copies of all that the host described.
class HostOp final : public ops::CustomOp {
 public:
  HostOp(const hr_operator& host, std::span<const hr_operator_attribute> attributes,
         graph::Operator named, const ops::OpRegistry& operators)
      : host_(host), named_(std::move(named)), operators_(operators) {
    names_.reserve(attributes.size());  // definitions refer to them
    for (const hr_operator_attribute& attribute : attributes) {
      names_.emplace_back(attribute.name);
      definitions_.push_back({Literal::Kept(names_.back().c_str()),
                              static_cast<ops::AttributeKind>(attribute.kind),
                              attribute.required != 0});
    }
    OpDef& def = *this;
    def = {.domain = Literal::Kept(named_.domain.c_str()),
           .name = Literal::Kept(named_.name.c_str()),
           .since_version = named_.version,
           .inputs = ArityOf(host.min_inputs, host.max_inputs),
           .outputs = ArityOf(host.min_outputs, host.max_outputs),
           .custom = true,
           .attributes = definitions_,
           .infer = Infer,
           .gradient = host.gradient == nullptr ? nullptr : Gradient};
  }
  ~HostOp() override {
    if (host_.release != nullptr) host_.release(host_.context);
  }
  // The host keeps its context if the operator is not taken.
  void Forget() { host_.release = nullptr; }

  Status Compute(const graph::Node& node, const ops::CustomTensor* inputs,
                 const ops::CustomTensor* outputs, const Lease& threads) const override {
    const HostScope scope(threads, threads.threads());
    hr_op op{.node = &node,
             .threads = &threads,
             .inputs = {inputs, node.inputs.size()},
             .outputs = {outputs, node.outputs.size()}};
    return plugin::FromC(host_.compute(host_.context, &op));
  }

 private:
  static ops::Arity ArityOf(int32_t min, int32_t max) {
    return {static_cast<int16_t>(min), max < 0 ? ops::kUnlimited : static_cast<int16_t>(max)};
  }

  static Status Infer(ops::InferContext& context) {
    const auto& self = static_cast<const HostOp&>(context.def());
    hr_op op{.node = &context.node(), .infer = &context};
    op.dims.resize(context.input_count());
    HR_RETURN_IF_ERROR(plugin::FromC(self.host_.infer(self.host_.context, &op)));
    for (size_t i = 0; i < context.output_count(); ++i) {
      if (context.node().outputs[i] == graph::kNone) continue;
      if (context.output(i).dtype != DType::kUndefined) continue;
      return InvalidArgument("the type rule of ", self.named_.name, " did not set output ", i);
    }
    return {};
  }

  static void Gradient(ops::GradientContext& context) {
    const auto& self = static_cast<const HostOp&>(context.def());
    const graph::Node node = context.node();  // a copy: the graph grows
    hr_op op{.node = &node, .operators = &self.operators_, .gradient = &context};
    Status status = plugin::FromC(self.host_.gradient(self.host_.context, &op));
    if (!status.ok()) context.Fail(std::move(status));
  }

  hr_operator host_;
  const graph::Operator named_;
  const ops::OpRegistry& operators_;
  std::vector<std::string> names_;
  std::vector<ops::AttributeDef> definitions_;
};

Status CheckArity(const char* what, int32_t min, int32_t max) {
  if (min >= 0 && max < ops::kUnlimited && (max < 0 || max >= min)) return {};
  return InvalidArgument("min_", what, " and max_", what, " are ", min, " and ", max,
                         "; expected 0 <= min <= max < ", ops::kUnlimited, ", or -1 as max");
}

Status CheckOperator(const hr_operator& op) {
  if (op.name == nullptr || op.infer == nullptr || op.compute == nullptr) {
    return InvalidArgument("hr_operator needs a name, infer and compute");
  }
  HR_RETURN_IF_ERROR(CheckArity("inputs", op.min_inputs, op.max_inputs));
  return CheckArity("outputs", op.min_outputs, op.max_outputs);
}

Status CheckAttribute(const hr_operator_attribute& attribute, size_t i) {
  if (attribute.name == nullptr) return InvalidArgument("attribute ", i, " has no name");
  if (attribute.kind >= HR_ATTRIBUTE_INT && attribute.kind <= HR_ATTRIBUTE_STRINGS) return {};
  return InvalidArgument("attribute '", attribute.name, "' is of kind ", attribute.kind,
                         "; a custom operator's are numbers, strings, or lists of them (0 to ",
                         int{HR_ATTRIBUTE_STRINGS}, ")");
}

Result<std::vector<hr_operator_attribute>> AttributesOf(const hr_operator& op) {
  if (op.attributes == nullptr && op.attribute_count > 0) {
    return InvalidArgument("attribute_count is ", op.attribute_count, " and attributes is NULL");
  }
  HR_ASSIGN_OR_RETURN(auto attributes,
                      CopySizedArray(op.attributes, op.attribute_count, "hr_operator_attribute"));
  for (size_t i = 0; i < attributes.size(); ++i) {
    HR_RETURN_IF_ERROR(CheckAttribute(attributes[i], i));
  }
  return attributes;
}

Result<graph::Operator> NameOf(const hr_operator& op) {
  HR_ASSIGN_OR_RETURN(graph::Operator named, transform::ParseOperator(op.name));
  if (named.version != 0 || op.version < 0) {
    return InvalidArgument("the version of '", op.name,
                           "' belongs in hr_operator.version and is at least 1");
  }
  if (named.domain.empty() || named.domain == "cpu" || named.domain.starts_with("headrace")) {
    return InvalidArgument("'", op.name,
                           "' needs a domain of its own before the last dot, as in "
                           "'com.example.Swish'");
  }
  named.version = std::max(op.version, 1);
  return named;
}

Status AddOperator(session::Env& env, const hr_operator* given) {
  HR_ASSIGN_OR_RETURN(hr_operator copy, CopySized(given, "hr_operator"));
  HR_RETURN_IF_ERROR(CheckOperator(copy));
  HR_ASSIGN_OR_RETURN(auto attributes, AttributesOf(copy));
  HR_ASSIGN_OR_RETURN(graph::Operator named, NameOf(copy));
  auto op = std::make_shared<HostOp>(copy, attributes, std::move(named), env.operators());
  Status status = env.AddOperator(op);
  if (!status.ok()) op->Forget();
  return status;
}

template <typename T>
const T* AttributeOf(const hr_op* op, const char* name) {
  const graph::AttributeValue* value =
      op == nullptr || name == nullptr ? nullptr : op->node->Find(Literal::Kept(name));
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

template <typename T>
size_t ListOf(const hr_op* op, const char* name, const T** out) {
  const auto* values = AttributeOf<std::vector<T>>(op, name);
  if (out != nullptr) *out = values == nullptr ? nullptr : values->data();
  return values == nullptr ? 0 : values->size();
}

const hr_op_tensor* TensorAt(std::span<const ops::CustomTensor> tensors, size_t i) {
  return i < tensors.size() ? reinterpret_cast<const hr_op_tensor*>(&tensors[i]) : nullptr;
}

Status SetOutput(hr_op* op, size_t output, hr_dtype dtype, int32_t rank, const int64_t* dims) {
  auto type = graph::ValueType::Unranked(static_cast<DType>(dtype));
  if (!IsSupported(type.dtype)) return InvalidArgument("there is no type ", int{dtype});
  if (output >= op->infer->output_count()) return {};  // nobody asked for it
  type.ranked = rank >= 0;
  if (type.ranked) {
    HR_ASSIGN_OR_RETURN(auto&& sizes, DimsFrom(static_cast<size_t>(rank), dims));
    for (int64_t size : sizes) {
      if (size < graph::kUnknownDim) return InvalidArgument("a dimension is ", size);
      type.dims.push_back({.size = size});
    }
  }
  op->infer->SetOutput(output, std::move(type));
  return {};
}

}  // namespace
}  // namespace hr::capi

using hr::capi::NotAllowed;
using hr::capi::Wrap;

extern "C" {

hr_status* hr_env_add_operator(hr_env* env, const hr_operator* op) {
  HR_REQUIRE(env);
  HR_REQUIRE(op);
  return Wrap(hr::capi::AddOperator(*env->rep, op));
}

size_t hr_op_input_count(const hr_op* op) { return op == nullptr ? 0 : op->node->inputs.size(); }
size_t hr_op_output_count(const hr_op* op) { return op == nullptr ? 0 : op->node->outputs.size(); }

int64_t hr_op_int(const hr_op* op, const char* name, int64_t fallback) {
  const auto* value = hr::capi::AttributeOf<int64_t>(op, name);
  return value == nullptr ? fallback : *value;
}
double hr_op_float(const hr_op* op, const char* name, double fallback) {
  const auto* value = hr::capi::AttributeOf<double>(op, name);
  return value == nullptr ? fallback : *value;
}
const char* hr_op_string(const hr_op* op, const char* name, const char* fallback) {
  const auto* value = hr::capi::AttributeOf<std::string>(op, name);
  return value == nullptr ? fallback : value->c_str();
}
size_t hr_op_ints(const hr_op* op, const char* name, const int64_t** out_values) {
  return hr::capi::ListOf(op, name, out_values);
}
size_t hr_op_floats(const hr_op* op, const char* name, const double** out_values) {
  return hr::capi::ListOf(op, name, out_values);
}

hr_dtype hr_op_input_type(hr_op* op, size_t input, int32_t* out_rank, const int64_t** out_dims) {
  if (out_rank != nullptr) *out_rank = -1;
  if (out_dims != nullptr) *out_dims = nullptr;
  if (op == nullptr || op->infer == nullptr || !op->infer->has_input(input)) return HR_UNDEFINED;
  const hr::graph::ValueType& type = op->infer->input(input);
  hr::Dims& dims = op->dims[input];
  dims.clear();
  for (const hr::graph::Dim& dim : type.dims) dims.push_back(dim.size);
  if (out_rank != nullptr && type.ranked) *out_rank = static_cast<int32_t>(dims.size());
  if (out_dims != nullptr) *out_dims = dims.data();
  return static_cast<hr_dtype>(type.dtype);
}

hr_status* hr_op_set_output(hr_op* op, size_t output, hr_dtype dtype, int32_t rank,
                            const int64_t* dims) {
  HR_REQUIRE(op);
  if (op->infer == nullptr) return NotAllowed(__func__, "infer");
  return Wrap(hr::capi::SetOutput(op, output, dtype, rank, dims));
}

hr_status* hr_op_set_output_like(hr_op* op, size_t output, size_t input) {
  HR_REQUIRE(op);
  if (op->infer == nullptr) return NotAllowed(__func__, "infer");
  if (!op->infer->has_input(input)) {
    return Wrap(hr::InvalidArgument("the node has no input ", input));
  }
  op->infer->SetOutput(output, op->infer->input(input));
  return nullptr;
}

const hr_op_tensor* hr_op_input_tensor(const hr_op* op, size_t input) {
  return op == nullptr ? nullptr : hr::capi::TensorAt(op->inputs, input);
}
const hr_op_tensor* hr_op_output_tensor(const hr_op* op, size_t output) {
  return op == nullptr ? nullptr : hr::capi::TensorAt(op->outputs, output);
}

void hr_op_parallel_for(hr_op* op, int32_t tasks, void (*fn)(void* fn_context, int task),
                        void* fn_context) {
  if (op == nullptr || op->threads == nullptr || fn == nullptr) return;
  op->threads->ParallelFor(tasks, [&](int task) {
    const hr::HostScope scope(*op->threads, 1);
    fn(fn_context, task);
  });
}

}  // extern "C"
