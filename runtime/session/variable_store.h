// A session's variables. A variable shares its initial value with the model (and so with the mapped
// file) until somebody is about to write it. Where plans use it on another device than the CPU, it
// has memory there, too, and goes to and fro as it is needed.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/device/backend.h"
#include "runtime/graph/graph.h"

namespace hr::session {

// Guarded by the session's run lock: writers exclusively, readers shared.
class VariableStore final : public VariableMemory {
 public:
  explicit VariableStore(size_t count) : tensors_(count), owned_(count, false) {}

  // The host's memory, whose value is the current one after BringHome, and in sessions that use no
  // other device.
  const Tensor& Get(uint32_t variable) const { return tensors_[variable]; }
  // Puts the current values of all variables into the host's memory. Readers may be at it, too.
  Status BringHome(Allocator& allocator);
  // The memory of the variable on the device (null: the host), with the current value. For a run
  // that writes it, which must be alone, the value in other memory is forgotten. Readers may be at
  // it, too.
  Result<void*> Locate(Allocator& allocator, uint32_t variable, Device* device, bool writes);
  // Where it has memory besides the host's, or null.
  Device* DeviceOf(uint32_t variable) {
    std::lock_guard lock(mutex_);
    return device_of(variable);
  }
  // Whether all variables have, and have always had, the values that the model's file gives.
  bool initial() const { return initial_.load(std::memory_order_acquire); }
  // At first: memory of the model's, copied before the first write.
  void SetInitial(uint32_t variable, Tensor value);
  // The value from now on, in memory that nobody else uses, so that it may be written.
  void SetOwned(uint32_t variable, Tensor value);
  // Copies `value` into memory of the session's own; cannot fail where that is writable already.
  Status Set(Allocator& allocator, uint32_t variable, const Tensor& value);
  // Makes the variable's memory the session's own, so that it may be written.
  Status MakeWritable(Allocator& allocator, uint32_t variable);
  // Gives memory of the model's back until it is read again. Readers may be at it, too.
  void NotReadAgain(const void* data) const override;
  // Grows whenever a variable's memory moves, or holds the current value no more: variables must be
  // located and bound again.
  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  // Grows whenever the value of a variable may have changed.
  uint64_t version() const { return version_; }
  // A run has written variables.
  void MarkWritten() { ++version_; }

 private:
  // A variable's memory on another device than the CPU.
  struct Remote {
    Device* device = nullptr;  // null: there is none
    Block memory;
    bool current = false;
    bool host_current = true;
  };
  Device* device_of(uint32_t variable) const {
    return remotes_.empty() ? nullptr : remotes_[variable].device;
  }
  // The host has the current value, and nobody else.
  void TakeHome(uint32_t variable);
  // From the device to the host, and the other way, where the value is not current there.
  Status Fetch(Allocator& allocator, uint32_t variable);
  Status Send(uint32_t variable, Device* device);

  std::vector<Tensor> tensors_;
  graph::Marks owned_;
  std::mutex mutex_;             // remotes_, while several read
  std::vector<Remote> remotes_;  // none before the first use of a device
  std::atomic<uint64_t> generation_ = 1;
  uint64_t version_ = 0;
  std::atomic<bool> initial_ = true;
};

}  // namespace hr::session
