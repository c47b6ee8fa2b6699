// Who connects over TCP without being a peer: the wrong secret or none, another program, garbage,
// silence, another version, frames that lie. Both sides get a sentence, real peers still get in,
// and strangers cost bounded memory.
#ifdef HEADRACE_TEST_TCP
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <thread>

#include "runtime/comm/frame.h"
#include "tests/conformance/transport/fixture.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp.h"
#include "transport/tcp/tls.h"

namespace hr::comm {
namespace {

constexpr std::string_view kSecret = "the secret of these tests", kOther = "quite another secret";

// A socket that the test writes whatever it likes to.
class SocketStream final : public ByteStream {
 public:
  explicit SocketStream(const std::string& address)
      : socket_(std::move(tcp::ConnectTcp(tcp::SocketAddress::Parse(address).value())).value()) {}
  Result<size_t> Write(std::span<const Bytes> pieces) override {
    return tcp::WriteSocket(socket_.get(), pieces);
  }
  Result<size_t> Read(std::byte* to, size_t bytes) override {
    return tcp::ReadSocket(socket_.get(), to, bytes);
  }
  bool Arm(bool, bool) override { return true; }
  int socket() const { return socket_.get(); }

 private:
  Descriptor socket_;
};

class Strangers : public testing::Test {
 protected:
  static std::unique_ptr<Transport> Create(std::string_view secret, std::string identity) {
    auto made = tcp::CreateTcpTransport({.secret = std::string(secret)}, std::move(identity));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  template <typename Done>
  bool Until(Done done, std::chrono::seconds limit = std::chrono::seconds(10)) {
    const auto give_up = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (left_ != nullptr) left_->Progress();
      right_->Progress();
      if (std::chrono::steady_clock::now() > give_up) return false;
    }
    return true;
  }
  bool Says(std::string_view words) {
    return Until([&] { return right_->last_stranger().find(words) != std::string_view::npos; });
  }
  // `left` dials, and is told these words; the other side notes those.
  void ExpectRefusal(std::string_view left, std::string_view right, std::string_view told,
                     std::string_view noted) {
    left_ = Create(left, "left");
    right_ = Create(right, "right");
    auto endpoint = std::move(left_->Connect(right_->address())).value();
    ASSERT_TRUE(Until([&] { return !endpoint->status().ok(); }));
    EXPECT_EQ(endpoint->status().code(), Code::kUnauthenticated) << endpoint->status().ToString();
    EXPECT_NE(endpoint->status().message().find(told), std::string_view::npos)
        << endpoint->status().ToString();
    EXPECT_TRUE(Says(noted)) << right_->last_stranger();
    ExpectPeersGetIn(right);
  }
  void ExpectPeersGetIn(std::string_view secret) {
    auto peer = Create(secret, "peer");
    auto endpoint = std::move(peer->Connect(right_->address())).value();
    std::unique_ptr<Endpoint> accepted;
    ASSERT_TRUE(Until([&] {
      peer->Progress();
      if (accepted == nullptr) accepted = right_->Accept();
      return accepted != nullptr && endpoint->established();
    })) << endpoint->status().ToString();
  }
  // A stream to the right side, encrypted where that is.
  std::unique_ptr<ByteStream> Dial(std::string_view secret) {
    auto socket = std::make_unique<SocketStream>(right_->address());
    if (secret.empty()) return socket;
    context_ = std::move(tcp::TlsContext::Create(secret)).value();
    return std::move(context_->Wrap(std::move(socket), true)).value();
  }
  void Write(ByteStream& stream, Bytes bytes) {
    EXPECT_TRUE(Until([&] {
      Result<size_t> written = stream.Write({&bytes, 1});
      if (!written.ok()) return true;
      bytes = bytes.subspan(*written);
      std::byte dropped[4096];
      stream.Read(dropped, sizeof dropped).status().IgnoreError();
      return bytes.empty();
    }));
  }
  void Write(ByteStream& stream, const FrameHeader& header, std::string_view payload = "") {
    Write(stream, {reinterpret_cast<const std::byte*>(&header), HeaderBytes(header.kind)});
    if (!payload.empty()) Write(stream, AsBytes(payload));
  }
  static FrameHeader Greeting(uint64_t version = kProtocolVersion) {
    FrameHeader greeting{};
    greeting.kind = FrameKind::kGreeting;
    greeting.payload = 4;
    greeting.tag = kProtocolMagic;
    greeting.label = version;
    greeting.bytes = 1 << 20;
    return greeting;
  }

  std::unique_ptr<Transport> left_, right_;
  std::unique_ptr<tcp::TlsContext> context_;
};

TEST_F(Strangers, AnotherSecret) {
  ExpectRefusal(kOther, kSecret, "refused the TLS handshake", "has another cluster secret");
}

TEST_F(Strangers, PlainTextToTls) {
  ExpectRefusal("", kSecret, "the peer speaks TLS", "expected TLS, got something else");
}

TEST_F(Strangers, TlsToPlainText) {
  ExpectRefusal(kSecret, "", "answered in plain text", "the peer speaks TLS");
}

TEST_F(Strangers, SecretsThatAreTooShort) {
  auto made = tcp::CreateTcpTransport({.secret = "0123456789abcde"}, "x");
  ASSERT_EQ(made.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(made.status().message().find("0123456789abcde"), std::string_view::npos) << "shown";
}

TEST_F(Strangers, PlainTextOffThisHostNeedsTrust) {
  EXPECT_EQ(tcp::CreateTcpTransport({.host = "0.0.0.0"}, "x").status().code(),
            Code::kFailedPrecondition);
  EXPECT_TRUE(tcp::CreateTcpTransport({.host = "0.0.0.0", .trusted_fabric = true}, "x").ok());
  EXPECT_TRUE(
      tcp::CreateTcpTransport({.host = "0.0.0.0", .secret = std::string(kSecret)}, "x").ok());
}

// As OpenSSL's own client does it: with a certificate in mind and without our key.
TEST_F(Strangers, TlsWithoutTheKey) {
  right_ = Create(kSecret, "right");
  SocketStream socket(right_->address());
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, socket.socket());
  SSL_set_connect_state(ssl);
  int result = 0;
  EXPECT_TRUE(Until([&] {
    ERR_clear_error();
    result = SSL_do_handshake(ssl);
    const int error = SSL_get_error(ssl, result);
    return result == 1 || (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE);
  }));
  EXPECT_NE(result, 1) << "a client without the key got in";
  EXPECT_TRUE(Says("did not prove that it has the cluster secret")) << right_->last_stranger();
  SSL_free(ssl);
  SSL_CTX_free(context);
  ExpectPeersGetIn(kSecret);
}

TEST_F(Strangers, Garbage) {
  std::mt19937 random(7);
  for (std::string_view secret : {std::string_view(), kSecret}) {
    right_ = Create(secret, "right");
    for (int i = 0; i < 50; ++i) {
      std::string bytes(i < 5 ? 1 << 20 : 200, '\0');
      for (char& c : bytes) c = static_cast<char>(random());
      SocketStream socket(right_->address());
      if (i % 2 == 0) bytes.replace(0, 3, "\x16\x03\x01");  // as if it were TLS
      if (i % 7 == 0) bytes = "GET / HTTP/1.1\r\nHost: x\r\n\r\n                          ";
      Write(socket, AsBytes(bytes));
    }
    EXPECT_TRUE(Says("was dropped"));
    ExpectPeersGetIn(secret);
  }
}

long ResidentKilobytes() {
  long pages = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

TEST_F(Strangers, SilenceAndHalfAHandshakeCostLittleAndEnd) {
  constexpr int kEach = 100;
  constexpr unsigned char kHello[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3};
  right_ = Create(kSecret, "right");
  [[maybe_unused]] const long before = ResidentKilobytes();
  std::vector<std::unique_ptr<SocketStream>> sockets;
  for (int i = 0; i < 2 * kEach; ++i) {
    sockets.push_back(std::make_unique<SocketStream>(right_->address()));
    const Bytes hello(reinterpret_cast<const std::byte*>(kHello), sizeof kHello);
    if (i % 2 == 0) Write(*sockets.back(), hello);
  }
  ExpectPeersGetIn(kSecret);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their memory grows, too
  EXPECT_LT(ResidentKilobytes() - before, 2 * kEach * 100) << "kilobytes for 200 strangers";
#endif
  EXPECT_TRUE(Says("did not identify itself in 5 seconds")) << right_->last_stranger();
  // All of them were dropped.
  for (auto& socket : sockets) {
    std::byte bytes[256];
    EXPECT_TRUE(Until([&] { return !socket->Read(bytes, sizeof bytes).ok(); }));
  }
}

TEST_F(Strangers, ANewerVersion) {
  for (std::string_view secret : {std::string_view(), kSecret}) {
    right_ = Create(secret, "right");
    auto stream = Dial(secret);
    Write(*stream, Greeting(kProtocolVersion + 1), "left");
    EXPECT_TRUE(Says(Cat("speaks version ", kProtocolVersion + 1))) << right_->last_stranger();
    // It is told, too: in the goodbye.
    std::string heard;
    EXPECT_TRUE(Until([&] {
      char bytes[512];
      Result<size_t> got = stream->Read(reinterpret_cast<std::byte*>(bytes), sizeof bytes);
      if (got.ok()) heard.append(bytes, *got);
      return !got.ok();
    }));
    EXPECT_NE(heard.find("run the same version"), std::string::npos);
    ExpectPeersGetIn(secret);
  }
}

TEST_F(Strangers, GreetingsThatLie) {
  for (std::string_view secret : {std::string_view(), kSecret}) {
    right_ = Create(secret, "right");
    FrameHeader large = Greeting(), foreign = Greeting(), early = Greeting();
    large.payload = kMaxText + 1;
    foreign.tag = 1;
    early.kind = FrameKind::kEager;
    const struct {
      const FrameHeader& header;
      std::string_view words;
    } cases[] = {{large, "too long"}, {foreign, "not Headrace's"}, {early, "with a greeting"}};
    for (const auto& one : cases) {
      auto stream = Dial(secret);
      Write(*stream, one.header, "left");
      EXPECT_TRUE(Says(one.words)) << one.words << ": " << right_->last_stranger();
    }
  }
}

// From a peer that got in, and then lies about lengths.
TEST_F(Strangers, FramesThatLie) {
  for (std::string_view secret : {std::string_view(), kSecret}) {
    FrameHeader credit{}, eager{}, invite{}, unknown{};
    credit.kind = FrameKind::kCredit;
    credit.bytes = uint64_t{1} << 60;
    eager.kind = FrameKind::kEager;
    eager.payload = UINT32_MAX;
    invite.kind = FrameKind::kInvite;
    invite.payload = 100;
    unknown.kind = static_cast<FrameKind>(77);
    for (const FrameHeader& header : {credit, eager, invite, unknown}) {
      right_ = Create(secret, "right");
      auto stream = Dial(secret);
      Write(*stream, Greeting(), "left");
      std::unique_ptr<Endpoint> endpoint;
      ASSERT_TRUE(Until([&] { return (endpoint = right_->Accept()) != nullptr; }));
      Write(*stream, header);
      ASSERT_TRUE(Until([&] { return !endpoint->status().ok(); }));
      EXPECT_EQ(endpoint->status().code(), Code::kDataLoss) << endpoint->status().ToString();
      EXPECT_NE(endpoint->status().message().find("broke the protocol"), std::string_view::npos);
      endpoint.reset();
    }
  }
}

}  // namespace
}  // namespace hr::comm
#endif
