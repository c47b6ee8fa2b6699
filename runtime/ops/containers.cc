// Sequences of tensors, and optionals. They are values of a run and not of a compiled region: the
// session's runtime/session/containers.cc computes these operators.
#include "runtime/ops/builtin.h"
#include "runtime/ops/control.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

using graph::ValueKind;

constexpr AttributeDef kDType[] = {{"dtype", AttributeKind::kInt}};
constexpr AttributeDef kSplitToSequenceAttributes[] = {{"axis", AttributeKind::kInt},
                                                       {"keepdims", AttributeKind::kFlag}};
constexpr AttributeDef kConcatFromSequenceAttributes[] = {{"axis", AttributeKind::kInt, true},
                                                          {"new_axis", AttributeKind::kInt}};
// What an empty optional could hold: the element type, and whether it is a sequence.
constexpr AttributeDef kOptionalAttributes[] = {{"dtype", AttributeKind::kInt},
                                                {"sequence", AttributeKind::kInt}};
constexpr AttributeDef kMapBody[] = {{"body", AttributeKind::kGraph, true},
                                     {"captured", AttributeKind::kInt}};

ValueType SequenceOf(DType dtype) { return {.dtype = dtype, .kind = ValueKind::kSequence}; }

Status ExpectKind(const InferContext& context, size_t i, ValueKind kind) {
  if (context.input(i).kind == kind) return {};
  return InvalidArgument(context.def().name, " takes a ", graph::KindName(kind), " as input ", i,
                         ", got a ", graph::KindName(context.input(i).kind));
}

Status ExpectSequence(const InferContext& context) {
  return ExpectKind(context, 0, ValueKind::kSequence);
}

Status ExpectPosition(const InferContext& context, size_t i) {
  if (!context.has_input(i)) return {};
  HR_RETURN_IF_ERROR(ExpectKind(context, i, ValueKind::kTensor));
  return context.ExpectIndices(i);
}

Status InferConstruct(InferContext& context) {
  for (size_t i = 0; i < context.input_count(); ++i) {
    HR_RETURN_IF_ERROR(ExpectKind(context, i, ValueKind::kTensor));
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
  }
  context.SetOutput(0, SequenceOf(context.input(0).dtype));
  return {};
}

Status InferEmpty(InferContext& context) {
  const auto dtype =
      static_cast<DType>(context.node().Int("dtype", static_cast<int64_t>(DType::kFloat32)));
  if (!IsSupported(dtype)) {
    return InvalidArgument("SequenceEmpty's 'dtype' is a type of tensors, got ",
                           context.node().Int("dtype", 0));
  }
  context.SetOutput(0, SequenceOf(dtype));
  return {};
}

Status InferInsert(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectSequence(context));
  HR_RETURN_IF_ERROR(ExpectKind(context, 1, ValueKind::kTensor));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(ExpectPosition(context, 2));
  context.SetOutput(0, SequenceOf(context.input(0).dtype));
  return {};
}

Status InferErase(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectSequence(context));
  HR_RETURN_IF_ERROR(ExpectPosition(context, 1));
  context.SetOutput(0, SequenceOf(context.input(0).dtype));
  return {};
}

Status InferAt(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectSequence(context));
  HR_RETURN_IF_ERROR(ExpectPosition(context, 1));
  context.SetUnranked(0, context.input(0).dtype);
  return {};
}

Status InferLength(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectSequence(context));
  context.SetOutput(0, ValueType::Tensor(DType::kInt64, {}));
  return {};
}

Status InferSplitToSequence(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectKind(context, 0, ValueKind::kTensor));
  HR_RETURN_IF_ERROR(ExpectPosition(context, 1));
  context.SetOutput(0, SequenceOf(context.input(0).dtype));
  return {};
}

Status InferConcatFromSequence(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectSequence(context));
  context.SetUnranked(0, context.input(0).dtype);
  return {};
}

Status InferSequenceMap(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectSequence(context));
  HR_ASSIGN_OR_RETURN(const uint32_t body, BodyOf(context.module(), context.node(), "body"));
  const graph::Graph& graph = context.module().graphs[body];
  if (graph.inputs.size() != context.input_count() ||
      graph.outputs.size() < context.output_count()) {
    return InvalidArgument("SequenceMap's body takes ", graph.inputs.size(), " inputs and gives ",
                           graph.outputs.size(), ", the node has ", context.input_count(), " and ",
                           context.output_count());
  }
  for (size_t i = 0; i < context.output_count(); ++i) {
    context.SetOutput(i, SequenceOf(graph.values[graph.outputs[i]].type.dtype));
  }
  return {};
}

Status InferOptional(InferContext& context) {
  if (context.has_input(0)) {
    context.SetOutput(0, context.input(0));
    return {};
  }
  const auto dtype =
      static_cast<DType>(context.node().Int("dtype", static_cast<int64_t>(DType::kFloat32)));
  context.SetOutput(0, {.dtype = dtype, .kind = ValueKind::kOptional});
  return {};
}

Status InferHasElement(InferContext& context) {
  context.SetOutput(0, ValueType::Tensor(DType::kBool, {}));
  return {};
}

Status InferGetElement(InferContext& context) {
  ValueType type = context.input(0);
  if (type.kind == ValueKind::kOptional) type.kind = ValueKind::kTensor;
  context.SetOutput(0, std::move(type));
  return {};
}

// The derivative exists, and is not computed.
void NoGradient(GradientContext& g) {
  g.Fail(Unimplemented("gradients do not flow through sequences and optionals, here ", g.def().name,
                       "; use Split, Concat, or the scans of a Loop instead"));
}

constexpr OpDef Optional(Literal name, int since, Arity inputs, Status (*infer)(InferContext&),
                         std::span<const AttributeDef> attributes = {}) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = since,
          .inputs = inputs,
          .containers = true,
          .attributes = attributes,
          .infer = infer,
          .gradient = NoGradient};
}

constexpr OpDef kContainerOps[] = {
    Optional("SequenceConstruct", 11, {1, kUnlimited}, InferConstruct),
    Optional("SequenceEmpty", 11, {0, 0}, InferEmpty, kDType),
    Optional("SequenceInsert", 11, {2, 3}, InferInsert),
    Optional("SequenceErase", 11, {1, 2}, InferErase),
    Optional("SequenceAt", 11, {2, 2}, InferAt),
    Optional("SequenceLength", 11, {1, 1}, InferLength),
    Optional("SplitToSequence", 11, {1, 2}, InferSplitToSequence, kSplitToSequenceAttributes),
    Optional("ConcatFromSequence", 11, {1, 1}, InferConcatFromSequence,
             kConcatFromSequenceAttributes),
    {.domain = kOnnx,
     .name = "SequenceMap",
     .since_version = 17,
     .inputs = {1, kUnlimited},
     .outputs = {1, kUnlimited},
     .containers = true,
     .attributes = kMapBody,
     .infer = InferSequenceMap,
     .gradient = NoGradient},
    Optional("Optional", 15, {0, 1}, InferOptional, kOptionalAttributes),
    Optional("OptionalHasElement", 15, {0, 1}, InferHasElement),
    Optional("OptionalGetElement", 15, {1, 1}, InferGetElement),
};

}  // namespace

OpFamily ContainerOps() { return Chosen<kContainerOps>(); }

}  // namespace hr::ops
