// A set of processes that communicate.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/calibration.h"
#include "runtime/comm/mesh.h"
#include "runtime/comm/schedule.h"
#include "runtime/comm/work.h"

namespace hr {
class JsonWriter;
}

namespace hr::comm {

struct GroupOptions {
  MeshOptions mesh;
  const Planner* planner = nullptr;          // outlives the group
  Calibration calibration;                   // rank 0's holds for all
  std::string calibration_place;             // where it is kept, for people
  std::string calibration_trouble;           // why what is kept there is not used, or empty
  std::map<OpKind, std::string> algorithms;  // pins; the cheapest where there is none
  Allocator* allocator = nullptr;            // for scratch memory; null: the system's
};

// All ranks post the same operations in the same order. One thread at a time posts; a second one
// that posts meanwhile gets FAILED_PRECONDITION (give each thread a sub-group). Works may be waited
// for by any thread.
class Group {
 public:
  // Returns when all ranks are connected to each other.
  static Result<std::shared_ptr<Group>> Create(GroupOptions options, const CallLimits& limits);
  // Ends what is in flight with CANCELLED and says goodbye, unless sub-groups still live.
  ~Group();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(pool_->ranks().size()); }
  const MeshOptions& options() const { return mesh_.options(); }
  const GroupOptions& group_options() const { return shared_->options; }
  // Not split from another.
  bool whole() const { return channel_ == 0; }
  uint64_t epoch() const { return mesh_.options().epoch; }
  // OK, or why the group has ended: the same code and cause on all ranks.
  Status status() const { return mesh_.status(); }
  // What all ranks agree that it has ended of; null while it goes on. ARBITER_LOST as Arbiter.
  Result<std::optional<Verdict>> VerdictOfAll(const CallLimits& limits);
  // The ranks that this one cannot hear. See Mesh.
  std::vector<int> Suspects() const { return mesh_.suspects(); }

  // Starts an operation. `input` and `output` stay where they are until the work is done; see
  // Operation::CheckBuffers.
  Result<WorkRef> Post(const Operation& operation, const void* input, void* output);
  // A short message that can go or be taken at once needs no work, nor anything else of what
  // follows. True where that was so; else nothing has happened.
  bool PassShort(const Operation& operation, const void* input, void* output);
  // As Post, for who would wait next: drives the group for some microseconds, so that the work is
  // often done. Whoever keeps it until the next operation makes that one slower.
  Result<WorkRef> PostAndPoll(const Operation& operation, const void* input, void* output);
  // Posts and waits, as Work::Complete.
  Status Run(const Operation& operation, const void* input, void* output, const CallLimits& limits);

  // Sub-groups of the ranks with the same `color`, ordered by `key`, then by rank. A rank with a
  // negative color gets null. To be called by all ranks of this group.
  Result<std::shared_ptr<Group>> Split(int color, int key, const CallLimits& limits);

  // Ends what is in flight with CANCELLED and says goodbye, for all groups that share its
  // connections. As the destructor, but others may still use the group, and are told.
  void Close() { mesh_.Close(); }
  // Ends the group, and all that share its connections, on all ranks.
  void Abort(std::string cause) { mesh_.Abort(Code::kAborted, std::move(cause), options().rank); }
  // JSON: name, rank, size, epoch, members, algorithms, cost model.
  std::string Describe() const;
  // JSON: the last operations. See FlightRecorder.
  std::string Dump() const { return mesh_.RecorderJson(); }
  // JSON: the algorithm that `operation` takes, whether it is pinned, and what each one would cost.
  Result<std::string> Explain(const Operation& operation) const;

 private:
  // What a group has in common with its sub-groups.
  struct Shared {
    explicit Shared(GroupOptions given) : options(std::move(given)) {}
    ~Shared() {
      if (mesh != nullptr) mesh->Close();
    }
    const GroupOptions options;
    std::shared_ptr<Mesh> mesh;
    // What all ranks have agreed on.
    Calibration calibration;
    LinkCost near, far;      // the slowest link inside a host, and between hosts
    std::vector<int> hosts;  // by rank of the mesh: the first rank that shares its host's memory
    bool crowded = false;    // on some host, more ranks run than it has processors
    std::atomic<int32_t> last_channel{0};
  };
  struct Planned {
    Operation operation;
    std::shared_ptr<const Schedule> schedule;
    uint64_t label;
    uint64_t bytes;  // of the call
    int peer;        // of a message: in the mesh
  };

  Group(std::shared_ptr<Shared> shared, std::vector<int> ranks, int rank, uint16_t channel);
  Status Agree(std::string_view boot, const CallLimits& limits);
  void Price();
  Status ShareMemory(const CallLimits& limits);
  Status Settle();
  void DescribeCost(JsonWriter& json) const;
  std::string_view PinOf(OpKind kind) const;
  const Planned* FindPlan(const Operation& operation) const;
  Result<const Planned*> PlanFor(const Operation& operation);
  static Status ConcurrentPosting(const Operation& operation);
  Result<WorkRef> PostResident(const Operation& operation, const void* input, void* output);
  Status Prepare(Work& work, const Operation& operation, const void* input, void* output);
  uint64_t NextTag(const Operation& operation);
  Result<int32_t> TakeChannel(const CallLimits& limits);

  std::shared_ptr<Shared> shared_;
  Mesh& mesh_;
  std::shared_ptr<WorkPool> pool_;
  const int rank_;
  const uint16_t channel_;
  CostModel cost_;
  std::map<OpKind, std::string> pins_;  // that this group can run, once it knows
  std::atomic<bool> posting_{false};
  uint64_t sequence_ = 0;
  uint64_t shared_turns_ = 0;     // operations in shared memory so far
  std::vector<Planned> planned_;  // the latest, bounded
  size_t next_planned_ = 0;
  WorkRef resident_;  // for operations that are waited for at once; free while nobody else has it
};

}  // namespace hr::comm
