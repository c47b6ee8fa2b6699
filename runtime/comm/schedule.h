// A schedule: what one rank does, step by step, to carry out an operation of its group. Algorithms
// are pure functions from (operation, rank, size) to schedules, so they can be printed, costed and
// tested without any transport. Work (work.h) runs them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/operation.h"

namespace hr::comm {

// kSlot, kRing: in the memory that the group shares (SharedArea), those of all ranks, one behind
// the other.
enum class Place : uint8_t { kInput, kOutput, kScratch, kSlot, kRing };

// Of each rank's slot in shared memory.
constexpr uint64_t kSlotBytes = 8 << 10;

// Bytes of one of an operation's buffers.
struct Slice {
  Place place = Place::kOutput;
  uint64_t begin = 0;
  uint64_t bytes = 0;
};

// What a reduction does besides, in the same pass over memory.
struct Fused {
  bool multiply = false;  // a counts as a * the call's factor
  bool divide = false;    // out = (a op b) / ranks
  Slice copy;             // gets what `out` gets; empty: there is none
};

struct Step {
  enum Kind : uint8_t {
    kSend,         // a, to `peer`
    kRecv,         // out, from `peer`
    kAwait,        // transfer number `transfer`, counted in the order of sends and receives
    kAwaitAll,     // every transfer started so far
    kCombine,      // out = a op b, and what stands in `fused`
    kMultiply,     // out = a * the call's factor
    kDivide,       // out = a / ranks
    kCopy,         // out = a
    kRaise,        // tells the others that this rank's slot is written, once more
    kAwaitRaised,  // until `peer` has raised `transfer` times in this operation
  };
  Kind kind = kAwaitAll;
  int peer = 0;  // rank in the group
  uint32_t transfer = 0;
  Slice a, b, out;
  Fused fused;
};

// Sends and receives are started in order and do not wait; between two ranks, the n-th send meets
// the n-th receive. Ends with all transfers awaited.
struct Schedule {
  std::string algorithm;
  std::vector<Step> steps;
  uint32_t transfers = 0;
  uint64_t scratch_bytes = 0;
  // In shared memory; the same on all ranks.
  uint32_t raises = 0;      // 0: it is not used
  uint64_t ring_stage = 0;  // places in rings count from a multiple of it; a power of two, or 0
  uint64_t ring_bytes = 0;  // of its ring that others may still read when the operation ends here
};

// What a group's connections cost, in seconds: agreed by all its ranks, since their choices of
// algorithms must be the same.
struct CostModel {
  double latency = 5e-6;    // of one message
  double per_byte = 2e-10;  // sent
  double per_reduced_byte = 4e-11;
  // Of messages inside a host, and the host of each rank, by any numbers; empty unless there are
  // several hosts, and several ranks on one of them.
  double near_latency = 5e-6;
  double near_per_byte = 2e-10;
  std::vector<int> hosts;
  // Of messages that are passed on while they come; not 0. Some of them fit into a core's cache.
  uint64_t slice_bytes = 512 << 10;
  // Of memory that all ranks share. Bytes of a ring, a power of two; 0 if there is none.
  uint64_t shared_bytes = 0;
  double shared_latency = 2e-7;    // until another rank sees what was raised
  double shared_per_byte = 5e-11;  // copied
};

struct Estimate {
  std::string_view algorithm;
  double seconds;
};

// Chooses algorithms. Thread-safe.
class Planner {
 public:
  virtual ~Planner() = default;
  // `operation` has passed its Check(). `pinned` names an algorithm, or is empty for the cheapest.
  virtual Result<Schedule> Plan(const Operation& operation, int rank, int size,
                                const CostModel& cost, std::string_view pinned) const = 0;
  // The names of the algorithms for an operation.
  virtual std::vector<std::string_view> Algorithms(OpKind kind) const = 0;
  // What a group's ranks lack that cannot run an algorithm: "share no memory".
  virtual std::string_view WhyNot(OpKind kind, std::string_view algorithm) const = 0;
  // What each algorithm for `operation` would cost, the cheapest first.
  virtual std::vector<Estimate> Estimates(const Operation& operation, int size,
                                          const CostModel& cost) const = 0;
};

}  // namespace hr::comm
