#include "runtime/comm/membership.h"

#include <algorithm>
#include <charconv>
#include <random>

#include "runtime/comm/arbiter.h"

namespace hr::comm {
namespace {

// Takes a word, and the character behind it, off `text`.
std::string_view TakeWord(std::string_view& text, char end) {
  const std::string_view word = text.substr(0, text.find(end));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

bool TakeNumber(std::string_view& text, uint64_t& number) {
  const std::string_view word = TakeWord(text, ' ');
  auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && at == word.data() + word.size();
}

Status GoneOn(const MeshOptions& options, uint64_t epoch) {
  return FailedPrecondition("group '", options.name, "' has gone on to epoch ", epoch,
                            "; join it (hr_group_join), or start again with a higher epoch than ",
                            epoch, " or an empty store; got epoch ", options.epoch);
}

std::string NewJob() {
  std::random_device device;
  return Cat(device(), "-", device());
}

// Swaps the membership. False if another rank was faster.
Result<bool> Swap(const MeshOptions& options, const std::optional<Membership>& held,
                  const Membership& next, const CallLimits& limits) {
  const std::string before = held.has_value() ? held->Encode() : "", text = next.Encode();
  std::optional<std::string_view> expected;
  if (held.has_value()) expected = before;
  HR_ASSIGN_OR_RETURN(
      const std::string now,
      options.store->CompareAndSwap(GroupKey(options, kMembershipKey), expected, text, limits));
  return now == text;
}

// What the launcher says now. Asked after the membership, it is no older than what that knew.
Status ReadLosses(MeshOptions& options) {
  if (options.losses_file.empty()) return {};
  HR_ASSIGN_OR_RETURN(options.losses, Losses::Read(options.losses_file));
  return {};
}

// The place of the process that the launcher calls `rank`, among those that are left.
Status TakePlace(MeshOptions& options, int rank, const Membership& now) {
  if (now.members.empty()) return {};
  options.rank = now.RankOf(options.losses.ProcessOf(rank));
  options.size = static_cast<int>(now.members.size());
  if (options.rank >= 0) return {};
  return FailedPrecondition("the launcher has given up rank ", rank, " of group '", options.name,
                            "', so the others meet without it");
}

// False if that attempt to meet has failed, as this rank knows. If it was not there, it comes
// too late for the others, and shares their failure.
Result<bool> EnterAttempt(MeshOptions& options, const Membership& now, const CallLimits& limits) {
  options.attempt = now.attempt;
  options.job = now.job;
  const std::string entered = EpochKey(options, Cat("entered/", options.rank));
  HR_ASSIGN_OR_RETURN(const std::optional<std::string> verdict,
                      options.store->TryGet(EpochKey(options, kVerdictKey), limits));
  options.missed = verdict.has_value() && !now.formed;
  if (options.missed) {
    HR_ASSIGN_OR_RETURN(const std::optional<std::string> was_there,
                        options.store->TryGet(entered, limits));
    if (was_there.has_value()) return false;
  }
  HR_RETURN_IF_ERROR(options.store->Set(entered, "", limits));
  return true;
}

}  // namespace

std::string Membership::Encode() const {
  std::string text =
      Cat(epoch, " ", attempt, " ", int{formed}, " ", from, " ", turn, " ", job, " ");
  for (const std::string& member : members) text += Cat(member, ",");
  return text;
}

Result<Membership> Membership::Decode(std::string_view text) {
  Membership out;
  uint64_t formed = 0;
  if (!TakeNumber(text, out.epoch) || !TakeNumber(text, out.attempt) || !TakeNumber(text, formed) ||
      !TakeNumber(text, out.from) || !TakeNumber(text, out.turn)) {
    return DataLoss("the group's membership cannot be read from the store");
  }
  out.formed = formed != 0;
  out.job = TakeWord(text, ' ');
  while (!text.empty()) out.members.emplace_back(TakeWord(text, ','));
  return out;
}

int Membership::RankOf(std::string_view member) const {
  const auto found = std::find(members.begin(), members.end(), member);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

Result<std::optional<Membership>> ReadMembership(const MeshOptions& options,
                                                 const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(std::optional<std::string> held,
                      options.store->TryGet(GroupKey(options, kMembershipKey), limits));
  std::optional<Membership> now;
  if (!held.has_value()) return now;
  HR_ASSIGN_OR_RETURN(now, Membership::Decode(*held));
  return now;
}

Status EnterEpoch(MeshOptions& options, const CallLimits& limits) {
  const int rank = options.rank, size = options.size;
  for (;;) {
    HR_RETURN_IF_ERROR(limits.Check());
    HR_ASSIGN_OR_RETURN(const std::optional<Membership> held, ReadMembership(options, limits));
    HR_RETURN_IF_ERROR(ReadLosses(options));
    Membership next = {.epoch = options.epoch, .from = options.epoch, .job = NewJob()};
    if (options.losses.any()) next.members = options.losses.ProcessesOf(size);
    if (held.has_value() && held->epoch == options.epoch && held->from == held->epoch) {
      if (held->members == next.members || held->formed) {
        HR_RETURN_IF_ERROR(TakePlace(options, rank, *held));
        HR_ASSIGN_OR_RETURN(const bool entered, EnterAttempt(options, *held, limits));
        if (entered) return {};
      }
      next.job = held->job;
      next.attempt = held->attempt + 1;
    } else if (held.has_value() && held->epoch >= options.epoch) {
      return GoneOn(options, held->epoch);
    }
    HR_RETURN_IF_ERROR(Swap(options, held, next, limits).status().Clone());
  }
}

Status NoteFormed(const MeshOptions& options, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const std::optional<Membership> held, ReadMembership(options, limits));
  bool noted = held.has_value() && held->IsOf(options) && held->formed;
  if (held.has_value() && held->IsOf(options) && !held->formed) {
    Membership formed = *held;
    formed.formed = true;
    HR_ASSIGN_OR_RETURN(noted, Swap(options, held, formed, limits));
  }
  if (noted) return {};
  return Unavailable("other ranks of group '", options.name, "' have begun to meet anew");
}

}  // namespace hr::comm
