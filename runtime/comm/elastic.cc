#include "runtime/comm/elastic.h"

#include <algorithm>
#include <random>
#include <thread>

#include "runtime/comm/regroup.h"

namespace hr::comm {
namespace {

constexpr int64_t kElasticVerdictNanos = 3'000'000'000;
// Until a launcher notes that a process has ended, of which the others have heard.
constexpr int64_t kNoteNanos = 2'000'000'000;

// Why the group ended, as all ranks know it, and whom this one cannot reach.
Status LookAt(Group& group, const CallLimits& limits, Ending& ending) {
  ending.suspects = group.Suspects();
  if (ending.verdict.has_value()) return {};
  auto verdict = group.VerdictOfAll(StoreLimits(group.options(), limits));
  if (!verdict.ok()) {
    return StoreFailed(group.options(), limits, std::move(verdict).status());
  }
  ending.verdict = *std::move(verdict);
  return {};
}

// What became of epochs that the ranks have left behind. Nobody reads it any more.
void Forget(const MeshOptions& options, int size, const CallLimits& limits) {
  Store& store = *options.store;
  for (int rank = 0; rank < size; ++rank) {
    store.Delete(EpochKey(options, Cat("stays/", rank)), limits).IgnoreError();
  }
  store.Delete(EpochKey(options, kVerdictKey), limits).IgnoreError();
}

// Of those that have been named by NameOfJoiner, for a process.
std::map<int, std::string> JoinersOf(const Membership& membership) {
  std::map<int, std::string> joiners;
  for (size_t rank = 0; rank < membership.members.size(); ++rank) {
    const std::string_view name = membership.members[rank];
    const size_t colon = name.find(':');
    if (name.starts_with('+') && colon != name.npos) {
      joiners[static_cast<int>(rank)] = name.substr(1, colon - 1);
    }
  }
  return joiners;
}

// Goes from epoch to epoch until a group has formed.
class Elastic {
 public:
  Elastic(GroupOptions options, int target, const CallLimits& limits)
      : options_(std::move(options)), target_(target), limits_(limits) {}

  // The first round, among the ranks of `group`.
  Status Leave(Group& group);
  // Takes the place of `name` in a membership.
  Status Take(const Membership& next, std::string_view name);
  // Forms the group that was agreed on, or one of a later epoch.
  Result<std::shared_ptr<Group>> Form();
  // Goes on from an epoch whose ranks failed to meet.
  Result<std::shared_ptr<Group>> FormAfter(Status failure);

 private:
  Status Leave(Status failure);
  Status GoOn(const Ending& ending, const LookAgain& look);
  Status Blame(Status status, Ending& ending);

  GroupOptions options_;
  int target_;
  CallLimits limits_;
  std::vector<MeshOptions> passed_;
};

Status Elastic::Leave(Group& group) {
  auto look = [&](Ending& ending) { return LookAt(group, limits_, ending); };
  Ending ending;
  HR_RETURN_IF_ERROR(look(ending));
  return GoOn(ending, look);
}

Status Elastic::GoOn(const Ending& ending, const LookAgain& look) {
  const int rank = options_.mesh.rank;
  if (ending.Excludes(rank)) {
    return FailedPrecondition("rank ", rank, " ended epoch ", options_.mesh.epoch, " of group '",
                              options_.mesh.name, "' (", ending.verdict->cause,
                              "), so the others go on without it; it may join them "
                              "(hr_group_join) when they grow");
  }
  Round round(options_.mesh, target_, limits_);
  HR_ASSIGN_OR_RETURN(const Membership next, round.Agree(ending, look));
  passed_.push_back(options_.mesh);
  Status taken = Take(next, Cat(rank));
  if (!taken.ok()) round.Withdraw();
  return taken;
}

Status Elastic::Take(const Membership& next, std::string_view name) {
  MeshOptions& mesh = options_.mesh;
  const bool related = name.starts_with('+') || (next.from == mesh.epoch && next.job == mesh.job);
  const int rank = related ? next.RankOf(name) : -1;
  if (rank < 0) {
    return FailedPrecondition("group '", mesh.name, "' has gone on to epoch ", next.epoch,
                              " without rank ", mesh.rank, " of epoch ", mesh.epoch,
                              ", which came too late or was cut off from the others; it may join "
                              "them (hr_group_join) when they grow");
  }
  mesh.epoch = next.epoch;
  mesh.attempt = next.attempt;
  mesh.job = next.job;
  mesh.rank = rank;
  mesh.size = static_cast<int>(next.members.size());
  mesh.agreed = true;
  mesh.joiners = JoinersOf(next);
  return {};
}

// Why the ranks did not meet. An error if this rank itself could not go on.
Status Elastic::Blame(Status status, Ending& ending) {
  if (Status ended = limits_.Check(); !ended.ok()) {
    return std::move(ended).WithContext(std::string(status.message()));
  }
  const CallLimits soon = Sooner(limits_, kElasticVerdictNanos);
  const auto arbiter =
      CreateStoreArbiter(*options_.mesh.store, EpochKey(options_.mesh, kVerdictKey));
  do {
    auto verdict = arbiter->Look(soon);
    if (!verdict.ok()) return StoreFailed(options_.mesh, limits_, std::move(verdict).status());
    ending.verdict = *std::move(verdict);
    if (ending.verdict.has_value()) {
      ending.suspects = {ending.verdict->culprit};
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  } while (soon.Check().ok());
  const bool own = !ending.verdict.has_value() || ending.verdict->culprit == options_.mesh.rank;
  return own ? std::move(status) : Status();
}

Result<std::shared_ptr<Group>> Elastic::Form() {
  target_ = 0;  // whoever fails to come now is not waited for again
  for (;;) {
    // The old epoch is over: there is no going back because the caller's time is. It is for this
    // attempt, and for agreeing on the next one.
    const CallLimits time = Sooner({.clock = limits_.clock}, 2 * PatienceOf(options_.mesh));
    limits_.deadline_nanos = std::max(limits_.deadline_nanos, time.deadline_nanos);
    const CallLimits soon = Sooner(limits_, PatienceOf(options_.mesh));
    Result<std::shared_ptr<Group>> group = Group::Create(options_, soon);
    if (group.ok()) {
      if (options_.mesh.rank == 0) {
        for (const MeshOptions& mesh : passed_) Forget(mesh, mesh.size, soon);
      }
      return group;
    }
    HR_RETURN_IF_ERROR(Leave(std::move(group).status()));
  }
}

Status Elastic::Leave(Status failure) {
  Ending ending;
  HR_RETURN_IF_ERROR(Blame(std::move(failure), ending));
  return GoOn(ending, nullptr);
}

Result<std::shared_ptr<Group>> Elastic::FormAfter(Status failure) {
  HR_RETURN_IF_ERROR(Leave(std::move(failure)));
  return Form();
}

Result<std::shared_ptr<Group>> GoOnFrom(Group& group, int target, const CallLimits& limits) {
  Elastic elastic(group.group_options(), target, limits);
  HR_RETURN_IF_ERROR(elastic.Leave(group));
  Result<std::shared_ptr<Group>> next = elastic.Form();
  group.Close();
  // That would say that all is as before.
  if (next.status().code() == Code::kDeadlineExceeded) {
    return FailedPrecondition("the others have gone on without this rank, which came too late: ",
                              next.status().message());
  }
  return next;
}

std::string NameOfJoiner(std::string_view process) {
  std::random_device device;
  return Cat("+", process, device(), ".", device());
}

// Forms the group of `next`, as its member `name`.
Result<std::shared_ptr<Group>> FormAs(GroupOptions options, const Membership& next,
                                      std::string_view name, const CallLimits& limits) {
  Elastic elastic(std::move(options), 0, limits);
  HR_RETURN_IF_ERROR(elastic.Take(next, name));
  return elastic.Form();
}

// Whether the launcher has lost a process since these ranks began to meet.
bool LostMore(const MeshOptions& mesh, const Status& failure, const CallLimits& limits) {
  const CallLimits soon = Sooner(limits, kNoteNanos);
  do {
    const Result<Losses> losses = Losses::Read(mesh.losses_file);
    if (!losses.ok()) return false;
    if (*losses != mesh.losses) return limits.Check().ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  } while (failure.code() == Code::kUnavailable && soon.Check().ok());
  return false;
}

Status CheckWhole(const Group& group) {
  if (group.whole()) return {};
  return InvalidArgument(
      "a sub-group cannot shrink or grow; let the group that it was split from, ",
      "and split that again");
}

}  // namespace

Result<std::shared_ptr<Group>> Shrink(Group& group, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckWhole(group));
  if (group.status().ok()) {
    return FailedPrecondition(
        "group '", group.options().name,
        "' has not ended, so it cannot be shrunk; a rank that is to be left out has to end it "
        "(hr_group_abort)");
  }
  return GoOnFrom(group, 0, limits);
}

Result<std::shared_ptr<Group>> Grow(Group& group, int size, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckWhole(group));
  const bool ended = !group.status().ok();
  if (size < 1 || (!ended && size <= group.size())) {
    return InvalidArgument("expected a new size above ", ended ? 0 : group.size(), ", got ", size);
  }
  Result<std::shared_ptr<Group>> next = GoOnFrom(group, size, limits);
  if (next.status().code() == Code::kDeadlineExceeded) {
    ForgetWaiting(group.options(), Sooner({}, kElasticVerdictNanos)).IgnoreError();
  }
  return next;
}

Result<int> Waiting(const Group& group, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckWhole(group));
  return CountWaiting(group.options(), StoreLimits(group.options(), limits));
}

Status SetClosed(const Group& group, bool closed, const CallLimits& limits) {
  return SetClosed(group.options(), closed, StoreLimits(group.options(), limits));
}

Result<std::shared_ptr<Group>> Join(GroupOptions options, const CallLimits& limits) {
  if (options.mesh.store == nullptr) return InvalidArgument("to join a group needs its store");
  const std::string name = NameOfJoiner("");
  HR_ASSIGN_OR_RETURN(const Membership next, AwaitSeat(options.mesh, name, limits));
  return FormAs(std::move(options), next, name, limits);
}

Result<std::shared_ptr<Group>> CreateOrJoin(GroupOptions options, bool replaces,
                                            const CallLimits& limits) {
  for (;;) {
    GroupOptions latest = options;
    if (replaces) {
      HR_ASSIGN_OR_RETURN(std::optional<Membership> held, ReadMembership(options.mesh, limits));
      if (held.has_value() && !held->begins()) {
        HR_ASSIGN_OR_RETURN(const Losses losses, Losses::Read(options.mesh.losses_file));
        const std::string name = NameOfJoiner(Cat(losses.ProcessOf(options.mesh.rank), ":"));
        HR_ASSIGN_OR_RETURN(held, AwaitSeat(options.mesh, name, limits));
        if (!held->begins()) return FormAs(std::move(options), *held, name, limits);
      }
      if (held.has_value()) latest.mesh.epoch = held->epoch;
    }
    HR_RETURN_IF_ERROR(EnterEpoch(latest.mesh, limits));
    Result<std::shared_ptr<Group>> group = Group::Create(latest, limits);
    if (group.ok()) return group;
    HR_ASSIGN_OR_RETURN(const std::optional<Membership> now, ReadMembership(latest.mesh, limits));
    const bool formed = now.has_value() && now->formed;
    if (formed && replaces) continue;
    if (formed && group.status().code() == Code::kUnavailable) {
      return Elastic(std::move(latest), 0, limits).FormAfter(std::move(group).status());
    }
    if (formed || !LostMore(latest.mesh, group.status(), limits)) return group;
  }
}

}  // namespace hr::comm
