#include "transport/tcp/tcp.h"

#include <sys/socket.h>

#include "runtime/comm/stream_transport.h"
#include "transport/tcp/sleeper.h"
#include "transport/tcp/socket.h"

namespace hr::comm {
namespace {

constexpr StreamTraits kTraits = {.eager_bytes = 32 << 10,
                                  .credit_bytes = 4 << 20,
                                  .frame_bytes = 1 << 20,
                                  .read_ahead = 64 << 10};

class TcpStream final : public ByteStream {
 public:
  TcpStream(Descriptor socket, std::unique_ptr<Sleeper::Watch> watch)
      : socket_(std::move(socket)), watch_(std::move(watch)) {}

  Result<size_t> Write(std::span<const Bytes> pieces) override {
    return WriteSocket(socket_.get(), pieces);
  }
  Result<size_t> Read(std::byte* to, size_t bytes) override {
    return ReadSocket(socket_.get(), to, bytes);
  }
  bool Arm(bool read, bool write) override {
    watch_->Want(read, write);
    return true;  // whether it is ready shows when the sleeper is armed
  }

 private:
  Descriptor socket_;
  std::unique_ptr<Sleeper::Watch> watch_;  // goes before its socket
};

class TcpTransport final : public StreamTransport {
 public:
  TcpTransport(std::string identity, std::unique_ptr<Sleeper> sleeper, Descriptor listener,
               std::unique_ptr<Sleeper::Watch> watch, std::string address)
      : StreamTransport(kTraits, std::move(identity)),
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
  Result<std::unique_ptr<ByteStream>> Open(Descriptor socket) {
    HR_ASSIGN_OR_RETURN(auto watch, sleeper_->Add(socket.get()));
    return std::make_unique<TcpStream>(std::move(socket), std::move(watch));
  }
  Result<std::unique_ptr<ByteStream>> Dial(std::string_view text) override {
    HR_ASSIGN_OR_RETURN(SocketAddress address, SocketAddress::Parse(text));
    HR_ASSIGN_OR_RETURN(Descriptor socket, ConnectTcp(address));
    return Open(std::move(socket));
  }
  std::unique_ptr<ByteStream> Answer() override {
    Result<Descriptor> socket = AcceptTcp(listener_.get());
    if (socket.ok() && !socket->valid()) return nullptr;
    if (socket.ok()) {
      auto stream = Open(std::move(socket).value());
      if (stream.ok()) return std::move(stream).value();
      NoteFailure(std::move(stream).status());
    } else {
      NoteFailure(std::move(socket).status());
    }
    return nullptr;
  }
  void BeginArm() override {}
  bool EndArm() override { return sleeper_->Arm(); }

  std::unique_ptr<Sleeper> sleeper_;
  Descriptor listener_;
  std::unique_ptr<Sleeper::Watch> watch_;
  const std::string address_;
};

}  // namespace

Result<std::unique_ptr<Transport>> CreateTcpTransport(const TcpOptions& options,
                                                      std::string identity) {
  HR_ASSIGN_OR_RETURN(SocketAddress wanted, SocketAddress::From(options.host, options.port));
  if (!wanted.loopback() && !options.trusted_fabric) {
    return FailedPrecondition("TCP to ", options.host,
                              " would be plaintext off this host; set trusted_fabric where the "
                              "network can be trusted with that");
  }
  HR_ASSIGN_OR_RETURN(Descriptor listener, ListenTcp(wanted));
  HR_ASSIGN_OR_RETURN(SocketAddress address, LocalAddress(listener.get()));
  HR_ASSIGN_OR_RETURN(auto sleeper, Sleeper::Create());
  HR_ASSIGN_OR_RETURN(auto watch, sleeper->Add(listener.get()));
  return std::make_unique<TcpTransport>(std::move(identity), std::move(sleeper),
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
