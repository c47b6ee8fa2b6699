// A comm::Transport as the table that a plugin exports.
#include "runtime/plugin/guest_transport.h"

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/plugin_transport.h"
#include "runtime/plugin/guest.h"

namespace {

using MakeTransport = hr::Result<std::unique_ptr<hr::comm::Transport>> (*)(
    const hr::comm::TransportSettings& settings, std::string identity);

// What a plugin's instance is.
struct Instance {
  hr::plugin::Guest guest;
  MakeTransport make;
  const char* kinds[2];
  hr::plugin::TransportFindings (*look)();
  hr_plugin_transport_table table;
  std::once_flag looked;
  hr::plugin::TransportFindings found;
};

// The host's transfer as ours. Used again and again.
struct Parcel {
  hr::comm::Transfer rep;
  hr_plugin_transfer* c = nullptr;
  hr_plugin_endpoint* endpoint = nullptr;
};

}  // namespace

struct hr_plugin_transport {
  Instance* instance;
  std::unique_ptr<hr::comm::Transport> rep;
  mutable std::string stranger;
};
struct hr_plugin_endpoint {
  Instance* instance;
  std::unique_ptr<hr::comm::Endpoint> rep;
  std::deque<Parcel> parcels;
  std::vector<Parcel*> free;
};

namespace hr::plugin {
namespace {

void OnDone(comm::Transfer& transfer) {
  Parcel& parcel = *static_cast<Parcel*>(transfer.owner);
  hr_plugin_transfer* c = parcel.c;
  c->label = transfer.label;
  c->received = transfer.received;
  c->own = nullptr;
  parcel.endpoint->free.push_back(&parcel);
  c->done(c, parcel.endpoint->instance->guest.Pass(std::move(transfer.status)));
}

// Looks only once.
const TransportFindings& Findings(void* self) {
  auto& instance = *static_cast<Instance*>(self);
  std::call_once(instance.looked, [&] {
    if (instance.look != nullptr) instance.found = instance.look();
  });
  return instance.found;
}

comm::Transfer& Wrap(hr_plugin_endpoint& endpoint, hr_plugin_transfer* c) {
  if (endpoint.free.empty()) {
    endpoint.parcels.emplace_back().endpoint = &endpoint;
    endpoint.free.push_back(&endpoint.parcels.back());
  }
  Parcel& parcel = *endpoint.free.back();
  endpoint.free.pop_back();
  parcel.c = c;
  c->own = &parcel;
  comm::Transfer& transfer = parcel.rep;
  transfer.data = static_cast<std::byte*>(c->data);
  transfer.bytes = c->bytes;
  transfer.tag = c->tag;
  transfer.label = c->label;
  transfer.done = OnDone;
  transfer.owner = &parcel;
  transfer.status = {};
  transfer.received = 0;
  return transfer;
}

hr_status* Create(void* self, const char*, const hr_plugin_transport_settings* settings,
                  hr_plugin_transport** out) {
  auto& instance = *static_cast<Instance*>(self);
  auto made = instance.make({.host = settings->host,
                             .towards = settings->towards,
                             .port = settings->port,
                             .listen = settings->listen != 0,
                             .secret = settings->secret,
                             .trusted_fabric = settings->trusted_fabric != 0},
                            std::string(settings->identity, settings->identity_bytes));
  if (!made.ok()) return instance.guest.Pass(std::move(made).status());
  *out = new hr_plugin_transport{&instance, std::move(made).value(), {}};
  return nullptr;
}

hr_status* Connect(hr_plugin_transport* transport, const char* address, hr_plugin_endpoint** out) {
  auto endpoint = transport->rep->Connect(address);
  if (!endpoint.ok()) return transport->instance->guest.Pass(std::move(endpoint).status());
  *out = new hr_plugin_endpoint{transport->instance, std::move(endpoint).value(), {}, {}};
  return nullptr;
}

hr_plugin_endpoint* Accept(hr_plugin_transport* transport) {
  auto endpoint = transport->rep->Accept();
  return endpoint == nullptr
             ? nullptr
             : new hr_plugin_endpoint{transport->instance, std::move(endpoint), {}, {}};
}

hr_plugin_transport_table TableOf(const Instance& instance) {
  return {
      .struct_size = sizeof(hr_plugin_transport_table),
      .kinds = instance.kinds,
      .create = Create,
      .release = [](hr_plugin_transport* t) { delete t; },
      .address = [](const hr_plugin_transport* t) { return t->rep->address().c_str(); },
      .reaches = [](const hr_plugin_transport* t, const char* a) -> int32_t {
        return t->rep->Reaches(a);
      },
      .connect = Connect,
      .accept = Accept,
      .status =
          [](const hr_plugin_transport* t) {
            return t->instance->guest.Pass(t->rep->status().Clone());
          },
      .last_stranger =
          [](const hr_plugin_transport* t) {
            t->stranger = t->rep->last_stranger();
            return t->stranger.c_str();
          },
      .progress = [](hr_plugin_transport* t) -> int32_t { return t->rep->Progress(); },
      .arm = [](hr_plugin_transport* t) -> int32_t { return t->rep->Arm(); },
      .wait_handle = [](const hr_plugin_transport* t) { return t->rep->wait_handle(); },
      .release_endpoint = [](hr_plugin_endpoint* e) { delete e; },
      .established = [](const hr_plugin_endpoint* e) -> int32_t { return e->rep->established(); },
      .peer_identity =
          [](const hr_plugin_endpoint* e, size_t* bytes) {
            const std::string_view identity = e->rep->peer_identity();
            *bytes = identity.size();
            return identity.data();
          },
      .endpoint_status =
          [](const hr_plugin_endpoint* e) {
            return e->instance->guest.Pass(e->rep->status().Clone());
          },
      .peer_left = [](const hr_plugin_endpoint* e) -> int32_t { return e->rep->peer_left(); },
      .send = [](hr_plugin_endpoint* e, hr_plugin_transfer* c) { e->rep->Send(Wrap(*e, c)); },
      .receive = [](hr_plugin_endpoint* e, hr_plugin_transfer* c) { e->rep->Recv(Wrap(*e, c)); },
      .cancel =
          [](hr_plugin_endpoint* e, hr_plugin_transfer* c) {
            if (c->own != nullptr) e->rep->Cancel(static_cast<Parcel*>(c->own)->rep);
          },
      .close = [](hr_plugin_endpoint* e, const char* reason) { e->rep->Close(reason); },
      .flushed = [](const hr_plugin_endpoint* e) -> int32_t { return e->rep->flushed(); },
      .arrivals = [](const hr_plugin_endpoint* e) { return e->rep->arrivals(); },
      .devices = [](void* self, const char*) { return Findings(self).devices.c_str(); },
      .preferred = [](void* self, const char*) -> int32_t { return Findings(self).preferred; },
      .send_now = [](hr_plugin_endpoint* e, uint64_t tag, uint64_t label, const void* data,
                     uint64_t bytes) -> int32_t {
        return e->rep->SendNow(tag, label, {static_cast<const std::byte*>(data), bytes});
      },
      .receive_now = [](hr_plugin_endpoint* e, uint64_t tag, uint64_t label, void* data,
                        uint64_t room) -> int32_t {
        return e->rep->RecvNow(tag, label, {static_cast<std::byte*>(data), room});
      },
      .is_coming = [](const hr_plugin_endpoint* e, const hr_plugin_transfer* c) -> int32_t {
        return c->own != nullptr && e->rep->IsComing(static_cast<const Parcel*>(c->own)->rep);
      },
      .unclaimed = [](const hr_plugin_endpoint* e, uint64_t index, uint64_t* tag,
                      uint64_t* label) -> int32_t { return e->rep->Unclaimed(index, tag, label); },
  };
}

}  // namespace

hr_status* OfferTransport(const hr_plugin_host* host, hr_plugin* out, const char* name,
                          const char* kind, MakeTransport make, TransportFindings (*look)()) {
  if (!hr_plugin_matches(host, out, name)) return nullptr;
  auto* instance = new Instance{Guest(*host), make, {kind, nullptr}, look, {}, {}, {}};
  instance->table = TableOf(*instance);
  out->self = instance;
  out->release = [](void* self) { delete static_cast<Instance*>(self); };
  out->transport = &instance->table;
  return nullptr;
}

}  // namespace hr::plugin
