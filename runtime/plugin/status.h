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
inline hr_status* ToC(Status status) {
  return status.ok() ? nullptr : new hr_status{std::move(status)};
}
// Takes it over.
inline Status FromC(hr_status* status) {
  if (status == nullptr) return {};
  Status out = std::move(status->rep);
  delete status;
  return out;
}

}  // namespace hr::plugin
