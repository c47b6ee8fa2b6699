#include "runtime/comm/regroup.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <thread>

#include "runtime/base/function_ref.h"

namespace hr::comm {
namespace {

constexpr int64_t kStoreNanos = 3'000'000'000;
constexpr auto kFirstRegroupPause = std::chrono::milliseconds(1);
constexpr auto kLastRegroupPause = std::chrono::milliseconds(20);
constexpr std::string_view kInvitationKey = "invitation";
constexpr std::string_view kWaitingKey = "waiting";  // the names of those who do, each on a line
constexpr std::string_view kClosedKey = "closed";
constexpr std::string_view kLeft = "-";  // in the seat of one that gave up waiting

std::string SeatKey(const MeshOptions& mesh, std::string_view invitation, size_t number) {
  return GroupKey(mesh, Cat("seat/", invitation, "/", number));
}

CallLimits Briefly() {
  return {.deadline_nanos = SystemClock().NowNanos() + 1'000'000'000, .clock = &SystemClock()};
}

// Numbers with a comma behind each.
std::vector<int> Numbers(std::string_view text) {
  std::vector<int> numbers;
  int number = 0;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    auto [end, error] = std::from_chars(at, text.data() + text.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

bool Has(const std::vector<int>& list, int rank) {
  return std::find(list.begin(), list.end(), rank) != list.end();
}

}  // namespace

CallLimits Sooner(const CallLimits& limits, int64_t nanos) {
  CallLimits soon = limits;
  if (soon.clock == nullptr) soon.clock = &SystemClock();
  soon.deadline_nanos = std::min(limits.deadline_nanos, soon.clock->NowNanos() + nanos);
  return soon;
}

Round::Round(const MeshOptions& mesh, int target, const CallLimits& limits)
    : mesh_(mesh), store_(*mesh.store), target_(target), limits_(limits), ranks_(mesh.size) {}

CallLimits StoreLimits(const MeshOptions& mesh, const CallLimits& limits) {
  return Sooner(limits, std::max(kStoreNanos, mesh.silence_nanos));
}

// A store that does not answer takes the decision with it.
Status StoreFailed(const MeshOptions& mesh, const CallLimits& limits, Status status) {
  const Code code = status.code();
  const bool lost = code == Code::kUnavailable || code == Code::kArbiterLost ||
                    (code == Code::kDeadlineExceeded && limits.Check().ok());
  if (!lost) return status;
  return ArbiterLost("group '", mesh.name, "' cannot go on from epoch ", mesh.epoch,
                     ", because its members cannot be decided: ", status.message(),
                     "; start all ranks again, with a store that outlives them: a folder, or one "
                     "kept by a process that is no rank (hr_store_open_with, serve)");
}

template <typename T>
Result<T> Round::Reached(Result<T> result) const {
  if (result.ok()) return result;
  return StoreFailed(mesh_, limits_, std::move(result).status());
}

// Tells the others that this rank goes on, to how many ranks, and whom it could not hear.
Status Round::Announce(const Ending& ending) {
  std::string text = Cat(target_, ",");
  for (int rank : ending.suspects) text += Cat(rank, ",");
  if (text == announced_) return {};
  announced_ = text;
  const std::string key = EpochKey(mesh_, Cat("stays/", mesh_.rank));
  Status set = store_.Set(key, text, Soon());
  return set.ok() ? Status() : StoreFailed(mesh_, limits_, std::move(set));
}

void Round::Withdraw() {
  const CallLimits briefly = Briefly();
  store_.Delete(EpochKey(mesh_, Cat("stays/", mesh_.rank)), briefly).IgnoreError();
}

// Returns the membership that holds now: the next one, if the others were faster. Whoever has seen
// the announcement, and proposes by it later, fails: the membership is another one then.
Result<Membership> Round::GiveUp(const CallLimits& limits) {
  Withdraw();
  for (;;) {
    HR_ASSIGN_OR_RETURN(Membership now, Current(limits));
    if (!now.IsOf(mesh_)) return now;
    const std::string before = now.Encode();
    ++now.turn;
    HR_ASSIGN_OR_RETURN(const std::string held,
                        Reached(store_.CompareAndSwap(GroupKey(mesh_, kMembershipKey), before,
                                                      now.Encode(), limits)));
    if (held == now.Encode()) return now;
  }
}

void Round::Revoke() {
  if (invitation_.empty()) return;
  const CallLimits briefly = Briefly();
  store_.Delete(GroupKey(mesh_, kInvitationKey), briefly).IgnoreError();
  for (size_t seat = 1; seat <= seats_; ++seat) {
    store_.Delete(SeatKey(mesh_, invitation_, seat), briefly).IgnoreError();
  }
}

Status Round::LookForOthers() {
  for (int rank = 0; rank < mesh_.size; ++rank) {
    HR_ASSIGN_OR_RETURN(std::optional<std::string> text,
                        Reached(store_.TryGet(EpochKey(mesh_, Cat("stays/", rank)), Soon())));
    const std::vector<int> numbers = Numbers(text.value_or(""));
    ranks_[rank].stays = !numbers.empty();
    if (numbers.empty()) continue;
    target_ = std::max(target_, numbers.front());
    ranks_[rank].suspects.assign(numbers.begin() + 1, numbers.end());
  }
  return {};
}

// Whoever answers this invitation was there after it was made.
Status Round::Invite() {
  const std::string key = GroupKey(mesh_, kInvitationKey);
  const std::string mine = Cat(mesh_.epoch, ".", mesh_.attempt, "-");
  HR_ASSIGN_OR_RETURN(std::optional<std::string> held, Reached(store_.TryGet(key, Soon())));
  if (!held.has_value() || !held->starts_with(mine)) {
    std::random_device device;
    std::optional<std::string_view> expected;
    if (held.has_value()) expected = *held;
    HR_ASSIGN_OR_RETURN(held,
                        Reached(store_.CompareAndSwap(key, expected, Cat(mine, device()), Soon())));
  }
  if (invitation_ != *held) {
    joiners_.clear();
    seats_ = 0;
  }
  invitation_ = held->starts_with(mine) ? *held : "";
  return {};
}

Status Round::LookForJoiners() {
  HR_RETURN_IF_ERROR(Invite());
  if (invitation_.empty()) return {};
  for (;;) {
    const std::string key = SeatKey(mesh_, invitation_, seats_ + 1);
    HR_ASSIGN_OR_RETURN(std::optional<std::string> name, Reached(store_.TryGet(key, Soon())));
    if (!name.has_value()) return {};
    ++seats_;
    if (*name != kLeft) joiners_.push_back(*std::move(name));
  }
}

bool Round::AllSuspect(int rank) const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [&](const Rank& other) { return !other.stays || Has(other.suspects, rank); });
}

// Whether ranks that may go on have not said so yet, and have time left.
bool Round::Waiting(const Ending& ending, int64_t now) {
  if (ending.verdict.has_value() && ended_at_ == 0) ended_at_ = now;
  const int64_t waited = ended_at_ == 0 ? 0 : now - ended_at_;
  if (waited > mesh_.silence_nanos) return false;
  for (int rank = 0; rank < mesh_.size; ++rank) {
    if (ranks_[rank].stays || ending.Excludes(rank)) continue;
    const bool suspected = AllSuspect(rank);
    if (ending.Blames(rank) && suspected) continue;
    if (!ending.Blames(rank) && !suspected) return true;
    if (waited < mesh_.silence_nanos / 4) return true;
  }
  return waited < mesh_.silence_nanos / 4 && Disputed(ending);
}

// Whether a rank would be left behind that some of those who go on still hear. If it is dead,
// they will notice in a moment.
bool Round::Disputed(const Ending& ending) const {
  const std::vector<int> side = LargestSide(ending);
  for (int rank = 0; rank < mesh_.size; ++rank) {
    if (!ranks_[rank].stays || ending.Excludes(rank) || Has(side, rank)) continue;
    const bool heard = std::any_of(side.begin(), side.end(),
                                   [&](int other) { return !Has(ranks_[other].suspects, rank); });
    if (heard) return true;
  }
  return false;
}

// The most ranks that can all hear each other: greedily from each rank, in order.
std::vector<int> Round::LargestSide(const Ending& ending) const {
  auto stays = [&](int rank) { return ranks_[rank].stays && !ending.Excludes(rank); };
  std::vector<int> largest;
  for (int first = 0; first < mesh_.size; ++first) {
    std::vector<int> side;
    for (int i = 0; i < mesh_.size; ++i) {
      const int rank = (first + i) % mesh_.size;
      const bool heard = std::all_of(side.begin(), side.end(), [&](int other) {
        return !Has(ranks_[rank].suspects, other) && !Has(ranks_[other].suspects, rank);
      });
      if (stays(rank) && heard) side.push_back(rank);
    }
    if (side.size() > largest.size()) largest = std::move(side);
  }
  std::sort(largest.begin(), largest.end());
  return largest;
}

// Swaps the membership if this rank may. Null: not yet.
Result<std::optional<Membership>> Round::Propose(const Ending& ending, const Membership& held) {
  const std::vector<int> side = LargestSide(ending);
  std::optional<Membership> none;
  if (!Has(side, mesh_.rank)) {
    if (SystemClock().NowNanos() - ended_at_ < PatienceOf(mesh_)) return none;
    return Unavailable("rank ", mesh_.rank, " of group '", mesh_.name, "' was cut off from rank ",
                       hr::Join(side), ", which should go on but do not; start all ranks again");
  }
  const size_t missing = std::max(target_ - static_cast<int>(side.size()), 0);
  if (missing > 0) {
    HR_RETURN_IF_ERROR(LookForJoiners());
    if (joiners_.size() < missing) return none;
  }
  Membership next = {
      .epoch = mesh_.epoch + 1, .formed = true, .from = mesh_.epoch, .job = mesh_.job};
  for (int rank : side) next.members.push_back(Cat(rank));
  next.members.insert(next.members.end(), joiners_.begin(), joiners_.begin() + missing);
  const std::string before = held.Encode(), text = next.Encode();
  HR_ASSIGN_OR_RETURN(
      const std::string now,
      Reached(store_.CompareAndSwap(GroupKey(mesh_, kMembershipKey), before, text, Soon())));
  if (now != text) return none;
  return std::optional<Membership>(std::move(next));
}

Status Round::LimitsEnded(Status status) {
  std::vector<int> missing;
  for (int rank = 0; rank < mesh_.size; ++rank) {
    if (!ranks_[rank].stays) missing.push_back(rank);
  }
  std::string what = Cat("rank ", mesh_.rank, " of group '", mesh_.name, "', epoch ", mesh_.epoch,
                         ", waits for the next epoch");
  if (!missing.empty()) what += Cat(", and for rank ", hr::Join(missing), " to go on, too");
  if (target_ > 0) what += Cat(", and for new ranks to join: it is to have ", target_);
  return std::move(status).WithContext(what);
}

Result<Membership> Round::Agree(const Ending& ending, const LookAgain& look) {
  Result<Membership> next = GoOn(ending, look);
  Revoke();
  if (next.ok() || next.status().code() == Code::kArbiterLost) return next;
  // The others may just have agreed, and count on this rank. If that cannot be known, nor
  // prevented, the group is not as before.
  const CallLimits store_time = {.deadline_nanos = SystemClock().NowNanos() + kStoreNanos,
                                 .clock = &SystemClock()};
  Result<Membership> now = GiveUp(store_time);
  if (!now.ok() || !now->IsOf(mesh_)) return now;
  return limits_.Check().ok() ? std::move(next) : LimitsEnded(std::move(next).status());
}

// A store that was emptied, since it came back without what it held, knows nothing of this epoch.
Result<Membership> Round::Current(const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(std::optional<Membership> now, Reached(ReadMembership(mesh_, limits)));
  if (now.has_value() && (now->job == mesh_.job || now->epoch > mesh_.epoch)) {
    return *std::move(now);
  }
  return StoreFailed(mesh_, limits_, Unavailable("the store was emptied meanwhile"));
}

Result<Membership> Round::GoOn(Ending ending, const LookAgain& look) {
  // Each asks for each, so the more they are, the less often.
  const auto last_pause = kLastRegroupPause * (1 + mesh_.size / 16);
  for (auto pause = kFirstRegroupPause;; pause = std::min(2 * pause, last_pause)) {
    HR_ASSIGN_OR_RETURN(const Membership held, Current(Soon()));
    if (!held.IsOf(mesh_)) return held;
    if (look != nullptr) HR_RETURN_IF_ERROR(look(ending));
    HR_RETURN_IF_ERROR(Announce(ending));
    HR_RETURN_IF_ERROR(LookForOthers());
    const int64_t now = SystemClock().NowNanos();
    if (!Waiting(ending, now)) {
      HR_ASSIGN_OR_RETURN(std::optional<Membership> next, Propose(ending, held));
      if (next.has_value()) return *std::move(next);
    }
    HR_RETURN_IF_ERROR(limits_.Check());
    std::this_thread::sleep_for(pause);
  }
}

namespace {

// Changes the list of those who wait.
Status EditWaiting(const MeshOptions& mesh, FunctionRef<void(std::string&)> edit,
                   const CallLimits& limits) {
  const std::string key = GroupKey(mesh, kWaitingKey);
  HR_ASSIGN_OR_RETURN(std::optional<std::string> held, mesh.store->TryGet(key, limits));
  for (;;) {
    std::string wanted = held.value_or("");
    edit(wanted);
    if (wanted == held.value_or("")) return {};
    std::optional<std::string_view> expected;
    if (held.has_value()) expected = *held;
    HR_ASSIGN_OR_RETURN(std::string now, mesh.store->CompareAndSwap(key, expected, wanted, limits));
    if (now == wanted) return {};
    held = std::move(now);
  }
}

Status SayWaiting(const MeshOptions& mesh, const std::string& name, bool waits,
                  const CallLimits& limits) {
  const std::string line = name + "\n";
  const auto edit = [&](std::string& text) {
    const size_t at = text.find(line);
    if (waits && at == text.npos) text += line;
    if (!waits && at != text.npos) text.erase(at, line.size());
  };
  return EditWaiting(mesh, edit, limits);
}

// Takes the first seat that is free, for `name`. Returns its key.
Result<std::string> TakeSeat(const MeshOptions& mesh, std::string_view invitation,
                             const std::string& name, const CallLimits& limits) {
  for (size_t number = 1;; ++number) {
    std::string key = SeatKey(mesh, invitation, number);
    HR_ASSIGN_OR_RETURN(const std::string held,
                        mesh.store->CompareAndSwap(key, std::nullopt, name, limits));
    if (held == name) return key;
  }
}

// Whether all processes that the launcher has left wait for a seat: then nobody is left who could
// give them one.
Result<bool> AllWait(const MeshOptions& mesh, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const Losses losses, Losses::Read(mesh.losses_file));
  HR_ASSIGN_OR_RETURN(const std::optional<std::string> names,
                      mesh.store->TryGet(GroupKey(mesh, kWaitingKey), limits));
  const std::string lines = Cat("\n", names.value_or(""));
  const auto processes = losses.ProcessesOf(mesh.size);
  return std::all_of(processes.begin(), processes.end(), [&](const std::string& process) {
    return lines.find(Cat("\n+", process, ":")) != lines.npos;
  });
}

// Has those who wait meet anew, if the group that they wait for is dead.
Status BeginAnew(const MeshOptions& mesh, const Membership& dead, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const bool all_wait, AllWait(mesh, limits));
  if (!all_wait) return {};
  HR_ASSIGN_OR_RETURN(const Losses losses, Losses::Read(mesh.losses_file));
  const Membership next = {.epoch = dead.epoch + 1,
                           .from = dead.epoch + 1,
                           .job = dead.job,
                           .members = losses.ProcessesOf(mesh.size)};
  return mesh.store
      ->CompareAndSwap(GroupKey(mesh, kMembershipKey), dead.Encode(), next.Encode(), limits)
      .status()
      .Clone();
}

Result<Membership> AnswerInvitations(const MeshOptions& mesh, const std::string& name,
                                     const CallLimits& limits, std::string& seat) {
  Store& store = *mesh.store;
  std::string answered;
  for (auto pause = kFirstRegroupPause;; pause = std::min(2 * pause, kLastRegroupPause)) {
    HR_ASSIGN_OR_RETURN(std::optional<std::string> held,
                        store.TryGet(GroupKey(mesh, kMembershipKey), limits));
    std::optional<Membership> now;
    if (held.has_value()) {
      HR_ASSIGN_OR_RETURN(now, Membership::Decode(*held));
      if (now->RankOf(name) >= 0 || (now->begins() && !mesh.losses_file.empty())) return *now;
    }
    HR_ASSIGN_OR_RETURN(std::optional<std::string> invitation,
                        store.TryGet(GroupKey(mesh, kInvitationKey), limits));
    if (invitation.has_value() && *invitation != answered) {
      if (!seat.empty()) HR_RETURN_IF_ERROR(store.Delete(seat, limits));  // of one that is over
      answered = *invitation;
      HR_ASSIGN_OR_RETURN(seat, TakeSeat(mesh, answered, name, limits));
    }
    HR_ASSIGN_OR_RETURN(held, store.TryGet(GroupKey(mesh, kClosedKey), limits));
    if (held.has_value()) {
      return OutOfRange("group '", mesh.name, "' takes no new ranks any more: what it did is over");
    }
    HR_RETURN_IF_ERROR(SayWaiting(mesh, name, true, limits));
    if (!mesh.losses_file.empty() && now.has_value()) {
      HR_RETURN_IF_ERROR(BeginAnew(mesh, *now, limits));
    }
    HR_RETURN_IF_ERROR(limits.Check());
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

Result<Membership> AwaitSeat(const MeshOptions& mesh, const std::string& name,
                             const CallLimits& limits) {
  std::string seat;
  Result<Membership> now = AnswerInvitations(mesh, name, limits, seat);
  SayWaiting(mesh, name, false, Briefly()).IgnoreError();
  if (!now.ok() && !seat.empty()) {
    mesh.store->CompareAndSwap(seat, name, kLeft, Briefly()).status().IgnoreError();
  }
  if (now.ok() || limits.Check().ok()) return now;
  return std::move(now).status().WithContext(
      Cat("waiting for group '", mesh.name, "' to grow (hr_group_grow)"));
}

Status SetClosed(const MeshOptions& mesh, bool closed, const CallLimits& limits) {
  const std::string key = GroupKey(mesh, kClosedKey);
  return closed ? mesh.store->Set(key, "", limits) : mesh.store->Delete(key, limits);
}

Result<int> CountWaiting(const MeshOptions& mesh, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const std::optional<std::string> names,
                      mesh.store->TryGet(GroupKey(mesh, kWaitingKey), limits));
  return names.has_value() ? static_cast<int>(std::count(names->begin(), names->end(), '\n')) : 0;
}

Status ForgetWaiting(const MeshOptions& mesh, const CallLimits& limits) {
  return EditWaiting(
      mesh, [](std::string& names) { names.clear(); }, limits);
}

}  // namespace hr::comm
