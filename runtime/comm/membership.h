// What a group's store says of its epochs: one key, changed by compare-and-swap alone, has the
// current one. So an epoch has one successor, also where a network is split and both sides try.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/mesh.h"

namespace hr::comm {

struct Membership {
  uint64_t epoch = 0;
  uint64_t attempt = 0;  // to meet, where the hosts chose the epoch
  bool formed = false;   // all have met
  uint64_t from = 0;     // the epoch before, whose ranks are named:
  // Drawn when hosts choose an epoch, and kept by the epochs that ranks agree on. Another one means
  // that the store was lost since, or that others have started anew.
  std::string job;
  // In the order of the ranks: a rank of the epoch before, or what one that joins calls itself.
  // Empty where the hosts chose epoch and ranks.
  std::vector<std::string> members;

  std::string Encode() const;
  static Result<Membership> Decode(std::string_view text);
  // The rank of `member`; -1 where it is none.
  int RankOf(std::string_view member) const;
  bool IsOf(const MeshOptions& options) const {
    return epoch == options.epoch && attempt == options.attempt && job == options.job;
  }
};

inline constexpr std::string_view kMembershipKey = "membership";

// The current one; null where the store has none.
Result<std::optional<Membership>> ReadMembership(const MeshOptions& options,
                                                 const CallLimits& limits);
// Enters the epoch that the host chose, and sets options.attempt and job: the ranks may try again
// where they failed to meet. One that was not there when they failed learns why first.
// FAILED_PRECONDITION where the group has gone on to a later epoch.
Status EnterEpoch(MeshOptions& options, const CallLimits& limits);
// Notes that all have met: a failure is the group's end from now on.
Status NoteFormed(const MeshOptions& options, const CallLimits& limits);

}  // namespace hr::comm
