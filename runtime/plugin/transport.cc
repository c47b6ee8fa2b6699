#include "runtime/plugin/transport.h"

#include <deque>

#include "headrace/plugin_transport.h"
#include "runtime/plugin/status.h"

namespace hr::plugin {
namespace {

// What a transfer travels as. Used again and again.
struct Parcel {
  hr_plugin_transfer c{};
  comm::Transfer* rep = nullptr;
  std::vector<Parcel*>* free = nullptr;
};

// Those of one endpoint.
class Parcels {
 public:
  Parcel& Take(comm::Transfer& transfer) {
    if (free_.empty()) {
      all_.emplace_back().free = &free_;
      free_.push_back(&all_.back());
    }
    Parcel& parcel = *free_.back();
    free_.pop_back();
    parcel.rep = &transfer;
    parcel.c = {.data = transfer.data,
                .bytes = transfer.bytes,
                .tag = transfer.tag,
                .label = transfer.label,
                .done = OnDone,
                .owner = &parcel};
    // What is the transport's own in a transfer leads cancel() to the parcel.
    transfer.next = reinterpret_cast<comm::Transfer*>(&parcel);
    return parcel;
  }

 private:
  static void OnDone(hr_plugin_transfer* c, hr_status* status) {
    Parcel& parcel = *static_cast<Parcel*>(c->owner);
    comm::Transfer& transfer = *parcel.rep;
    transfer.label = c->label;
    transfer.received = c->received;
    transfer.status = FromC(status);
    transfer.next = nullptr;
    parcel.free->push_back(&parcel);
    transfer.done(transfer);
  }

  std::deque<Parcel> all_;
  std::vector<Parcel*> free_;
};

class PluginEndpoint final : public comm::Endpoint {
 public:
  PluginEndpoint(const hr_plugin_transport_table& table, hr_plugin_endpoint* endpoint)
      : table_(table), endpoint_(endpoint) {}
  ~PluginEndpoint() override { table_.release_endpoint(endpoint_); }

  bool established() const override { return table_.established(endpoint_) != 0; }
  std::string_view peer_identity() const override {
    size_t bytes = 0;
    const char* text = table_.peer_identity(endpoint_, &bytes);
    return {text, bytes};
  }
  const Status& status() const override {
    if (status_.ok()) status_ = FromC(table_.endpoint_status(endpoint_));
    return status_;
  }
  bool peer_left() const override { return table_.peer_left(endpoint_) != 0; }
  void Send(comm::Transfer& transfer) override {
    table_.send(endpoint_, &parcels_.Take(transfer).c);
  }
  void Recv(comm::Transfer& transfer) override {
    table_.receive(endpoint_, &parcels_.Take(transfer).c);
  }
  bool SendNow(uint64_t tag, uint64_t label, Bytes message) override {
    return table_.send_now != nullptr &&
           table_.send_now(endpoint_, tag, label, message.data(), message.size()) != 0;
  }
  bool RecvNow(uint64_t tag, uint64_t label, std::span<std::byte> to) override {
    return table_.receive_now != nullptr &&
           table_.receive_now(endpoint_, tag, label, to.data(), to.size()) != 0;
  }
  void Cancel(comm::Transfer& transfer) override {
    if (transfer.next == nullptr) return;  // it is done
    table_.cancel(endpoint_, &reinterpret_cast<Parcel*>(transfer.next)->c);
  }
  bool IsComing(const comm::Transfer& receive) const override {
    return receive.next != nullptr &&
           table_.is_coming(endpoint_, &reinterpret_cast<const Parcel*>(receive.next)->c) != 0;
  }
  bool Unclaimed(size_t index, uint64_t* tag, uint64_t* label) const override {
    return table_.unclaimed(endpoint_, index, tag, label) != 0;
  }
  void Close(std::string_view reason) override {
    table_.close(endpoint_, std::string(reason).c_str());
  }
  bool flushed() const override { return table_.flushed(endpoint_) != 0; }
  uint64_t arrivals() const override { return table_.arrivals(endpoint_); }

 private:
  const hr_plugin_transport_table& table_;
  hr_plugin_endpoint* const endpoint_;
  Parcels parcels_;
  mutable Status status_;  // once it has failed
};

class PluginTransport final : public comm::Transport {
 public:
  PluginTransport(std::shared_ptr<Plugin> plugin, std::string kind, hr_plugin_transport* transport)
      : plugin_(std::move(plugin)),
        table_(*plugin_->transport()),
        kind_(std::move(kind)),
        transport_(transport),
        address_(table_.address(transport)) {}
  ~PluginTransport() override { table_.release(transport_); }

  std::string_view name() const override { return kind_; }
  const std::string& address() const override { return address_; }
  bool Reaches(std::string_view address) const override {
    return table_.reaches(transport_, std::string(address).c_str()) != 0;
  }
  Result<std::unique_ptr<comm::Endpoint>> Connect(std::string_view address) override {
    hr_plugin_endpoint* endpoint = nullptr;
    HR_RETURN_IF_ERROR(FromC(table_.connect(transport_, std::string(address).c_str(), &endpoint)));
    return Wrap(endpoint);
  }
  std::unique_ptr<comm::Endpoint> Accept() override {
    hr_plugin_endpoint* endpoint = table_.accept(transport_);
    return endpoint == nullptr ? nullptr : Wrap(endpoint);
  }
  const Status& status() const override {
    if (status_.ok()) status_ = FromC(table_.status(transport_));
    return status_;
  }
  std::string_view last_stranger() const override { return table_.last_stranger(transport_); }
  bool Progress() override { return table_.progress(transport_) != 0; }
  bool Arm() override { return table_.arm(transport_) != 0; }
  int wait_handle() const override { return table_.wait_handle(transport_); }

 private:
  std::unique_ptr<comm::Endpoint> Wrap(hr_plugin_endpoint* endpoint) {
    return std::make_unique<PluginEndpoint>(table_, endpoint);
  }

  const std::shared_ptr<Plugin> plugin_;
  const hr_plugin_transport_table& table_;
  const std::string kind_;
  hr_plugin_transport* const transport_;
  const std::string address_;
  mutable Status status_;
};

}  // namespace

std::vector<const char*> TransportKinds(const Plugin& plugin) {
  std::vector<const char*> kinds;
  const hr_plugin_transport_table* table = plugin.transport();
  if (table == nullptr || table->struct_size < sizeof *table) return kinds;
  for (const char* const* one = table->kinds; *one != nullptr; ++one) kinds.push_back(*one);
  return kinds;
}

Status CheckHasTransport(const Plugin& plugin, std::string_view kind) {
  for (const char* one : TransportKinds(plugin)) {
    if (kind == one) return {};
  }
  return NotFound("plugin '", plugin.name(), "' has no transport '", kind, "'");
}

Result<std::unique_ptr<comm::Transport>> CreateTransport(std::shared_ptr<Plugin> plugin,
                                                         const std::string& kind,
                                                         const comm::TransportSettings& settings,
                                                         const std::string& identity) {
  HR_RETURN_IF_ERROR(CheckHasTransport(*plugin, kind));
  const hr_plugin_transport_settings c = {.struct_size = sizeof c,
                                          .identity = identity.c_str(),
                                          .identity_bytes = identity.size(),
                                          .host = settings.host.c_str(),
                                          .towards = settings.towards.c_str(),
                                          .port = settings.port,
                                          .listen = settings.listen ? 1 : 0,
                                          .secret = settings.secret.c_str(),
                                          .trusted_fabric = settings.trusted_fabric ? 1 : 0};
  hr_plugin_transport* transport = nullptr;
  HR_RETURN_IF_ERROR(
      FromC(plugin->transport()->create(plugin->self(), kind.c_str(), &c, &transport)));
  return std::make_unique<PluginTransport>(std::move(plugin), kind, transport);
}

}  // namespace hr::plugin
