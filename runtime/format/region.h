// A region of a graph on its way to a plugin: a graph file in memory without tensors. Constants and
// variables are buffers that travel beside it, in the module's order.
#pragma once

#include <string>

#include "runtime/format/reader.h"
#include "runtime/format/writer.h"

namespace hr::format {

// Names of nodes are kept: the plugin's errors speak of them. Inputs and outputs are called by
// their numbers, and variables have no initial values.
Result<std::string> WriteRegion(const graph::Module& region);

// Constants of the answer have a type and no memory (Tensor::defined() is false); nothing refers to
// `file` any more.
Result<graph::Module> ReadRegion(Bytes file, Allocator* allocator = nullptr);

}  // namespace hr::format
