// Operators that move elements: transpose, join, cut, repeat.
#include <algorithm>

#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer_gradient.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kPerm[] = {{"perm", AttributeKind::kInts}};
constexpr AttributeDef kConcatAttributes[] = {{"axis", AttributeKind::kInt, true}};
constexpr AttributeDef kSplitAttributes[] = {{"axis", AttributeKind::kInt},
                                             {"num_outputs", AttributeKind::kInt}};
// Version 13 had no num_outputs.
constexpr std::span<const AttributeDef> kSplit13Attributes = std::span(kSplitAttributes).first(1);

// Returns the permutation of a Transpose; the reversed order if none is given.
Result<std::vector<int64_t>> Permutation(const Node& node, size_t rank) {
  auto given = node.Ints("perm");
  std::vector<int64_t> perm(given.begin(), given.end());
  if (given.empty()) {
    for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  }
  graph::Marks seen(rank, false);
  bool fits = perm.size() == rank;
  for (size_t i = 0; fits && i < rank; ++i) {
    fits =
        perm[i] >= 0 && perm[i] < static_cast<int64_t>(rank) && !seen[static_cast<size_t>(perm[i])];
    if (fits) seen[static_cast<size_t>(perm[i])] = true;
  }
  if (fits) return perm;
  return InvalidArgument("Transpose's attribute 'perm' ", perm, " is no permutation of ", rank,
                         " axes");
}

Status InferTranspose(InferContext& context) {
  const ValueType& x = context.input(0);
  ValueType out = x;
  if (x.ranked) {
    HR_ASSIGN_OR_RETURN(auto&& perm, Permutation(context.node(), x.dims.size()));
    for (size_t i = 0; i < perm.size(); ++i) out.dims[i] = x.dims[static_cast<size_t>(perm[i])];
  }
  context.SetOutput(0, std::move(out));
  return {};
}

void TransposeGradient(GradientContext& g) {
  auto perm = Permutation(g.node(), g.Rank(g.input(0)));
  if (!perm.ok()) return g.Fail(std::move(perm).status());
  std::vector<int64_t> inverse(perm->size());
  for (size_t i = 0; i < inverse.size(); ++i) {
    inverse[static_cast<size_t>((*perm)[i])] = static_cast<int64_t>(i);
  }
  g.SetGrad(0, g.Emit("Transpose", {g.grad(0)}, {{"perm", inverse}}));
}

Status InferConcat(InferContext& context) {
  ValueType out = context.input(0);
  size_t axis = 0;
  for (size_t i = 0; i < context.input_count(); ++i) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    const ValueType& next = context.input(i);
    out.ranked = out.ranked && next.ranked;
    if (!out.ranked) continue;
    HR_RETURN_IF_ERROR(context.ExpectRank(i, out.rank()));
    HR_ASSIGN_OR_RETURN(int64_t at,
                        ResolveAxis(context, context.node().Int("axis", 0), out.rank()));
    axis = static_cast<size_t>(at);
    for (size_t d = 0; i > 0 && d < out.dims.size(); ++d) {
      if (d == axis) {
        HR_ASSIGN_OR_RETURN(out.dims[d], SumDims(context, out.dims[d], next.dims[d]));
      } else {
        HR_ASSIGN_OR_RETURN(out.dims[d],
                            EqualDims(context,
                                      Cat("dimensions ", d, " of ", context.InputText(0), " and ",
                                          context.InputText(i)),
                                      out.dims[d], next.dims[d]));
      }
    }
  }
  if (!out.ranked) out.dims.clear();
  context.SetOutput(0, std::move(out));
  return {};
}

// Returns the sizes of the inputs along the axis, as a value.
ValueId ConcatenatedSizes(GradientContext& g, int64_t axis) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < g.input_count(); ++i) {
    size_t rank = g.Rank(g.input(i));
    if (!g.ok()) return kNone;
    size_t at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
    sizes.push_back(g.type(g.input(i)).dims[at].size);
  }
  if (std::find(sizes.begin(), sizes.end(), graph::kUnknownDim) == sizes.end())
    return g.Ints(sizes);
  std::vector<ValueId> parts;
  int64_t rank = static_cast<int64_t>(g.Rank(g.input(0)));
  int64_t from = axis < 0 ? axis + rank : axis;
  for (size_t i = 0; i < g.input_count(); ++i) {
    parts.push_back(g.Emit("Shape", {g.input(i)}, {{"start", from}, {"end", from + 1}}));
  }
  return g.EmitMany(kOnnx, "Concat", parts, 1, graph::Attributes({{"axis", int64_t{0}}}))[0];
}

void ConcatGradient(GradientContext& g) {
  int64_t axis = g.node().Int("axis", 0);
  size_t count = g.input_count();
  if (count == 1) {
    g.SetGrad(0, g.grad(0));
    return;
  }
  ValueId inputs[] = {g.grad(0), ConcatenatedSizes(g, axis)};
  auto parts = g.EmitMany(kOnnx, "Split", inputs, count, graph::Attributes({{"axis", axis}}));
  for (size_t i = 0; i < count; ++i) g.SetGrad(i, parts[i]);
}

// Returns the outputs' sizes along the axis: as given, or equal parts of which the last may be
// smaller.
Result<std::vector<Dim>> SplitSizes(const InferContext& context, Dim whole) {
  size_t count = context.output_count();
  std::vector<Dim> sizes(count);
  if (context.has_input(1)) {
    HR_RETURN_IF_ERROR(context.ExpectInts(1));
    auto given = context.ConstantInts(1);
    if (!given) return sizes;
    if (given->size() != count) {
      return InvalidArgument("Split into ", *given, " has ", given->size(), " parts, the node has ",
                             count, " outputs");
    }
    int64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
      if ((*given)[i] < 0) return InvalidArgument("Split has a negative part: ", *given);
      sizes[i] = FixedDim((*given)[i]);
      if (__builtin_add_overflow(sum, (*given)[i], &sum)) {
        return InvalidArgument("Split into ", *given, " is too large");
      }
    }
    if (whole.fixed() && whole.size != sum) {
      return InvalidArgument("Split into ", *given, " makes ", sum, " of a dimension of ",
                             whole.size);
    }
    return sizes;
  }
  if (!whole.fixed()) return sizes;
  int64_t parts = static_cast<int64_t>(count);
  bool uneven = context.node().Find("num_outputs") != nullptr;
  int64_t part = whole.size / parts + (whole.size % parts != 0 ? 1 : 0);
  if (whole.size - part * (parts - 1) < 0 || (!uneven && whole.size % parts != 0)) {
    return InvalidArgument("Split cannot cut ", context.InputText(0), " into ", parts,
                           " equal parts; give their sizes");
  }
  for (Dim& size : sizes) size = FixedDim(part);
  sizes.back() = FixedDim(whole.size - part * (parts - 1));
  return sizes;
}

Status InferSplit(InferContext& context) {
  int64_t wanted = context.node().Int("num_outputs", static_cast<int64_t>(context.output_count()));
  if (wanted != static_cast<int64_t>(context.output_count())) {
    return InvalidArgument("Split's attribute 'num_outputs' is ", wanted, ", the node has ",
                           context.output_count(), " outputs");
  }
  const ValueType& x = context.input(0);
  size_t axis = 0;
  if (x.ranked) {
    HR_ASSIGN_OR_RETURN(int64_t at, ResolveAxis(context, context.node().Int("axis", 0), x.rank()));
    axis = static_cast<size_t>(at);
  }
  HR_ASSIGN_OR_RETURN(auto&& sizes, SplitSizes(context, x.ranked ? x.dims[axis] : Dim{}));
  for (size_t i = 0; i < sizes.size(); ++i) {
    ValueType out = x;
    if (x.ranked) out.dims[axis] = sizes[i];
    context.SetOutput(i, std::move(out));
  }
  return {};
}

void SplitGradient(GradientContext& g) {
  std::vector<ValueId> parts;
  for (size_t i = 0; i < g.node().outputs.size(); ++i) {
    parts.push_back(g.grad(i) != kNone ? g.grad(i) : g.ZerosLike(g.RequireOutput(i)));
  }
  int64_t axis = g.node().Int("axis", 0);
  g.SetGrad(0, g.EmitMany(kOnnx, "Concat", parts, 1, graph::Attributes({{"axis", axis}}))[0]);
}

Status InferTile(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectInts(1));
  ValueType out = context.input(0);
  auto repeats = context.ConstantInts(1);
  if (out.ranked && repeats && repeats->size() != out.dims.size()) {
    return InvalidArgument("Tile takes one repeat per axis of ", context.InputText(0), ", got ",
                           *repeats);
  }
  for (size_t i = 0; i < out.dims.size(); ++i) {
    if (repeats && (*repeats)[i] < 0) {
      return InvalidArgument("Tile's repeats are 0 or more, got ", *repeats);
    }
    if (!repeats || (*repeats)[i] != 1) {
      Dim pair[] = {out.dims[i], repeats ? FixedDim((*repeats)[i]) : Dim{}};
      HR_ASSIGN_OR_RETURN(out.dims[i], Product(context, pair));
    }
  }
  context.SetOutput(0, std::move(out));
  return {};
}

// Fails unless each dimension of the gradient is a multiple of that of the tile.
Status InferTileGrad(InferContext& context) {
  const ValueType &dy = context.input(0), &x = context.input(1);
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  context.SetOutput(0, x);
  if (!dy.ranked || !x.ranked) return {};
  HR_RETURN_IF_ERROR(context.ExpectRank(0, x.rank()));
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const Dim of = dy.dims[i], tile = x.dims[i];
    if (!of.fixed() || !tile.fixed() || of.size == 0) continue;
    if (tile.size == 0 || of.size % tile.size != 0) {
      return InvalidArgument("TileGrad's ", context.InputText(0),
                             " is not made of whole copies of ", context.InputText(1));
    }
  }
  return {};
}

void TileGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGrad("TileGrad", {g.grad(0), g.input(0)}));
}

constexpr OpDef kMovementOps[] = {
    {.domain = kOnnx,
     .name = "Transpose",
     .attributes = kPerm,
     .infer = InferTranspose,
     .gradient = TransposeGradient},
    {.domain = kOnnx,
     .name = "Concat",
     .since_version = 4,
     .inputs = {1, kUnlimited},
     .attributes = kConcatAttributes,
     .infer = InferConcat,
     .gradient = ConcatGradient},
    // (x, sizes?) → parts
    {.domain = kOnnx,
     .name = "Split",
     .since_version = 13,
     .inputs = {1, 2},
     .outputs = {1, kUnlimited},
     .attributes = kSplit13Attributes,
     .infer = InferSplit,
     .gradient = SplitGradient},
    {.domain = kOnnx,
     .name = "Split",
     .since_version = 18,
     .inputs = {1, 2},
     .outputs = {1, kUnlimited},
     .attributes = kSplitAttributes,
     .infer = InferSplit,
     .gradient = SplitGradient},
    // (x, repeats)
    {.domain = kOnnx,
     .name = "Tile",
     .since_version = 6,
     .inputs = {2, 2},
     .infer = InferTile,
     .gradient = TileGradient},
    // (dy, x) → the copies summed; of x only the type is used
    {.domain = kGrad,
     .name = "TileGrad",
     .inputs = {2, 2},
     .type_only_inputs = 1u << 1,
     .infer = InferTileGrad},
};

}  // namespace

OpFamily MovementOps() { return Chosen<kMovementOps>(); }

}  // namespace hr::ops
