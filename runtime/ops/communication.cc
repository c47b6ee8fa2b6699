// Operations of groups of processes, with MPI's and NCCL's names. All ranks of the group run the
// same ones in the same order, which the effects on the group keep; the attribute "group" names it,
// and hr_session_bind_group says which it is. Their gradients are the adjoint operations.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kGroup = {"group", AttributeKind::kString, true,
                                 Changes(ResourceKind::kGroup)};
constexpr AttributeDef kReduction = {"op", AttributeKind::kString};
constexpr AttributeDef kRoot = {"root", AttributeKind::kInt};
constexpr AttributeDef kRanks = {"ranks", AttributeKind::kInt, true};
constexpr AttributeDef kTag = {"tag", AttributeKind::kInt};
constexpr AttributeDef kOverlap = {"overlap", AttributeKind::kString};

constexpr AttributeDef kPlain[] = {kGroup, kOverlap};
constexpr AttributeDef kAllReduce[] = {
    kGroup, kReduction, {"weighted", AttributeKind::kInt}, kOverlap};
constexpr AttributeDef kReduce[] = {kGroup, kReduction, kRoot, kOverlap};
constexpr AttributeDef kBroadcast[] = {kGroup, kRoot, kOverlap};
constexpr AttributeDef kGathered[] = {kGroup, kRanks, kOverlap};
constexpr AttributeDef kScattered[] = {kGroup, kRanks, kReduction, kOverlap};
constexpr AttributeDef kSend[] = {kGroup, {"to", AttributeKind::kInt, true}, kTag, kOverlap};
constexpr AttributeDef kRecv[] = {kGroup,
                                  {"from", AttributeKind::kInt, true},
                                  {"dtype", AttributeKind::kInt, true},
                                  {"shape", AttributeKind::kInts, true},
                                  kTag,
                                  kOverlap};

Status CheckReduction(const InferContext& context) {
  const std::string_view op = context.node().String("op", "sum");
  if (IsOneOf(op, {"sum", "average", "product", "min", "max"})) return {};
  return InvalidArgument(context.def().name,
                         "'s 'op' is one of sum, average, product, min, max; got '", op, "'");
}

// The inputs that are reduced or sent: all but a weight.
size_t Operands(const Node& node) {
  return node.inputs.size() - (node.Int("weighted", 0) != 0 ? 1 : 0);
}

// Each output is like its input. All have one type, so that one operation moves them.
Status InferAlike(InferContext& context) {
  const size_t count = Operands(context.node());
  if (count == 0 || context.output_count() != count) {
    return InvalidArgument(context.def().name, " has an output for each input, got ", count,
                           " inputs and ", context.output_count(), " outputs");
  }
  for (size_t i = 0; i < count; ++i) {
    HR_RETURN_IF_ERROR(context.ExpectNumeric(i));
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    context.SetOutput(i, context.input(i));
  }
  return {};
}

Status InferAllReduce(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckReduction(context));
  HR_RETURN_IF_ERROR(InferAlike(context));
  if (context.node().Int("weighted", 0) == 0) return {};
  const size_t weight = Operands(context.node());
  if (context.node().String("op", "sum") != "sum" || !IsFloating(context.input(0).dtype)) {
    return InvalidArgument("a weighted AllReduce is a sum of floating-point numbers");
  }
  HR_RETURN_IF_ERROR(context.ExpectDType(weight, {DType::kFloat32, DType::kFloat64}));
  return context.ExpectRank(weight, 0);
}

Status InferReduce(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckReduction(context));
  return InferNumericUnary(context);
}

Result<int64_t> RanksOf(const InferContext& context) {
  const int64_t ranks = context.node().Int("ranks", 0);
  if (ranks < 1) {
    return InvalidArgument(context.def().name, "'s 'ranks', the size of its group, is 1 or more; ",
                           "got ", ranks);
  }
  return ranks;
}

// The blocks of all ranks, one after the other along the first axis.
Status InferAllGather(InferContext& context) {
  HR_ASSIGN_OR_RETURN(const int64_t ranks, RanksOf(context));
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 1));
  ValueType out = context.input(0);
  if (out.ranked) {
    const graph::Dim first = out.dims[0];
    out.dims[0] = first.fixed() ? graph::Dim{.size = first.size * ranks} : graph::Dim{};
  }
  context.SetOutput(0, std::move(out));
  return {};
}

// This rank's block along the first axis.
Status InferReduceScatter(InferContext& context) {
  HR_ASSIGN_OR_RETURN(const int64_t ranks, RanksOf(context));
  HR_RETURN_IF_ERROR(CheckReduction(context));
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 1));
  ValueType out = context.input(0);
  if (out.ranked) {
    const graph::Dim first = out.dims[0];
    if (first.fixed() && first.size % ranks != 0) {
      return InvalidArgument("ReduceScatter divides the first axis of ", context.InputText(0),
                             " among ", ranks, " ranks, which it is no multiple of");
    }
    out.dims[0] = first.fixed() ? graph::Dim{.size = first.size / ranks} : graph::Dim{};
  }
  context.SetOutput(0, std::move(out));
  return {};
}

Status InferAllToAll(InferContext& context) {
  HR_ASSIGN_OR_RETURN(const int64_t ranks, RanksOf(context));
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 1));
  const ValueType& x = context.input(0);
  if (x.ranked && x.dims[0].fixed() && x.dims[0].size % ranks != 0) {
    return InvalidArgument("AllToAll divides the first axis of ", context.InputText(0), " among ",
                           ranks, " ranks, which it is no multiple of");
  }
  context.SetOutput(0, x);
  return {};
}

Status InferSend(InferContext& context) {
  if (context.output_count() == 0) return context.ExpectNumeric(0);
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  context.SetOutput(0, ValueType::Tensor(context.input(0).dtype, {}));
  return {};
}

Status InferRecv(InferContext& context) {
  const auto dtype = static_cast<DType>(context.node().Int("dtype", 0));
  const auto shape = context.node().Ints("shape");
  if (!IsSupported(dtype)) {
    return InvalidArgument("Recv's 'dtype' is ", context.node().Int("dtype", 0),
                           ", which is no type of tensors");
  }
  auto elements = CheckedElementCount(shape);
  if (!elements.ok()) return std::move(elements).status().WithContext("Recv's 'shape'");
  context.SetOutput(0, ValueType::Tensor(dtype, Dims(shape.begin(), shape.end())));
  return {};
}

Status InferNothing(InferContext&) { return {}; }

std::vector<graph::Attribute> GroupOf(const GradientContext& g) {
  return graph::Attributes({{"group", g.node().String("group", "")}});
}

// The adjoint of one value, by an operation with the attributes.
void SetAdjoint(GradientContext& g, std::string_view name,
                std::vector<graph::Attribute> attributes) {
  if (g.grad(0) == kNone || !g.wants(0)) return;
  g.SetGrad(0, g.EmitMany(kComm, name, std::vector{g.grad(0)}, 1, std::move(attributes))[0]);
}

bool IsLinear(GradientContext& g) {
  const std::string_view op = g.node().String("op", "sum");
  if (op == "sum" || op == "average") return true;
  g.Fail(Unimplemented(g.def().name, " has a gradient with op sum and average, not with ", op));
  return false;
}

// The transpose of a sum over ranks is that sum; a weight scales what this rank gave. The weight
// has no gradient.
void AllReduceGradient(GradientContext& g) {
  if (!IsLinear(g)) return;
  const size_t count = Operands(g.node());
  const bool weighted = count != g.input_count();
  std::vector<ValueId> grads;
  for (size_t i = 0; i < count; ++i) {
    grads.push_back(g.grad(i) == kNone ? g.ZerosLike(g.input(i)) : g.grad(i));
  }
  auto attributes = GroupOf(g);
  graph::Append(&attributes, {"op", g.node().String("op", "sum")});
  const auto sums = g.EmitMany(kComm, "AllReduce", grads, count, std::move(attributes));
  for (size_t i = 0; i < count && i < sums.size(); ++i) {
    if (!g.wants(i)) continue;
    g.SetGrad(i, weighted ? g.Mul(sums[i], g.CastLike(g.input(count), sums[i])) : sums[i]);
  }
}

// What all ranks got came from the root, which gets the sum of their gradients; others get zeros.
void BroadcastGradient(GradientContext& g) {
  for (size_t i = 0; i < g.input_count(); ++i) {
    if (g.grad(i) == kNone || !g.wants(i)) continue;
    auto attributes = GroupOf(g);
    graph::Append(&attributes, {"root", g.node().Int("root", 0)});
    g.SetGrad(i, g.EmitMany(kComm, "Reduce", std::vector{g.grad(i)}, 1, std::move(attributes))[0]);
  }
}

void ReduceGradient(GradientContext& g) {
  if (!IsLinear(g)) return;
  if (g.node().String("op", "sum") == "average") {
    return g.Fail(Unimplemented("Reduce has a gradient with op sum, not with average"));
  }
  auto attributes = GroupOf(g);
  graph::Append(&attributes, {"root", g.node().Int("root", 0)});
  SetAdjoint(g, "Broadcast", std::move(attributes));
}

std::vector<graph::Attribute> WithRanks(const GradientContext& g) {
  auto attributes = GroupOf(g);
  graph::Append(&attributes, {"ranks", g.node().Int("ranks", 1)});
  return attributes;
}

void AllGatherGradient(GradientContext& g) { SetAdjoint(g, "ReduceScatter", WithRanks(g)); }

void ReduceScatterGradient(GradientContext& g) {
  if (!IsLinear(g) || g.grad(0) == kNone || !g.wants(0)) return;
  const bool average = g.node().String("op", "sum") == "average";
  const double factor = average ? 1.0 / static_cast<double>(g.node().Int("ranks", 1)) : 1;
  const ValueId all = g.EmitMany(kComm, "AllGather", std::vector{g.grad(0)}, 1, WithRanks(g))[0];
  g.SetGrad(0, g.Scale(all, factor));
}

std::vector<graph::Attribute> MessageOf(const GradientContext& g, Literal end, Literal peer) {
  auto attributes = GroupOf(g);
  graph::Append(&attributes, {end, g.node().Int(peer, 0)});
  graph::Append(&attributes, {"tag", g.node().Int("tag", 0)});
  return attributes;
}

// What was sent counts by what the receiver computes with it: the gradient comes back from there.
// `sent` is 0, but in the loss it says that it counts.
void SendGradient(GradientContext& g) {
  if (g.grad(0) == kNone || !g.wants(0)) return;
  const ValueType& type = g.type(g.input(0));
  const auto dims = type.FixedDims();
  if (!dims)
    return g.Fail(Unimplemented("Send has a gradient if it sends a tensor of known shape"));
  auto attributes = MessageOf(g, "from", "to");
  graph::Append(&attributes, {"dtype", static_cast<int64_t>(type.dtype)});
  graph::Append(&attributes, {"shape", std::span<const int64_t>(*dims)});
  const ValueId received = g.EmitMany(kComm, "Recv", {}, 1, std::move(attributes))[0];
  g.SetGrad(0, g.Mul(received, g.grad(0)));
}

// The gradient goes back to where the value came from. That of the input, on which the value does
// not depend, is 0; who asks for it lets the gradient be sent.
void RecvGradient(GradientContext& g) {
  if (g.grad(0) == kNone || !g.wants(0)) return;
  const ValueId sent =
      g.EmitMany(kComm, "Send", std::vector{g.grad(0)}, 1, MessageOf(g, "to", "from"))[0];
  const ValueId same_type = g.CastLike(sent, g.input(0));
  g.SetGrad(0, g.Add(g.ZerosLike(g.input(0)), same_type));
}

void AllToAllGradient(GradientContext& g) { SetAdjoint(g, "AllToAll", WithRanks(g)); }

constexpr OpDef kCommunicationOps[] = {
    // (x…, weight?) → y…: each the reduction of all ranks' x, of weight * x with weighted=1.
    {.domain = kComm,
     .name = "AllReduce",
     .inputs = {1, kUnlimited},
     .outputs = {1, kUnlimited},
     .attributes = kAllReduce,
     .infer = InferAllReduce,
     .gradient = AllReduceGradient},
    // (x) → y: the reduction on the rank `root`, zeros on the others.
    {.domain = kComm,
     .name = "Reduce",
     .attributes = kReduce,
     .infer = InferReduce,
     .gradient = ReduceGradient},
    // (x…) → y…: those of the rank `root`.
    {.domain = kComm,
     .name = "Broadcast",
     .inputs = {1, kUnlimited},
     .outputs = {1, kUnlimited},
     .attributes = kBroadcast,
     .infer = InferAlike,
     .gradient = BroadcastGradient},
    // (x) → y: those of all ranks, one after the other along the first axis.
    {.domain = kComm,
     .name = "AllGather",
     .attributes = kGathered,
     .infer = InferAllGather,
     .gradient = AllGatherGradient},
    // (x) → y: this rank's block of the reduction, of `ranks` blocks along the first axis.
    {.domain = kComm,
     .name = "ReduceScatter",
     .attributes = kScattered,
     .infer = InferReduceScatter,
     .gradient = ReduceScatterGradient},
    // (x) → y: block i of x goes to rank i, block i of y comes from it.
    {.domain = kComm,
     .name = "AllToAll",
     .attributes = kGathered,
     .infer = InferAllToAll,
     .gradient = AllToAllGradient},
    // (x) → y: the sum of the x of all ranks before this one, zeros on rank 0.
    {.domain = kComm, .name = "Exscan", .attributes = kPlain, .infer = InferNumericUnary},
    // (x) → sent []?: 0, on which x's gradient depends.
    {.domain = kComm,
     .name = "Send",
     .inputs = {1, 1},
     .outputs = {0, 1},
     .attributes = kSend,
     .infer = InferSend,
     .gradient = SendGradient},
    // (after?) → y: `after` is anything whose gradient is asked for; y's is sent back then.
    {.domain = kComm,
     .name = "Recv",
     .inputs = {0, 1},
     .type_only_inputs = 1,
     .attributes = kRecv,
     .infer = InferRecv,
     .gradient = RecvGradient},
    {.domain = kComm,
     .name = "Barrier",
     .inputs = {0, 0},
     .outputs = {0, 0},
     .attributes = kPlain,
     .infer = InferNothing},
};

}  // namespace

OpFamily CommunicationOps() { return Chosen<kCommunicationOps>(); }

}  // namespace hr::ops
