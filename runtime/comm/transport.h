// The contract of a transport: it moves tagged messages between this process and its peers.
//
// A transport is a single-threaded object. It takes no lock and starts no thread: whoever owns it
// serialises every call (the Reactor does, reactor.h), and nothing happens between calls. No call
// waits. Messages of one endpoint that carry the same tag arrive in the order in which they were
// sent; messages with different tags do not hold each other up.
//
// Most transports move bytes in order and need only a ByteStream (byte_stream.h): framing,
// matching, credits and rendezvous are written once in StreamEndpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/comm/shared_memory.h"

namespace hr::comm {

// The settings of a new transport. A transport ignores the settings that its kind does not have.
struct TransportSettings {
  // The address or name of this host to listen at, which is also published to the peers. Empty: the
  // address from which the route to `towards` leaves; loopback if `towards` is empty, too. Port 0:
  // any free port. NOT_FOUND if the address is not of this host, ALREADY_EXISTS if the port is
  // taken.
  std::string host, towards;
  int port = 0;
  bool listen = true;           // false: it only connects and has no address
  std::string secret;           // of the cluster; empty: no secret and no encryption
  bool trusted_fabric = false;  // data may leave the host without encryption
};

// One send or receive in flight. The caller owns it and the memory it names, and must not move or
// free either of them before `done` is called. A transport allocates nothing for it.
struct Transfer {
  std::byte* data = nullptr;  // read by a send, written by a receive; may be null for 0 bytes
  size_t bytes = 0;           // of a send: the size of the message; of a receive: the room for it
  uint64_t tag = 0;           // a receive takes the first message with its tag
  uint64_t label = 0;         // a send carries it to the peer, which gets it here

  // Called exactly once, during a call on the transport, when the transport does not use the memory
  // any more. For a send this does not mean that the peer has received the message. `done` must not
  // call the transport.
  void (*done)(Transfer&) = nullptr;
  void* owner = nullptr;  // for `done`

  // Results, valid from the call of `done` on.
  Status status;        // of a receive: INVALID_ARGUMENT if the message is longer than the room
  size_t received = 0;  // bytes of the message, even if it did not fit

  // For the transport.
  Transfer* next = nullptr;
  size_t moved = 0;
  uint32_t id = 0;
  // Of a message that is being read from the peer's memory: its id there, its address there, and
  // the time at which the reading began, in nanoseconds (0: it is not measured).
  uint32_t sender = 0;
  uint64_t place = 0;
  int64_t begun = 0;
};

// A connection to one peer.
class Endpoint {
 public:
  // Drops the connection at once, without calling `done` for transfers in flight.
  virtual ~Endpoint() = default;

  // Returns whether the peer has answered; from then on peer_identity() is known. Transfers may be
  // started before; they wait.
  virtual bool established() const = 0;
  // Returns the identity with which the peer's transport was created. It is authentic if the
  // transport authenticates its peers.
  virtual std::string_view peer_identity() const = 0;
  // Returns OK while the connection is usable. Otherwise UNAVAILABLE if the peer closed it or
  // vanished, DATA_LOSS if the peer broke the protocol, UNAUTHENTICATED if the peer was refused.
  virtual const Status& status() const = 0;

  // Returns whether the connection ended because the peer closed it, rather than vanished.
  virtual bool peer_left() const = 0;

  // Starts a transfer. Failures are reported through `done`, perhaps before the call returns. On a
  // failed endpoint the transfer fails at once with status(); but small messages that arrived
  // completely before the failure can still be received.
  virtual void Send(Transfer& transfer) = 0;
  virtual void Recv(Transfer& transfer) = 0;
  // Sends a small message at once, without a transfer, if that needs no waiting. Returns true if it
  // is done and the memory is free again, false if nothing has happened.
  virtual bool SendNow(uint64_t /*tag*/, uint64_t /*label*/, Bytes /*message*/) { return false; }
  // Takes the first message with `tag` if it has arrived completely, carries `label` and fits.
  // Returns whether it did.
  virtual bool RecvNow(uint64_t /*tag*/, uint64_t /*label*/, std::span<std::byte> /*to*/) {
    return false;
  }
  // Ends a transfer with CANCELLED before the call returns, however far it has got. If a send is
  // cancelled that the peer has matched with a receive, that receive ends with ABORTED, or gets the
  // whole message if that was sent already. A transfer that has ended is left as it is, and other
  // transfers go on.
  virtual void Cancel(Transfer& transfer) = 0;
  // Returns whether the message of a receive is being written to its memory, so that Cancel() would
  // lose it. If a receive is cancelled earlier, its message goes to the next receive.
  virtual bool IsComing(const Transfer& /*receive*/) const { return false; }

  // Sets tag and label of message number `index` of those that have arrived, or are offered by the
  // peer, and for which there is no receive. Returns false if there are no more.
  virtual bool Unclaimed(size_t /*index*/, uint64_t* /*tag*/, uint64_t* /*label*/) const {
    return false;
  }

  // Closes the connection in order: messages that were sent before still arrive, transfers in
  // flight on this side end with CANCELLED, and the peer gets UNAVAILABLE with `reason`. The
  // transport has to be progressed until flushed().
  virtual void Close(std::string_view reason) = 0;
  // Returns whether the endpoint may be destroyed: no byte waits to be written, and the peer has
  // taken what was written, or has had enough time to take it.
  virtual bool flushed() const = 0;

  // Returns a number that grows whenever bytes arrive, by which silence is noticed.
  virtual uint64_t arrivals() const = 0;
};

// All connections of one kind that belong to one owner.
class Transport {
 public:
  // Must be destroyed after its endpoints.
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  // Returns the address to which peers connect, with the actual port and without spaces. The
  // transport listens from its creation on.
  virtual const std::string& address() const = 0;
  // Returns false if a peer at `address` certainly cannot be reached by this transport (for example
  // over the shared memory of another host), true if it may be reached.
  virtual bool Reaches(std::string_view address) const = 0;

  // Starts to connect. It fails at once only if `address` is malformed or this process has no
  // descriptors or memory left. A peer that does not answer is a failure of the endpoint's
  // status().
  virtual Result<std::unique_ptr<Endpoint>> Connect(std::string_view address) = 0;
  // Returns the next connection that a peer has made and that is established, or null. Connections
  // of others, which send no valid greeting within a few seconds, are dropped.
  virtual std::unique_ptr<Endpoint> Accept() = 0;

  // Returns OK, or RESOURCE_EXHAUSTED if connections of peers could not be accepted.
  virtual const Status& status() const = 0;
  // Returns why the last connection without a valid greeting was dropped; empty if none was. It may
  // explain why an expected peer does not come.
  virtual std::string_view last_stranger() const { return {}; }

  // Returns how the transport shares memory with its peers; null if it cannot.
  virtual MemorySharer* memory_sharer() { return nullptr; }

  // Moves the data that can be moved now, over all connections. Returns whether it moved any.
  virtual bool Progress() = 0;

  // Prepares a sleep. Returns true if Progress() has nothing to do now; then wait_handle(), a
  // descriptor for poll(), becomes readable as soon as it has. Returns false if Progress() has
  // something to do already. Every call of Progress() disarms.
  virtual bool Arm() = 0;
  virtual int wait_handle() const = 0;
};

// Makes a transport that tells its peers this identity.
using TransportFactory = std::function<Result<std::unique_ptr<Transport>>(std::string identity)>;

}  // namespace hr::comm
