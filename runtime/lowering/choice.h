// What a pass says of its choice, for inspection.
#pragma once

#include <string_view>

namespace hr::lowering {

// An attribute of nodes that rewriting has chosen something for: a text of JSON, which plans show
// with the step of the node.
inline constexpr std::string_view kChoice = "choice";

}  // namespace hr::lowering
