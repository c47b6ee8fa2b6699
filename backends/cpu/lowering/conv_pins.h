// What a developer has pinned (hr_session_options.pin) in the place of what estimates would choose.
#pragma once

#include <optional>
#include <string>

#include "backends/cpu/kernel_table.h"

namespace hr::cpu {

// The attribute of convolutions and of their gradients whose kernel is pinned.
inline constexpr std::string_view kPinnedKernel = "pinned_kernel";

struct ConvPins {
  std::optional<Layout> layout;
  std::string kernel;  // "direct", "winograd", "matrix_unit", "portable", "onednn"; empty: none
};

// Returns the name of a layout of images, as pins and plans give it.
std::string_view LayoutName(Layout layout);
// INVALID_ARGUMENT names what may stand in the text.
Result<ConvPins> ParseConvPins(std::string_view text);

}  // namespace hr::cpu
