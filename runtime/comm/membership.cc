#include "runtime/comm/membership.h"

#include <algorithm>
#include <charconv>
#include <random>

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
                            "; join it (hr_group_join), or start anew with a higher epoch than ",
                            epoch, " or an empty store; got epoch ", options.epoch);
}

}  // namespace

std::string Membership::Encode() const {
  std::string text = Cat(epoch, " ", attempt, " ", int{formed}, " ", from, " ");
  for (const std::string& member : members) text += Cat(member, ",");
  return text;
}

Result<Membership> Membership::Decode(std::string_view text) {
  Membership out;
  uint64_t formed = 0;
  if (!TakeNumber(text, out.epoch) || !TakeNumber(text, out.attempt) || !TakeNumber(text, formed) ||
      !TakeNumber(text, out.from)) {
    return DataLoss("the group's membership cannot be read from the store");
  }
  out.formed = formed != 0;
  while (!text.empty()) out.members.emplace_back(TakeWord(text, ','));
  return out;
}

int Membership::RankOf(std::string_view member) const {
  const auto found = std::find(members.begin(), members.end(), member);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

Status EnterEpoch(MeshOptions& options, const CallLimits& limits) {
  Store& store = *options.store;
  const std::string key = GroupKey(options, kMembershipKey);
  for (;;) {
    HR_RETURN_IF_ERROR(limits.Check());
    HR_ASSIGN_OR_RETURN(std::optional<std::string> held, store.TryGet(key, limits));
    Membership now = {.epoch = options.epoch, .from = options.epoch};
    if (held.has_value()) {
      HR_ASSIGN_OR_RETURN(now, Membership::Decode(*held));
      if (now.epoch > options.epoch || (now.epoch == options.epoch && !now.members.empty())) {
        return GoneOn(options, now.epoch);
      }
    }
    if (held.has_value() && now.epoch == options.epoch) {
      options.attempt = now.attempt;
      HR_ASSIGN_OR_RETURN(std::optional<std::string> verdict,
                          store.TryGet(EpochKey(options, kVerdictKey), limits));
      if (!verdict.has_value() || now.formed) return {};
      ++now.attempt;
    } else {
      now = {.epoch = options.epoch, .from = options.epoch};
    }
    std::optional<std::string_view> expected;
    if (held.has_value()) expected = *held;
    HR_RETURN_IF_ERROR(store.CompareAndSwap(key, expected, now.Encode(), limits).status().Clone());
  }
}

Status EnterJob(MeshOptions& options, const CallLimits& limits) {
  std::random_device device;
  const std::string mine = Cat(device(), "-", device());
  HR_ASSIGN_OR_RETURN(options.job, options.store->CompareAndSwap(GroupKey(options, "job"),
                                                                 std::nullopt, mine, limits));
  return {};
}

Status NoteFormed(const MeshOptions& options, const CallLimits& limits) {
  const std::string key = GroupKey(options, kMembershipKey);
  HR_ASSIGN_OR_RETURN(std::optional<std::string> held, options.store->TryGet(key, limits));
  if (!held.has_value()) return {};
  HR_ASSIGN_OR_RETURN(Membership now, Membership::Decode(*held));
  if (now.formed || !now.IsOf(options)) return {};
  now.formed = true;
  return options.store->CompareAndSwap(key, *held, now.Encode(), limits).status().Clone();
}

}  // namespace hr::comm
