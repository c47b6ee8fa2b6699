// The coordinates and weights of Resize, as ONNX defines them.
#include <algorithm>
#include <cmath>

#include "runtime/ops/infer.h"
#include "runtime/ops/resize.h"

namespace hr::ops {
namespace {

// The axes that scales, sizes and region speak of: all, or those of the attribute.
Result<std::vector<size_t>> SpokenOf(const graph::Node& node, size_t rank) {
  std::vector<size_t> axes;
  for (int64_t axis : node.Ints("axes")) {
    const auto size = static_cast<int64_t>(rank);
    if (axis < -size || axis >= size) {
      return InvalidArgument("axis ", axis, " is outside an image of rank ", rank);
    }
    axes.push_back(static_cast<size_t>(axis < 0 ? axis + size : axis));
  }
  for (size_t i = 0; node.Ints("axes").empty() && i < rank; ++i) axes.push_back(i);
  return axes;
}

std::vector<double> Numbers(const Tensor& tensor) {
  std::vector<double> out;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    out.push_back(tensor.dtype() == DType::kFloat64 ? tensor.as<double>()[i]
                                                    : tensor.as<float>()[i]);
  }
  return out;
}

// An output of more elements than this is a mistake.
constexpr double kMostWeights = 1e15;

Status SetFromScales(const Tensor& tensor, std::vector<ResizedAxis>& axes) {
  const std::vector<double> scales = Numbers(tensor);
  if (scales.size() != axes.size()) {
    return InvalidArgument("'scales' has ", axes.size(), " numbers, one for each axis, got ",
                           scales.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const double size = scales[i] * static_cast<double>(axes[i].in);
    if (!(scales[i] > 0) || size > kMostWeights) {
      return InvalidArgument("a scale is above 0, and what it gives fits into memory; got ",
                             scales[i]);
    }
    axes[i].scale = scales[i];
    axes[i].out = static_cast<int64_t>(std::floor(size));
  }
  return {};
}

Status SetFromSizes(const graph::Node& node, const Tensor& tensor, std::vector<ResizedAxis>& axes) {
  const auto sizes = IntsOf(tensor);
  if (!sizes || sizes->size() != axes.size()) {
    return InvalidArgument("'sizes' has ", axes.size(), " integers, one for each axis, got ",
                           tensor.elements());
  }
  double least = HUGE_VAL, most = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if ((*sizes)[i] < 0 || static_cast<double>((*sizes)[i]) > kMostWeights) {
      return InvalidArgument("a size is 0 or more and fits into memory, got ", (*sizes)[i]);
    }
    axes[i].out = (*sizes)[i];
    axes[i].scale = static_cast<double>(axes[i].out) / static_cast<double>(axes[i].in);
    least = std::min(least, axes[i].scale);
    most = std::max(most, axes[i].scale);
  }
  const std::string_view policy = node.String("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return {};
  for (ResizedAxis& axis : axes) {
    axis.scale = policy == "not_larger" ? least : most;
    axis.out = static_cast<int64_t>(std::floor(axis.scale * static_cast<double>(axis.in) + 0.5));
  }
  return {};
}

Status SetRegion(const Tensor& tensor, std::vector<ResizedAxis>& axes) {
  const std::vector<double> region = Numbers(tensor);
  if (region.size() != 2 * axes.size()) {
    return InvalidArgument("'roi' has the begin of each axis and then the end of each, ",
                           2 * axes.size(), " numbers, got ", region.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].begin = region[i];
    axes[i].end = region[axes.size() + i];
  }
  return {};
}

// Of a table, which has some bytes for each.
constexpr double kMostTaps = 1 << 26;

// Where element `o` of the output lies in the input.
double Source(std::string_view mode, const ResizedAxis& axis, int64_t o) {
  const auto in = static_cast<double>(axis.in), y = static_cast<double>(o);
  const double width = axis.scale * in;
  const double half_pixel = (y + 0.5) / axis.scale - 0.5;
  if (mode == "align_corners") return width == 1 ? 0 : y * (in - 1) / (width - 1);
  if (mode == "asymmetric") return y / axis.scale;
  if (mode == "tf_half_pixel_for_nn") return (y + 0.5) / axis.scale;
  if (mode == "pytorch_half_pixel") return width == 1 ? -0.5 : half_pixel;
  if (mode == "half_pixel_symmetric") {
    return in / 2 * (1 - static_cast<double>(axis.out) / width) + half_pixel;
  }
  if (mode == "tf_crop_and_resize") {
    const double part = (axis.end - axis.begin) * (in - 1);
    return axis.begin * (in - 1) + (width == 1 ? part / 2 : y * part / (width - 1));
  }
  return half_pixel;
}

int64_t Nearest(std::string_view mode, double x) {
  const double floor = std::floor(x), ratio = x - floor;
  const bool up = mode == "ceil"                ? ratio > 0
                  : mode == "floor"             ? false
                  : mode == "round_prefer_ceil" ? ratio >= 0.5
                                                : ratio > 0.5;
  return static_cast<int64_t>(floor) + (up ? 1 : 0);
}

double Linear(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

double Cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

struct Filter {
  bool cubic;
  double a;        // of the cubic
  double stretch;  // below 1: the filter is as much wider
  bool exclude_outside;

  // On each side of a source that lies between two elements.
  int64_t reach() const { return static_cast<int64_t>(-std::floor(-(cubic ? 2 : 1) / stretch)); }
  double At(double distance) const {
    return cubic ? Cubic(distance * stretch, a) : Linear(distance * stretch);
  }
};

// The elements around x and their weights, whose sum is 1.
void AddTaps(const Filter& filter, double x, int64_t in, ResampleTable* table) {
  const double floor = std::floor(x);
  const auto before = static_cast<int64_t>(floor) - (x == floor ? 1 : 0);
  const size_t first = table->weight.size();
  double sum = 0;
  for (int64_t t = 0; t < table->taps; ++t) {
    const int64_t at = before - table->taps / 2 + 1 + t;
    const bool outside = at < 0 || at >= in;
    const double weight =
        filter.exclude_outside && outside ? 0 : filter.At(static_cast<double>(at) - x);
    sum += weight;
    table->index.push_back(std::clamp<int64_t>(at, 0, in - 1));
    table->weight.push_back(weight);
  }
  if (sum == 1 || sum == 0) return;
  for (size_t i = first; i < table->weight.size(); ++i) table->weight[i] /= sum;
}

}  // namespace

Result<std::vector<ResizedAxis>> ResizedAxes(const graph::Node& node, std::span<const int64_t> dims,
                                             const ResizeInputs& inputs) {
  HR_ASSIGN_OR_RETURN(auto&& spoken, SpokenOf(node, dims.size()));
  std::vector<ResizedAxis> axes;
  for (size_t axis : spoken) {
    axes.push_back({.axis = axis, .in = dims[axis], .out = dims[axis]});
    if (dims[axis] == 0) return InvalidArgument("an image without elements has no other size");
  }
  if (inputs.sizes != nullptr) {
    HR_RETURN_IF_ERROR(SetFromSizes(node, *inputs.sizes, axes));
  } else if (inputs.scales != nullptr) {
    HR_RETURN_IF_ERROR(SetFromScales(*inputs.scales, axes));
  }
  const bool crops =
      node.String("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  if (crops && inputs.region == nullptr) return InvalidArgument("tf_crop_and_resize needs 'roi'");
  if (crops) HR_RETURN_IF_ERROR(SetRegion(*inputs.region, axes));
  // What stays as it is needs no pass.
  std::erase_if(axes, [&](const ResizedAxis& axis) {
    const bool whole = !crops || (axis.begin == 0 && axis.end == 1);
    return axis.in == axis.out && axis.scale == 1 && whole;
  });
  return axes;
}

Result<ResampleTable> MakeResampleTable(const graph::Node& node, const ResizedAxis& axis) {
  const std::string_view mode = node.String("mode", "nearest");
  const std::string_view coordinates = node.String("coordinate_transformation_mode", "half_pixel");
  const bool antialias = node.Int("antialias", 0) != 0;
  const Filter filter = {.cubic = mode == "cubic",
                         .a = node.Float("cubic_coeff_a", -0.75),
                         .stretch = antialias ? std::min(axis.scale, 1.0) : 1,
                         .exclude_outside = node.Int("exclude_outside", 0) != 0};
  ResampleTable table;
  const double taps =
      mode == "nearest" ? 1 : 2 * std::ceil((filter.cubic ? 2 : 1) / filter.stretch);
  if (!(taps * static_cast<double>(axis.out) <= kMostTaps)) {
    return ResourceExhausted("Resize of ", axis.in, " elements to ", axis.out, " along axis ",
                             axis.axis, " takes ", taps,
                             " elements for each; together they are more than ", kMostTaps);
  }
  if (mode != "nearest") table.taps = 2 * filter.reach();
  for (int64_t o = 0; o < axis.out; ++o) {
    const double x = Source(coordinates, axis, o);
    table.outside.push_back(coordinates == "tf_crop_and_resize" &&
                            (x < 0 || x > static_cast<double>(axis.in - 1)));
    if (mode == "nearest") {
      const int64_t at = Nearest(node.String("nearest_mode", "round_prefer_floor"), x);
      table.index.push_back(std::clamp<int64_t>(at, 0, axis.in - 1));
      table.weight.push_back(1);
    } else {
      AddTaps(filter, x, axis.in, &table);
    }
  }
  return table;
}

}  // namespace hr::ops
