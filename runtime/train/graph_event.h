// The graph that TensorBoard draws, as TensorFlow's GraphDef message.
#pragma once

#include <span>
#include <string>

#include "runtime/train/event_file.h"

namespace hr::train {

// INVALID_ARGUMENT for nodes without a name, with a name twice or text that is not UTF-8.
Result<std::string> EncodeGraphDef(std::span<const EventGraphNode> nodes);

}  // namespace hr::train
