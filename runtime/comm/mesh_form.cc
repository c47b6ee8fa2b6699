// How the ranks of a mesh meet: everybody publishes addresses in the store, and connects to the
// ranks below.
#include <algorithm>
#include <charconv>

#include "runtime/comm/mesh.h"

namespace hr::comm {
namespace {

constexpr int64_t kSliceNanos = 10'000'000;

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

std::string Mesh::Key(std::string_view what) const {
  return Cat("headrace/", options_.name, "/", options_.epoch, "/", what);
}

// What peers compare: the same group, epoch and size, and who this is.
std::string Mesh::Identity() const {
  return Cat(options_.rank, " ", options_.size, " ", options_.epoch, " ", options_.name);
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
  mesh->arbiter_ = CreateStoreArbiter(*mesh->options_.store, mesh->Key("verdict"));
  HR_RETURN_IF_ERROR(mesh->Listen());
  HR_RETURN_IF_ERROR(mesh->Publish(limits));
  for (int rank = 0; rank < mesh->options_.rank; ++rank) {
    HR_RETURN_IF_ERROR(mesh->Dial(rank, limits));
  }
  HR_RETURN_IF_ERROR(mesh->MeetAll(limits));
  std::vector<Transport*> transports;
  for (auto& transport : mesh->transports_) transports.push_back(transport.get());
  HR_ASSIGN_OR_RETURN(mesh->reactor_, Reactor::Create(std::move(transports), *mesh));
  mesh->reactor_->set_spin_nanos(mesh->options_.spin_nanos);
  {
    Reactor::Guard guard(*mesh->reactor_);
    for (Peer& peer : mesh->peers_) {
      if (peer.endpoint != nullptr) mesh->ListenTo(peer);
    }
  }
  mesh->options_.poller->Add(*mesh->reactor_);
  return mesh;
}

Status Mesh::Listen() {
  for (const TransportFactory& create : options_.transports) {
    HR_ASSIGN_OR_RETURN(auto transport, create(Identity()));
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

Status Mesh::Dial(int rank, const CallLimits& limits) {
  Result<std::string> addresses = options_.store->Get(Key(Cat("address/", rank)), limits);
  if (!addresses.ok()) {
    return std::move(addresses).status().WithContext(
        Cat("rank ", rank, " of group '", options_.name, "' did not come"));
  }
  const auto words = Words(*addresses);
  for (auto& transport : transports_) {
    for (std::string_view address : words) {
      if (!address.starts_with(Cat(transport->name(), ":")) || !transport->Reaches(address))
        continue;
      HR_ASSIGN_OR_RETURN(peers_[rank].endpoint, transport->Connect(address));
      peers_[rank].transport = transport.get();
      return {};
    }
  }
  return Unavailable("no transport reaches rank ", rank, " at ", *addresses);
}

void Mesh::Unpublish() {
  if (!std::exchange(published_, false)) return;
  const CallLimits limits = {.deadline_nanos = SystemClock().NowNanos() + 1'000'000'000,
                             .clock = &SystemClock()};
  options_.store->Delete(Key(Cat("address/", options_.rank)), limits).IgnoreError();
}

// Takes a connection in, if the peer is one that we wait for.
Status Mesh::Admit(std::unique_ptr<Endpoint> endpoint, Transport& transport) {
  const std::string_view identity = endpoint->peer_identity();
  int rank = -1;
  std::from_chars(identity.data(), identity.data() + identity.size(), rank);
  const std::string expected =
      Cat(rank, " ", options_.size, " ", options_.epoch, " ", options_.name);
  if (rank <= options_.rank || rank >= options_.size || identity != expected ||
      peers_[rank].endpoint != nullptr) {
    // A stranger, or one of another incarnation: its own call fails with this.
    endpoint->Close(Cat("rank ", options_.rank, " of group '", options_.name, "', epoch ",
                        options_.epoch, ", size ", options_.size, ", does not expect '", identity,
                        "' (rank, size, epoch, group)"));
    transport.Progress();
    return {};
  }
  peers_[rank].endpoint = std::move(endpoint);
  peers_[rank].transport = &transport;
  return {};
}

Status Mesh::CheckDialled() {
  for (int rank = 0; rank < options_.rank; ++rank) {
    const Endpoint& endpoint = *peers_[rank].endpoint;
    if (!endpoint.status().ok()) {
      return endpoint.status().Clone().WithContext(Cat("connecting to rank ", rank));
    }
    if (!endpoint.established()) continue;
    const std::string expected =
        Cat(rank, " ", options_.size, " ", options_.epoch, " ", options_.name);
    if (endpoint.peer_identity() != expected) {
      return FailedPrecondition(
          "expected '", expected, "' (rank, size, epoch, group) at the address of rank ", rank,
          ", found '", endpoint.peer_identity(), "'; are all ranks started with the same size?");
    }
  }
  return {};
}

std::string Mesh::Missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < options_.size; ++rank) {
    const Endpoint* endpoint = peers_[rank].endpoint.get();
    if (rank != options_.rank && (endpoint == nullptr || !endpoint->established())) {
      missing.push_back(rank);
    }
  }
  return Join(missing);
}

Status Mesh::MeetAll(const CallLimits& limits) {
  std::string missing;
  while (!(missing = Missing()).empty()) {
    bool moved = false;
    for (auto& transport : transports_) {
      moved |= transport->Progress();
      while (auto endpoint = transport->Accept()) {
        HR_RETURN_IF_ERROR(Admit(std::move(endpoint), *transport));
      }
    }
    HR_RETURN_IF_ERROR(CheckDialled());
    if (Status status = limits.Check(); !status.ok()) {
      return std::move(status).WithContext(
          Cat("rank ", options_.rank, " of group '", options_.name, "' waits for rank ", missing));
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

}  // namespace hr::comm
