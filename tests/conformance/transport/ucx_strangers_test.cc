// Who reaches a process through UCX without being a peer: another version, and garbage. Both sides
// of two versions are told, the rest is not heard, and real peers still get in.
#ifdef HEADRACE_TEST_UCX
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <random>

#include "tests/conformance/transport/fixture.h"
#include "transport/ucx/line.h"
#include "transport/ucx/peer.h"
#include "transport/ucx/ucx.h"

namespace hr::comm {
namespace {

struct Heard {
  ucx::Envelope envelope{};
  std::string text;
};

// UCX without anything of ours around it.
class RawUcx {
 public:
  RawUcx() {
    ucp_config_t* config = nullptr;
    EXPECT_EQ(ucp_config_read(nullptr, nullptr, &config), UCS_OK);
    EXPECT_EQ(ucp_config_modify(config, "TLS", "self,sm"), UCS_OK);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM;
    EXPECT_EQ(ucp_init(&params, config, &context_), UCS_OK);
    ucp_config_release(config);
    const ucp_worker_params_t none{};
    EXPECT_EQ(ucp_worker_create(context_, &none, &worker_), UCS_OK);
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = ucx::kLongMessage;
    handler.cb = OnMessage;
    handler.arg = this;
    EXPECT_EQ(ucp_worker_set_am_recv_handler(worker_, &handler), UCS_OK);
  }
  ~RawUcx() {
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }

  // As a process of the host of `other`.
  ucx::UcxPeer AsPeer(const ucx::UcxPeer& other) const {
    ucp_address_t* address = nullptr;
    size_t bytes = 0;
    EXPECT_EQ(ucp_worker_get_address(worker_, &address, &bytes), UCS_OK);
    ucx::UcxPeer peer = {.host = other.host,
                         .pid = static_cast<uint32_t>(getpid()),
                         .worker = std::string(reinterpret_cast<const char*>(address), bytes)};
    ucp_worker_release_address(worker_, address);
    return peer;
  }
  void Dial(const ucx::UcxPeer& peer) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(peer.worker.data());
    EXPECT_EQ(ucp_ep_create(worker_, &params, &endpoint_), UCS_OK);
  }
  void Send(std::string bytes, unsigned id = ucx::kLongMessage) {
    const std::string& message = sent_.emplace_back(std::move(bytes));
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_AM_SEND_FLAG_EAGER;
    void* request =
        ucp_am_send_nbx(endpoint_, id, nullptr, 0, message.data(), message.size(), &params);
    ASSERT_FALSE(UCS_PTR_IS_ERR(request));
    if (request != nullptr) ucp_request_free(request);  // when it is done
  }
  void Send(const ucx::Envelope& envelope, std::string_view text) {
    std::string message(reinterpret_cast<const char*>(&envelope), sizeof envelope);
    Send(std::move(message.append(text)));
  }
  void Progress() { ucp_worker_progress(worker_); }
  const std::vector<Heard>& heard() const { return heard_; }

 private:
  static ucs_status_t OnMessage(void* self, const void*, size_t, void* data, size_t bytes,
                                const ucp_am_recv_param_t*) {
    Heard& heard = static_cast<RawUcx*>(self)->heard_.emplace_back();
    EXPECT_GE(bytes, sizeof heard.envelope);
    std::memcpy(&heard.envelope, data, sizeof heard.envelope);
    heard.text.assign(static_cast<const char*>(data) + sizeof heard.envelope,
                      bytes - sizeof heard.envelope);
    return UCS_OK;
  }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::deque<std::string> sent_;
  std::vector<Heard> heard_;
};

class UcxStrangers : public testing::Test {
 protected:
  template <typename Done>
  bool Until(Done done) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!done()) {
      transport_->Progress();
      transport_->Arm();  // so that it looks for callers
      stranger_.Progress();
      if (std::chrono::steady_clock::now() > give_up) return false;
    }
    return true;
  }
  void ExpectPeersGetIn() {
    auto peer = std::move(ucx::CreateUcxTransport({}, "peer")).value();
    auto endpoint = std::move(peer->Connect(transport_->address())).value();
    std::unique_ptr<Endpoint> accepted;
    EXPECT_TRUE(Until([&] {
      peer->Progress();
      if (accepted == nullptr) accepted = transport_->Accept();
      return accepted != nullptr && endpoint->established();
    }));
    EXPECT_EQ(accepted->peer_identity(), "peer");
  }

  std::unique_ptr<Transport> transport_ = std::move(ucx::CreateUcxTransport({}, "here")).value();
  const ucx::UcxPeer here_ = ucx::ParseAddress(transport_->address()).value();
  RawUcx stranger_;
};

TEST_F(UcxStrangers, ANewerVersionThatDials) {
  stranger_.Dial(here_);
  stranger_.Send(
      {.key = 2, .kind = ucx::EnvelopeKind::kHello, .sequence = 0},
      ucx::EncodeHello({.peer = stranger_.AsPeer(here_), .version = ucx::kUcxVersion + 1}));
  ASSERT_TRUE(Until([&] { return !stranger_.heard().empty(); }));
  const Heard& first = stranger_.heard()[0];
  EXPECT_EQ(first.envelope.kind, ucx::EnvelopeKind::kGone);
  EXPECT_EQ(first.envelope.key, 3U);
  EXPECT_NE(first.text.find(Cat("the peer speaks version ", ucx::kUcxVersion)), std::string::npos);
  EXPECT_NE(first.text.find(Cat("this process version ", ucx::kUcxVersion + 1, "; run the same")),
            std::string::npos)
      << first.text;
  EXPECT_EQ(transport_->Accept(), nullptr);
  ExpectPeersGetIn();
}

TEST_F(UcxStrangers, ANewerVersionThatIsDialled) {
  auto endpoint = std::move(transport_->Connect(ucx::AddressText(stranger_.AsPeer(here_)))).value();
  ASSERT_TRUE(Until([&] { return !stranger_.heard().empty(); }));
  const Heard& hello = stranger_.heard()[0];
  ASSERT_EQ(hello.envelope.kind, ucx::EnvelopeKind::kHello);
  EXPECT_EQ(ucx::DecodeHello(hello.text)->version, ucx::kUcxVersion);
  stranger_.Dial(ucx::DecodeHello(hello.text)->peer);
  stranger_.Send({.key = hello.envelope.key ^ 1, .kind = ucx::EnvelopeKind::kGone, .sequence = 0},
                 "versions differ");
  ASSERT_TRUE(Until([&] { return !endpoint->status().ok(); }));
  EXPECT_EQ(endpoint->status().code(), Code::kDataLoss);
  EXPECT_NE(endpoint->status().message().find("versions differ"), std::string_view::npos)
      << endpoint->status().ToString();
}

TEST_F(UcxStrangers, Garbage) {
  std::mt19937 random(7);
  stranger_.Dial(here_);
  const std::string hello = ucx::EncodeHello({.peer = stranger_.AsPeer(here_)});
  for (uint64_t i = 0; i < 200; ++i) {
    std::string bytes(random() % 300, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    stranger_.Send(bytes, i % 3 == 0 ? ucx::kShortMessage : ucx::kLongMessage);
    stranger_.Send({.key = i, .kind = static_cast<ucx::EnvelopeKind>(i % 6), .sequence = 0}, bytes);
    std::string damaged = hello.substr(0, random() % hello.size());
    if (damaged.size() > 24) damaged[random() % 7] ^= 1;  // in what says that it is a hello
    stranger_.Send({.key = 2 * i, .kind = ucx::EnvelopeKind::kHello, .sequence = 0}, damaged);
    transport_->Progress();
  }
  for (int turn = 0; turn < 1000; ++turn) {
    transport_->Progress();
    transport_->Arm();
    stranger_.Progress();
  }
  EXPECT_EQ(transport_->Accept(), nullptr);
  EXPECT_TRUE(transport_->status().ok());
  EXPECT_TRUE(stranger_.heard().empty());
  ExpectPeersGetIn();
}

}  // namespace
}  // namespace hr::comm
#endif
