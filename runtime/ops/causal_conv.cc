// CausalConvWithState: a convolution of each channel by itself that looks back only, over the
// sequence behind what was carried over.
#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kActivation[] = {{"activation", AttributeKind::kString}};

// What the shapes of x [n, channels, length], weight [channels, 1, k], bias [channels] and past
// [n, channels, k - 1] have in common.
struct Sizes {
  Dim batch, channels, length, carried;

  Status Match(const InferContext& context, size_t i, std::initializer_list<Dim*> dims) {
    if (!context.has_input(i)) return {};
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
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
};

Status InferCausalConv(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  const std::string_view activation = context.node().String("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return InvalidArgument("CausalConvWithState's 'activation' is none, silu or swish, got '",
                           activation, "'");
  }
  Sizes sizes;
  Dim one = FixedDim(1), kernel;
  HR_RETURN_IF_ERROR(sizes.Match(context, 0, {&sizes.batch, &sizes.channels, &sizes.length}));
  HR_RETURN_IF_ERROR(sizes.Match(context, 1, {&sizes.channels, &one, &kernel}));
  if (kernel.fixed() && kernel.size < 1) {
    return InvalidArgument("CausalConvWithState wants a kernel of 1 or more, got ",
                           context.InputText(1));
  }
  if (kernel.fixed()) sizes.carried = FixedDim(kernel.size - 1);
  HR_RETURN_IF_ERROR(sizes.Match(context, 2, {&sizes.channels}));
  HR_RETURN_IF_ERROR(sizes.Match(context, 3, {&sizes.batch, &sizes.channels, &sizes.carried}));
  const DType dtype = context.input(0).dtype;
  SetDims(context, 0, dtype, {sizes.batch, sizes.channels, sizes.length});
  SetDims(context, 1, dtype, {sizes.batch, sizes.channels, sizes.carried});
  return {};
}

// Zeros in the place of a past: as many as the kernel looks back.
ValueId NoPast(ComposeContext& c, ValueId x, ValueId weight) {
  if (c.Rank(x) != 3 || c.Rank(weight) != 3) return kNone;
  const Dim kernel = c.type(weight).dims[2];
  const ValueId back =
      kernel.fixed() ? c.Int(kernel.size - 1) : c.Sub(c.DimOf(weight, 2), c.Int(1));
  const ValueId n = c.DimOf(x, 0), channels = c.DimOf(x, 1);
  std::vector<int64_t> known;
  for (ValueId size : {n, channels, back}) {
    if (const auto value = c.ConstantInts(size)) known.push_back((*value)[0]);
  }
  const ValueId shape = known.size() == 3 ? c.Ints(known) : c.Joined(std::array{n, channels, back});
  return c.Emit("Expand", {c.Scalar(0, x), shape});
}

// The sum over the places of the kernel, each a slice of the sequence.
ValueId SumOfSlices(ComposeContext& c, ValueId whole, ValueId weight, int64_t kernel) {
  ValueId sum = kNone;
  for (int64_t k = 0; k < kernel; ++k) {
    const int64_t end = k + 1 < kernel ? k + 1 - kernel : INT64_MAX;
    const ValueId slice = c.Emit("Slice", {whole, c.Int(k), c.Int(end), c.Int(2)});
    const ValueId place = c.Emit("Slice", {weight, c.Int(k), c.Int(k + 1), c.Int(2)});
    const ValueId product = c.Mul(slice, c.Emit("Squeeze", {place, c.Int(1)}));
    sum = sum == kNone ? product : c.Add(sum, product);
  }
  return sum;
}

// The same for a kernel whose length is not known yet: all windows by the weights.
ValueId ProductOfWindows(ComposeContext& c, ValueId whole, ValueId weight, ValueId x) {
  const auto range = [&](ValueId value) {
    const ValueId zero = c.Emit("Squeeze", {c.Int(0)}), one = c.Emit("Squeeze", {c.Int(1)});
    return c.Emit("Range", {zero, c.Emit("Squeeze", {c.DimOf(value, 2)}), one});
  };
  const ValueId places = c.Add(c.Emit("Unsqueeze", {range(x), c.Int(1)}), range(weight));
  const ValueId windows = c.Emit("Gather", {whole, places}, {{"axis", int64_t{2}}});
  const ValueId column = c.Transpose(weight, {0, 2, 1});
  return c.Emit("Squeeze", {c.Emit("MatMul", {windows, column}), c.Int(3)});
}

void ComposeCausalConv(ComposeContext& c) {
  const DType given = c.type(c.input(0)).dtype;
  const DType wide = given == DType::kFloat64 ? given : DType::kFloat32;
  const ValueId x = c.Cast(c.input(0), wide), weight = c.Cast(c.input(1), wide);
  const ValueId past = c.input(3) == kNone ? NoPast(c, x, weight) : c.Cast(c.input(3), wide);
  const ValueId whole = c.Emit("Concat", {past, x}, {{"axis", int64_t{2}}});
  if (c.Rank(x) != 3 || c.Rank(weight) != 3) return;
  const ValueId state = c.Emit("Slice", {whole, c.DimOf(x, 2), c.Int(INT64_MAX), c.Int(2)});
  const Dim kernel = c.type(weight).dims[2];
  ValueId y = kernel.fixed() ? SumOfSlices(c, whole, weight, kernel.size)
                             : ProductOfWindows(c, whole, weight, x);
  if (c.input(2) != kNone) {
    y = c.Add(y, c.Emit("Unsqueeze", {c.Cast(c.input(2), wide), c.Int(1)}));
  }
  if (c.node().String("activation", "none") != "none") y = c.Mul(y, c.Emit("Sigmoid", {y}));
  c.SetOutput(0, c.Cast(y, given));
  c.SetOutput(1, c.Cast(state, given));
}

constexpr OpDef kCausalConvOps[] = {
    // (x, weight, bias?, past_state?) → (y, present_state?)
    {.domain = kOnnx,
     .name = "CausalConvWithState",
     .since_version = 27,
     .inputs = {2, 4},
     .outputs = {1, 2},
     .attributes = kActivation,
     .infer = InferCausalConv,
     .compose = ComposeCausalConv},
};

}  // namespace

OpFamily CausalConvOps() { return Chosen<kCausalConvOps>(); }

}  // namespace hr::ops
