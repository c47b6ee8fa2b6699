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
struct MeshOptions;
class WorkPool;

// Thread-safe. Counts its references (WorkRef); dropping them does not end the operation, whose
// buffers stay in use until it is done.
class Work {
 public:
  // True once it has ended, well or not; then the buffers are the caller's again.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Moves the group on a little, without waiting, and returns done().
  bool Test();
  // As Wait, but only until something moves, and for some microseconds at most.
  void Poll();
  // How it ended. Only when done().
  const Status& status() const { return status_; }
  // Waits for the end, driving the group meanwhile, and returns status(). CANCELLED and
  // DEADLINE_EXCEEDED from `limits` end the waiting, not the operation.
  Status Wait(const CallLimits& limits);
  // As Wait, but the buffers are the caller's again in any case: where `limits` end the waiting,
  // the operation ends as by Cancel(), and a message that is on its way gets a moment more.
  Status Complete(const CallLimits& limits);
  // Calls `callback` when it ends, at once if it has. On any thread that drives the group, so the
  // callback should be short; it may start operations, but neither wait nor close the group.
  void OnDone(std::function<void(const Status&)> callback);
  // Ends it with CANCELLED. A receive that has no message yet is as if never posted, one whose
  // message is on its way goes on; anything else cannot go on without this rank, so the group is
  // aborted.
  void Cancel();
  // What its group was created with.
  const MeshOptions& options() const;

 private:
  friend class Mesh;
  friend class Group;
  friend class WorkPool;
  friend class WorkRef;
  struct Part : Transfer {
    int peer = 0;  // rank in the mesh
    bool sends = false;
    bool complete = false;
  };

  Work() = default;
  // Ends it early, with `status` where that concerns nobody else. `insist`: also where that loses a
  // message which is on its way; only the end of the group may do so.
  void End(Status status, bool insist);
  void Unref();
  Mesh& mesh() const;
  // In a tag, below the channel: set in those of sends and receives.
  static constexpr uint64_t kPointToPoint = uint64_t{1} << 47;
  // Among the collectives of its channel, or of sends and receives: the caller's tag.
  static uint64_t SequenceOf(uint64_t tag) { return tag & (kPointToPoint - 1); }
  uint64_t sequence() const { return SequenceOf(tag_); }
  Status Prepare(Allocator& allocator, const void* input, void* output);

  // Everything below is the mesh's, guarded by its reactor.
  bool Run();
  // Whether it needs anything more of this rank of the mesh.
  bool Needs(int rank) const;
  // In shared memory.
  bool IsMyTurn() const;
  bool HasRaised(const Step& step);
  bool CanGoOn() const;  // of one that has stopped there
  void Raise();
  void StartTransfer(const Step& step);
  void Compute(const Step& step);
  bool Awaits(const Step& step) const;
  std::byte* At(const Slice& slice) const;
  static void OnTransferDone(Transfer& transfer);

  std::atomic<int> references_{0};
  std::shared_ptr<WorkPool> pool_;  // where it goes when nobody refers to it; null there
  Work* next_ = nullptr;            // in the pool

  Operation operation_;
  std::shared_ptr<const Schedule> schedule_;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  Block scratch_;
  Block staged_;  // the input, where the output takes its place
  uint64_t tag_ = 0;
  uint64_t label_ = 0;
  uint16_t channel_ = 0;
  uint64_t record_ = 0;     // in the flight recorder
  uint64_t posted_ = 0;     // by the flight recorder's ticks
  int64_t tell_nanos_ = 0;  // when the peers are told of it, if it is not done by then

  uint64_t turn_ = 0;     // among the group's operations in shared memory
  bool watched_ = false;  // in the mesh's list of those that wait for others to raise
  bool differs_ = false;  // another rank has called something else there
  size_t next_step_ = 0;
  std::vector<Part> parts_;
  uint32_t started_ = 0;
  uint32_t pending_ = 0;
  bool ready_ = false;    // in the mesh's list of those that can go on
  size_t active_at_ = 0;  // place among the mesh's active ones

  Status status_;
  std::atomic<bool> done_{false};
  std::vector<std::function<void(const Status&)>> callbacks_;
};

// A reference to a work, or none.
class WorkRef {
 public:
  WorkRef() = default;
  // Takes over a reference that was released.
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

// The works of one group, which are used again and again, with what they have allocated.
class WorkPool : public std::enable_shared_from_this<WorkPool> {
 public:
  // `ranks`: of the group, as ranks of the mesh.
  WorkPool(std::shared_ptr<Mesh> mesh, std::vector<int> ranks);
  ~WorkPool();

  Mesh& mesh() const { return *mesh_; }
  const std::vector<int>& ranks() const { return ranks_; }
  // The memory that its ranks share; null where they have none. Guarded by the mesh's reactor.
  SharedArea* shared() const { return shared_.get(); }
  void set_shared(std::unique_ptr<SharedArea> shared) { shared_ = std::move(shared); }
  // A work as new. By one thread at a time.
  WorkRef Take();
  // As Take, of the work that `work` refers to, if there is one that nobody else refers to.
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
