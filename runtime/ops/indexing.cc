// Operators that pick or place elements by index. Negative indices count from the end.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer_gradient.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kGatherAttributes[] = {{"axis", AttributeKind::kInt}};
constexpr AttributeDef kScatterAttributes[] = {{"axis", AttributeKind::kInt},
                                               {"reduction", AttributeKind::kString}};
// Version 13 had no reduction.
constexpr std::span<const AttributeDef> kScatter13Attributes =
    std::span(kScatterAttributes).first(1);
constexpr AttributeDef kScatterNDAttributes[] = {{"reduction", AttributeKind::kString}};
constexpr AttributeDef kGatherNDAttributes[] = {{"batch_dims", AttributeKind::kInt}};
constexpr AttributeDef kTopKAttributes[] = {{"axis", AttributeKind::kInt},
                                            {"largest", AttributeKind::kFlag},
                                            {"sorted", AttributeKind::kFlag}};

Status InferGather(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectIndices(1));
  HR_RETURN_IF_ERROR(ExpectAxis(context, 0));
  const ValueType& data = context.input(0);
  const ValueType& indices = context.input(1);
  if (!data.ranked || !indices.ranked) {
    context.SetUnranked(0, data.dtype);
    return {};
  }
  HR_ASSIGN_OR_RETURN(int64_t axis,
                      ResolveAxis(context, context.node().Int("axis", 0), data.rank()));
  std::vector<Dim> out = indices.dims;
  out.insert(out.begin(), data.dims.begin(), data.dims.begin() + axis);
  out.insert(out.end(), data.dims.begin() + axis + 1, data.dims.end());
  SetDims(context, 0, data.dtype, std::move(out));
  return {};
}

Status InferGatherGrad(InferContext& context) {
  return InferGradientOf(context, {.domain = kOnnx, .name = "Gather", .infer = InferGather}, {2, 1},
                         2);
}

void GatherGradient(GradientContext& g) {
  int64_t axis = g.node().Int("axis", 0);
  g.SetGrad(0, g.EmitGrad("GatherGrad", {g.grad(0), g.input(1), g.input(0)}, {{"axis", axis}}));
}

Status InferGatherElements(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectIndices(1));
  HR_RETURN_IF_ERROR(ExpectAxis(context, 0));
  if (context.input(0).ranked) HR_RETURN_IF_ERROR(context.ExpectRank(1, context.input(0).rank()));
  ValueType out = context.input(1);
  out.dtype = context.input(0).dtype;
  context.SetOutput(0, std::move(out));
  return {};
}

void GatherGradGradient(GradientContext& g) {
  g.SetGrad(0, g.Emit("Gather", {g.grad(0), g.input(1)}, {{"axis", g.node().Int("axis", 0)}}));
}

// Adds the gradients up where they were taken.
void GatherElementsGradient(GradientContext& g) {
  int64_t axis = g.node().Int("axis", 0);
  g.SetGrad(0, g.Emit("ScatterElements", {g.ZerosLike(g.input(0)), g.input(1), g.grad(0)},
                      {{"axis", axis}, {"reduction", "add"}}));
}

Status CheckScatterReduction(const InferContext& context) {
  std::string_view reduction = context.node().String("reduction", "none");
  bool newer = context.def().since_version >= 18 && IsOneOf(reduction, {"max", "min"});
  if (IsOneOf(reduction, {"none", "add", "mul"}) || newer) return {};
  return InvalidArgument(context.def().name,
                         "'s attribute 'reduction' is none, add, mul or (since 18) max, min, got '",
                         reduction, "'");
}

Status InferScatterElements(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckScatterReduction(context));
  HR_RETURN_IF_ERROR(context.ExpectIndices(1));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 2));
  HR_RETURN_IF_ERROR(ExpectAxis(context, 0));
  for (size_t i : {1, 2}) {
    if (context.input(0).ranked) HR_RETURN_IF_ERROR(context.ExpectRank(i, context.input(0).rank()));
  }
  const ValueType& indices = context.input(1);
  const ValueType& updates = context.input(2);
  for (size_t d = 0; indices.ranked && updates.ranked && d < indices.dims.size(); ++d) {
    HR_RETURN_IF_ERROR(
        EqualDims(context, "the sizes of indices and updates", indices.dims[d], updates.dims[d])
            .status());
  }
  return InferSameAsInput(context);
}

// Of the reductions only "none" (each place written once) and "add" have a gradient here.
bool AddsOrReplaces(GradientContext& g, bool& adds) {
  std::string_view reduction = g.node().String("reduction", "none");
  adds = reduction == "add";
  if (adds || reduction == "none") return true;
  g.Fail(
      Unimplemented("there is no gradient of reduction '", reduction, "', only of none and add"));
  return false;
}

void ScatterElementsGradient(GradientContext& g) {
  bool adds;
  if (!AddsOrReplaces(g, adds)) return;
  const graph::AttributeInit axis = {"axis", g.node().Int("axis", 0)};
  ValueId dy = g.grad(0);
  if (g.wants(0)) {
    g.SetGrad(
        0,
        adds ? dy : g.Emit("ScatterElements", {dy, g.input(1), g.ZerosLike(g.input(2))}, {axis}));
  }
  if (g.wants(2)) g.SetGrad(2, g.Emit("GatherElements", {dy, g.input(1)}, {axis}));
}

Status InferGatherND(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kInt64}));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(1, 1));
  const ValueType& data = context.input(0);
  const ValueType& indices = context.input(1);
  int64_t batch = context.node().Int("batch_dims", 0);
  context.SetUnranked(0, data.dtype);
  if (!data.ranked || !indices.ranked || !indices.dims.back().fixed()) return {};
  int64_t taken = indices.dims.back().size;
  if (batch < 0 || batch >= indices.rank() || taken < 1 || taken > data.rank() - batch) {
    return InvalidArgument("GatherND cannot take ", context.InputText(1), " with batch_dims ",
                           batch, " from ", context.InputText(0));
  }
  std::vector<Dim> out(indices.dims.begin(), indices.dims.end() - 1);
  out.insert(out.end(), data.dims.begin() + batch + taken, data.dims.end());
  SetDims(context, 0, data.dtype, std::move(out));
  return {};
}

void GatherNDGradient(GradientContext& g) {
  if (g.node().Int("batch_dims", 0) != 0) {
    return g.Fail(Unimplemented("there is no gradient of GatherND with batch_dims"));
  }
  g.SetGrad(0, g.Emit("ScatterND", {g.ZerosLike(g.input(0)), g.input(1), g.grad(0)},
                      {{"reduction", "add"}}));
}

Status InferScatterND(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckScatterReduction(context));
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kInt64}));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 2));
  const ValueType& data = context.input(0);
  const ValueType& indices = context.input(1);
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(1, 1));
  if (data.ranked && indices.ranked && indices.dims.back().fixed()) {
    int64_t taken = indices.dims.back().size;
    if (taken < 1 || taken > data.rank()) {
      return InvalidArgument("ScatterND cannot place ", context.InputText(1), " in ",
                             context.InputText(0));
    }
    HR_RETURN_IF_ERROR(context.ExpectRank(2, indices.rank() - 1 + data.rank() - taken));
  }
  return InferSameAsInput(context);
}

void ScatterNDGradient(GradientContext& g) {
  bool adds;
  if (!AddsOrReplaces(g, adds)) return;
  ValueId dy = g.grad(0);
  if (g.wants(0)) {
    g.SetGrad(0, adds ? dy : g.Emit("ScatterND", {dy, g.input(1), g.ZerosLike(g.input(2))}));
  }
  if (g.wants(2)) g.SetGrad(2, g.Emit("GatherND", {dy, g.input(1)}));
}

Status InferOneHot(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectNumeric(1));
  HR_RETURN_IF_ERROR(context.ExpectRank(2, 1));
  const ValueType& indices = context.input(0);
  DType dtype = context.input(2).dtype;
  if (!indices.ranked) {
    context.SetUnranked(0, dtype);
    return {};
  }
  auto depth = context.ConstantNumber(1);
  if (depth && !(*depth >= 0 && *depth < 0x1p62)) {
    return InvalidArgument("OneHot's depth is one size of 0 or more, got ", *depth);
  }
  int64_t rank = indices.rank() + 1;
  HR_ASSIGN_OR_RETURN(int64_t axis, ResolveAxis(context, context.node().Int("axis", -1), rank));
  std::vector<Dim> out = indices.dims;
  out.insert(out.begin() + axis, depth ? FixedDim(static_cast<int64_t>(*depth)) : Dim{});
  SetDims(context, 0, dtype, std::move(out));
  return {};
}

Status InferTopK(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kInt64}));
  ValueType out = context.input(0);
  if (out.ranked) {
    HR_ASSIGN_OR_RETURN(int64_t axis,
                        ResolveAxis(context, context.node().Int("axis", -1), out.rank()));
    Dim& dim = out.dims[static_cast<size_t>(axis)];
    auto k = context.ConstantInts(1);
    if (k && (k->size() != 1 || (*k)[0] < 0 || (dim.fixed() && (*k)[0] > dim.size))) {
      return InvalidArgument("TopK wants a k that fits ", context.InputText(0), ", got ", *k);
    }
    dim = k ? FixedDim((*k)[0]) : Dim{};
  }
  ValueType indices = out;
  indices.dtype = DType::kInt64;
  context.SetOutput(0, std::move(out));
  context.SetOutput(1, std::move(indices));
  return {};
}

void TopKGradient(GradientContext& g) {
  if (g.grad(0) == kNone) return;
  int64_t axis = g.node().Int("axis", -1);
  g.SetGrad(0, g.Emit("ScatterElements", {g.ZerosLike(g.input(0)), g.RequireOutput(1), g.grad(0)},
                      {{"axis", axis}}));
}

constexpr OpDef kIndexingOps[] = {
    // (data, indices)
    {.domain = kOnnx,
     .name = "Gather",
     .inputs = {2, 2},
     .attributes = kGatherAttributes,
     .infer = InferGather,
     .gradient = GatherGradient},
    // (dy, indices, data) → dy added up where it was taken; of data only the type is used
    {.domain = kGrad,
     .name = "GatherGrad",
     .inputs = {3, 3},
     .type_only_inputs = 1u << 2,
     .attributes = kGatherAttributes,
     .infer = InferGatherGrad,
     .gradient = GatherGradGradient},
    {.domain = kOnnx,
     .name = "GatherElements",
     .since_version = 11,
     .inputs = {2, 2},
     .attributes = kGatherAttributes,
     .infer = InferGatherElements,
     .gradient = GatherElementsGradient},
    // (data, indices, updates)
    {.domain = kOnnx,
     .name = "ScatterElements",
     .since_version = 11,
     .inputs = {3, 3},
     .attributes = kScatter13Attributes,
     .infer = InferScatterElements,
     .gradient = ScatterElementsGradient},
    {.domain = kOnnx,
     .name = "ScatterElements",
     .since_version = 16,
     .inputs = {3, 3},
     .attributes = kScatterAttributes,
     .infer = InferScatterElements,
     .gradient = ScatterElementsGradient},
    {.domain = kOnnx,
     .name = "ScatterElements",
     .since_version = 18,
     .inputs = {3, 3},
     .attributes = kScatterAttributes,
     .infer = InferScatterElements,
     .gradient = ScatterElementsGradient},
    {.domain = kOnnx,
     .name = "GatherND",
     .since_version = 11,
     .inputs = {2, 2},
     .attributes = kGatherNDAttributes,
     .infer = InferGatherND,
     .gradient = GatherNDGradient},
    {.domain = kOnnx,
     .name = "ScatterND",
     .since_version = 11,
     .inputs = {3, 3},
     .infer = InferScatterND,
     .gradient = ScatterNDGradient},
    {.domain = kOnnx,
     .name = "ScatterND",
     .since_version = 16,
     .inputs = {3, 3},
     .attributes = kScatterNDAttributes,
     .infer = InferScatterND,
     .gradient = ScatterNDGradient},
    {.domain = kOnnx,
     .name = "ScatterND",
     .since_version = 18,
     .inputs = {3, 3},
     .attributes = kScatterNDAttributes,
     .infer = InferScatterND,
     .gradient = ScatterNDGradient},
    // (indices, depth, [off, on])
    {.domain = kOnnx,
     .name = "OneHot",
     .since_version = 9,
     .inputs = {3, 3},
     .attributes = kGatherAttributes,
     .infer = InferOneHot},
    // (x, k [1]) → (values, indices)
    {.domain = kOnnx,
     .name = "TopK",
     .since_version = 10,
     .inputs = {2, 2},
     .outputs = {2, 2},
     .attributes = kTopKAttributes,
     .infer = InferTopK,
     .gradient = TopKGradient},
};

}  // namespace

OpFamily IndexingOps() { return Chosen<kIndexingOps>(); }

}  // namespace hr::ops
