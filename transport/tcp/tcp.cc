#include "transport/tcp/tcp.h"

#include <sys/socket.h>

#include "runtime/comm/stream_transport.h"
#include "transport/tcp/sleeper.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tls.h"

namespace hr::tcp {
namespace {

// A call of the kernel costs as much as a copy of some 32 KiB: what is longer is read straight into
// its place, but for its beginning.
constexpr size_t kReadAhead = (32 << 10) + 64;

// An invitation delays a message by a trip there and back. One that comes before its receive is
// copied once more instead, into memory that is new to the process, which costs more from 128 KiB
// on; the credit bounds what such messages hold.
constexpr comm::StreamTraits kTraits = {.eager_bytes = 128 << 10,
                                        .credit_bytes = 4 << 20,
                                        .frame_bytes = 1 << 20,
                                        .read_ahead = kReadAhead,
                                        .lingers = true};
// What is decrypted is written anew in any case, so an invitation saves less. More read ahead would
// only be copied once more.
constexpr comm::StreamTraits kTlsTraits = [] {
  comm::StreamTraits traits = kTraits;
  traits.eager_bytes = 512 << 10;
  traits.read_ahead = kTlsRecordBytes;
  return traits;
}();

class TcpStream final : public comm::ByteStream {
 public:
  // `plain`: the connection has no TLS, so that a peer which begins with TLS is recognized and
  // told.
  TcpStream(Descriptor socket, std::unique_ptr<Sleeper::Watch> watch, bool plain)
      : socket_(std::move(socket)), watch_(std::move(watch)), look_for_tls_(plain) {}

  Result<size_t> Write(std::span<const Bytes> pieces) override {
    return WriteSocket(socket_.get(), pieces);
  }
  Result<size_t> Read(std::byte* to, size_t bytes) override {
    HR_ASSIGN_OR_RETURN(const size_t got, ReadSocket(socket_.get(), to, bytes));
    if (look_for_tls_ && got > 0) {
      look_for_tls_ = false;
      if (LooksLikeTls(to, got)) {
        return Unauthenticated(
            "the peer speaks TLS, this process has no cluster secret; start all ranks with the "
            "same cluster secret");
      }
    }
    return got;
  }
  void EndWriting() override { ::shutdown(socket_.get(), SHUT_WR); }
  bool Arm(bool read, bool write) override {
    watch_->Want(read, write);
    return true;  // arming the sleeper shows whether it is ready
  }
  std::string Describe() const override { return PeerAddress(socket_.get()); }

 private:
  Descriptor socket_;
  std::unique_ptr<Sleeper::Watch> watch_;  // goes before its socket
  bool look_for_tls_;
};

Status CheckTrust(bool encrypted, bool trusted_fabric, const SocketAddress& address) {
  if (encrypted || trusted_fabric || address.loopback()) return {};
  return FailedPrecondition("what TCP carries at ", address.Host(),
                            " would leave this host in plain text; give all ranks the same cluster "
                            "secret, or set trusted_fabric if the network can be trusted with "
                            "plain text");
}

Result<SocketAddress> ListenAddress(const comm::TransportSettings& settings) {
  if (!settings.host.empty()) return SocketAddress::From(settings.host, settings.port);
  if (settings.towards.empty()) return SocketAddress::From("127.0.0.1", settings.port);
  constexpr int kDiscard = 9;  // any port will do
  HR_ASSIGN_OR_RETURN(SocketAddress there, SocketAddress::From(settings.towards, kDiscard));
  if (there.loopback() && settings.towards != "localhost" &&
      settings.towards.find_first_not_of("0123456789.:") != std::string::npos) {
    // `towards` is this host's own name, which leads to loopback. The others come over the default
    // route, if there is one; an address that nobody has (RFC 5737) shows it.
    HR_ASSIGN_OR_RETURN(const SocketAddress nobody, SocketAddress::From("192.0.2.1", kDiscard));
    if (LocalAddressTowards(nobody).ok()) there = nobody;
  }
  HR_ASSIGN_OR_RETURN(const SocketAddress here, LocalAddressTowards(there));
  return SocketAddress::From(here.Host(), settings.port);
}

// The socket on which peers come in; not valid if a transport only connects.
struct Listener {
  Descriptor socket;
  std::unique_ptr<Sleeper::Watch> watch;  // goes before its socket
  std::string address;
};

class TcpTransport final : public comm::StreamTransport {
 public:
  TcpTransport(std::string identity, std::unique_ptr<TlsContext> tls, bool trusted_fabric,
               std::unique_ptr<Sleeper> sleeper, Listener listener)
      : comm::StreamTransport(tls != nullptr ? kTlsTraits : kTraits, std::move(identity)),
        tls_(std::move(tls)),
        trusted_fabric_(trusted_fabric),
        sleeper_(std::move(sleeper)),
        listener_(std::move(listener)) {
    if (listener_.watch != nullptr) listener_.watch->Want(true, false);
  }
  ~TcpTransport() override { DropStrangers(); }

  std::string_view name() const override { return "tcp"; }
  const std::string& address() const override { return listener_.address; }
  bool Reaches(std::string_view address) const override {
    return SocketAddress::Parse(address).ok();
  }
  int wait_handle() const override { return sleeper_->wait_handle(); }

 private:
  Result<std::unique_ptr<comm::ByteStream>> Open(Descriptor socket, bool dialled) {
    HR_ASSIGN_OR_RETURN(auto watch, sleeper_->Add(socket.get()));
    auto stream = std::make_unique<TcpStream>(std::move(socket), std::move(watch), tls_ == nullptr);
    if (tls_ == nullptr) return std::unique_ptr<comm::ByteStream>(std::move(stream));
    return tls_->Wrap(std::move(stream), dialled);
  }
  Result<std::unique_ptr<comm::ByteStream>> Dial(std::string_view text) override {
    HR_ASSIGN_OR_RETURN(SocketAddress address, SocketAddress::Parse(text, dials_++));
    HR_RETURN_IF_ERROR(CheckTrust(tls_ != nullptr, trusted_fabric_, address));
    HR_ASSIGN_OR_RETURN(Descriptor socket, ConnectTcp(address));
    return Open(std::move(socket), true);
  }
  std::unique_ptr<comm::ByteStream> Answer() override {
    if (!listener_.socket.valid()) return nullptr;
    Result<Descriptor> socket = AcceptTcp(listener_.socket.get());
    if (socket.ok() && !socket->valid()) return nullptr;
    if (socket.ok()) {
      auto stream = Open(std::move(socket).value(), false);
      if (stream.ok()) return std::move(stream).value();
      NoteFailure(std::move(stream).status());
    } else {
      NoteFailure(std::move(socket).status());
    }
    return nullptr;
  }
  void BeginArm() override {}
  bool EndArm() override { return sleeper_->Arm(); }

  const std::unique_ptr<TlsContext> tls_;  // null: plain text
  const bool trusted_fabric_;
  unsigned dials_ = 0;
  std::unique_ptr<Sleeper> sleeper_;
  Listener listener_;
};

}  // namespace

Result<std::unique_ptr<comm::Transport>> CreateTcpTransport(const comm::TransportSettings& settings,
                                                            std::string identity) {
  std::unique_ptr<TlsContext> tls;
  if (!settings.secret.empty()) {
    HR_ASSIGN_OR_RETURN(tls, TlsContext::Create(settings.secret));
  }
  HR_ASSIGN_OR_RETURN(auto sleeper, Sleeper::Create());
  Listener listener;
  if (settings.listen) {
    HR_ASSIGN_OR_RETURN(const SocketAddress wanted, ListenAddress(settings));
    HR_RETURN_IF_ERROR(CheckTrust(tls != nullptr, settings.trusted_fabric, wanted));
    HR_ASSIGN_OR_RETURN(listener.socket, ListenTcp(wanted));
    HR_ASSIGN_OR_RETURN(const SocketAddress address, LocalAddress(listener.socket.get()));
    HR_ASSIGN_OR_RETURN(listener.watch, sleeper->Add(listener.socket.get()));
    listener.address = address.Text();
  }
  return std::make_unique<TcpTransport>(std::move(identity), std::move(tls),
                                        settings.trusted_fabric, std::move(sleeper),
                                        std::move(listener));
}

}  // namespace hr::tcp
