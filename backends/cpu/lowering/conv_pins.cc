#include "backends/cpu/lowering/conv_pins.h"

#include <algorithm>

namespace hr::cpu {
namespace {

constexpr Layout kLayouts[] = {Layout::kPlain, kChannelsLastLayout, kBatchBlockedLayout};
constexpr std::string_view kKernels[] = {"direct", "winograd", "matrix_unit", "portable", "onednn"};

Status Pin(std::string_view word, ConvPins* pins) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = equals == word.npos ? "" : word.substr(equals + 1);
  if (name == "layout") {
    for (const Layout layout : kLayouts) {
      if (value == LayoutName(layout)) pins->layout = layout;
    }
    if (pins->layout) return {};
  }
  if (name == "kernel" &&
      std::find(std::begin(kKernels), std::end(kKernels), value) != std::end(kKernels)) {
    pins->kernel = value;
    return {};
  }
  return InvalidArgument(
      "the session option pin takes words such as layout=plain, ",
      "layout=channels_last, layout=batch_blocked, kernel=direct, ",
      "kernel=winograd, kernel=matrix_unit, kernel=portable and kernel=onednn, got '", word, "'");
}

}  // namespace

std::string_view LayoutName(Layout layout) {
  if (layout == kChannelsLastLayout) return "channels_last";
  return layout == kBatchBlockedLayout ? "batch_blocked" : "plain";
}

Result<ConvPins> ParseConvPins(std::string_view text) {
  ConvPins pins;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end != 0) HR_RETURN_IF_ERROR(Pin(text.substr(0, end), &pins));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pins;
}

}  // namespace hr::cpu
