#include "transport/tcp/tcp.h"

#include <sys/socket.h>

#include "runtime/comm/stream_transport.h"
#include "transport/tcp/sleeper.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tls.h"

namespace hr::comm {
namespace {

constexpr StreamTraits kTraits = {.eager_bytes = 32 << 10,
                                  .credit_bytes = 4 << 20,
                                  .frame_bytes = 1 << 20,
                                  .read_ahead = 64 << 10};
// More read ahead would only be copied once more.
constexpr StreamTraits kTlsTraits = {.eager_bytes = kTraits.eager_bytes,
                                     .credit_bytes = kTraits.credit_bytes,
                                     .frame_bytes = kTraits.frame_bytes,
                                     .read_ahead = kTlsRecordBytes};

class TcpStream final : public ByteStream {
 public:
  // `plain`: nothing encrypts what passes, so a peer's TLS would be taken for nonsense.
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
  bool Arm(bool read, bool write) override {
    watch_->Want(read, write);
    return true;  // whether it is ready shows when the sleeper is armed
  }
  std::string Describe() const override { return PeerAddress(socket_.get()); }

 private:
  Descriptor socket_;
  std::unique_ptr<Sleeper::Watch> watch_;  // goes before its socket
  bool look_for_tls_;
};

class TcpTransport final : public StreamTransport {
 public:
  TcpTransport(std::string identity, std::unique_ptr<TlsContext> tls,
               std::unique_ptr<Sleeper> sleeper, Descriptor listener,
               std::unique_ptr<Sleeper::Watch> watch, std::string address)
      : StreamTransport(tls != nullptr ? kTlsTraits : kTraits, std::move(identity)),
        tls_(std::move(tls)),
        sleeper_(std::move(sleeper)),
        listener_(std::move(listener)),
        watch_(std::move(watch)),
        address_(std::move(address)) {
    watch_->Want(true, false);
  }
  ~TcpTransport() override { DropStrangers(); }

  std::string_view name() const override { return "tcp"; }
  const std::string& address() const override { return address_; }
  bool Reaches(std::string_view address) const override {
    return SocketAddress::Parse(address).ok();
  }
  int wait_handle() const override { return sleeper_->wait_handle(); }

 private:
  Result<std::unique_ptr<ByteStream>> Open(Descriptor socket, bool dialled) {
    HR_ASSIGN_OR_RETURN(auto watch, sleeper_->Add(socket.get()));
    auto stream = std::make_unique<TcpStream>(std::move(socket), std::move(watch), tls_ == nullptr);
    if (tls_ == nullptr) return std::unique_ptr<ByteStream>(std::move(stream));
    return tls_->Wrap(std::move(stream), dialled);
  }
  Result<std::unique_ptr<ByteStream>> Dial(std::string_view text) override {
    HR_ASSIGN_OR_RETURN(SocketAddress address, SocketAddress::Parse(text));
    HR_ASSIGN_OR_RETURN(Descriptor socket, ConnectTcp(address));
    return Open(std::move(socket), true);
  }
  std::unique_ptr<ByteStream> Answer() override {
    Result<Descriptor> socket = AcceptTcp(listener_.get());
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
  std::unique_ptr<Sleeper> sleeper_;
  Descriptor listener_;
  std::unique_ptr<Sleeper::Watch> watch_;
  const std::string address_;
};

}  // namespace

Result<std::unique_ptr<Transport>> CreateTcpTransport(const TcpOptions& options,
                                                      std::string identity) {
  HR_ASSIGN_OR_RETURN(SocketAddress wanted, SocketAddress::From(options.host, options.port));
  std::unique_ptr<TlsContext> tls;
  if (!options.secret.empty()) {
    HR_ASSIGN_OR_RETURN(tls, TlsContext::Create(options.secret));
  } else if (!wanted.loopback() && !options.trusted_fabric) {
    return FailedPrecondition("TCP at ", options.host,
                              " would leave this host in plain text; give all ranks the same "
                              "cluster secret, or set trusted_fabric where the network can be "
                              "trusted with plain text");
  }
  HR_ASSIGN_OR_RETURN(Descriptor listener, ListenTcp(wanted));
  HR_ASSIGN_OR_RETURN(SocketAddress address, LocalAddress(listener.get()));
  HR_ASSIGN_OR_RETURN(auto sleeper, Sleeper::Create());
  HR_ASSIGN_OR_RETURN(auto watch, sleeper->Add(listener.get()));
  return std::make_unique<TcpTransport>(std::move(identity), std::move(tls), std::move(sleeper),
                                        std::move(listener), std::move(watch), address.Text());
}

Result<std::string> LocalAddressTowards(const std::string& host) {
  // Connecting a datagram socket only looks the route up; the port (discard) does not matter.
  HR_ASSIGN_OR_RETURN(SocketAddress address, SocketAddress::From(host, 9));
  Descriptor socket(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() || ::connect(socket.get(), address.get(), address.length) != 0) {
    return Unavailable("there is no route to ", host);
  }
  HR_ASSIGN_OR_RETURN(SocketAddress local, LocalAddress(socket.get()));
  return local.Host();
}

}  // namespace hr::comm
