// How the ranks of a mesh meet: everybody publishes addresses in the store and connects to the
// ranks below, which answer with a welcome ("W") once they have taken the connection in.
#include <algorithm>
#include <charconv>

#include "runtime/comm/membership.h"

namespace hr::comm {
namespace {

constexpr int64_t kSliceNanos = 10'000'000;
// What a rank spends beyond its deadline: on the verdict, and on taking its address back.
constexpr int64_t kVerdictNanos = 700'000'000;
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

}  // namespace

std::string GroupKey(const MeshOptions& options, std::string_view what) {
  return Cat("headrace/", options.name, "/", what);
}

std::string EpochKey(const MeshOptions& options, std::string_view what) {
  const std::string attempt = options.attempt == 0 ? "" : Cat(".", options.attempt);
  return GroupKey(options, Cat(options.epoch, attempt, "/", what));
}

// What peers compare: the same group, epoch and size, and who it is.
std::string Mesh::Identity(int rank) const {
  return Cat(rank, " ", options_.size, " ", options_.epoch, " ", options_.name);
}

Result<std::shared_ptr<Mesh>> Mesh::Form(MeshOptions options, const CallLimits& limits) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    return InvalidArgument("expected a rank from 0 to size - 1, got rank ", options.rank, " of ",
                           options.size);
  }
  if (options.store == nullptr || options.poller == nullptr || options.transports.empty()) {
    return InvalidArgument("a group needs a store, a poller and at least one transport");
  }
  std::shared_ptr<Mesh> mesh(new Mesh(std::move(options)));
  mesh->peers_ = std::vector<Peer>(mesh->options_.size);
  mesh->arbiter_ = CreateStoreArbiter(*mesh->options_.store, mesh->Key(kVerdictKey));
  HR_RETURN_IF_ERROR(mesh->CheckFresh(limits));
  HR_RETURN_IF_ERROR(mesh->Meet(limits));
  mesh->ReserveLists();
  HR_RETURN_IF_ERROR(mesh->recorder_.Open(mesh->DumpPath(".flight")));
  mesh->options_.poller->Add(*mesh->reactor_);
  mesh->LogMembers();
  return mesh;
}

// So that steps do not allocate, whatever is in flight when a heartbeat comes.
void Mesh::ReserveLists() {
  constexpr size_t kInFlight = 256;
  Reactor::Guard guard(*reactor_);
  heard_.reserve(peers_.size());
  active_.reserve(kInFlight);
  ready_.reserve(kInFlight);
  watched_.reserve(kInFlight);
}

// Such as "group 'world', epoch 0: rank 1 of 4 has met the others, 1 over shm, 2 over tcp".
void Mesh::LogMembers() {
  if (options_.log == nullptr) return;
  std::string text = Cat("group '", options_.name, "', epoch ", options_.epoch, ": rank ",
                         options_.rank, " of ", options_.size);
  if (options_.size > 1) text += " has met the others";
  for (const auto& transport : transports_) {
    const auto count = std::count_if(peers_.begin(), peers_.end(), [&](const Peer& peer) {
      return peer.transport == transport.get();
    });
    if (count > 0) text += Cat(", ", count, " over ", transport->name());
  }
  options_.log->Write(LogLevel::kInfo, text);
}

// An epoch that has ended is over: ranks of before and after must not meet.
Status Mesh::CheckFresh(const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(std::optional<std::string> text,
                      options_.store->TryGet(Key(kVerdictKey), limits));
  if (!text.has_value()) return {};
  HR_ASSIGN_OR_RETURN(Verdict verdict, Verdict::Decode(*text));
  if (!options_.missed) verdict.cause += "; to start again, use a higher epoch or an empty store";
  return EndedBy(verdict);
}

// A rank that cannot go on accuses, so that the others need not wait for it: all get one verdict.
Status Mesh::Meet(const CallLimits& limits) {
  std::vector<Result<WakeEvent>> reserve;
  while (reserve.size() < kReserve) reserve.push_back(WakeEvent::Create());
  Status status = reserve.back().status().Clone();
  if (status.ok()) status = Listen();
  if (status.ok()) status = Publish(limits);
  if (status.ok()) status = MeetAll(limits);
  if (status.ok()) status = CreateReactor();
  if (status.ok() || status.code() == Code::kAlreadyExists || !status_.ok()) return status;
  const CallLimits briefly = {.deadline_nanos = SystemClock().NowNanos() + kLookNanos,
                              .clock = &SystemClock()};
  if (CameTooLate(briefly)) {
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
  const CallLimits soon = {.deadline_nanos = SystemClock().NowNanos() + kVerdictNanos,
                           .clock = &SystemClock()};
  reserve.clear();
  // Connections break after that, else those at their other ends would accuse this rank.
  Result<Verdict> verdict = arbiter_->Decide(accusation, soon);
  for (Peer& peer : peers_) peer.endpoint.reset();
  turned_away_.clear();
  transports_.clear();
  return verdict.ok() ? EndedBy(*verdict) : std::move(status);
}

// Whether the group lives already, so that it is no fault of its own that this rank is none of it.
bool Mesh::CameTooLate(const CallLimits& limits) {
  if (options_.agreed) return false;
  const Result<std::optional<Membership>> now = ReadMembership(options_, limits);
  return now.ok() && now->has_value() && (*now)->formed && (*now)->IsOf(options_);
}

// Whether another rank has accused. The store is asked now and then.
Status Mesh::LookForVerdict(const CallLimits& limits) {
  const int64_t now = SystemClock().NowNanos();
  if (now < look_at_) return {};
  look_at_ = now + kLookNanos;
  HR_ASSIGN_OR_RETURN(std::optional<Verdict> verdict, arbiter_->Look(limits));
  if (verdict.has_value()) status_ = EndedBy(*verdict);
  return status_.Clone();
}

Status Mesh::Listen() {
  for (const TransportFactory& create : options_.transports) {
    HR_ASSIGN_OR_RETURN(auto transport, create(Identity(options_.rank)));
    transports_.push_back(std::move(transport));
  }
  return {};
}

Status Mesh::Publish(const CallLimits& limits) {
  std::string addresses;
  for (auto& transport : transports_) addresses += Cat(transport->address(), " ");
  const std::string key = Key(Cat("address/", options_.rank));
  HR_ASSIGN_OR_RETURN(std::string held,
                      options_.store->CompareAndSwap(key, std::nullopt, addresses, limits));
  published_ = held == addresses;
  if (published_) return {};
  return AlreadyExists("rank ", options_.rank, " of group '", options_.name, "', epoch ",
                       options_.epoch, ", is taken by the process at ", held,
                       "; give every process its own rank, and every restart a new epoch");
}

void Mesh::Unpublish() {
  if (!std::exchange(published_, false)) return;
  const CallLimits limits = {.deadline_nanos = SystemClock().NowNanos() + kUnpublishNanos,
                             .clock = &SystemClock()};
  options_.store->Delete(Key(Cat("address/", options_.rank)), limits).IgnoreError();
}

// Connects to the ranks below that have come.
Status Mesh::DialMissing(const CallLimits& limits) {
  for (int rank = 0; rank < options_.rank; ++rank) {
    if (peers_[rank].endpoint != nullptr) continue;
    HR_ASSIGN_OR_RETURN(std::optional<std::string> addresses,
                        options_.store->TryGet(Key(Cat("address/", rank)), limits));
    if (!addresses.has_value()) {
      peers_[rank].stale.clear();
      continue;
    }
    if (*addresses == peers_[rank].stale) {
      if (SystemClock().NowNanos() < peers_[rank].stale_since + options_.silence_nanos) continue;
      blamed_ = rank;
      return Unavailable("rank ", rank, " does not answer at ", *addresses, ": ",
                         peers_[rank].trouble, "; if it was killed, use a new epoch");
    }
    HR_RETURN_IF_ERROR(Dial(rank, *addresses));
  }
  return {};
}

Status Mesh::Dial(int rank, const std::string& addresses) {
  peers_[rank].stale = addresses;  // unless it answers
  const auto words = Words(addresses);
  for (auto& transport : transports_) {
    for (std::string_view address : words) {
      if (!address.starts_with(Cat(transport->name(), ":")) || !transport->Reaches(address))
        continue;
      auto endpoint = transport->Connect(address);
      if (endpoint.status().code() == Code::kUnavailable) {
        return NoteStale(rank, endpoint.status());
      }
      if (!endpoint.ok()) return std::move(endpoint).status();
      peers_[rank].endpoint = std::move(endpoint).value();
      peers_[rank].transport = transport.get();
      ListenTo(peers_[rank]);
      return {};
    }
  }
  blamed_ = rank;
  return Unavailable("no transport reaches rank ", rank, " at ", addresses);
}

// The address may be that of a process that is just leaving, whose successor will publish its own.
Status Mesh::NoteStale(int rank, const Status& why) {
  Peer& peer = peers_[rank];
  peer.endpoint.reset();
  peer.trouble = why.message();
  peer.stale_since = SystemClock().NowNanos();
  return {};
}

// Takes a connection in, if the peer is one that we wait for.
void Mesh::Admit(std::unique_ptr<Endpoint> endpoint, Transport& transport) {
  const std::string_view identity = endpoint->peer_identity();
  int rank = -1;
  std::from_chars(identity.data(), identity.data() + identity.size(), rank);
  if (rank <= options_.rank || rank >= options_.size || identity != Identity(rank) ||
      peers_[rank].endpoint != nullptr) {
    // A stranger, or one of another incarnation: its own call fails with this.
    endpoint->Close(Cat("rank ", options_.rank, " of group '", options_.name, "', epoch ",
                        options_.epoch, ", size ", options_.size, ", does not expect '", identity,
                        "' (rank, size, epoch, group)"));
    turned_away_.push_back(std::move(endpoint));
    return;
  }
  peers_[rank].endpoint = std::move(endpoint);
  peers_[rank].transport = &transport;
  peers_[rank].welcome = true;
  ListenTo(peers_[rank]);
  SendControl(rank, "W");
}

// Says no to whoever comes now, and lets go of those who have heard it.
void Mesh::TurnAway() {
  for (auto& transport : transports_) {
    while (auto endpoint = transport->Accept()) {
      endpoint->Close(Cat("group '", options_.name, "', epoch ", options_.epoch,
                          ", is complete; rank ", options_.rank, " accepts no more ranks"));
      turned_away_.push_back(std::move(endpoint));
    }
  }
  if (!turned_away_.empty()) {
    turned_away_.remove_if([](const auto& endpoint) { return endpoint->flushed(); });
  }
}

void Mesh::HearWelcomes() {
  for (int rank : std::exchange(heard_, {})) {
    Peer& peer = peers_[rank];
    if (peer.endpoint == nullptr || !peer.control.status.ok()) continue;  // see CheckDialled
    const bool welcome = peer.control.received == 1 && peer.control_text[0] == std::byte{'W'};
    peer.welcome |= welcome;
    ListenTo(peer);
  }
}

Status Mesh::CheckDialled() {
  for (int rank = 0; rank < options_.rank; ++rank) {
    if (peers_[rank].endpoint == nullptr) continue;
    const Endpoint& endpoint = *peers_[rank].endpoint;
    if (endpoint.established() && endpoint.peer_identity() != Identity(rank)) {
      return FailedPrecondition("expected '", Identity(rank),
                                "' (rank, size, epoch, group) at the address of rank ", rank,
                                ", found '", endpoint.peer_identity(),
                                "'; are all ranks started with the same size?");
    }
    const Status& status = endpoint.status();
    if (status.ok()) continue;
    if (peers_[rank].welcome || status.code() != Code::kUnavailable) {
      if (status.code() == Code::kUnavailable) blamed_ = rank;
      return status.Clone().WithContext(Cat("connecting to rank ", rank));
    }
    HR_RETURN_IF_ERROR(NoteStale(rank, status.Clone()));
  }
  return {};
}

// A rank that has met all others already counts the silence of those that have not.
void Mesh::BeatWhileMeeting() {
  const int64_t now = SystemClock().NowNanos();
  if (now - beaten_at_ < options_.silence_nanos / 4) return;
  beaten_at_ = now;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (peers_[rank].welcome) SendControl(rank, "H");
  }
}

std::vector<int> Mesh::Missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (rank != options_.rank && !peers_[rank].welcome) missing.push_back(rank);
  }
  return missing;
}

// Who came and was not let in: perhaps one that is missing.
std::string Mesh::Strangers() const {
  std::string text;
  for (const auto& transport : transports_) {
    if (!transport->last_stranger().empty()) text += Cat("; ", transport->last_stranger());
  }
  return text;
}

Status Mesh::MeetAll(const CallLimits& limits) {
  std::vector<int> missing;
  while (!(missing = Missing()).empty()) {
    HR_RETURN_IF_ERROR(LookForVerdict(limits));
    HR_RETURN_IF_ERROR(DialMissing(limits));
    bool moved = false;
    for (auto& transport : transports_) {
      moved |= transport->Progress();
      while (auto endpoint = transport->Accept()) Admit(std::move(endpoint), *transport);
      HR_RETURN_IF_ERROR(transport->status().Clone());
    }
    HearWelcomes();
    BeatWhileMeeting();
    HR_RETURN_IF_ERROR(CheckDialled());
    if (Status status = limits.Check(); !status.ok()) {
      return std::move(status).WithContext(Cat("rank ", options_.rank, " of group '", options_.name,
                                               "' waits for rank ", Join(missing), Strangers()));
    }
    if (moved) continue;
    std::vector<int> handles;
    bool armed = true;
    for (auto& transport : transports_) {
      armed = armed && transport->Arm();
      handles.push_back(transport->wait_handle());
    }
    if (armed) WaitReadable(handles, kSliceNanos);
  }
  return {};
}

Status Mesh::CreateReactor() {
  // Each peer has its connection, so nobody will come to the other transports.
  turned_away_.clear();
  std::erase_if(transports_, [this](const std::unique_ptr<Transport>& transport) {
    return std::none_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
      return peer.endpoint != nullptr && peer.transport == transport.get();
    });
  });
  std::vector<Transport*> transports;
  for (auto& transport : transports_) transports.push_back(transport.get());
  HR_ASSIGN_OR_RETURN(reactor_, Reactor::Create(std::move(transports), *this));
  return {};
}

}  // namespace hr::comm
