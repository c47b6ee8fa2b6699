// Failures on their way through a plugin's C functions, and through the C interface.
#pragma once

#include "headrace/plugin.h"
#include "runtime/base/errors.h"

// What C sees of a failure; the host's, never looked into by a plugin.
struct hr_status {
  hr::Status rep;
};

namespace hr::plugin {

// Null for a success.
hr_status* ToC(Status status);
// Takes it over.
Status FromC(hr_status* status);

}  // namespace hr::plugin
