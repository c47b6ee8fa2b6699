// The kernel level, inside a backend: what one step of a compiled region runs.
#pragma once

#include <string>

#include "runtime/device/backend.h"

namespace hr::engine {

// Prepared for fixed shapes. Run may be called from several invocations at once, so a kernel holds
// nothing that a run changes; scratch memory comes as an operand.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // `operands`: the memory of the step's operands in the order in which the step was added; null
  // for an omitted one. Allocates nothing.
  virtual Status Run(void* const* operands, const RunContext& context) const = 0;
  // What inspection shows, e.g. "conv_batch_blocked+relu+max_pool".
  virtual std::string Describe() const = 0;
};

}  // namespace hr::engine
