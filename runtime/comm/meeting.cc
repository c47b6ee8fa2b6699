#include "runtime/comm/meeting.h"

#include <algorithm>
#include <charconv>

#include "runtime/comm/membership.h"

namespace hr::comm {
namespace {

constexpr int64_t kListenNanos = 10'000'000;
// What a rank spends beyond its deadline: on the verdict, and on taking its address back.
constexpr int64_t kMeetingVerdictNanos = 700'000'000;
constexpr int64_t kUnpublishNanos = 200'000'000;
constexpr int64_t kLookNanos = 100'000'000;
// Descriptors that are held back while the ranks meet, for the store, which may need some for the
// verdict when they have run out.
constexpr size_t kReserve = 4;

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    if (space > 0) words.push_back(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return words;
}

CallLimits Within(int64_t nanos) {
  return {.deadline_nanos = SystemClock().NowNanos() + nanos, .clock = &SystemClock()};
}

}  // namespace

std::string GroupKey(const MeshOptions& options, std::string_view what) {
  return Cat("headrace/", options.name, "/", what);
}

std::string EpochKey(const MeshOptions& options, std::string_view what) {
  const std::string attempt = options.attempt == 0 ? "" : Cat(".", options.attempt);
  return GroupKey(options, Cat(options.epoch, attempt, "/", what));
}

// ---- PublishedAddress ----

std::string PublishedAddress::Key(const MeshOptions& options, int rank) {
  return EpochKey(options, Cat("address/", rank));
}

Result<PublishedAddress> PublishedAddress::Of(const MeshOptions& options,
                                              const std::string& addresses,
                                              const CallLimits& limits) {
  PublishedAddress own;
  own.key_ = Key(options, options.rank);
  HR_ASSIGN_OR_RETURN(const std::string held,
                      options.store->CompareAndSwap(own.key_, std::nullopt, addresses, limits));
  if (held != addresses) {
    return AlreadyExists("rank ", options.rank, " of group '", options.name, "', epoch ",
                         options.epoch, ", is taken by the process at ", held,
                         "; give every process its own rank, and every restart a new epoch");
  }
  own.store_ = options.store;
  return own;
}

void PublishedAddress::TakeBack() {
  Store* store = std::exchange(store_, nullptr);
  if (store != nullptr) store->Delete(key_, Within(kUnpublishNanos)).IgnoreError();
}

// ---- Meeting ----

Meeting::Meeting(const MeshOptions& options)
    : options_(options),
      arbiter_(CreateStoreArbiter(*options.store, EpochKey(options, kVerdictKey))),
      peers_(std::make_unique<Peers>(options.size)),
      expected_(options.size) {}

Result<Met> Meeting::Hold(const MeshOptions& options, const CallLimits& limits) {
  Meeting meeting(options);
  HR_RETURN_IF_ERROR(meeting.CheckFresh(limits));
  return meeting.Meet(limits);
}

// An epoch that has ended is over: ranks of before and after must not meet.
Status Meeting::CheckFresh(const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(std::optional<std::string> text,
                      options_.store->TryGet(EpochKey(options_, kVerdictKey), limits));
  if (!text.has_value()) return {};
  HR_ASSIGN_OR_RETURN(Verdict verdict, Verdict::Decode(*text));
  if (!options_.missed) verdict.cause += "; to start again, use a higher epoch or an empty store";
  return EndedBy(options_, verdict);
}

Result<Met> Meeting::Meet(const CallLimits& limits) {
  Result<WakeEvent> wake = MeetOrFail(limits);
  if (!wake.ok()) return Explain(std::move(wake).status());
  return Met{std::move(peers_), std::move(address_), std::move(wake).value(), beaten_at_};
}

Result<WakeEvent> Meeting::MeetOrFail(const CallLimits& limits) {
  std::vector<Result<WakeEvent>> reserve;
  while (reserve.size() < kReserve) reserve.push_back(WakeEvent::Create());
  HR_RETURN_IF_ERROR(reserve.back().status().Clone());
  HR_RETURN_IF_ERROR(Listen());
  HR_RETURN_IF_ERROR(Publish(limits));
  HR_RETURN_IF_ERROR(MeetAll(limits));
  peers_->DropUnused();  // each peer has its connection, so nobody will come to those
  return WakeEvent::Create();
}

// Why the ranks have not met: the verdict, if this is a failure that concerns all.
Status Meeting::Explain(Status status) {
  if (status.code() == Code::kAlreadyExists || !ended_.ok()) return status;
  if (CameTooLate()) {
    return AlreadyExists(
        "group '", options_.name, "', epoch ", options_.epoch, ", has met without this process (",
        status.message(),
        "); join it (hr_group_join), or start all ranks again with a higher epoch");
  }
  const std::vector<int> missing = Missing();
  if (blamed_ < 0 && status.code() == Code::kDeadlineExceeded && !missing.empty()) {
    blamed_ = missing[0];
  }
  const Verdict accusation = {.culprit = blamed_ < 0 ? options_.rank : blamed_,
                              .code = status.code(),
                              .cause = std::string(status.message())};
  // Connections break after that, else those at their other ends would accuse this rank.
  Result<Verdict> verdict = arbiter_->Decide(accusation, Within(kMeetingVerdictNanos));
  peers_->DropAll();
  return verdict.ok() ? EndedBy(options_, *verdict) : std::move(status);
}

// Whether the group lives already, so that it is no fault of its own that this rank is none of it.
bool Meeting::CameTooLate() {
  if (options_.agreed) return false;
  const Result<std::optional<Membership>> now = ReadMembership(options_, Within(kLookNanos));
  return now.ok() && now->has_value() && (*now)->formed && (*now)->IsOf(options_);
}

Status Meeting::Listen() {
  for (const TransportFactory& create : options_.transports) {
    HR_ASSIGN_OR_RETURN(auto transport, create(Identity(options_.rank)));
    peers_->Add(std::move(transport));
  }
  return {};
}

Status Meeting::Publish(const CallLimits& limits) {
  std::string addresses;
  for (auto& transport : peers_->transports()) addresses += Cat(transport->address(), " ");
  HR_ASSIGN_OR_RETURN(address_, PublishedAddress::Of(options_, addresses, limits));
  return {};
}

Status Meeting::MeetAll(const CallLimits& limits) {
  std::vector<int> missing;
  while (!(missing = Missing()).empty()) {
    HR_RETURN_IF_ERROR(LookForEnd(limits));
    HR_RETURN_IF_ERROR(DialMissing(limits));
    HR_ASSIGN_OR_RETURN(const bool moved, MoveAll());
    HearWelcomes();
    BeatWhileMeeting();
    HR_RETURN_IF_ERROR(CheckConnections());
    HR_RETURN_IF_ERROR(CheckSilence());
    if (Status status = limits.Check(); !status.ok()) {
      return std::move(status).WithContext(Cat("rank ", options_.rank, " of group '", options_.name,
                                               "' waits for rank ", hr::Join(missing),
                                               Strangers()));
    }
    if (!moved) Sleep();
  }
  return {};
}

// Whether another rank has accused, or a process is lost that was to meet. The store and the
// launcher are asked now and then.
Status Meeting::LookForEnd(const CallLimits& limits) {
  const int64_t now = SystemClock().NowNanos();
  if (now < look_at_) return {};
  look_at_ = now + kLookNanos;
  HR_ASSIGN_OR_RETURN(std::optional<Verdict> verdict, arbiter_->Look(limits));
  if (verdict.has_value()) ended_ = EndedBy(options_, *verdict);
  HR_RETURN_IF_ERROR(ended_.Clone());
  return options_.losses_file.empty() ? Status() : LookForLosses();
}

Status Meeting::LookForLosses() {
  HR_ASSIGN_OR_RETURN(const Losses losses, Losses::Read(options_.losses_file));
  if (!options_.agreed && losses != options_.losses) {
    ended_ = Unavailable("a process of group '", options_.name, "' has ended before all had met");
    return ended_.Clone();
  }
  for (const auto& [rank, process] : options_.joiners) {
    if (expected_[rank].welcome || losses.Has(process)) continue;
    blamed_ = rank;
    return Unavailable("its process has ended before all had met");
  }
  return {};
}

// Connects to the ranks below that have come.
Status Meeting::DialMissing(const CallLimits& limits) {
  for (int rank = 0; rank < options_.rank; ++rank) {
    Expected& expected = expected_[rank];
    if (peers_->endpoint(rank) != nullptr) continue;
    HR_ASSIGN_OR_RETURN(std::optional<std::string> addresses,
                        options_.store->TryGet(PublishedAddress::Key(options_, rank), limits));
    if (!addresses.has_value()) {
      expected.stale.clear();
      continue;
    }
    if (*addresses == expected.stale) {
      if (SystemClock().NowNanos() < expected.stale_since + options_.silence_nanos) continue;
      blamed_ = rank;
      return Unavailable("rank ", rank, " does not answer at ", *addresses, ": ", expected.trouble,
                         "; if it was killed, use a new epoch");
    }
    HR_RETURN_IF_ERROR(Dial(rank, *addresses));
  }
  return {};
}

Status Meeting::Dial(int rank, const std::string& addresses) {
  expected_[rank].stale = addresses;  // unless it answers
  const auto words = Words(addresses);
  for (auto& transport : peers_->transports()) {
    for (std::string_view address : words) {
      if (!address.starts_with(Cat(transport->name(), ":")) || !transport->Reaches(address))
        continue;
      auto endpoint = transport->Connect(address);
      if (endpoint.status().code() == Code::kUnavailable) {
        NoteStale(rank, endpoint.status());
        return {};
      }
      if (!endpoint.ok()) return std::move(endpoint).status();
      peers_->Connect(rank, std::move(endpoint).value(), *transport);
      return {};
    }
  }
  blamed_ = rank;
  return Unavailable("no transport reaches rank ", rank, " at ", addresses);
}

// The address may be that of a process that is just leaving, whose successor will publish its own.
void Meeting::NoteStale(int rank, const Status& why) {
  expected_[rank].trouble = why.message();
  expected_[rank].stale_since = SystemClock().NowNanos();
  expected_[rank].heard_at = 0;
  peers_->Drop(rank);
}

// Moves data and takes in those who come. Returns whether any moved.
Result<bool> Meeting::MoveAll() {
  bool moved = false;
  for (auto& transport : peers_->transports()) {
    moved |= transport->Progress();
    while (auto endpoint = transport->Accept()) Admit(std::move(endpoint), *transport);
    HR_RETURN_IF_ERROR(transport->status().Clone());
  }
  return moved;
}

// Takes a connection in, if the peer is one that we wait for.
void Meeting::Admit(std::unique_ptr<Endpoint> endpoint, Transport& transport) {
  const std::string_view identity = endpoint->peer_identity();
  int rank = -1;
  std::from_chars(identity.data(), identity.data() + identity.size(), rank);
  if (rank <= options_.rank || rank >= options_.size || identity != Identity(rank) ||
      peers_->endpoint(rank) != nullptr) {
    // A stranger, or one of another incarnation: its own call fails with this.
    const std::string why = Cat("rank ", options_.rank, " of group '", options_.name, "', epoch ",
                                options_.epoch, ", size ", options_.size, ", does not expect '",
                                identity, "' (rank, size, epoch, group)");
    return peers_->TurnAway(std::move(endpoint), why);
  }
  peers_->Connect(rank, std::move(endpoint), transport);
  expected_[rank].welcome = true;
  peers_->Send(rank, "W");
}

void Meeting::HearWelcomes() {
  for (int rank : peers_->TakeHeard()) {
    // See CheckConnections.
    if (peers_->endpoint(rank) == nullptr || !peers_->HeardStatus(rank).ok()) continue;
    expected_[rank].welcome |= peers_->HeardText(rank) == "W";
    peers_->Listen(rank);
  }
}

// Nobody else will look at what has failed here: it has been heard (HearWelcomes).
Status Meeting::CheckConnections() {
  for (int rank = 0; rank < options_.size; ++rank) {
    if (peers_->endpoint(rank) == nullptr) continue;
    const Endpoint& endpoint = *peers_->endpoint(rank);
    if (endpoint.established() && endpoint.peer_identity() != Identity(rank)) {
      return FailedPrecondition("expected '", Identity(rank),
                                "' (rank, size, epoch, group) at the address of rank ", rank,
                                ", found '", endpoint.peer_identity(),
                                "'; are all ranks started with the same size?");
    }
    const Status& status = endpoint.status();
    if (status.ok()) continue;
    if (expected_[rank].welcome || status.code() != Code::kUnavailable) {
      if (status.code() == Code::kUnavailable) blamed_ = rank;
      const bool dialled = rank < options_.rank;
      return status.Clone().WithContext(Cat(dialled ? "connecting to rank " : "rank ", rank));
    }
    NoteStale(rank, status);
  }
  return {};
}

// Those that are connected, or were dialled, send signs of life (see BeatWhileMeeting).
Status Meeting::CheckSilence() {
  const int64_t now = SystemClock().NowNanos();
  // If this process was frozen itself, its peers get a new chance.
  const bool overslept = now - std::exchange(checked_at_, now) > options_.silence_nanos / 2;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!peers_->IsUp(rank)) continue;
    Expected& expected = expected_[rank];
    const uint64_t arrivals = peers_->endpoint(rank)->arrivals();
    if (std::exchange(expected.arrivals, arrivals) != arrivals || overslept ||
        expected.heard_at == 0) {
      expected.heard_at = now;
    }
    if (now - expected.heard_at <= options_.silence_nanos) continue;
    blamed_ = rank;
    return Unavailable("nothing was heard from it for ", (now - expected.heard_at) / 1'000'000,
                       " ms while the ranks met; it is frozen, or its network is cut");
  }
  return {};
}

// A rank that has met all others already counts the silence of those that have not.
void Meeting::BeatWhileMeeting() {
  const int64_t now = SystemClock().NowNanos();
  if (now - beaten_at_ < options_.silence_nanos / 4) return;
  beaten_at_ = now;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (expected_[rank].welcome) peers_->Send(rank, "H");
  }
}

void Meeting::Sleep() {
  std::vector<int> handles;
  bool armed = true;
  for (auto& transport : peers_->transports()) {
    armed = armed && transport->Arm();
    handles.push_back(transport->wait_handle());
  }
  if (armed) WaitReadable(handles, kListenNanos);
}

// What peers compare: the same group, epoch and size, and who it is.
std::string Meeting::Identity(int rank) const {
  return Cat(rank, " ", options_.size, " ", options_.epoch, " ", options_.name);
}

std::vector<int> Meeting::Missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (rank != options_.rank && !expected_[rank].welcome) missing.push_back(rank);
  }
  return missing;
}

// Who came and was not let in: perhaps one that is missing.
std::string Meeting::Strangers() const {
  std::string text;
  for (const auto& transport : peers_->transports()) {
    if (!transport->last_stranger().empty()) text += Cat("; ", transport->last_stranger());
  }
  return text;
}

}  // namespace hr::comm
