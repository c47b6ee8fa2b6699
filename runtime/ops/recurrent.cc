// RNN, GRU and LSTM over whole sequences.
#include "runtime/ops/recurrent.h"

#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

#define HR_RECURRENT_ATTRIBUTES                                                              \
  {"activation_alpha", AttributeKind::kFloats}, {"activation_beta", AttributeKind::kFloats}, \
      {"activations", AttributeKind::kStrings}, {"clip", AttributeKind::kFloat},             \
      {"direction", AttributeKind::kString}, {                                               \
    "hidden_size", AttributeKind::kInt                                                       \
  }
// What a cell has of its own comes last but one, and last the layout, which is younger.
constexpr AttributeDef kRnnAttributes[] = {HR_RECURRENT_ATTRIBUTES,
                                           {"layout", AttributeKind::kInt}};
constexpr AttributeDef kGruAttributes[] = {HR_RECURRENT_ATTRIBUTES,
                                           {"linear_before_reset", AttributeKind::kFlag},
                                           {"layout", AttributeKind::kInt}};
constexpr AttributeDef kLstmAttributes[] = {HR_RECURRENT_ATTRIBUTES,
                                            {"input_forget", AttributeKind::kFlag},
                                            {"layout", AttributeKind::kInt}};
#undef HR_RECURRENT_ATTRIBUTES

constexpr std::span<const AttributeDef> WithoutLayout(std::span<const AttributeDef> attributes) {
  return attributes.first(attributes.size() - 1);
}

// Learns the sizes of a node from its inputs, which must agree.
class RecurrentSizes {
 public:
  // `x`: the place of the input x, which w and r follow.
  static Result<RecurrentSizes> Of(const InferContext& context, const RecurrentOptions& options,
                                   size_t x) {
    RecurrentSizes out;
    HR_RETURN_IF_ERROR(out.ReadHidden(context));
    out.directions = FixedDim(static_cast<int64_t>(options.directions.size()));
    Dim rows[2];
    Dim gates;
    HR_RETURN_IF_ERROR(Match(context, x, {&rows[0], &rows[1], &out.input}));
    HR_RETURN_IF_ERROR(Match(context, x + 1, {&out.directions, &gates, &out.input}));
    HR_RETURN_IF_ERROR(Match(context, x + 2, {&out.directions, &gates, &out.hidden}));
    if (gates.fixed() && !out.hidden.fixed() && gates.size % options.gates() == 0) {
      out.hidden = FixedDim(gates.size / options.gates());
    }
    HR_ASSIGN_OR_RETURN(out.gates, Times(context, out.hidden, options.gates()));
    HR_RETURN_IF_ERROR(
        EqualDims(context, Cat("rows of ", context.InputText(x + 1)), out.gates, gates).status());
    if (out.hidden.fixed() && out.hidden.size < 1) {
      return InvalidArgument(context.def().name, " wants a hidden size of 1 or more, got ",
                             out.hidden.size);
    }
    out.steps = rows[options.batch_first ? 1 : 0];
    out.batch = rows[options.batch_first ? 0 : 1];
    return out;
  }

  // Checks that input i has these dimensions, as far as both are known, and takes over what is
  // better known.
  static Status Match(const InferContext& context, size_t i, std::initializer_list<Dim*> dims) {
    if (!context.has_input(i)) return {};
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    return MatchDims(context, i, dims);
  }
  static Status MatchDims(const InferContext& context, size_t i, std::initializer_list<Dim*> dims) {
    HR_RETURN_IF_ERROR(context.ExpectRank(i, static_cast<int64_t>(dims.size())));
    if (!context.input(i).ranked) return {};
    size_t axis = 0;
    for (Dim* dim : dims) {
      HR_ASSIGN_OR_RETURN(*dim, EqualDims(context, Cat("axis ", axis, " of ", context.InputText(i)),
                                          *dim, context.input(i).dims[axis]));
      ++axis;
    }
    return {};
  }
  static Result<Dim> Times(const InferContext& context, Dim dim, int64_t factor) {
    return Product(context, std::array{dim, FixedDim(factor)});
  }

  // [directions, batch, hidden], in the node's layout.
  std::vector<Dim> State(bool batch_first) const {
    if (batch_first) return {batch, directions, hidden};
    return {directions, batch, hidden};
  }
  Status MatchState(const InferContext& context, size_t i, bool batch_first) {
    Dim* const first = batch_first ? &batch : &directions;
    return Match(context, i, {first, batch_first ? &directions : &batch, &hidden});
  }
  std::vector<Dim> Outputs(bool batch_first) const {
    if (batch_first) return {batch, steps, directions, hidden};
    return {steps, directions, batch, hidden};
  }
  Result<std::vector<Dim>> Record(const InferContext& context,
                                  const RecurrentOptions& options) const {
    HR_ASSIGN_OR_RETURN(const Dim row, Times(context, hidden, RecordParts(options.cell)));
    std::vector<Dim> out = {directions, steps, batch, row};
    if (options.batch_first) std::swap(out[1], out[2]);
    // Kernels have scratch memory of this many elements, even if nobody asks for the record.
    constexpr int64_t kMostBytes = 16;
    HR_RETURN_IF_ERROR(
        Product(context, std::array{steps, batch, row, FixedDim(kMostBytes)}).status());
    return out;
  }
  // Checks that input i has dimensions that are known by now.
  static Status MatchKnown(const InferContext& context, size_t i, std::vector<Dim> dims) {
    if (!context.has_input(i)) return {};
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    return MatchDims(context, i, {&dims[0], &dims[1], &dims[2], &dims[3]});
  }

  Dim directions, steps, batch, input, hidden, gates;

 private:
  Status ReadHidden(const InferContext& context) {
    if (context.node().Find("hidden_size") == nullptr) return {};
    hidden = FixedDim(context.node().Int("hidden_size", 0));
    if (hidden.size >= 1) return {};
    return InvalidArgument(context.def().name, "'s 'hidden_size' is 1 or more, got ", hidden.size);
  }
};

// The optional inputs behind x, w, r and perhaps the bias.
Status MatchStates(const InferContext& context, const RecurrentOptions& options, size_t lengths,
                   RecurrentSizes* sizes) {
  if (context.has_input(lengths)) {
    HR_RETURN_IF_ERROR(context.ExpectDType(lengths, {DType::kInt32}));
    HR_RETURN_IF_ERROR(RecurrentSizes::MatchDims(context, lengths, {&sizes->batch}));
  }
  HR_RETURN_IF_ERROR(sizes->MatchState(context, lengths + 1, options.batch_first));
  if (options.cell != RecurrentCell::kLstm) return {};
  HR_RETURN_IF_ERROR(sizes->MatchState(context, lengths + 2, options.batch_first));
  HR_ASSIGN_OR_RETURN(Dim peepholes, RecurrentSizes::Times(context, sizes->hidden, 3));
  return RecurrentSizes::Match(context, lengths + 3, {&sizes->directions, &peepholes});
}

Status InferRecurrent(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_ASSIGN_OR_RETURN(const RecurrentOptions options,
                      ResolveRecurrent(context.def().name, context.node()));
  HR_ASSIGN_OR_RETURN(RecurrentSizes sizes, RecurrentSizes::Of(context, options, 0));
  HR_ASSIGN_OR_RETURN(Dim biases, RecurrentSizes::Times(context, sizes.gates, 2));
  HR_RETURN_IF_ERROR(RecurrentSizes::Match(context, 3, {&sizes.directions, &biases}));
  HR_RETURN_IF_ERROR(MatchStates(context, options, 4, &sizes));
  const RecurrentPlaces& places = PlacesOf(options.cell);
  const DType dtype = context.input(0).dtype;
  SetDims(context, 0, dtype, sizes.Outputs(options.batch_first));
  SetDims(context, 1, dtype, sizes.State(options.batch_first));
  if (places.y_c != kNoPlace) SetDims(context, 2, dtype, sizes.State(options.batch_first));
  HR_ASSIGN_OR_RETURN(auto&& record, sizes.Record(context, options));
  SetDims(context, places.record, dtype, std::move(record));
  return {};
}

void RecurrentGradient(GradientContext& g) {
  const RecurrentCell cell = CellOf(g.def().name);
  const RecurrentPlaces& places = PlacesOf(cell);
  const bool lstm = cell == RecurrentCell::kLstm;
  std::vector<ValueId> inputs = {
      g.RequireOutput(places.record), g.input(0), g.input(1), g.input(2), g.input(4), g.input(5)};
  if (lstm) inputs.insert(inputs.end(), {g.input(6), g.input(7)});
  inputs.insert(inputs.end(), {g.grad(0), g.grad(1)});
  if (lstm) inputs.push_back(g.grad(2));
  const size_t outputs = g.wants(0) ? places.dx + 1 : places.dx;
  const Literal name = lstm                          ? Literal("LSTMGrad")
                       : cell == RecurrentCell::kGru ? Literal("GRUGrad")
                                                     : Literal("RNNGrad");
  const auto grads = g.EmitMany(kGrad, name, inputs, outputs, g.node().attributes);
  if (!g.ok()) return;
  if (g.wants(0)) g.SetGrad(0, grads[places.dx]);
  for (size_t i : {1, 2, 3}) {
    if (g.wants(i)) g.SetGrad(i, grads[i - 1]);
  }
  for (size_t i = 5; i <= 7; ++i) {
    if (g.wants(i)) g.SetGrad(i, grads[i - 2]);
  }
}

Status InferRecurrentGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_ASSIGN_OR_RETURN(const RecurrentOptions options,
                      ResolveRecurrent(context.def().name, context.node()));
  HR_ASSIGN_OR_RETURN(RecurrentSizes sizes, RecurrentSizes::Of(context, options, 1));
  HR_RETURN_IF_ERROR(MatchStates(context, options, 4, &sizes));
  const RecurrentPlaces& places = PlacesOf(options.cell);
  HR_ASSIGN_OR_RETURN(auto&& record, sizes.Record(context, options));
  HR_RETURN_IF_ERROR(RecurrentSizes::MatchKnown(context, 0, std::move(record)));
  HR_RETURN_IF_ERROR(
      RecurrentSizes::MatchKnown(context, places.dy, sizes.Outputs(options.batch_first)));
  for (size_t i : {places.dy_h, places.dy_c}) {
    HR_RETURN_IF_ERROR(sizes.MatchState(context, i, options.batch_first));
  }
  const DType dtype = context.input(0).dtype;
  context.SetOutput(0, context.input(2));
  context.SetOutput(1, context.input(3));
  HR_ASSIGN_OR_RETURN(const Dim biases, RecurrentSizes::Times(context, sizes.gates, 2));
  SetDims(context, 2, dtype, {sizes.directions, biases});
  SetDims(context, 3, dtype, sizes.State(options.batch_first));
  if (options.cell == RecurrentCell::kLstm) {
    SetDims(context, 4, dtype, sizes.State(options.batch_first));
    HR_ASSIGN_OR_RETURN(const Dim peepholes, RecurrentSizes::Times(context, sizes.hidden, 3));
    SetDims(context, 5, dtype, {sizes.directions, peepholes});
  }
  context.SetOutput(places.dx, context.input(1));
  return {};
}

constexpr OpDef Recurrent(Literal name, int version, Arity inputs, Arity outputs,
                          std::span<const AttributeDef> attributes) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = version,
          .inputs = inputs,
          .outputs = outputs,
          .attributes = attributes,
          .infer = InferRecurrent,
          .gradient = RecurrentGradient};
}
constexpr OpDef Grad(Literal name, Arity inputs, Arity outputs,
                     std::span<const AttributeDef> attributes) {
  return {.domain = kGrad,
          .name = name,
          .inputs = inputs,
          .outputs = outputs,
          .attributes = attributes,
          .infer = InferRecurrentGrad};
}

// RecurrentPlaces names the inputs and outputs. The record is ours: it is for the gradients.
// Version 7 has no layout.
constexpr OpDef kRecurrentOps[] = {
    Recurrent("RNN", 7, {3, 6}, {1, 3}, WithoutLayout(kRnnAttributes)),
    Recurrent("RNN", 14, {3, 6}, {1, 3}, kRnnAttributes),
    Recurrent("GRU", 7, {3, 6}, {1, 3}, WithoutLayout(kGruAttributes)),
    Recurrent("GRU", 14, {3, 6}, {1, 3}, kGruAttributes),
    Recurrent("LSTM", 7, {3, 8}, {1, 4}, WithoutLayout(kLstmAttributes)),
    Recurrent("LSTM", 14, {3, 8}, {1, 4}, kLstmAttributes),
    Grad("RNNGrad", {4, 8}, {4, 5}, kRnnAttributes),
    Grad("GRUGrad", {4, 8}, {4, 5}, kGruAttributes),
    Grad("LSTMGrad", {4, 11}, {6, 7}, kLstmAttributes),
};

}  // namespace

OpFamily RecurrentOps() { return Chosen<kRecurrentOps>(); }

}  // namespace hr::ops
