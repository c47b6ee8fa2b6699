// The operations of groups that the steps of a program start and wait for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/comm/collectives.h"

namespace hr::engine {

// Those of one instance of a program. Used by one thread at a time; a run allocates nothing.
class CommWorks {
 public:
  // `groups`: the names of the groups that the steps use, which they number.
  CommWorks(std::span<const std::string> groups, size_t slots)
      : names_(groups.begin(), groups.end()), groups_(groups.size()), works_(slots) {}

  bool empty() const { return names_.empty(); }
  // Begins a run, which may use the groups of `table` (null: none). FAILED_PRECONDITION if one is
  // not there. `limits` outlives the run.
  Status Begin(const comm::GroupTable* table, const CallLimits& limits);
  comm::Collectives& group(uint32_t index) const { return *groups_[index]; }
  // Starts an operation that Finish waits for by the same slot. If the caller is its driver, Turn
  // moves its data.
  Status Start(uint32_t slot, uint32_t group, const comm::Operation& operation, const void* input,
               void* output, comm::Collectives::Driver driver);
  Status Finish(uint32_t slot);
  // Moves data of what is in flight, without waiting.
  void Turn();
  bool in_flight() const { return in_flight_ != 0; }
  // Ends a run that has failed with `status`: aborts its groups, which have ranks that wait for
  // this one, and frees the memory of what is in flight.
  void Fail(const Status& status);

 private:
  struct InFlight {
    comm::Collectives* group = nullptr;  // null: nothing is in flight
    comm::Collectives::Ticket ticket;
    comm::Collectives::Driver driver = comm::Collectives::Driver::kCaller;
  };
  std::vector<std::string> names_;
  std::vector<comm::Collectives*> groups_;
  std::vector<InFlight> works_;
  size_t in_flight_ = 0;
  const CallLimits* limits_ = nullptr;
};

}  // namespace hr::engine
