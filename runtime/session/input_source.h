// Where a call pulls its inputs from, run after run; data sets implement it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/device/tensor.h"

namespace hr::session {

// Used by one thread at a time.
class InputSource {
 public:
  virtual ~InputSource() = default;
  // Names of what one Next gives, matched to inputs of the call by name.
  virtual std::vector<std::string> names() const = 0;
  // Fills one tensor per name; false where there is no more.
  virtual Result<bool> Next(std::span<Tensor> out, const CallLimits& limits) = 0;
};

}  // namespace hr::session
