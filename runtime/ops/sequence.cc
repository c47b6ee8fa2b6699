// Moving parts of sequences: reversing them, and writing them into caches.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kReverseAttributes[] = {{"batch_axis", AttributeKind::kInt},
                                               {"time_axis", AttributeKind::kInt}};
constexpr AttributeDef kTensorScatterAttributes[] = {{"axis", AttributeKind::kInt},
                                                     {"mode", AttributeKind::kString}};

// Input i is int64 and has one element for each entry of `axis` of input 0.
Status MatchBatch(const InferContext& context, size_t i, size_t axis) {
  if (!context.has_input(i)) return {};
  HR_RETURN_IF_ERROR(context.ExpectInts(i));
  if (!context.input(0).ranked || !context.input(i).ranked) return {};
  return EqualDims(context, Cat("the batch and ", context.InputText(i)),
                   context.input(0).dims[axis], context.input(i).dims[0])
      .status();
}

Status InferReverseSequence(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 2));
  const int64_t batch = context.node().Int("batch_axis", 1);
  const int64_t time = context.node().Int("time_axis", 0);
  if (batch + time != 1 || batch * time != 0) {
    return InvalidArgument(
        "ReverseSequence's 'batch_axis' and 'time_axis' are 0 and 1, or 1 and "
        "0, got ",
        batch, " and ", time);
  }
  HR_RETURN_IF_ERROR(MatchBatch(context, 1, static_cast<size_t>(batch)));
  return InferSameAsInput(context);
}

void ReverseSequenceGradient(GradientContext& g) {
  const int64_t batch = g.node().Int("batch_axis", 1), time = g.node().Int("time_axis", 0);
  g.SetGrad(0, g.Emit("ReverseSequence", {g.grad(0), g.input(1)},
                      {{"batch_axis", batch}, {"time_axis", time}}));
}

// Inputs `cache` and 1 agree but for the sequence axis, along which that of input 1 is not longer.
Status CheckScatter(const InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 2));
  const std::string_view mode = context.node().String("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return InvalidArgument(context.def().name, "'s 'mode' is linear or circular, got '", mode, "'");
  }
  HR_RETURN_IF_ERROR(MatchBatch(context, 2, 0));
  const ValueType &cache = context.input(0), &update = context.input(1);
  if (!cache.ranked) return {};
  HR_ASSIGN_OR_RETURN(const int64_t axis,
                      ResolveAxis(context, context.node().Int("axis", -2), cache.rank()));
  if (axis == 0) {
    return InvalidArgument(context.def().name, "'s 'axis' is not the batch's, got ",
                           context.node().Int("axis", -2), " for ", context.Text(cache));
  }
  HR_RETURN_IF_ERROR(context.ExpectRank(1, cache.rank()));
  for (size_t d = 0; update.ranked && d < cache.dims.size(); ++d) {
    if (static_cast<int64_t>(d) == axis) continue;
    HR_RETURN_IF_ERROR(
        EqualDims(context, Cat("axes ", d, " of the inputs"), cache.dims[d], update.dims[d])
            .status());
  }
  if (!update.ranked) return {};
  const Dim length = cache.dims[static_cast<size_t>(axis)];
  const Dim written = update.dims[static_cast<size_t>(axis)];
  if (!length.fixed() || !written.fixed() || written.size <= length.size) return {};
  return InvalidArgument(context.def().name, " writes ", written.size, " positions of ",
                         context.InputText(1), " into ", length.size, " of ", context.InputText(0));
}

Status InferTensorScatter(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckScatter(context));
  return InferSameAsInput(context);
}

void TensorScatterGradient(GradientContext& g) {
  const int64_t axis = g.node().Int("axis", -2);
  const std::string mode(g.node().String("mode", "linear"));
  if (g.wants(0)) {
    g.SetGrad(0, g.Emit("TensorScatter", {g.grad(0), g.ZerosLike(g.input(1)), g.input(2)},
                        {{"axis", axis}, {"mode", std::string_view(mode)}}));
  }
  if (g.wants(1)) {
    g.SetGrad(1, g.EmitGradAlike("TensorScatterGrad", {g.grad(0), g.input(1), g.input(2)}));
  }
}

Status InferTensorScatterGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckScatter(context));
  return InferLikeInput<1>(context);
}

constexpr OpDef kSequenceOps[] = {
    // (x, sequence_lens [batch])
    {.domain = kOnnx,
     .name = "ReverseSequence",
     .since_version = 10,
     .inputs = {2, 2},
     .attributes = kReverseAttributes,
     .infer = InferReverseSequence,
     .gradient = ReverseSequenceGradient},
    // (past_cache, update, write_indices [batch]?) → present_cache
    {.domain = kOnnx,
     .name = "TensorScatter",
     .since_version = 24,
     .inputs = {2, 3},
     .attributes = kTensorScatterAttributes,
     .infer = InferTensorScatter,
     .gradient = TensorScatterGradient},
    // (dy, update, write_indices?) → dupdate; of update only the type is used
    {.domain = kGrad,
     .name = "TensorScatterGrad",
     .inputs = {2, 3},
     .type_only_inputs = 1u << 1,
     .attributes = kTensorScatterAttributes,
     .infer = InferTensorScatterGrad},
};

}  // namespace

OpFamily SequenceOps() { return Chosen<kSequenceOps>(); }

}  // namespace hr::ops
