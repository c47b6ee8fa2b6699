// An operation of a group in flight.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/base/allocator.h"
#include "runtime/base/cancel.h"
#include "runtime/comm/schedule.h"
#include "runtime/comm/transport.h"

namespace hr::comm {

class Mesh;

// Thread-safe. Dropping it does not end the operation; its buffers stay in use until it is done.
class Work : public std::enable_shared_from_this<Work> {
 public:
  // True once it has ended, well or not; then the buffers are the caller's again.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // How it ended. Only when done().
  const Status& status() const { return status_; }
  // Waits for the end, driving the group meanwhile, and returns status(). CANCELLED and
  // DEADLINE_EXCEEDED from `limits` end the waiting, not the operation.
  Status Wait(const CallLimits& limits);
  // Calls `callback` when it ends, at once if it has. On any thread that drives the group, so the
  // callback should be short; it may start operations, but neither wait nor close the group.
  void OnDone(std::function<void(const Status&)> callback);
  // Ends it with CANCELLED. A receive that has no message yet is as if never posted; anything else
  // cannot go on without this rank, so the group is aborted.
  void Cancel();

 private:
  friend class Mesh;
  friend class Group;
  struct Part : Transfer {
    int peer = 0;  // rank in the mesh
    bool sends = false;
    bool complete = false;
  };

  // Everything below is the mesh's, guarded by its reactor.
  bool Run();
  void StartTransfer(const Step& step);
  void Compute(const Step& step);
  bool Awaits(const Step& step) const;
  std::byte* At(const Slice& slice) const;
  static void OnTransferDone(Transfer& transfer);

  std::shared_ptr<Mesh> mesh_;
  Call call_;
  std::shared_ptr<const Schedule> schedule_;
  std::shared_ptr<const std::vector<int>> ranks_;  // the group's, as ranks of the mesh
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  Block scratch_;
  uint64_t tag_ = 0;
  uint64_t label_ = 0;
  uint16_t channel_ = 0;
  uint64_t record_ = 0;  // in the flight recorder

  size_t next_step_ = 0;
  std::vector<Part> parts_;
  uint32_t started_ = 0;
  uint32_t pending_ = 0;
  bool ready_ = false;  // in the mesh's list of those that can go on

  Status status_;
  std::atomic<bool> done_{false};
  std::vector<std::function<void(const Status&)>> callbacks_;
};

using WorkRef = std::shared_ptr<Work>;

}  // namespace hr::comm
