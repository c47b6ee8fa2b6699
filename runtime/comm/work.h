// An operation of a group in flight.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/allocator.h"
#include "runtime/base/cancel.h"
#include "runtime/comm/schedule.h"
#include "runtime/comm/shared_area.h"
#include "runtime/comm/transport.h"

namespace hr::comm {

class Mesh;
struct FusedCombine;
struct MeshOptions;
class Operations;
class WorkPool;

// Thread-safe. It counts its references (WorkRef). Dropping them does not end the operation; its
// buffers are in use until it is done.
class Work {
 public:
  // Returns whether the operation has ended, with success or failure. Then its buffers are free.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Moves data that can be moved now, without waiting, and returns done().
  bool Test();
  // Waits as Wait does, but only until something moves, and for some microseconds at most.
  void Poll();
  // Returns the result. Must be called only when done().
  const Status& status() const { return status_; }
  // Waits for the end, driving the group meanwhile, and returns status(). If `limits` end the wait,
  // it returns CANCELLED or DEADLINE_EXCEEDED, and the operation goes on.
  Status Wait(const CallLimits& limits);
  // Waits as Wait does, but the buffers are free afterwards in every case: if `limits` end the
  // wait, the operation is ended as by Cancel(). A message that is arriving then gets a moment
  // more.
  Status Complete(const CallLimits& limits);
  // Calls `callback` when the operation ends; if it has ended, at once. The callback runs on any
  // thread that drives the group, so it should be short. It may start operations, but must neither
  // wait nor close the group.
  void OnDone(std::function<void(const Status&)> callback);
  // Ends the operation with CANCELLED. A receive that has no message yet has no effect, as if it
  // had not been posted; a receive whose message is arriving goes on. Any other operation cannot be
  // completed without this rank, so the group is aborted.
  void Cancel();
  // Returns the options of its group.
  const MeshOptions& options() const;

 private:
  friend class Operations;
  friend class PeerWatch;
  friend class Group;
  friend class WorkPool;
  friend class WorkRef;
  struct Part : Transfer {
    int peer = 0;  // rank in the mesh
    bool sends = false;
    bool complete = false;
  };

  Work() = default;
  // Ends the operation early, with `status`, if no other rank depends on it. `insist`: even if a
  // message that is arriving is lost; only the end of the group may do so.
  void End(Status status, bool insist);
  void Unref();
  Mesh& mesh() const;
  Operations& operations() const;
  const std::vector<int>& ranks() const;  // of its group, as ranks of the mesh
  // A bit of tags, below the channel, that is set in those of sends and receives.
  static constexpr uint64_t kPointToPoint = uint64_t{1} << 47;
  // Returns the number of a collective in its channel, or the caller's tag of a send or receive.
  static uint64_t SequenceOf(uint64_t tag) { return tag & (kPointToPoint - 1); }
  uint64_t sequence() const { return SequenceOf(tag_); }
  Status Prepare(Allocator& allocator, const void* input, void* output);

  // Everything below is used by Operations and PeerWatch, and guarded by the mesh's reactor.
  // Goes on to where a transfer or another rank has to be awaited. Returns true at the end.
  bool Run();
  // Returns whether it needs anything more from this rank of the mesh.
  bool Needs(int rank) const;
  // The following concern operations in shared memory.
  bool IsMyTurn() const;
  bool HasRaised(const Step& step);
  bool CanGoOn() const;  // if it has stopped at such a step
  void Raise();
  void StartTransfer(const Step& step);
  bool TakesLong(const Step& step) const;
  FusedCombine FusedOf(const Step& step) const;
  void Compute(const Step& step);
  bool Awaits(const Step& step) const;
  std::byte* At(const Slice& slice) const;
  static void OnTransferDone(Transfer& transfer);

  std::atomic<int> references_{0};
  std::shared_ptr<WorkPool> pool_;  // to which it returns; null while it is there
  Work* next_ = nullptr;            // in the pool

  Operation operation_;
  std::shared_ptr<const Schedule> schedule_;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  Block scratch_;
  Block staged_;  // the input, if the output takes its place
  uint64_t tag_ = 0;
  uint64_t label_ = 0;
  uint16_t channel_ = 0;
  uint64_t record_ = 0;     // in the flight recorder
  uint64_t posted_ = 0;     // by the flight recorder's ticks
  int64_t tell_nanos_ = 0;  // when the peers are told that it is stuck, unless it has ended

  uint64_t turn_ = 0;        // among the group's operations in shared memory
  bool unattended_ = false;  // perhaps no thread waits for it
  bool watched_ = false;     // in the list of works that wait for other ranks to raise
  bool differs_ = false;     // another rank has called a different operation
  size_t next_step_ = 0;
  bool computing_ = false;  // a thread sums with the reactor unlocked, and then runs it on
  Status ending_;           // what ends it then: its memory is in use meanwhile
  std::vector<Part> parts_;
  uint32_t started_ = 0;
  uint32_t pending_ = 0;
  bool ready_ = false;    // in the list of works that can go on
  size_t active_at_ = 0;  // place among the active ones

  Status status_;
  std::atomic<bool> done_{false};
  std::vector<std::function<void(const Status&)>> callbacks_;
};

// A reference to a work; it may be empty.
class WorkRef {
 public:
  WorkRef() = default;
  // Takes over a reference that Release() has returned.
  static WorkRef Adopt(Work* work) { return WorkRef(work); }
  WorkRef(WorkRef&& other) noexcept : work_(std::exchange(other.work_, nullptr)) {}
  WorkRef& operator=(WorkRef&& other) noexcept {
    std::swap(work_, other.work_);
    return *this;
  }
  ~WorkRef() {
    if (work_ != nullptr) work_->Unref();
  }
  WorkRef Share() const {
    work_->references_.fetch_add(1, std::memory_order_relaxed);
    return WorkRef(work_);
  }
  Work* Release() { return std::exchange(work_, nullptr); }
  Work* get() const { return work_; }
  Work* operator->() const { return work_; }
  Work& operator*() const { return *work_; }

 private:
  explicit WorkRef(Work* work) : work_(work) {}
  Work* work_ = nullptr;
};

// The works of one group. They are reused together with the memory that they have allocated.
class WorkPool : public std::enable_shared_from_this<WorkPool> {
 public:
  // `ranks`: the ranks of the group, as ranks of the mesh.
  WorkPool(std::shared_ptr<Mesh> mesh, std::vector<int> ranks);
  ~WorkPool();

  Mesh& mesh() const { return *mesh_; }
  const std::vector<int>& ranks() const { return ranks_; }
  // Returns the memory that the ranks of the group share; null if they share none. Guarded by the
  // mesh's reactor.
  SharedArea* shared() const { return shared_.get(); }
  void set_shared(std::unique_ptr<SharedArea> shared) { shared_ = std::move(shared); }
  // Returns a work in its initial state. Called by one thread at a time.
  WorkRef Take();
  // Resets the work that `work` refers to, if no one else refers to it. Returns whether it did.
  bool Renew(const WorkRef& work);

 private:
  friend class Work;
  static void Reset(Work& work);
  void Return(Work* work);  // by any thread
  void CollectReturned();

  const std::shared_ptr<Mesh> mesh_;
  const std::vector<int> ranks_;
  std::unique_ptr<SharedArea> shared_;
  Work* free_ = nullptr;
  std::atomic<Work*> returned_{nullptr};
};

}  // namespace hr::comm
