// How the ranks of an epoch agree, through the store, on who is in the next one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/comm/membership.h"

namespace hr::comm {

// How an epoch ended for this rank; without a verdict where it goes on.
struct Ending {
  std::optional<Verdict> verdict;
  std::vector<int> suspects;  // whom it cannot hear

  bool Blames(int rank) const { return verdict.has_value() && verdict->culprit == rank; }
  // A rank that gave up does not go on. One that was not heard may be the one that hears: in a
  // split network, each side blames the other.
  bool Excludes(int rank) const { return Blames(rank) && verdict->code != Code::kUnavailable; }
};

// The limits, but for no longer than that.
CallLimits Sooner(const CallLimits& limits, int64_t nanos);
// How long ranks that agreed may take to meet.
inline int64_t PatienceOf(const MeshOptions& mesh) {
  return 2 * mesh.silence_nanos + 2'000'000'000;
}
// Of one call of the store, which may be gone.
CallLimits StoreLimits(const MeshOptions& mesh, const CallLimits& limits);
// What a failure of the store means to those who go on: ARBITER_LOST where it is gone.
Status StoreFailed(const MeshOptions& mesh, const CallLimits& limits, Status status);

// Brings an ending up to date; may be null.
using LookAgain = std::function<Status(Ending& ending)>;

// One agreement, as a rank of the epoch in `mesh` takes part in it.
class Round {
 public:
  // `target`: ranks of the next epoch, those who join included; 0: nobody joins.
  Round(const MeshOptions& mesh, int target, const CallLimits& limits);

  // Returns the membership of the next epoch, which need not have this rank in it. ARBITER_LOST
  // where the store cannot be reached.
  Result<Membership> Agree(const Ending& ending, const LookAgain& look);
  // Takes back that this rank goes on.
  void Withdraw();

 private:
  struct Rank {
    bool stays = false;
    std::vector<int> suspects;
  };

  Result<Membership> GoOn(Ending ending, const LookAgain& look);
  Status Announce(const Ending& ending);
  Status LookForOthers();
  Status Invite();
  Status LookForJoiners();
  void Revoke();
  bool Waiting(const Ending& ending, int64_t now);
  bool Disputed(const Ending& ending) const;
  bool AllSuspect(int rank) const;
  std::vector<int> LargestSide(const Ending& ending) const;
  Result<std::optional<Membership>> Propose(const Ending& ending, const Membership& held);
  Result<Membership> Current(const CallLimits& limits);
  template <typename T>
  Result<T> Reached(Result<T> result) const;
  CallLimits Soon() const { return StoreLimits(mesh_, limits_); }
  Status LimitsEnded(Status status);

  const MeshOptions mesh_;
  Store& store_;
  int target_;  // the largest that any rank asks for
  const CallLimits limits_;
  std::vector<Rank> ranks_;
  std::string announced_, invitation_;
  size_t seats_ = 0;  // taken, as far as this rank has looked
  std::vector<std::string> joiners_;
  int64_t ended_at_ = 0;  // when this rank first knew
};

// Waits until the group takes `name` in; returns the membership that has it.
Result<Membership> AwaitSeat(const MeshOptions& mesh, const std::string& name,
                             const CallLimits& limits);

}  // namespace hr::comm
