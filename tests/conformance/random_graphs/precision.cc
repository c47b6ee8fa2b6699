#include "tests/conformance/random_graphs/precision.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace hr::random_graphs {

using reference::Array;
using reference::Number;

namespace {

bool IsOneOf(std::string_view op, std::span<const std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// Operators whose kernels go through numbers of size 1, as log(1 + …) or 1 + erf: their error is
// one of such a number, however small the result.
bool GoesThroughOne(std::string_view op) {
  static constexpr std::string_view kOps[] = {"Gelu", "GeluGrad", "LogSoftmax", "ReduceLogSumExp",
                                              "SoftmaxCrossEntropyLoss"};
  return IsOneOf(op, kOps);
}

Number LargestOf(const Array& array) {
  Number out = 0;
  for (const Number x : array.data) out = std::max(out, std::fabs(x));
  return out;
}

// 1 / the smallest standard deviation of a group of x [N, C, …], as normalization divides by it:
// of a channel of all batches, or of one of `groups` of the channels of one batch, if that is not
// 0.
Number LargestInverse(const Array& x, int64_t groups, Number epsilon) {
  const auto batches = static_cast<size_t>(x.dims[0]);
  const size_t cuts = groups == 0 ? static_cast<size_t>(x.dims[1]) : static_cast<size_t>(groups);
  const size_t statistics = groups == 0 ? cuts : batches * cuts;
  const size_t inner = x.size() / batches / cuts;
  Number out = 0;
  for (size_t c = 0; c < statistics; ++c) {
    Number count = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (i / inner % statistics != c) continue;
      ++count;
      sum += x.data[i];
      squares += x.data[i] * x.data[i];
    }
    const Number variance = std::max<Number>(0, squares / count - sum * sum / count / count);
    out = std::max(out, 1 / std::sqrt(variance + epsilon));
  }
  return out;
}

// The same elements as [N, C]: the axes from `axis` on are one.
Array RowsOf(const Array& x, int64_t axis) {
  const auto rank = static_cast<int64_t>(x.dims.size());
  Array out = x;
  out.dims = {1, 1};
  for (int64_t i = 0; i < rank; ++i)
    out.dims[i < (axis < 0 ? axis + rank : axis) ? 0 : 1] *= x.dims[static_cast<size_t>(i)];
  return out;
}

}  // namespace

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return {53, 0x1p-1022L, 1e200L};
    case DType::kFloat16: return {11, 0x1p-14L, 3e4L};
    case DType::kBfloat16: return {8, 0x1p-126L, 1e25L};
    default: return {24, 0x1p-126L, 1e25L};
  }
}

Number Ulp(const Format& format, Number x) {
  if (std::fabs(x) < format.smallest * 2) return format.smallest;
  return std::ldexp(Number{1}, std::ilogb(x) + 1 - format.digits);
}

bool Representable(const Format& format, Number x) {
  if (x == 0 || !std::isfinite(x)) return true;
  if (std::fabs(x) < format.smallest) return false;
  const Number scaled = std::ldexp(x, format.digits - 1 - std::ilogb(x));
  return scaled == std::nearbyint(scaled);
}

bool Copies(std::string_view op) {
  static constexpr std::string_view kOps[] = {"Neg",
                                              "Abs",
                                              "Sign",
                                              "Relu",
                                              "Max",
                                              "Min",
                                              "Clip",
                                              "Where",
                                              "Identity",
                                              "Floor",
                                              "Ceil",
                                              "Round",
                                              "Reshape",
                                              "Flatten",
                                              "Squeeze",
                                              "Unsqueeze",
                                              "Transpose",
                                              "Concat",
                                              "Split",
                                              "Slice",
                                              "Pad",
                                              "Tile",
                                              "Expand",
                                              "Trilu",
                                              "ReverseSequence",
                                              "TensorScatter",
                                              "TensorScatterGrad",
                                              "Gather",
                                              "GatherElements",
                                              "GatherND",
                                              "OneHot",
                                              "TopK",
                                              "MaxPool",
                                              "GlobalMaxPool",
                                              "MaxRoiPool",
                                              "Im2Col",
                                              "ReduceMax",
                                              "ReduceMin",
                                              "Constant",
                                              "ConstantOfShape",
                                              "EyeLike",
                                              "Read",
                                              "Assign",
                                              "ReshapeLike",
                                              "ExpandLike",
                                              "SliceGrad",
                                              "ReluGrad",
                                              "Equal",
                                              "Greater",
                                              "Less",
                                              "GreaterOrEqual",
                                              "LessOrEqual",
                                              "And",
                                              "Or",
                                              "Xor",
                                              "Not",
                                              "IsNaN",
                                              "IsInf",
                                              "ArgMax",
                                              "ArgMin",
                                              "Shape",
                                              "Size"};
  return IsOneOf(op, kOps);
}

bool RoundsOnce(std::string_view op) {
  static constexpr std::string_view kOps[] = {"Add",  "Sub",      "Mul", "Div",   "Sqrt",
                                              "Cast", "CastLike", "Mod", "Range", "AssignAdd"};
  return IsOneOf(op, kOps);
}

bool Sums(std::string_view op) {
  static constexpr std::string_view kOps[] = {
      "Sum",  "CumSum", "ScatterElements", "ScatterND", "ReduceSum", "MatMul",
      "Gemm", "SumTo",  "GatherGrad",      "PadGrad",   "TileGrad",  "MaxPoolGrad"};
  return IsOneOf(op, kOps);
}

bool MovesGroups(std::string_view op) {
  return op == "GroupNormalization" || op == "LayerNormalization";
}

constexpr std::string_view kRecurrent[] = {"RNN", "GRU", "LSTM"};
constexpr std::string_view kRecurrentGrad[] = {"RNNGrad", "GRUGrad", "LSTMGrad"};

Number InnerSize(const graph::Node& node, std::string_view op,
                 const std::vector<const Array*>& in) {
  if (GoesThroughOne(op)) return std::max<Number>(1, LargestOf(*in[0]));
  // Sums that cancel leave the rounding of what they turn by: as large as the line is long.
  if (op == "FourierTransform") {
    const auto axis = static_cast<size_t>(node.Int("axis", 0));
    return LargestOf(*in[0]) * std::sqrt(static_cast<Number>(in[0]->dims[axis]));
  }
  // Products of all rows that cancel; of all but one in the gradient.
  if (op == "Det" || op == "DetGrad") {
    const Array& x = *in[op == "Det" ? 0 : 1];
    const auto n = static_cast<Number>(x.dims.back());
    const Number others = std::pow(std::max<Number>(1, LargestOf(x)), n) * n;
    return op == "Det" ? others : others * LargestOf(*in[0]);
  }
  // Numbers of size 1 are scaled; a rounded mean, divided by the deviation, moves all of a group.
  if (MovesGroups(op)) {
    const Number epsilon = node.Float("epsilon", 1e-5), mean = LargestOf(*in[0]);
    const Number inverse = op == "GroupNormalization"
                               ? LargestInverse(*in[0], node.Int("num_groups", 0), epsilon)
                               : LargestInverse(RowsOf(*in[0], node.Int("axis", -1)), 1, epsilon);
    return LargestOf(*in[1]) * std::max<Number>(1, mean * inverse);
  }
  if (op == "BatchNormalizationGrad" || op == "GroupNormalizationGrad")
    return LargestOf(*in[0]) * std::max<Number>(1, LargestOf(*in[2])) *
           std::max<Number>(
               1, LargestInverse(*in[1], node.Int("num_groups", 0), node.Float("epsilon", 1e-5)));
  // Slopes such as 1 - y² are small rests of 1, and the gates are sums of products.
  if (IsOneOf(op, kRecurrent)) return std::max<Number>(1, LargestOf(*in[0]));
  if (IsOneOf(op, kRecurrentGrad)) {
    Number gradients = 0, others = 1;
    for (size_t i = 1; i < in.size(); ++i) {
      if (in[i] == nullptr || !IsFloating(in[i]->dtype)) continue;
      Number& largest = i < (op == "LSTMGrad" ? 8 : 6) ? others : gradients;
      largest = std::max(largest, LargestOf(*in[i]));
    }
    return gradients * others;
  }
  if (op == "LayerNormalizationGrad")
    return LargestOf(*in[0]) * std::max<Number>(1, LargestOf(*in[2])) * LargestOf(*in[4]);
  return 0;
}

Number SummedSize(const std::vector<const Array*>& in, const Array& out) {
  size_t most = 0;
  for (const Array* array : in) most = std::max(most, array == nullptr ? 0 : array->size());
  const size_t terms = most / std::max<size_t>(1, out.size());
  return terms <= 64 ? 0 : LargestOf(out) * static_cast<Number>(terms) / 64;
}

}  // namespace hr::random_graphs
