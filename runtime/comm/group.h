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
  std::map<OpKind, std::string> algorithms;  // pins; the cheapest if there is none
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
  // Returns whether the group was not split from another.
  bool whole() const { return channel_ == 0; }
  uint64_t epoch() const { return mesh_.options().epoch; }
  // Returns OK, or why the group has ended: the same code and cause on all ranks.
  Status status() const { return mesh_.status(); }
  // Returns the cause of the group's end on which all ranks agree; null while it has not ended.
  // ARBITER_LOST: see Arbiter.
  Result<std::optional<Verdict>> VerdictOfAll(const CallLimits& limits);
  // Returns the ranks that this one cannot hear; see Mesh.
  std::vector<int> Suspects() const { return mesh_.suspects(); }

  // Starts an operation. `input` and `output` are in use until the work is done; see
  // Operation::CheckBuffers. `attended`: the caller drives, by Work::Test between other things, and
  // then waits; else the Poller does until somebody waits.
  Result<WorkRef> Post(const Operation& operation, const void* input, void* output,
                       bool attended = false);
  // Sends or receives a short message at once, without a work, if that needs no waiting. Returns
  // false if it could not; then nothing has happened.
  bool PassShort(const Operation& operation, const void* input, void* output);
  // Starts an operation as Post does, for a caller who waits next: it drives the group for some
  // microseconds, within which the work is often done. The next operation is slower if the caller
  // still holds this work then.
  Result<WorkRef> PostAndPoll(const Operation& operation, const void* input, void* output);
  // Starts an operation and waits for its end; see Work::Complete.
  Status Run(const Operation& operation, const void* input, void* output, const CallLimits& limits);

  // Splits the group: ranks with the same `color` form a sub-group, ordered by `key`, then by rank.
  // A rank with a negative color gets null. All ranks of this group must call it.
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
