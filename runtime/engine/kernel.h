// The kernel level, inside a backend: what one step of a compiled region runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/device/backend.h"

namespace hr::engine {

// The memory of a step's operands, by role and position; null for one that is omitted. The caller
// of each accessor knows the element type from the node that the kernel was made for.
class Operands {
 public:
  // How many operands there are of each role. They lie in this order, scratch memory last.
  struct Counts {
    uint16_t inputs = 0;
    uint16_t outputs = 0;
    uint16_t variables = 0;
  };
  // `places`: the operands; they may change as long as they stay there.
  Operands(void* const* places, Counts counts)
      : inputs_(places),
        outputs_(inputs_ + counts.inputs),
        variables_(outputs_ + counts.outputs),
        scratch_(variables_ + counts.variables) {}

  template <typename T = void>
  const T* input(size_t i) const {
    return static_cast<const T*>(inputs_[i]);
  }
  template <typename T = void>
  T* output(size_t i) const {
    return static_cast<T*>(outputs_[i]);
  }
  // A variable that the node changes.
  template <typename T = void>
  T* variable(size_t i) const {
    return static_cast<T*>(variables_[i]);
  }
  // Memory of as many bytes as the kernel asked for, with any contents.
  template <typename T = void>
  T* scratch() const {
    return static_cast<T*>(*scratch_);
  }

 private:
  void* const* inputs_;
  void* const* outputs_;
  void* const* variables_;
  void* const* scratch_;
};

class CommWorks;

// What a run gives the kernels that it launches.
struct LaunchContext {
  const Lease& threads;
  uint64_t seed;   // of the session
  int64_t step;    // counts the session's runs that draw random numbers or write variables
  Stream* stream;  // null: work is done when the kernel returns
  CommWorks* comm = nullptr;  // of kernels that communicate
};

// Prepared for fixed shapes. Run may be called from several invocations at once, so a kernel holds
// nothing that a run changes; scratch memory comes as an operand.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Allocates nothing.
  virtual Status Run(const Operands& operands, const LaunchContext& context) const = 0;
  // Returns what inspection shows, e.g. "conv_batch_blocked+relu+max_pool".
  virtual std::string Describe() const = 0;
};

// A kernel from a callable Status(const Operands&, const LaunchContext&).
template <typename Body>
class BodyKernel final : public Kernel {
 public:
  BodyKernel(std::string description, Body body)
      : description_(std::move(description)), body_(std::move(body)) {}
  Status Run(const Operands& operands, const LaunchContext& context) const override {
    return body_(operands, context);
  }
  std::string Describe() const override { return description_; }

 private:
  std::string description_;
  Body body_;
};

template <typename Body>
std::unique_ptr<Kernel> MakeKernel(std::string description, Body body) {
  return std::make_unique<BodyKernel<Body>>(std::move(description), std::move(body));
}

}  // namespace hr::engine
