// Adapters in safetensors files of their own (transform/adapter.h has what they are): a tensor for
// each of their variables, by its name.
#pragma once

#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "runtime/transform/adapter.h"

namespace hr::train {

// Writes the adapters of the session. FAILED_PRECONDITION if it has none. If the call fails, `path`
// is as it was.
Status SaveAdapters(session::Session& session, const std::string& path, const CallLimits& limits);

// Gives the session's adapters the values of a file that has just these. A failure leaves the
// session as it was.
Status LoadAdapters(session::Session& session, const std::string& path, const CallLimits& limits);

// The adapters of a file, in memory that maps it. DATA_LOSS if a part of one is missing or the file
// has something else.
Result<std::vector<transform::TrainedAdapter>> ReadAdapters(const std::string& path,
                                                            Allocator& allocator);

}  // namespace hr::train
