#include "runtime/ops/window.h"

#include <algorithm>

namespace hr::ops {
namespace {

// Sizes beyond this are mistakes, and bounding them keeps the arithmetic below from overflowing.
constexpr int64_t kMaxWindow = int64_t{1} << 30;
constexpr int64_t kMaxInput = int64_t{1} << 60;

// An attribute with one entry per axis, within [least, kMaxWindow].
Result<std::vector<int64_t>> PerAxis(const graph::Node& node, Literal name, size_t count,
                                     int64_t least) {
  auto given = node.Ints(name);
  if (given.empty()) return std::vector<int64_t>(count, least);
  if (given.size() != count) {
    return InvalidArgument("attribute '", name, "' wants ", count, " values, got ", given);
  }
  for (int64_t value : given) {
    if (value >= least && value <= kMaxWindow) continue;
    return InvalidArgument("attribute '", name, "' wants values from ", least, " to ", kMaxWindow,
                           ", got ", given);
  }
  return std::vector<int64_t>(given.begin(), given.end());
}

// Pads so that the output is input / stride, rounded up.
void PadSame(WindowAxis& axis, int64_t input, bool extra_at_end) {
  axis.output = (input + axis.stride - 1) / axis.stride;
  int64_t total = std::max<int64_t>(0, (axis.output - 1) * axis.stride + axis.extent() - input);
  axis.pad_begin = extra_at_end ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
}

Status CountPositions(WindowAxis& axis, int64_t input, bool ceil) {
  int64_t room = input + axis.pad_begin + axis.pad_end - axis.extent();
  if (room < 0) {
    return InvalidArgument("a window of ", axis.extent(), " does not fit into ", input,
                           " elements padded with ", axis.pad_begin, " and ", axis.pad_end);
  }
  axis.output = room / axis.stride + 1;
  bool rest = room % axis.stride != 0;
  if (ceil && rest && axis.output * axis.stride < input + axis.pad_begin) ++axis.output;
  return {};
}

}  // namespace

Result<std::vector<WindowAxis>> ResolveWindow(const graph::Node& node,
                                              std::span<const int64_t> kernel,
                                              std::span<const int64_t> input) {
  size_t rank = kernel.size();
  HR_ASSIGN_OR_RETURN(auto&& strides, PerAxis(node, "strides", rank, 1));
  HR_ASSIGN_OR_RETURN(auto&& dilations, PerAxis(node, "dilations", rank, 1));
  HR_ASSIGN_OR_RETURN(auto&& pads, PerAxis(node, "pads", 2 * rank, 0));
  std::string_view mode = node.String("auto_pad", "NOTSET");
  bool same = IsOneOf(mode, {"SAME_UPPER", "SAME_LOWER"});
  if (!same && !IsOneOf(mode, {"NOTSET", "VALID"})) {
    return InvalidArgument("auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER, got '", mode, "'");
  }
  bool padded = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; });
  if (padded && mode != "NOTSET") {
    return InvalidArgument("give auto_pad or pads, not both; got auto_pad '", mode, "' and pads ",
                           pads);
  }
  std::vector<WindowAxis> out;
  for (size_t i = 0; i < rank; ++i) {
    if (kernel[i] < 1 || kernel[i] > kMaxWindow) {
      return InvalidArgument("kernel_shape wants values from 1 to ", kMaxWindow, ", got ", kernel);
    }
    WindowAxis axis{.kernel = kernel[i],
                    .stride = strides[i],
                    .dilation = dilations[i],
                    .pad_begin = pads[i],
                    .pad_end = pads[rank + i]};
    if (input[i] > kMaxInput) return InvalidArgument("a dimension of ", input[i], " is too large");
    if (input[i] >= 0 && same) {
      PadSame(axis, input[i], mode == "SAME_UPPER");
    } else if (input[i] >= 0) {
      HR_RETURN_IF_ERROR(CountPositions(axis, input[i], node.Int("ceil_mode", 0) != 0));
    }
    out.push_back(axis);
  }
  return out;
}

double NormOf(const graph::Node& node) {
  const graph::AttributeValue* p = node.Find("p");
  const auto* real = p == nullptr ? nullptr : std::get_if<double>(p);
  return real == nullptr ? static_cast<double>(node.Int("p", 2)) : *real;
}

}  // namespace hr::ops
