// A Module as the FlatBuffer at the start of a file.
#pragma once

#include <string>

#include "runtime/format/segments.h"
#include "runtime/graph/graph.h"

namespace hr::format {

// The structure with its header. `table` says where the constants' bytes are; constants without a
// segment are written as external. Without `names`, nodes and values have none. The module must
// have passed graph::Verify. Fails if the structure would pass 2 GiB.
Result<std::string> EncodeStructure(const graph::Module& module, const SegmentTable& table,
                                    bool names);

}  // namespace hr::format
