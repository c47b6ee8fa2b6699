// The current epoch of a group and its members, under one key of the store. The key is changed only
// by compare-and-swap, so an epoch has one successor even if the network is split and both sides
// try.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/mesh_options.h"

namespace hr::comm {

struct Membership {
  uint64_t epoch = 0;
  uint64_t attempt = 0;  // to meet, if the hosts chose the epoch
  bool formed = false;   // all have met
  uint64_t from = 0;     // the epoch before, to whose ranks `members` refers, or `epoch`
  uint64_t turn = 0;     // how often a rank has withdrawn from an agreement on the next epoch
  // A random name, drawn when hosts choose an epoch and kept by the epochs on which ranks agree. If
  // it has changed, the store was lost meanwhile, or another job has started.
  std::string job;
  // The members in the order of their ranks: each is a rank of the epoch before, or the name of a
  // process that joins. Those of an epoch that hosts chose (`from` is `epoch`) are the processes
  // that a launcher has left (Losses::ProcessesOf), or empty if it has lost none.
  std::vector<std::string> members;

  std::string Encode() const;
  static Result<Membership> Decode(std::string_view text);
  // Returns the rank of `member`; -1 if it is not a member.
  int RankOf(std::string_view member) const;
  // Returns whether the ranks have not met yet, and were not together before.
  bool begins() const { return from == epoch && !formed; }
  bool IsOf(const MeshOptions& options) const {
    return epoch == options.epoch && attempt == options.attempt && job == options.job;
  }
};

inline constexpr std::string_view kMembershipKey = "membership";

// Reads the current membership; null if the store has none.
Result<std::optional<Membership>> ReadMembership(const MeshOptions& options,
                                                 const CallLimits& limits);
// Enters the epoch that the host chose, and sets options.attempt and job: ranks that failed to meet
// may try again. A rank that was absent when the others failed first learns why they did. Sets
// options.losses, too, and rank and size to those among the processes that the launcher has left.
// FAILED_PRECONDITION if the group has gone on to a later epoch.
Status EnterEpoch(MeshOptions& options, const CallLimits& limits);
// Notes that all ranks have met. From now on a failure ends the group. UNAVAILABLE if some of them
// have begun to meet anew, since the launcher has lost one.
Status NoteFormed(const MeshOptions& options, const CallLimits& limits);

}  // namespace hr::comm
