// The optimizer's state of a training whose ranks divide it (graph/shards.h), while they become
// more or fewer.
#pragma once

#include <span>
#include <vector>

#include "runtime/comm/collectives.h"
#include "runtime/graph/shards.h"
#include "runtime/session/session.h"

namespace hr::train {

// What one rank has of it: the part `rank` of `ranks`, after `step` steps.
class StateParts {
 public:
  // Shares the session's memory: to be used before its next run.
  static Result<StateParts> Of(session::Session& session, std::string_view group, int rank);

  int64_t ranks() const { return ranks_; }
  int64_t rank() const { return rank_; }
  int64_t step() const { return step_; }

  // Collective: gives each rank of the group its part, of as many as its session's model has. Rank
  // holders[i] has part i; the parts of other ranks do not count.
  Status Move(session::Session& session, comm::Collectives& group, std::span<const int> holders,
              const CallLimits& limits) const;

 private:
  struct Part {
    uint32_t variable;
    int64_t elements;  // of the whole
    Tensor value;
  };
  // The part of the present rank of one variable.
  Result<Tensor> MoveOne(const Part& part, session::Session& session, comm::Collectives& group,
                         std::span<const int> holders, const CallLimits& limits) const;

  int64_t ranks_ = 0, rank_ = 0, step_ = 0;
  std::vector<Part> parts_;  // but for copies that a step makes
};

// What a rank tells the others of its part.
struct PartPlace {
  bool begun = false;  // it has taken part in the training
  int64_t ranks = 0, rank = 0, step = 0;
};
// Returns the ranks that have the parts, by part; empty if one is missing, or if they are not all
// of one step. If any rank has begun, those that have not have nothing.
std::vector<int> HoldersOf(std::span<const PartPlace> places);

}  // namespace hr::train
