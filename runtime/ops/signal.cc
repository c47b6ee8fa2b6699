// Signals: Fourier transforms, windows, and weights of mel bands.
#include <array>
#include <limits>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr char kFourier[] = "FourierTransform";
constexpr double kPi = 3.14159265358979323846;

constexpr AttributeDef kDft17Attributes[] = {{"axis", AttributeKind::kInt},
                                             {"inverse", AttributeKind::kFlag},
                                             {"onesided", AttributeKind::kFlag}};
constexpr AttributeDef kDftAttributes[] = {{"inverse", AttributeKind::kFlag},
                                           {"onesided", AttributeKind::kFlag}};
constexpr AttributeDef kStftAttributes[] = {{"onesided", AttributeKind::kFlag}};
constexpr AttributeDef kFourierAttributes[] = {{"axis", AttributeKind::kInt, true},
                                               {"inverse", AttributeKind::kFlag}};
constexpr AttributeDef kWindowAttributes[] = {{"output_datatype", AttributeKind::kInt},
                                              {"periodic", AttributeKind::kFlag}};
constexpr AttributeDef kMelAttributes[] = {{"output_datatype", AttributeKind::kInt}};

// ---- Fourier transforms ----

// The number that a constant input holds; nothing while it is not known.
Result<std::optional<int64_t>> NumberOf(const InferContext& context, size_t i) {
  HR_RETURN_IF_ERROR(context.ExpectIndices(i));
  const auto given = context.ConstantInts(i);
  const std::optional<Dims> dims = context.input(i).FixedDims();
  const bool one = given ? given->size() == 1 : !dims || ElementCount(*dims) == 1;
  if (one) return given ? std::optional((*given)[0]) : std::optional<int64_t>();
  return InvalidArgument(context.def().name, " takes one number as ", context.InputText(i));
}

// The same, of a size.
Result<Dim> SizeOf(const InferContext& context, size_t i, Literal what, int64_t least) {
  HR_ASSIGN_OR_RETURN(const auto size, NumberOf(context, i));
  if (!size) return Dim();
  if (*size >= least) return FixedDim(*size);
  return InvalidArgument(context.def().name, "'s ", what, " is ", least, " or more, got ", *size);
}

// The axis of a DFT: of the attribute until version 17, of input 2 later. Nothing while it depends
// on data.
Result<std::optional<int64_t>> DftAxis(const InferContext& context) {
  int64_t axis = context.def().since_version < 20 ? context.node().Int("axis", 1) : -2;
  if (context.has_input(2)) {
    HR_ASSIGN_OR_RETURN(const auto given, NumberOf(context, 2));
    if (!given) return given;
    axis = *given;
  }
  const int64_t rank = context.input(0).rank();
  HR_ASSIGN_OR_RETURN(axis, ResolveAxis(context, axis, rank));
  if (axis + 1 < rank) return std::optional(axis);
  return InvalidArgument("DFT's last axis has the real and imaginary parts; its 'axis' is another");
}

Status CheckParts(const InferContext& context) {
  const ValueType& x = context.input(0);
  const Dim parts = x.dims.back();
  if (!parts.fixed() || parts.size == 1 || parts.size == 2) return {};
  return InvalidArgument(context.def().name,
                         " takes real parts [… 1] or real and imaginary ones [… 2], got ",
                         context.InputText(0));
}

Result<Dim> DftLength(const InferContext& context, Dim size, bool to_real) {
  if (context.has_input(1)) return SizeOf(context, 1, "length", 1);
  if (!to_real || !size.fixed()) return to_real ? Dim() : size;
  if (size.size > 1) return FixedDim(2 * (size.size - 1));
  return InvalidArgument("DFT needs a length to go back from ", size.size, " bins");
}

Status InferDft(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 2));
  ValueType type = context.input(0);
  const bool onesided = context.node().Int("onesided", 0) != 0;
  const bool to_real = onesided && context.node().Int("inverse", 0) != 0;
  if (type.ranked) {
    HR_RETURN_IF_ERROR(CheckParts(context));
    HR_ASSIGN_OR_RETURN(const auto axis, DftAxis(context));
    if (!axis) {
      for (Dim& dim : type.dims) dim = Dim();
    } else {
      Dim& along = type.dims[static_cast<size_t>(*axis)];
      HR_ASSIGN_OR_RETURN(along, DftLength(context, along, to_real));
      if (onesided && !to_real) along = along.fixed() ? FixedDim(along.size / 2 + 1) : Dim();
    }
    type.dims.back() = FixedDim(to_real ? 1 : 2);
  }
  context.SetOutput(0, std::move(type));
  return {};
}

// The first `length` elements along an axis, zeros behind those that there are.
ValueId Fitted(ComposeContext& c, ValueId x, size_t axis, ValueId length) {
  const ValueId size = c.DimOf(x, axis);
  if (size == length) return x;
  const auto along = static_cast<int64_t>(axis);
  const ValueId cut = c.Slice(x, along, c.Int(0), length);
  const ValueId missing = c.Emit("Max", {c.Sub(length, size), c.Int(0)});
  return c.Emit("Pad", {cut, c.Joined(std::array{c.Int(0), missing}), kNone, c.Int(along)});
}

// Real parts, with imaginary parts of 0.
ValueId AsComplex(ComposeContext& c, ValueId x) {
  if (c.Rank(x) == 0) return kNone;
  const Dim parts = c.type(x).dims.back();
  if (parts.fixed() && parts.size == 2) return x;
  if (!parts.fixed()) {
    c.Fail(FailedPrecondition("needs to know whether the last axis is 1 or 2"));
    return kNone;
  }
  return c.Concat(std::array{x, c.Mul(x, c.Scalar(0, x))}, -1);
}

ValueId Fourier(ComposeContext& c, ValueId x, size_t axis, bool inverse) {
  return c.EmitGrad(kFourier, {x},
                    {{"axis", static_cast<int64_t>(axis)}, {"inverse", int64_t{inverse}}});
}

// Half of a symmetric spectrum, weighted so that the real part of its transform is that of all:
// each bin counts twice but 0 and, if the length is even, the last.
ValueId Doubled(ComposeContext& c, ValueId x, size_t axis, ValueId length) {
  const ValueId bins = c.Add(c.Div(length, c.Int(2)), c.Int(1));
  x = Fitted(c, x, axis, bins);
  const ValueId k = c.Counted(bins);
  const ValueId alone =
      c.Emit("Or", {c.Emit("Equal", {k, c.Int(0)}), c.Emit("Equal", {c.Mul(k, c.Int(2)), length})});
  ValueId weights = c.Emit("Where", {alone, c.Scalar(1, x), c.Scalar(2, x)});
  std::vector<int64_t> behind;
  for (size_t i = axis + 1; i < c.Rank(x); ++i) behind.push_back(static_cast<int64_t>(i - axis));
  return c.Mul(x, c.Emit("Unsqueeze", {weights, c.Ints(behind)}));
}

// `length`: a 1-D size.
ValueId Dft(ComposeContext& c, ValueId x, size_t axis, ValueId length, bool inverse,
            bool onesided) {
  x = AsComplex(c, x);
  if (inverse && onesided) x = Doubled(c, x, axis, length);
  if (!c.ok()) return kNone;
  ValueId y = Fourier(c, Fitted(c, x, axis, length), axis, inverse);
  if (inverse) y = c.Div(y, c.CastLike(length, y));
  const auto along = static_cast<int64_t>(axis);
  if (inverse && onesided) return c.Slice(y, -1, c.Int(0), c.Int(1));
  if (!onesided) return y;
  return c.Slice(y, along, c.Int(0), c.Add(c.Div(length, c.Int(2)), c.Int(1)));
}

// One number as a 1-D size.
ValueId AsSize(ComposeContext& c, ValueId value) {
  const auto known = c.ConstantInts(value);
  if (known && known->size() == 1) return c.Int((*known)[0]);
  return c.Reshape(c.Cast(value, DType::kInt64), std::array{c.Int(1)});
}

void ComposeDft(ComposeContext& c) {
  const ValueId x = c.input(0);
  const size_t rank = c.Rank(x);
  int64_t axis = c.def().since_version < 20 ? c.node().Int("axis", 1) : -2;
  if (c.input(2) != kNone) {
    const auto given = c.ConstantInts(c.input(2));
    if (!given || given->size() != 1) {
      return c.Fail(Unimplemented("its axis depends on data; give it as a constant"));
    }
    axis = (*given)[0];
  }
  const size_t along = c.Axis(axis, rank);
  const bool inverse = c.node().Int("inverse", 0) != 0, onesided = c.node().Int("onesided", 0) != 0;
  if (!c.ok()) return;
  ValueId length = c.DimOf(x, along);
  if (inverse && onesided) length = c.Mul(c.Sub(length, c.Int(1)), c.Int(2));
  if (c.input(1) != kNone) length = AsSize(c, c.input(1));
  c.SetOutput(0, Dft(c, x, along, length, inverse, onesided));
}

// Not divided by the length, so each direction is the other's gradient.
void FourierGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGrad(kFourier, {g.grad(0)},
                          {{"axis", g.node().Int("axis", 0)},
                           {"inverse", int64_t{g.node().Int("inverse", 0) == 0}}}));
}

Status InferFourier(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 2));
  const ValueType& x = context.input(0);
  if (x.ranked) {
    const int64_t axis = context.node().Int("axis", 0);
    HR_RETURN_IF_ERROR(ResolveAxis(context, axis, x.rank() - 1).status());
    const Dim parts = x.dims.back();
    HR_RETURN_IF_ERROR(EqualDims(context, "the last dimension and 2", parts, FixedDim(2)).status());
  }
  return InferFloatingUnary(context);
}

// (signal [batch, n, parts], frame step, window?, frame length?)
Status InferStft(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  if (context.has_input(2)) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 2));
    HR_RETURN_IF_ERROR(context.ExpectRank(2, 1));
  } else if (!context.has_input(3)) {
    return InvalidArgument("STFT needs a window or the length of a frame");
  }
  const ValueType& x = context.input(0);
  if (x.ranked && x.rank() != 2) HR_RETURN_IF_ERROR(context.ExpectRank(0, 3));
  if (x.ranked && x.rank() == 3) HR_RETURN_IF_ERROR(CheckParts(context));
  Dim length = context.has_input(2) && context.input(2).ranked ? context.input(2).dims[0] : Dim();
  if (context.has_input(3)) {
    HR_ASSIGN_OR_RETURN(const Dim given, SizeOf(context, 3, "length of a frame", 1));
    HR_ASSIGN_OR_RETURN(length,
                        EqualDims(context, "the lengths of window and frame", length, given));
  }
  HR_ASSIGN_OR_RETURN(const Dim step, SizeOf(context, 1, "step", 1));
  Dim frames;
  if (x.ranked && x.dims[1].fixed() && length.fixed() && step.fixed()) {
    if (length.size < 1 || x.dims[1].size < length.size) {
      return InvalidArgument("STFT's frames of ", length.size, " do not fit ",
                             context.InputText(0));
    }
    frames = FixedDim((x.dims[1].size - length.size) / step.size + 1);
  }
  const bool onesided = context.node().Int("onesided", 1) != 0;
  if (onesided && length.fixed()) length = FixedDim(length.size / 2 + 1);
  if (onesided && !length.fixed()) length = Dim();
  SetDims(context, 0, x.dtype, {x.ranked ? x.dims[0] : Dim(), frames, length, FixedDim(2)});
  return {};
}

void ComposeStft(ComposeContext& c) {
  ValueId x = c.input(0);
  if (c.Rank(x) == 2) x = c.Unsqueeze(x, -1);
  const ValueId step = AsSize(c, c.input(1)), window = c.input(2);
  const ValueId length = c.input(3) != kNone ? AsSize(c, c.input(3)) : c.DimOf(window, 0);
  if (!c.ok()) return;
  const ValueId frames = c.Add(c.Div(c.Sub(c.DimOf(x, 1), length), step), c.Int(1));
  const ValueId starts = c.Unsqueeze(c.Mul(c.Counted(frames), step), 1);
  x = c.Emit("Gather", {x, c.Add(starts, c.Counted(length))}, {{"axis", int64_t{1}}});
  if (window != kNone) x = c.Mul(x, c.Unsqueeze(window, -1));
  c.SetOutput(0, Dft(c, x, 2, length, false, c.node().Int("onesided", 1) != 0));
}

// ---- Windows ----

DType WindowType(const Node& node) {
  return static_cast<DType>(node.Int("output_datatype", static_cast<int64_t>(DType::kFloat32)));
}

Status InferWindow(InferContext& context) {
  const DType dtype = WindowType(context.node());
  if (!IsFloating(dtype)) {
    return Unimplemented(context.def().name, " gives floating-point numbers here, asked for ",
                         DTypeName(dtype));
  }
  HR_ASSIGN_OR_RETURN(const Dim size, SizeOf(context, 0, "size", 0));
  SetDims(context, 0, dtype, {size});
  return {};
}

// a - b cos(2 pi k / n) + c cos(4 pi k / n), where a symmetric window ends with n = size - 1.
void ComposeWindow(ComposeContext& c, double a, double b, double cc) {
  const ValueId size = AsSize(c, c.input(0));
  const ValueId n = c.node().Int("periodic", 1) != 0 ? size : c.Sub(size, c.Int(1));
  const ValueId turn = c.Div(c.Cast(c.Counted(size), DType::kFloat64), c.Cast(n, DType::kFloat64));
  const auto cosine = [&](double factor, double times) {
    return c.Scale(c.Emit("Cos", {c.Scale(turn, times * kPi)}), factor);
  };
  ValueId window = c.Sub(c.Scalar(a, turn), cosine(b, 2));
  if (cc != 0) window = c.Add(window, cosine(cc, 4));
  c.SetOutput(0, c.Cast(window, WindowType(c.node())));
}

void ComposeHann(ComposeContext& c) { ComposeWindow(c, 0.5, 0.5, 0); }
void ComposeHamming(ComposeContext& c) { ComposeWindow(c, 25.0 / 46, 21.0 / 46, 0); }
void ComposeBlackman(ComposeContext& c) { ComposeWindow(c, 0.42, 0.5, 0.08); }

// ---- Mel bands ----

// (bands, length of the transform, sample rate, lowest and highest frequency)
Status InferMel(InferContext& context) {
  HR_ASSIGN_OR_RETURN(const Dim bands, SizeOf(context, 0, "number of bands", 1));
  HR_ASSIGN_OR_RETURN(const Dim length, SizeOf(context, 1, "length", 1));
  HR_RETURN_IF_ERROR(SizeOf(context, 2, "sample rate", 1).status());
  for (size_t i : {3, 4}) HR_RETURN_IF_ERROR(context.ExpectFloating(i));
  SetDims(context, 0, WindowType(context.node()),
          {length.fixed() ? FixedDim(length.size / 2 + 1) : Dim(), bands});
  return {};
}

// Band i rises from edge i to edge i + 1 and falls to edge i + 2. Edges are equally far apart in
// mel = 2595 log10(1 + hertz / 700), and are rounded down to a bin of the spectrum.
void ComposeMel(ComposeContext& c) {
  const auto number = [&](size_t i) { return c.Cast(c.input(i), DType::kFloat64); };
  const ValueId bands = AsSize(c, c.input(0)), length = AsSize(c, c.input(1));
  const ValueId like = number(3);
  const double log_10 = 2.302585092994045684;
  const auto mel = [&](ValueId hertz) {
    const ValueId log = c.Emit("Log", {c.Add(c.Scalar(1, like), c.Scale(hertz, 1.0 / 700))});
    return c.Scale(log, 2595 / log_10);
  };
  const ValueId low = mel(number(3)), high = mel(number(4));
  const ValueId count = c.Add(bands, c.Int(2));
  const ValueId step = c.Div(c.Sub(high, low), c.CastLike(count, like));
  const ValueId mels = c.Add(c.Mul(c.CastLike(c.Counted(count), like), step), low);
  const ValueId raised = c.Emit("Exp", {c.Scale(mels, log_10 / 2595)});
  const ValueId hertz = c.Scale(c.Sub(raised, c.Scalar(1, like)), 700);
  const ValueId bins = c.CastLike(c.Add(length, c.Int(1)), like);
  const ValueId edges = c.Emit("Floor", {c.Div(c.Mul(bins, hertz), number(2))});
  const auto edge = [&](int64_t first) {
    return c.Slice(edges, 0, c.Int(first), c.Add(bands, c.Int(first)));
  };
  const ValueId left = edge(0), center = edge(1), right = edge(2);
  const ValueId rows = c.Add(c.Div(length, c.Int(2)), c.Int(1));
  const ValueId bin = c.Unsqueeze(c.CastLike(c.Counted(rows), like), 1);
  const ValueId zero = c.Scalar(0, like), one = c.Scalar(1, like);
  // Of a band without a slope only the middle is 1.
  const auto slope = [&](ValueId over, ValueId width) {
    const ValueId none = c.Emit("LessOrEqual", {width, zero});
    return c.Div(over, c.Emit("Where", {none, one, width}));
  };
  const ValueId rising = slope(c.Sub(bin, left), c.Sub(center, left));
  const ValueId falling = slope(c.Sub(right, bin), c.Sub(right, center));
  const ValueId before =
      c.Emit("And", {c.Emit("GreaterOrEqual", {bin, left}), c.Emit("LessOrEqual", {bin, center})});
  const ValueId after =
      c.Emit("And", {c.Emit("GreaterOrEqual", {bin, center}), c.Emit("Less", {bin, right})});
  const ValueId narrow =
      c.Emit("And", {c.Emit("Equal", {left, center}), c.Emit("Equal", {bin, center})});
  ValueId weights = c.Emit("Where", {before, rising, zero});
  weights = c.Emit("Where", {narrow, one, weights});
  weights = c.Emit("Where", {after, falling, weights});
  c.SetOutput(0, c.Cast(weights, WindowType(c.node())));
}

constexpr OpDef Window(Literal name, void (*compose)(ComposeContext&)) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = 17,
          .attributes = kWindowAttributes,
          .infer = InferWindow,
          .compose = compose};
}

constexpr OpDef kSignalOps[] = {
    // (x […, 1 or 2], length []?), and since version 20 (…, axis []?)
    {.domain = kOnnx,
     .name = "DFT",
     .since_version = 17,
     .inputs = {1, 2},
     .attributes = kDft17Attributes,
     .infer = InferDft,
     .compose = ComposeDft},
    {.domain = kOnnx,
     .name = "DFT",
     .since_version = 20,
     .inputs = {1, 3},
     .attributes = kDftAttributes,
     .infer = InferDft,
     .compose = ComposeDft},
    {.domain = kOnnx,
     .name = "STFT",
     .since_version = 17,
     .inputs = {2, 4},
     .attributes = kStftAttributes,
     .infer = InferStft,
     .compose = ComposeStft},
    // (x […, 2]) → the transform along an axis, not divided by its length
    {.domain = kGrad,
     .name = kFourier,
     .attributes = kFourierAttributes,
     .infer = InferFourier,
     .gradient = FourierGradient},
    Window("HannWindow", ComposeHann),
    Window("HammingWindow", ComposeHamming),
    Window("BlackmanWindow", ComposeBlackman),
    {.domain = kOnnx,
     .name = "MelWeightMatrix",
     .since_version = 17,
     .inputs = {5, 5},
     .attributes = kMelAttributes,
     .infer = InferMel,
     .compose = ComposeMel},
};

}  // namespace

OpFamily SignalOps() { return Chosen<kSignalOps>(); }

}  // namespace hr::ops
