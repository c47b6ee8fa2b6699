// Attention over heads, with caches, masks and shared key heads, and rotary embeddings. The matrix
// products are those of the backend; memory holds the scores of all heads.
#include <array>
#include <cmath>
#include <limits>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kAttentionAttributes[] = {
    {"is_causal", AttributeKind::kFlag},        {"kv_num_heads", AttributeKind::kInt},
    {"q_num_heads", AttributeKind::kInt},       {"qk_matmul_output_mode", AttributeKind::kInt},
    {"scale", AttributeKind::kFloat},           {"softcap", AttributeKind::kFloat},
    {"softmax_precision", AttributeKind::kInt},
};
constexpr AttributeDef kRotaryAttributes[] = {{"interleaved", AttributeKind::kFlag},
                                              {"num_heads", AttributeKind::kInt},
                                              {"rotary_embedding_dim", AttributeKind::kInt}};

enum AttentionInput : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kKeyLengths };
enum AttentionOutput : size_t { kY, kPresentKey, kPresentValue, kScores };
// What `qk_matmul_output_mode` asks for.
enum ScoresMode : int64_t { kRaw, kCapped, kBiased, kSoftmax };

// [batch, heads, positions, size] of an input of rank 4, or of rank 3 with its heads joined.
Result<std::vector<Dim>> HeadDims(const InferContext& context, size_t i, int64_t heads) {
  const ValueType& x = context.input(i);
  if (x.dims.size() == 4) return x.dims;
  if (heads < 1) {
    return InvalidArgument("Attention takes ", context.InputText(i),
                           " of rank 3 only with 'q_num_heads' and 'kv_num_heads'");
  }
  Dim size;
  if (x.dims[2].fixed()) {
    if (x.dims[2].size % heads != 0) {
      return InvalidArgument("Attention cannot divide ", context.InputText(i), " into ", heads,
                             " heads");
    }
    size = FixedDim(x.dims[2].size / heads);
  }
  return std::vector<Dim>{x.dims[0], FixedDim(heads), x.dims[1], size};
}

Status CheckHeads(Dim query, Dim key) {
  if (!query.fixed() || !key.fixed()) return {};
  if (key.size > 0 && query.size % key.size == 0) return {};
  return InvalidArgument("Attention shares each key head among as many query heads: ", query.size,
                         " query heads and ", key.size, " key heads do not fit");
}

Status CheckAttention(const InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(kQ));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(kQ, kK));
  HR_RETURN_IF_ERROR(context.ExpectFloating(kV));
  for (size_t i : {kQ, kK, kV}) {
    const ValueType& x = context.input(i);
    if (!x.ranked || x.rank() == 3 || x.rank() == 4) continue;
    return InvalidArgument("Attention takes inputs of rank 3 or 4, got ", context.InputText(i));
  }
  for (size_t i : {kPastKey, kPastValue}) {
    if (!context.has_input(i)) continue;
    HR_RETURN_IF_ERROR(context.ExpectRank(i, 4));
    HR_RETURN_IF_ERROR(context.ExpectSameDType(i == kPastKey ? kK : kV, i));
  }
  if (context.has_input(kPastKey) != context.has_input(kPastValue)) {
    return InvalidArgument("Attention takes past_key and past_value together");
  }
  if (context.has_input(kKeyLengths)) HR_RETURN_IF_ERROR(context.ExpectRank(kKeyLengths, 1));
  const int64_t mode = context.node().Int("qk_matmul_output_mode", kRaw);
  if (mode >= kRaw && mode <= kSoftmax) return {};
  return InvalidArgument("Attention's 'qk_matmul_output_mode' is 0 to 3, got ", mode);
}

// Dimensions of keys or values with those of the past before them.
Result<std::vector<Dim>> Present(const InferContext& context, std::vector<Dim> dims, size_t past) {
  if (!context.has_input(past)) return dims;
  const ValueType& before = context.input(past);
  for (size_t i : {0, 1, 3}) {
    if (!before.ranked) break;
    HR_RETURN_IF_ERROR(
        EqualDims(context,
                  Cat("axis ", i, " of ", context.InputText(past), " and of what follows it"),
                  before.dims[i], dims[i])
            .status());
  }
  HR_ASSIGN_OR_RETURN(dims[2], SumDims(context, dims[2], before.ranked ? before.dims[2] : Dim()));
  return dims;
}

// What is added to the scores [batch, heads, queries, positions] must not make them larger. A mask
// may have fewer positions.
Status CheckBiases(const InferContext& context, std::vector<Dim> scores) {
  const Dim batch = scores[0], positions = scores[3];
  if (context.has_input(kMask) && context.input(kMask).ranked) {
    ValueType mask = context.input(kMask), large = mask;
    if (!mask.dims.empty()) {
      Dim& last = mask.dims.back();
      if (!last.fixed() || !positions.fixed() || last.size < positions.size) last = positions;
    }
    large.dims = std::move(scores);
    HR_RETURN_IF_ERROR(CheckBroadcasts(context, mask, large));
  }
  if (!context.has_input(kKeyLengths) || !context.input(kKeyLengths).ranked) return {};
  ValueType lengths = context.input(kKeyLengths);
  lengths.dims = {batch};
  return CheckBroadcasts(context, context.input(kKeyLengths), lengths);
}

Status InferAttention(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckAttention(context));
  const ValueType &query = context.input(kQ), &key = context.input(kK), &value = context.input(kV);
  const std::array types = {query.dtype, key.dtype, value.dtype, query.dtype};
  for (size_t i = 0; i < context.output_count(); ++i) context.SetUnranked(i, types[i]);
  if (!query.ranked || !key.ranked || !value.ranked) return {};
  const int64_t key_heads = context.node().Int("kv_num_heads", 0);
  HR_ASSIGN_OR_RETURN(auto&& q, HeadDims(context, kQ, context.node().Int("q_num_heads", 0)));
  HR_ASSIGN_OR_RETURN(auto&& k, HeadDims(context, kK, key_heads));
  HR_ASSIGN_OR_RETURN(auto&& v, HeadDims(context, kV, key_heads));
  HR_RETURN_IF_ERROR(EqualDims(context, "the batches of queries and keys", q[0], k[0]).status());
  HR_RETURN_IF_ERROR(EqualDims(context, "the batches of keys and values", k[0], v[0]).status());
  HR_RETURN_IF_ERROR(EqualDims(context, "the heads of keys and values", k[1], v[1]).status());
  HR_RETURN_IF_ERROR(CheckHeads(q[1], k[1]));
  HR_RETURN_IF_ERROR(EqualDims(context, "the sizes of query and key heads", q[3], k[3]).status());
  HR_RETURN_IF_ERROR(EqualDims(context, "the positions of keys and values", k[2], v[2]).status());
  HR_ASSIGN_OR_RETURN(k, Present(context, std::move(k), kPastKey));
  HR_ASSIGN_OR_RETURN(v, Present(context, std::move(v), kPastValue));
  HR_RETURN_IF_ERROR(CheckBiases(context, {q[0], q[1], q[2], k[2]}));
  if (query.rank() == 4) {
    SetDims(context, kY, query.dtype, {q[0], q[1], q[2], v[3]});
  } else {
    HR_ASSIGN_OR_RETURN(const Dim joined, Product(context, std::array{q[1], v[3]}));
    SetDims(context, kY, query.dtype, {q[0], q[2], joined});
  }
  if (context.output_count() > kScores)
    SetDims(context, kScores, query.dtype, {q[0], q[1], q[2], k[2]});
  if (context.output_count() > kPresentKey) SetDims(context, kPresentKey, key.dtype, std::move(k));
  if (context.output_count() > kPresentValue) {
    SetDims(context, kPresentValue, value.dtype, std::move(v));
  }
  return {};
}

// [batch, positions, heads * size] as [batch, heads, positions, size].
ValueId SplitHeads(ComposeContext& c, ValueId x, int64_t heads) {
  if (c.Rank(x) != 3) return x;
  const ValueId sizes = c.Ints(std::array<int64_t, 4>{0, 0, heads, -1});
  return c.Transpose(c.Emit("Reshape", {x, sizes}), {0, 2, 1, 3});
}

ValueId JoinHeads(ComposeContext& c, ValueId x) {
  const ValueId sizes[] = {c.Int(0), c.Int(0), c.Int(-1)};
  return c.Reshape(c.Transpose(x, {0, 2, 1, 3}), sizes);
}

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// 0 where `allowed`, elsewhere minus infinity.
ValueId BiasOf(ComposeContext& c, ValueId allowed, ValueId like) {
  return c.Emit("Where", {allowed, c.Scalar(0, like), c.Scalar(kMinusInfinity, like)});
}

// How many query heads share a key head: if it is not one, they are an axis of their own behind
// that of key heads, so that nothing is copied.
struct Heads {
  ValueId all, shared, group;
  bool grouped;
};

Heads HeadsOf(ComposeContext& c, ValueId q, ValueId k) {
  Heads heads{.all = c.DimOf(q, 1), .shared = c.DimOf(k, 1)};
  heads.grouped = heads.all != heads.shared;
  if (heads.grouped) heads.group = c.Div(heads.all, heads.shared);
  return heads;
}

// x [batch, heads, …] with an axis for the groups.
ValueId Grouped(ComposeContext& c, ValueId x, const Heads& heads) {
  const ValueId sizes[] = {c.Int(0), heads.shared, heads.group, c.DimOf(x, 2), c.DimOf(x, 3)};
  return c.Reshape(x, sizes);
}
ValueId Ungrouped(ComposeContext& c, ValueId x, const Heads& heads) {
  if (!heads.grouped) return x;
  const ValueId sizes[] = {c.Int(0), heads.all, c.DimOf(x, 3), c.DimOf(x, 4)};
  return c.Reshape(x, sizes);
}

// A mask that broadcasts to scores with an axis for the groups.
ValueId GroupedMask(ComposeContext& c, ValueId mask, const Heads& heads) {
  const size_t rank = c.Rank(mask);
  if (!c.ok() || rank < 3) return mask;
  if (rank == 3) mask = c.Unsqueeze(mask, 0);
  if (c.type(mask).dims[1] == FixedDim(1)) return c.Unsqueeze(mask, 2);
  const ValueId sizes[] = {c.Int(1), heads.all, c.Int(1), c.Int(1)};
  return Grouped(c, c.Emit("Expand", {mask, c.Joined(sizes)}), heads);
}

// The mask as numbers to add; positions behind it are not seen.
ValueId MaskBias(ComposeContext& c, ValueId mask, ValueId like, ValueId positions) {
  if (c.type(mask).dtype == DType::kBool) mask = BiasOf(c, mask, like);
  mask = c.CastLike(mask, like);
  const size_t rank = c.Rank(mask);
  if (!c.ok() || rank == 0) return mask;
  const Dim last = c.type(mask).dims.back();
  const auto wanted = c.ConstantInts(positions);
  if (last.fixed() && wanted && (*wanted)[0] == last.size) return mask;
  std::vector<ValueId> pads(2 * rank, c.Int(0));
  pads.back() = c.Sub(positions, c.DimOf(mask, rank - 1));
  return c.Emit("Pad", {mask, c.Joined(pads), c.Scalar(kMinusInfinity, like)});
}

// A query sees the keys up to its own position, which follows those of the past.
ValueId CausalBias(ComposeContext& c, ValueId q, ValueId positions) {
  ValueId rows = c.Counted(c.DimOf(q, 2));
  if (c.input(kPastKey) != kNone) rows = c.Add(rows, c.DimOf(c.input(kPastKey), 2));
  const ValueId seen =
      c.Emit("LessOrEqual", {c.Unsqueeze(c.Counted(positions), 0), c.Unsqueeze(rows, 1)});
  return BiasOf(c, seen, q);
}

// Keys from the length of each example on are not seen.
ValueId LengthBias(ComposeContext& c, ValueId q, ValueId positions, const Heads& heads) {
  std::vector<int64_t> axes = {1, 2, 3};
  if (heads.grouped) axes.push_back(4);
  const ValueId lengths = c.Emit("Unsqueeze", {c.input(kKeyLengths), c.Ints(axes)});
  return BiasOf(c, c.Emit("Less", {c.Counted(positions), lengths}), q);
}

ValueId Biased(ComposeContext& c, ValueId scores, ValueId q, ValueId k, const Heads& heads) {
  const ValueId positions = c.DimOf(k, 2);
  if (c.node().Int("is_causal", 0) != 0) scores = c.Add(scores, CausalBias(c, q, positions));
  if (c.input(kMask) != kNone) {
    const ValueId mask = MaskBias(c, c.input(kMask), q, positions);
    scores = c.Add(scores, heads.grouped ? GroupedMask(c, mask, heads) : mask);
  }
  if (c.input(kKeyLengths) != kNone) {
    scores = c.Add(scores, LengthBias(c, q, positions, heads));
  }
  return scores;
}

// Queries, of `size` features each.
ValueId Scaled(ComposeContext& c, ValueId q, ValueId size) {
  if (c.node().Find("scale") != nullptr) return c.Scale(q, c.node().Float("scale", 1));
  if (const auto known = c.ConstantInts(size)) {
    return c.Scale(q, 1 / std::sqrt(static_cast<double>((*known)[0])));
  }
  return c.Div(q, c.Emit("Sqrt", {c.CastLike(size, q)}));
}

// The products of queries and keys, with an axis for the groups if there are any.
ValueId RawScores(ComposeContext& c, ValueId q, ValueId k, const Heads& heads) {
  const ValueId size = c.DimOf(q, 3);
  if (!heads.grouped) {
    const ValueId columns = c.Transpose(k, {0, 1, 3, 2});
    return c.Emit("MatMul", {Scaled(c, q, size), columns});
  }
  const ValueId columns = c.Transpose(c.Unsqueeze(k, 2), {0, 1, 2, 4, 3});
  return c.Emit("MatMul", {Scaled(c, Grouped(c, q, heads), size), columns});
}

ValueId Softmax(ComposeContext& c, ValueId scores, DType result) {
  const int64_t precision = c.node().Int("softmax_precision", 0);
  if (precision != 0) scores = c.Cast(scores, static_cast<DType>(precision));
  return c.Cast(c.Emit("Softmax", {scores}, {{"axis", int64_t{-1}}}), result);
}

void ComposeAttention(ComposeContext& c) {
  const int64_t key_heads = c.node().Int("kv_num_heads", 0);
  const ValueId q = SplitHeads(c, c.input(kQ), c.node().Int("q_num_heads", 0));
  ValueId k = SplitHeads(c, c.input(kK), key_heads);
  ValueId v = SplitHeads(c, c.input(kV), key_heads);
  if (c.input(kPastKey) != kNone) {
    k = c.Concat(std::array{c.input(kPastKey), k}, 2);
    v = c.Concat(std::array{c.input(kPastValue), v}, 2);
  }
  if (!c.ok()) return;
  const Heads heads = HeadsOf(c, q, k);
  if (!c.ok()) return;
  ValueId scores[kSoftmax + 1];
  scores[kRaw] = RawScores(c, q, k, heads);
  const double cap = c.node().Float("softcap", 0);
  scores[kCapped] = scores[kRaw];
  if (cap > 0) scores[kCapped] = c.Scale(c.Emit("Tanh", {c.Scale(scores[kRaw], 1 / cap)}), cap);
  scores[kBiased] = Biased(c, scores[kCapped], q, k, heads);
  if (!c.ok()) return;
  scores[kSoftmax] = Softmax(c, scores[kBiased], c.type(q).dtype);
  const ValueId values = heads.grouped ? c.Unsqueeze(v, 2) : v;
  const ValueId y =
      Ungrouped(c, c.Emit("MatMul", {c.CastLike(scores[kSoftmax], v), values}), heads);
  c.SetOutput(kY, c.CastLike(c.Rank(c.input(kQ)) == 3 ? JoinHeads(c, y) : y, q));
  c.SetOutput(kPresentKey, k);
  c.SetOutput(kPresentValue, v);
  c.SetOutput(kScores, Ungrouped(c, scores[c.node().Int("qk_matmul_output_mode", kRaw)], heads));
}

// The last axis of the angles has one for each pair that is turned.
Status CheckPairs(const InferContext& context) {
  const ValueType& x = context.input(0);
  if (!x.ranked || !x.dims.back().fixed()) return {};
  const int64_t heads = x.rank() == 3 ? context.node().Int("num_heads", 1) : 1;
  const int64_t size = x.dims.back().size / heads;
  int64_t turned = context.node().Int("rotary_embedding_dim", 0);
  if (turned == 0) turned = size;
  if (x.dims.back().size % heads != 0 || turned > size || turned % 2 != 0) {
    return InvalidArgument("RotaryEmbedding cannot turn ", turned, " of ", context.InputText(0),
                           " in pairs, with ", heads, " heads on the last axis");
  }
  for (size_t i : {1, 2}) {
    if (!context.input(i).ranked) continue;
    HR_RETURN_IF_ERROR(EqualDims(context,
                                 Cat("the pairs that are turned and ", context.InputText(i)),
                                 FixedDim(turned / 2), context.input(i).dims.back())
                           .status());
  }
  return {};
}

Status InferRotary(InferContext& context) {
  for (size_t i : {1, 2}) HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
  const ValueType& x = context.input(0);
  if (x.ranked && x.rank() != 3 && x.rank() != 4) {
    return InvalidArgument("RotaryEmbedding takes an input of rank 3 or 4, got ",
                           context.InputText(0));
  }
  if (x.ranked && x.rank() == 3 && context.node().Int("num_heads", 0) < 1) {
    return InvalidArgument("RotaryEmbedding of rank 3 needs 'num_heads'");
  }
  const int64_t rotated = context.node().Int("rotary_embedding_dim", 0);
  if (rotated < 0 || rotated % 2 != 0) {
    return InvalidArgument("RotaryEmbedding turns pairs: 'rotary_embedding_dim' is even, got ",
                           rotated);
  }
  const bool by_position = context.has_input(3);
  if (by_position) HR_RETURN_IF_ERROR(context.ExpectIndices(3));
  for (size_t i : {1, 2}) HR_RETURN_IF_ERROR(context.ExpectRank(i, by_position ? 2 : 3));
  HR_RETURN_IF_ERROR(CheckPairs(context));
  return InferFloatingUnary(context);
}

// cos or sin as [batch, 1, positions, pairs].
ValueId Angles(ComposeContext& c, size_t i) {
  ValueId value = c.input(i);
  if (c.input(3) != kNone) value = c.Emit("Gather", {value, c.input(3)});
  return c.Unsqueeze(value, 1);
}

// Pairs are neighbours, or the same places of both halves.
std::array<ValueId, 2> PairsOf(ComposeContext& c, ValueId x, bool neighbours) {
  if (neighbours) {
    const ValueId sizes[] = {c.Int(0), c.Int(0), c.Int(0), c.Int(-1), c.Int(2)};
    x = c.Reshape(x, sizes);
  }
  auto parts = c.EmitMany(kOnnx, "Split", std::span(&x, 1), 2,
                          graph::Attributes({{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}}));
  if (!neighbours) return {parts[0], parts[1]};
  return {c.Emit("Squeeze", {parts[0], c.Int(-1)}), c.Emit("Squeeze", {parts[1], c.Int(-1)})};
}

ValueId FromPairs(ComposeContext& c, std::array<ValueId, 2> parts, bool neighbours) {
  if (!neighbours) return c.Concat(parts, -1);
  for (ValueId& part : parts) part = c.Unsqueeze(part, -1);
  const ValueId sizes[] = {c.Int(0), c.Int(0), c.Int(0), c.Int(-1)};
  return c.Reshape(c.Concat(parts, -1), sizes);
}

void ComposeRotary(ComposeContext& c) {
  const bool neighbours = c.node().Int("interleaved", 0) != 0;
  const int64_t turned = c.node().Int("rotary_embedding_dim", 0);
  const bool joined = c.Rank(c.input(0)) == 3;
  const ValueId x = SplitHeads(c, c.input(0), c.node().Int("num_heads", 0));
  const ValueId first = turned == 0 ? x : c.Slice(x, 3, c.Int(0), c.Int(turned));
  const ValueId cos = Angles(c, 1), sin = Angles(c, 2);
  const auto [a, b] = PairsOf(c, first, neighbours);
  ValueId y = FromPairs(
      c, {c.Sub(c.Mul(cos, a), c.Mul(sin, b)), c.Add(c.Mul(sin, a), c.Mul(cos, b))}, neighbours);
  if (turned != 0) {
    y = c.Concat(std::array{y, c.Slice(x, 3, c.Int(turned), c.Int(INT64_MAX))}, 3);
  }
  c.SetOutput(0, joined ? JoinHeads(c, y) : y);
}

constexpr OpDef kAttentionOps[] = {
    // Version 24 adds the lengths of the keys.
    {.domain = kOnnx,
     .name = "Attention",
     .since_version = 23,
     .inputs = {3, 7},
     .outputs = {1, 4},
     .attributes = kAttentionAttributes,
     .infer = InferAttention,
     .compose = ComposeAttention},
    {.domain = kOnnx,
     .name = "RotaryEmbedding",
     .since_version = 23,
     .inputs = {3, 4},
     .attributes = kRotaryAttributes,
     .infer = InferRotary,
     .compose = ComposeRotary},
};

}  // namespace

OpFamily AttentionOps() { return Chosen<kAttentionOps>(); }

}  // namespace hr::ops
