// The main graph as text for people and tools.
#pragma once

#include "runtime/graph/graph.h"

namespace hr::capi {

// `format`: "json" or "dot".
Result<std::string> GraphText(const graph::Module& module, std::string_view format);

}  // namespace hr::capi
