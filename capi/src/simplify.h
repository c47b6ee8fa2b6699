// Graph files with less to do.
#pragma once

#include <string>

#include "capi/src/handles.h"

namespace hr::capi {

// Writes the graph file `from`, which has one signature, to `to` as transform::Simplify makes it.
// Returns what is left as JSON. The memory that it takes does not grow with the tensors.
Result<std::string> SimplifyFile(session::Env& env, const std::string& from, const std::string& to,
                                 const HostLimits& limits);

}  // namespace hr::capi
