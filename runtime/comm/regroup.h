// How the ranks of an epoch agree, through the store, on who is in the next one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/comm/arbiter.h"
#include "runtime/comm/membership.h"

namespace hr::comm {

// How an epoch has ended for this rank. There is no verdict while it has not ended.
struct Ending {
  std::optional<Verdict> verdict;
  std::vector<int> suspects;  // the ranks that this one cannot hear

  bool Blames(int rank) const { return verdict.has_value() && verdict->culprit == rank; }
  // Returns whether `rank` cannot go on, because it gave up. A rank that is blamed for its silence
  // may go on: in a split network, each side blames the other.
  bool Excludes(int rank) const { return Blames(rank) && verdict->code != Code::kUnavailable; }
};

// Returns limits that end when `limits` do, and after `nanos` at the latest.
CallLimits Sooner(const CallLimits& limits, int64_t nanos);
// Returns the time, in nanoseconds, within which ranks that have agreed must meet.
inline int64_t PatienceOf(const MeshOptions& mesh) {
  return 2 * mesh.silence_nanos + 2'000'000'000;
}
// Returns the limits of one call of the store, which may be gone.
CallLimits StoreLimits(const MeshOptions& mesh, const CallLimits& limits);
// Returns what a failure of the store means for the agreement: ARBITER_LOST if the store is gone.
Status StoreFailed(const MeshOptions& mesh, const CallLimits& limits, Status status);

// Brings an ending up to date; may be null.
using LookAgain = std::function<Status(Ending& ending)>;

// The part of one rank of the epoch in `mesh` in an agreement on the next epoch.
class Round {
 public:
  // `target`: the number of ranks in the next epoch, including those that join; 0: no rank joins.
  Round(const MeshOptions& mesh, int target, const CallLimits& limits);

  // Returns the membership of the next epoch; this rank may be left out of it. ARBITER_LOST if the
  // store cannot be reached.
  Result<Membership> Agree(const Ending& ending, const LookAgain& look);
  // Withdraws the announcement that this rank goes on.
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
  Result<Membership> GiveUp(const CallLimits& limits);
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

// Waits until the group accepts `name`; returns the membership that contains it. Or one of ranks
// that are to meet anew (begins()): the launcher has replaced all ranks of the group, this one
// among them.
Result<Membership> AwaitSeat(const MeshOptions& mesh, const std::string& name,
                             const CallLimits& limits);

// Says whether nobody gets a seat any more; see elastic.h.
Status SetClosed(const MeshOptions& mesh, bool closed, const CallLimits& limits);
// Returns how many processes wait for a seat.
Result<int> CountWaiting(const MeshOptions& mesh, const CallLimits& limits);
// Forgets them: some have not answered an invitation. Those that still wait say so again.
Status ForgetWaiting(const MeshOptions& mesh, const CallLimits& limits);

}  // namespace hr::comm
