#include "transport/ucx/ucx.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/strings.h"
#include "runtime/comm/stream_transport.h"
#include "runtime/plugin/guest_transport.h"
#include "transport/ucx/resources.h"
#include "transport/ucx/worker.h"

namespace hr::ucx {
namespace {

constexpr comm::StreamTraits kTraits = {.eager_bytes = kPacketRoom - 64,
                                        .credit_bytes = 1 << 20,
                                        .frame_bytes = kMaxLoanBytes,
                                        .read_ahead = 256};

// Processes of one host read each other's memory without UCX.
comm::StreamTraits Traits(bool ucx_lends) {
  comm::StreamTraits traits = kTraits;
  traits.lends = !ucx_lends;
  return traits;
}

class UcxStream final : public comm::ByteStream {
 public:
  UcxStream(UcxWorker& worker, Line& line) : worker_(worker), line_(line) {}
  ~UcxStream() override { worker_.HangUp(line_); }

  Result<size_t> Write(std::span<const Bytes> pieces) override {
    return worker_.Send(line_, pieces);
  }
  Result<size_t> Read(std::byte* to, size_t bytes) override {
    return worker_.Receive(line_, {to, bytes}, false);
  }
  Result<size_t> ReadLong(std::byte* to, size_t bytes) override {
    return worker_.Receive(line_, {to, bytes}, true);
  }
  void StopReading() override { worker_.StopReading(line_); }
  bool PeerIsBusy() override { return UcxWorker::PeerReads(line_); }
  bool WriteEager(uint64_t tag, uint64_t label, Bytes payload) override {
    return UcxWorker::SendEager(line_, tag, label, payload);
  }
  Result<size_t> ReadExpecting(comm::ExpectedFrame& frame, std::byte* to, size_t bytes) override {
    line_.expected = &frame;
    Result<size_t> got = worker_.Receive(line_, {to, bytes}, false);
    line_.expected = nullptr;
    return got;
  }
  void LetGo() override { UcxWorker::Keep(line_); }
  bool Arm(bool read, bool write) override {
    if (write && worker_.TakesMore(line_)) return false;
    return !read || !line_.due();
  }

 private:
  UcxWorker& worker_;
  Line& line_;
};

class UcxTransport final : public comm::StreamTransport {
 public:
  UcxTransport(std::string identity, std::unique_ptr<UcxWorker> worker, bool confined,
               bool ucx_lends)
      : comm::StreamTransport(Traits(ucx_lends), std::move(identity)),
        worker_(std::move(worker)),
        confined_(confined),
        address_(AddressText(worker_->self())) {}
  ~UcxTransport() override { DropStrangers(); }

  std::string_view name() const override { return "ucx"; }
  const std::string& address() const override { return address_; }
  bool Reaches(std::string_view address) const override {
    Result<UcxPeer> peer = ParseAddress(address);
    return peer.ok() && (!confined_ || peer->host == worker_->self().host);
  }
  int wait_handle() const override { return worker_->wait_handle(); }

 private:
  Result<std::unique_ptr<comm::ByteStream>> Dial(std::string_view address) override {
    HR_ASSIGN_OR_RETURN(const UcxPeer peer, ParseAddress(address));
    if (confined_ && peer.host != worker_->self().host) {
      return FailedPrecondition(
          "UCX cannot encrypt what leaves this host; set trusted_fabric if the network can be "
          "trusted with plain text, or use tcp");
    }
    HR_ASSIGN_OR_RETURN(Line * line, worker_->Dial(peer));
    return std::make_unique<UcxStream>(*worker_, *line);
  }
  std::unique_ptr<comm::ByteStream> Answer() override {
    worker_->Tend();
    Result<Line*> line = worker_->Answer();
    if (!line.ok() || *line == nullptr) return nullptr;
    return std::make_unique<UcxStream>(*worker_, **line);
  }
  void BeginArm() override { worker_->Drain(); }
  bool EndArm() override { return !worker_->HasCallers() && worker_->Arm(); }

  const std::unique_ptr<UcxWorker> worker_;
  const bool confined_;
  const std::string address_;
};

}  // namespace

Result<std::unique_ptr<comm::Transport>> CreateUcxTransport(const comm::TransportSettings& settings,
                                                            std::string identity, bool lends) {
  const bool confined = !settings.trusted_fabric;
  HR_ASSIGN_OR_RETURN(auto worker, UcxWorker::Create(confined, lends));
  return std::make_unique<UcxTransport>(std::move(identity), std::move(worker), confined, lends);
}

namespace {

plugin::TransportFindings Look() {
  Result<std::vector<std::string>> resources = UcxWorker::Look();
  if (!resources.ok())
    return {.devices = std::string(resources.status().message()), .preferred = false};
  return {.devices = Join(*resources, " "),
          .preferred = std::any_of(resources->begin(), resources->end(), IsRdma)};
}

}  // namespace

hr_status* UcxPluginEntry(const hr_plugin_host* host, hr_plugin* out) {
  constexpr auto create = [](const comm::TransportSettings& settings, std::string identity) {
    return CreateUcxTransport(settings, std::move(identity));
  };
  return plugin::OfferTransport(host, out, "ucx", "ucx", create, Look);
}

}  // namespace hr::ucx
