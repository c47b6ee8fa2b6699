// Operators whose results are as large as the data says. Each is composed of one of headrace.sized,
// which has room for the largest result and says how much of it there is, and of a Slice that cuts
// the rest off: what follows is planned when that number is known (transform/stage.h).
#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kCompressAttributes[] = {{"axis", AttributeKind::kInt}};
constexpr AttributeDef kUnique[] = {{"axis", AttributeKind::kInt},
                                    {"sorted", AttributeKind::kFlag}};
constexpr AttributeDef kBoxes[] = {{"center_point_box", AttributeKind::kFlag}};

// --- Types of what users see

Status ExpectNumbersOrTruth(const InferContext& context) {
  return context.input(0).dtype == DType::kBool ? Status() : context.ExpectNumeric(0);
}

Status InferNonZero(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectNumbersOrTruth(context));
  const ValueType& x = context.input(0);
  SetDims(context, 0, DType::kInt64, {x.ranked ? FixedDim(x.rank()) : Dim(), Dim()});
  return {};
}

// Output 0 is input 0 with an unknown size along the axis, or flat if there is none.
Status SetAlongAxis(InferContext& context) {
  const ValueType& x = context.input(0);
  const auto* axis = context.node().Find("axis");
  if (axis == nullptr) {
    SetDims(context, 0, x.dtype, {Dim()});
    return {};
  }
  ValueType out = x;
  if (x.ranked) {
    HR_ASSIGN_OR_RETURN(const int64_t at, ResolveAxis(context, std::get<int64_t>(*axis), x.rank()));
    out.dims[static_cast<size_t>(at)] = {};
  }
  context.SetOutput(0, std::move(out));
  return {};
}

Status InferCompress(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kBool}));
  HR_RETURN_IF_ERROR(context.ExpectRank(1, 1));
  return SetAlongAxis(context);
}

Status InferUnique(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectNumbersOrTruth(context));
  HR_RETURN_IF_ERROR(SetAlongAxis(context));
  for (size_t i = 1; i < 4; ++i) SetDims(context, i, DType::kInt64, {Dim()});
  return {};
}

Status ExpectOneOf(const InferContext& context, size_t i, DType dtype) {
  if (!context.has_input(i)) return {};
  HR_RETURN_IF_ERROR(context.ExpectDType(i, {dtype}));
  const auto dims = context.input(i).FixedDims();
  if (!dims || ElementCount(*dims) == 1) return {};
  return InvalidArgument(context.InputText(i), " is one number");
}

Status CheckBoxes(const InferContext& context) {
  for (size_t i : {0, 1}) {
    HR_RETURN_IF_ERROR(context.ExpectDType(i, {DType::kFloat32}));
    HR_RETURN_IF_ERROR(context.ExpectRank(i, 3));
  }
  HR_RETURN_IF_ERROR(ExpectOneOf(context, 2, DType::kInt64));
  for (size_t i : {3, 4}) HR_RETURN_IF_ERROR(ExpectOneOf(context, i, DType::kFloat32));
  const ValueType &boxes = context.input(0), &scores = context.input(1);
  if (!boxes.ranked || !scores.ranked) return {};
  HR_RETURN_IF_ERROR(
      EqualDims(context, "the batches of boxes and scores", boxes.dims[0], scores.dims[0])
          .status());
  HR_RETURN_IF_ERROR(
      EqualDims(context, "the numbers of boxes and scores", boxes.dims[1], scores.dims[2])
          .status());
  return EqualDims(context, "a box's numbers, which are 4,", boxes.dims[2], FixedDim(4)).status();
}

Status InferNonMaxSuppression(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckBoxes(context));
  SetDims(context, 0, DType::kInt64, {Dim(), FixedDim(3)});
  return {};
}

// --- Types of headrace.sized, which have room for all

Status SetCount(InferContext& context, size_t output) {
  SetDims(context, output, DType::kInt64, {FixedDim(1)});
  return {};
}

Status InferSizedNonZero(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectNumbersOrTruth(context));
  const ValueType& x = context.input(0);
  Dim room;
  if (x.ranked) {
    std::vector<Dim> dims = x.dims;
    dims.push_back(FixedDim(x.rank()));
    HR_ASSIGN_OR_RETURN(room, Product(context, dims));
  }
  SetDims(context, 0, DType::kInt64, {room});
  return SetCount(context, 1);
}

Status InferSizedUnique(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectNumbersOrTruth(context));
  const ValueType& x = context.input(0);
  const auto* axis = context.node().Find("axis");
  Dim room;
  if (x.ranked && axis == nullptr) {
    HR_ASSIGN_OR_RETURN(room, Product(context, x.dims));
  } else if (x.ranked) {
    HR_ASSIGN_OR_RETURN(const int64_t at, ResolveAxis(context, std::get<int64_t>(*axis), x.rank()));
    room = x.dims[static_cast<size_t>(at)];
  }
  for (size_t i = 0; i < 3; ++i) SetDims(context, i, DType::kInt64, {room});
  return SetCount(context, 3);
}

Status InferSizedSuppression(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckBoxes(context));
  Dim room;
  if (context.input(1).ranked) {
    std::vector<Dim> dims = context.input(1).dims;
    dims.push_back(FixedDim(3));
    HR_ASSIGN_OR_RETURN(room, Product(context, dims));
  }
  SetDims(context, 0, DType::kInt64, {room});
  return SetCount(context, 1);
}

// --- Compositions

// The first `count` of a flat value.
ValueId First(ComposeContext& c, ValueId value, ValueId count) {
  return c.Slice(value, 0, c.Int(0), count);
}

// A flat value in two dimensions, of which one may be 0.
ValueId AsMatrix(ComposeContext& c, ValueId value, ValueId rows, ValueId columns) {
  const ValueId shape = c.Joined(std::array{rows, columns});
  return c.Emit("Reshape", {value, shape}, {{"allowzero", int64_t{1}}});
}

std::vector<ValueId> EmitSized(ComposeContext& c, Literal name, std::span<const ValueId> inputs,
                               size_t outputs) {
  return c.EmitMany(kSized, name, inputs, outputs, c.node().attributes);
}

void ComposeNonZero(ComposeContext& c) {
  const auto rank = static_cast<int64_t>(c.Rank(c.input(0)));
  if (!c.ok()) return;
  const ValueId x = c.input(0);
  const auto sized = EmitSized(c, "NonZero", std::span(&x, 1), 2);
  const ValueId used = First(c, sized[0], c.Mul(sized[1], c.Int(rank)));
  c.SetOutput(0, AsMatrix(c, used, c.Int(rank), sized[1]));
}

// The input along its axis; flat, along axis 0, if it has none.
struct Along {
  ValueId value;
  int64_t axis;
};
Along AlongAxis(ComposeContext& c) {
  const auto* axis = c.node().Find("axis");
  if (axis != nullptr) return {c.input(0), std::get<int64_t>(*axis)};
  return {c.Reshape(c.input(0), std::array{c.Int(-1)}), 0};
}

void ComposeCompress(ComposeContext& c) {
  const Along x = AlongAxis(c);
  const ValueId places = c.Emit("NonZero", {c.input(1)});
  const ValueId flat = c.Reshape(places, std::array{c.Int(-1)});
  c.SetOutput(0, c.Emit("Gather", {x.value, flat}, {{"axis", x.axis}}));
}

void ComposeUnique(ComposeContext& c) {
  const Along x = AlongAxis(c);
  const ValueId input = c.input(0);
  const auto sized = EmitSized(c, "Unique", std::span(&input, 1), 4);
  if (!c.ok()) return;
  const ValueId firsts = First(c, sized[0], sized[3]);
  c.SetOutput(0, c.Emit("Gather", {x.value, firsts}, {{"axis", x.axis}}));
  c.SetOutput(1, firsts);
  c.SetOutput(2, sized[1]);
  if (c.wants_output(3)) c.SetOutput(3, First(c, sized[2], sized[3]));
}

void ComposeNonMaxSuppression(ComposeContext& c) {
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.input(i));
  const auto sized = EmitSized(c, "NonMaxSuppression", inputs, 2);
  if (!c.ok()) return;
  const ValueId three = c.Int(3);
  const ValueId used = First(c, sized[0], c.Mul(sized[1], three));
  c.SetOutput(0, AsMatrix(c, used, sized[1], three));
}

constexpr OpDef kDataSizedOps[] = {
    {.domain = kOnnx,
     .name = "NonZero",
     .since_version = 9,
     .infer = InferNonZero,
     .compose = ComposeNonZero},
    // (x, condition [c])
    {.domain = kOnnx,
     .name = "Compress",
     .since_version = 9,
     .inputs = {2, 2},
     .attributes = kCompressAttributes,
     .infer = InferCompress,
     .compose = ComposeCompress},
    // (x) → (y, indices?, inverse indices?, counts?)
    {.domain = kOnnx,
     .name = "Unique",
     .since_version = 11,
     .outputs = {1, 4},
     .attributes = kUnique,
     .infer = InferUnique,
     .compose = ComposeUnique},
    // (boxes [b, n, 4], scores [b, c, n], most of a class?, IoU threshold?, score threshold?)
    {.domain = kOnnx,
     .name = "NonMaxSuppression",
     .since_version = 10,
     .inputs = {2, 5},
     .attributes = kBoxes,
     .infer = InferNonMaxSuppression,
     .compose = ComposeNonMaxSuppression},
    // (x) → (indices, how many places)
    {.domain = kSized, .name = "NonZero", .outputs = {2, 2}, .infer = InferSizedNonZero},
    // (x) → (first places, inverse indices, counts, how many are different)
    {.domain = kSized,
     .name = "Unique",
     .outputs = {4, 4},
     .attributes = kUnique,
     .infer = InferSizedUnique},
    // The inputs of ONNX's → (rows, how many)
    {.domain = kSized,
     .name = "NonMaxSuppression",
     .inputs = {2, 5},
     .outputs = {2, 2},
     .attributes = kBoxes,
     .infer = InferSizedSuppression},
};

}  // namespace

OpFamily DataSizedOps() { return Chosen<kDataSizedOps>(); }

}  // namespace hr::ops
