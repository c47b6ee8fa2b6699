// Cutting out and padding.
#include <algorithm>

#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer_gradient.h"
#include "runtime/ops/slice_range.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kPadAttributes[] = {{"mode", AttributeKind::kString}};

// Returns the axes that input `i` names; 0, 1, … if it is omitted; nothing if it is not known.
Result<std::optional<std::vector<int64_t>>> AxesOrAll(const InferContext& context, size_t i,
                                                      size_t count, int64_t rank) {
  std::vector<int64_t> out;
  if (!context.has_input(i)) {
    for (size_t axis = 0; axis < count; ++axis) out.push_back(static_cast<int64_t>(axis));
  } else {
    HR_RETURN_IF_ERROR(context.ExpectIndices(i));
    auto given = context.ConstantInts(i);
    if (!given) return std::optional<std::vector<int64_t>>();
    out = std::move(*given);
  }
  if (out.size() != count) {
    return InvalidArgument(context.def().name, " wants an axis for each of ", count,
                           " values, got ", out.size());
  }
  graph::Marks seen(static_cast<size_t>(rank));
  for (int64_t& axis : out) {
    HR_ASSIGN_OR_RETURN(axis, ResolveAxis(context, axis, rank));
    if (std::exchange(seen[static_cast<size_t>(axis)], true)) {
      return InvalidArgument(context.def().name, " takes each axis once, got ", out);
    }
  }
  return std::optional(std::move(out));
}

// Returns the size of [start, end) by steps, with negative positions counted from the end.
Result<Dim> SlicedDim(Dim dim, int64_t start, int64_t end, int64_t step) {
  if (step == 0) return InvalidArgument("Slice's steps are not 0");
  if (start == 0 && step == 1 && end == INT64_MAX) return dim;  // all of it, whatever its size
  if (!dim.fixed()) return Dim{};
  SliceRange range = ResolveSlice(dim.size, start, end, step);
  return FixedDim(range.count);
}

Status InferSlice(InferContext& context) {
  for (size_t i = 1; i < context.input_count(); ++i) {
    HR_RETURN_IF_ERROR(context.ExpectIndices(i));
    HR_RETURN_IF_ERROR(context.ExpectRank(i, 1));
  }
  ValueType out = context.input(0);
  auto starts = context.ConstantInts(1);
  auto ends = context.ConstantInts(2);
  auto steps = context.ConstantInts(4);
  auto count = DimsFromShapeInput(context, 1);
  std::optional<std::vector<int64_t>> axes;
  if (out.ranked && count) {
    HR_ASSIGN_OR_RETURN(axes, AxesOrAll(context, 3, count->size(), out.rank()));
  }
  if (!axes) {
    for (Dim& dim : out.dims) dim = {};
    context.SetOutput(0, std::move(out));
    return {};
  }
  bool known = starts && ends && (steps || !context.has_input(4));
  if (known && (ends->size() != axes->size() || (steps && steps->size() != axes->size()))) {
    return InvalidArgument("Slice wants as many ends and steps as starts, which are ", *starts);
  }
  for (size_t i = 0; i < axes->size(); ++i) {
    Dim& dim = out.dims[static_cast<size_t>((*axes)[i])];
    if (!known) {
      dim = {};
      continue;
    }
    HR_ASSIGN_OR_RETURN(dim, SlicedDim(dim, (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1));
  }
  context.SetOutput(0, std::move(out));
  return {};
}

void SliceGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGrad("SliceGrad",
                          {g.grad(0), g.input(0), g.input(1), g.input(2), g.input(3), g.input(4)}));
}

Status InferPad(InferContext& context) {
  std::string_view mode = context.node().String("mode", "constant");
  bool wraps = mode == "wrap" && context.def().since_version >= 19;
  if (!IsOneOf(mode, {"constant", "reflect", "edge"}) && !wraps) {
    return InvalidArgument(
        "Pad's attribute 'mode' is constant, reflect, edge or (since 19) wrap, got '", mode, "'");
  }
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kInt64}));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 2));
  ValueType out = context.input(0);
  auto pads = context.ConstantInts(1);
  size_t count = pads ? pads->size() / 2 : 0;
  std::optional<std::vector<int64_t>> axes;
  if (out.ranked && pads) {
    if (pads->size() % 2 != 0 || (!context.has_input(3) && count != out.dims.size())) {
      return InvalidArgument("Pad wants a begin and an end per axis of ", context.InputText(0),
                             ", got ", *pads);
    }
    HR_ASSIGN_OR_RETURN(axes, AxesOrAll(context, 3, count, out.rank()));
  }
  if (!axes) {
    for (Dim& dim : out.dims) dim = {};
  }
  for (size_t i = 0; axes && i < count; ++i) {
    Dim& dim = out.dims[static_cast<size_t>((*axes)[i])];
    int64_t added;
    if (__builtin_add_overflow((*pads)[i], (*pads)[i + count], &added)) added = INT64_MAX;
    if (dim.fixed() && added > INT64_MAX - dim.size) {
      return InvalidArgument("Pad by ", *pads, " makes ", context.InputText(0), " too large");
    }
    if (added == 0) continue;
    if (dim.fixed() && dim.size + added < 0) {
      return InvalidArgument("Pad by ", *pads, " takes more than there is from ",
                             context.InputText(0));
    }
    dim = dim.fixed() ? FixedDim(dim.size + added) : Dim{};
  }
  context.SetOutput(0, std::move(out));
  return {};
}

// The part of the gradient that x does not get belongs to the constant.
void PadGradient(GradientContext& g) {
  ValueId dx = g.EmitGradAlike("PadGrad", {g.grad(0), g.input(0), g.input(1), g.input(3)});
  if (g.wants(0)) g.SetGrad(0, dx);
  if (g.wants(2) && g.node().String("mode", "constant") == "constant") {
    auto total = [&](ValueId value) {
      return g.Emit("ReduceSum", {value}, {{"keepdims", int64_t{0}}});
    };
    g.SetGrad(2, g.ReshapeLike(g.Sub(total(g.grad(0)), total(dx)), g.input(2)));
  }
}

void SliceGradGradient(GradientContext& g) {
  g.SetGrad(0, g.Emit("Slice", {g.grad(0), g.input(2), g.input(3), g.input(4), g.input(5)}));
}

Status InferSliceGrad(InferContext& context) {
  const OpDef forward = {.domain = kOnnx, .name = "Slice", .infer = InferSlice};
  return InferGradientOf(context, forward, {1, 2, 3, 4, 5}, 1);
}

Status InferPadGrad(InferContext& context) {
  const OpDef newest = {.domain = kOnnx, .name = "Pad", .since_version = 19, .infer = InferPad};
  return InferGradientOf(context, newest, {1, 2, kOmitted, 3}, 1);
}

constexpr OpDef kSliceOps[] = {
    // (x, starts, ends, axes?, steps?)
    {.domain = kOnnx,
     .name = "Slice",
     .since_version = 10,
     .inputs = {3, 5},
     .infer = InferSlice,
     .gradient = SliceGradient},
    // (dy, x, starts, ends, axes?, steps?) → dx, zero outside the slice; of x only the type is used
    {.domain = kGrad,
     .name = "SliceGrad",
     .inputs = {4, 6},
     .type_only_inputs = 1u << 1,
     .infer = InferSliceGrad,
     .gradient = SliceGradGradient},
    // (x, pads, value []?, axes? since 18)
    {.domain = kOnnx,
     .name = "Pad",
     .since_version = 11,
     .inputs = {2, 3},
     .attributes = kPadAttributes,
     .infer = InferPad,
     .gradient = PadGradient},
    {.domain = kOnnx,
     .name = "Pad",
     .since_version = 18,
     .inputs = {2, 4},
     .attributes = kPadAttributes,
     .infer = InferPad,
     .gradient = PadGradient},
    {.domain = kOnnx,
     .name = "Pad",
     .since_version = 19,
     .inputs = {2, 4},
     .attributes = kPadAttributes,
     .infer = InferPad,
     .gradient = PadGradient},
    // (dy, x, pads, axes?) → dx; of x only the type is used
    {.domain = kGrad,
     .name = "PadGrad",
     .inputs = {3, 4},
     .type_only_inputs = 1u << 1,
     .attributes = kPadAttributes,
     .infer = InferPadGrad},
};

}  // namespace

OpFamily SliceOps() { return Chosen<kSliceOps>(); }

}  // namespace hr::ops
