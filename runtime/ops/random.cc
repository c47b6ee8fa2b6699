// Random numbers. Every node draws from its own counter-based stream, the attribute `stream`, which
// the graph builder numbers; ONNX's `seed` is accepted and not used. An input of ours behind ONNX's
// says which elements of the stream they are: a part of a batch draws what it would draw as a part
// of the whole.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kUniform[] = {
    {"stream", AttributeKind::kInt}, {"seed", AttributeKind::kFloat},
    {"dtype", AttributeKind::kInt},  {"low", AttributeKind::kFloat},
    {"high", AttributeKind::kFloat}, {"shape", AttributeKind::kInts, true},
};
constexpr std::span<const AttributeDef> kUniformLike = std::span(kUniform).first(5);
constexpr AttributeDef kNormal[] = {
    {"stream", AttributeKind::kInt},  {"seed", AttributeKind::kFloat},
    {"dtype", AttributeKind::kInt},   {"mean", AttributeKind::kFloat},
    {"scale", AttributeKind::kFloat}, {"shape", AttributeKind::kInts, true},
};
constexpr std::span<const AttributeDef> kNormalLike = std::span(kNormal).first(5);
constexpr std::span<const AttributeDef> kBernoulli = std::span(kNormal).first(3);
constexpr AttributeDef kMultinomial[] = {
    {"stream", AttributeKind::kInt},
    {"seed", AttributeKind::kFloat},
    {"dtype", AttributeKind::kInt},
    {"sample_size", AttributeKind::kInt},
};
constexpr AttributeDef kDropout[] = {{"stream", AttributeKind::kInt},
                                     {"seed", AttributeKind::kInt}};

// The attribute `dtype`, or `otherwise`.
DType DTypeAttribute(const InferContext& context, DType otherwise) {
  return static_cast<DType>(context.node().Int("dtype", static_cast<int64_t>(otherwise)));
}

Status CheckFloatingOutput(const InferContext& context, DType dtype) {
  if (IsFloating(dtype)) return {};
  return InvalidArgument(context.def().name, " makes floating-point numbers, got dtype ",
                         static_cast<int64_t>(dtype), " (", DTypeName(dtype), ")");
}

// The optional input `first`, int64 []: the number of the first element in the stream; 0 without.
Status CheckFirst(const InferContext& context, size_t input) {
  if (!context.has_input(input)) return {};
  HR_RETURN_IF_ERROR(context.ExpectDType(input, {DType::kInt64}));
  return context.ExpectRank(input, 0);
}

Status InferFromShape(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckFirst(context, 0));
  DType dtype = DTypeAttribute(context, DType::kFloat32);
  HR_RETURN_IF_ERROR(CheckFloatingOutput(context, dtype));
  auto shape = context.node().Ints("shape");
  auto elements = CheckedElementCount(shape);
  if (!elements.ok()) return std::move(elements).status().WithContext(context.def().name);
  context.SetOutput(0, ValueType::Tensor(dtype, Dims(shape.begin(), shape.end())));
  return {};
}

Status InferLike(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckFirst(context, 1));
  ValueType out = context.input(0);
  out.dtype = DTypeAttribute(context, out.dtype);
  HR_RETURN_IF_ERROR(CheckFloatingOutput(context, out.dtype));
  context.SetOutput(0, std::move(out));
  return {};
}

Status InferBernoulli(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckFirst(context, 1));
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  ValueType out = context.input(0);
  out.dtype = DTypeAttribute(context, out.dtype);
  if (!IsSupported(out.dtype))
    return InvalidArgument("Bernoulli's attribute 'dtype' names no type");
  context.SetOutput(0, std::move(out));
  return {};
}

Status InferMultinomial(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckFirst(context, 1));
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 2));
  DType dtype = DTypeAttribute(context, DType::kInt32);
  if (dtype != DType::kInt32 && dtype != DType::kInt64) {
    return InvalidArgument("Multinomial makes int32 or int64, got ", DTypeName(dtype));
  }
  int64_t samples = context.node().Int("sample_size", 1);
  if (samples < 0)
    return InvalidArgument("Multinomial's 'sample_size' is 0 or more, got ", samples);
  const ValueType& x = context.input(0);
  SetDims(context, 0, dtype, {x.ranked ? x.dims[0] : Dim{}, FixedDim(samples)});
  return {};
}

Status InferDropout(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectFloating(1));
  HR_RETURN_IF_ERROR(context.ExpectRank(1, 0));
  HR_RETURN_IF_ERROR(context.ExpectDType(2, {DType::kBool}));
  HR_RETURN_IF_ERROR(context.ExpectRank(2, 0));
  HR_RETURN_IF_ERROR(CheckFirst(context, 3));
  ValueType mask = context.input(0);
  mask.dtype = DType::kBool;
  context.SetOutput(0, context.input(0));
  context.SetOutput(1, std::move(mask));
  return {};
}

Status InferDropoutGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kBool}));
  HR_RETURN_IF_ERROR(context.ExpectFloating(2));
  HR_RETURN_IF_ERROR(context.ExpectRank(2, 0));
  HR_RETURN_IF_ERROR(context.ExpectDType(3, {DType::kBool}));
  HR_RETURN_IF_ERROR(context.ExpectRank(3, 0));
  return InferSameAsInput(context);
}

void DropoutGradient(GradientContext& g) {
  if (g.grad(0) == kNone) return;
  ValueId mask = g.RequireOutput(1);
  g.SetGrad(0, g.EmitGrad("DropoutGrad", {g.grad(0), mask, g.input(1), g.input(2)}));
}

constexpr OpDef kRandomOps[] = {
    // (first []?)
    {.domain = kOnnx,
     .name = "RandomUniform",
     .inputs = {0, 1},
     .random = true,
     .attributes = kUniform,
     .infer = InferFromShape},
    {.domain = kOnnx,
     .name = "RandomNormal",
     .inputs = {0, 1},
     .random = true,
     .attributes = kNormal,
     .infer = InferFromShape},
    // (x, first []?)
    {.domain = kOnnx,
     .name = "RandomUniformLike",
     .inputs = {1, 2},
     .type_only_inputs = 1,
     .random = true,
     .attributes = kUniformLike,
     .infer = InferLike},
    {.domain = kOnnx,
     .name = "RandomNormalLike",
     .inputs = {1, 2},
     .type_only_inputs = 1,
     .random = true,
     .attributes = kNormalLike,
     .infer = InferLike},
    // (probabilities, first []?)
    {.domain = kOnnx,
     .name = "Bernoulli",
     .since_version = 15,
     .inputs = {1, 2},
     .random = true,
     .attributes = kBernoulli,
     .infer = InferBernoulli},
    // (log-probabilities [batch, classes], first []?) → [batch, sample_size]
    {.domain = kOnnx,
     .name = "Multinomial",
     .since_version = 7,
     .inputs = {1, 2},
     .random = true,
     .attributes = kMultinomial,
     .infer = InferMultinomial},
    // (x, ratio []?, training_mode []?, first []?) → (y, mask?)
    {.domain = kOnnx,
     .name = "Dropout",
     .since_version = 12,
     .inputs = {1, 4},
     .outputs = {1, 2},
     .random = true,
     .attributes = kDropout,
     .infer = InferDropout,
     .gradient = DropoutGradient},
    // (dy, mask, ratio []?, training_mode []?) → dx
    {.domain = kGrad, .name = "DropoutGrad", .inputs = {2, 4}, .infer = InferDropoutGrad},
};

}  // namespace

OpFamily RandomOps() { return Chosen<kRandomOps>(); }

}  // namespace hr::ops
