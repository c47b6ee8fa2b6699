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
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/comm/shared_memory.h"

namespace hr::comm {

// How a transport is made; what means nothing to a kind of transport is ignored.
struct TransportSettings {
  // The address or name of this host to listen at, which is also published. Empty: the address from
  // which the route to `towards` leaves, so that those who live there can reach us; without that,
  // loopback. Port 0 takes a free one. NOT_FOUND where the address is not of this host,
  // ALREADY_EXISTS where the port is taken.
  std::string host, towards;
  int port = 0;
  bool listen = true;           // false: it only connects, and has no address
  std::string secret;           // of the cluster; empty: none, and no encryption
  bool trusted_fabric = false;  // what leaves the host may go without encryption
};

// One send or receive in flight. The caller owns it and the memory it names, and keeps both where
// they are until `done` was called; a transport allocates nothing for it.
struct Transfer {
  std::byte* data = nullptr;  // read by a send, written by a receive; may be null for 0 bytes
  size_t bytes = 0;           // of the message sent; the room for the message received
  uint64_t tag = 0;           // a receive takes the first message with its tag
  uint64_t label = 0;         // a send's travels along; a receive gets the sender's here

  // Called exactly once, from within some call on the transport, when the memory is the caller's
  // again: for a send, when it may be reused (not: when the peer has received it). It may only note
  // the fact; calling the transport from it is not allowed.
  void (*done)(Transfer&) = nullptr;
  void* owner = nullptr;  // for `done`

  // Results, valid once `done` was called.
  Status status;        // of a receive: INVALID_ARGUMENT where the message is longer than the room
  size_t received = 0;  // bytes of the message, also where it did not fit

  // The transport's own.
  Transfer* next = nullptr;
  size_t moved = 0;
  uint32_t id = 0;
  uint32_t sender = 0;  // the peer's id of a message that is being read where it lies, …
  uint64_t place = 0;   // … its address there, …
  int64_t begun = 0;    // … and since when, in nanoseconds; 0: nobody wants to know
};

// A connection to one peer.
class Endpoint {
 public:
  // Drops the connection at once; transfers in flight are forgotten without `done`.
  virtual ~Endpoint() = default;

  // True once the peer has answered, which is when peer_identity() is known. Transfers may be
  // started before that; they wait.
  virtual bool established() const = 0;
  // What the peer's transport was created with. Authentic where the transport authenticates.
  virtual std::string_view peer_identity() const = 0;
  // OK while the connection works, else why it does not: UNAVAILABLE where the peer closed it or
  // vanished, DATA_LOSS where it broke the protocol, UNAUTHENTICATED where it was refused.
  virtual const Status& status() const = 0;

  // True where the connection ended because the peer said goodbye, and did not vanish.
  virtual bool peer_left() const = 0;

  // Starts a transfer. Every failure comes through `done`, perhaps before the call returns. On a
  // failed endpoint that is at once, with status(), but small messages that had come whole before
  // it failed are still received.
  virtual void Send(Transfer& transfer) = 0;
  virtual void Recv(Transfer& transfer) = 0;
  // The short way of small messages, for what needs no waiting. True: it is done, and the memory is
  // the caller's again. False: nothing has happened; whoever wants it still uses Send() or Recv().
  virtual bool SendNow(uint64_t /*tag*/, uint64_t /*label*/, Bytes /*message*/) { return false; }
  // Takes the first message with `tag` where it has come whole, carries `label` and fits.
  virtual bool RecvNow(uint64_t /*tag*/, uint64_t /*label*/, std::span<std::byte> /*to*/) {
    return false;
  }
  // Ends a transfer with CANCELLED, before the call returns, and no matter how far it has got; a
  // receive that the peer has matched with a cancelled send ends with ABORTED, or gets all of it
  // where that was on its way. No effect on one that has ended. Other transfers go on.
  virtual void Cancel(Transfer& transfer) = 0;
  // Whether the message of a receive is on its way into its memory, so that Cancel() would lose it.
  // Until then, a cancelled receive leaves its message to the next one.
  virtual bool IsComing(const Transfer& /*receive*/) const { return false; }

  // Tag and label of the message number `index` that has come, or is on offer, and that nobody has
  // asked for yet. False where there are no more.
  virtual bool Unclaimed(size_t /*index*/, uint64_t* /*tag*/, uint64_t* /*label*/) const {
    return false;
  }

  // Says goodbye: messages sent before still arrive, transfers in flight on this side end with
  // CANCELLED, the peer sees UNAVAILABLE with `reason`. Stays to be progressed until flushed().
  virtual void Close(std::string_view reason) = 0;
  // True where no byte waits to be written, and closing loses none that was (or the peer had its
  // time to take them).
  virtual bool flushed() const = 0;

  // A count that grows whenever bytes arrive, so that silence can be noticed.
  virtual uint64_t arrivals() const = 0;
};

// All connections of one kind that one owner has.
class Transport {
 public:
  // After its endpoints.
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  // Where peers connect to: listening from the start, the real port and not 0. Text without spaces.
  virtual const std::string& address() const = 0;
  // False where a peer at `address` certainly cannot be reached this way (shared memory of another
  // host). True promises nothing.
  virtual bool Reaches(std::string_view address) const = 0;

  // Starts to connect. Fails at once only where `address` makes no sense or this process is out of
  // descriptors or memory; a peer that does not answer shows in the endpoint's status().
  virtual Result<std::unique_ptr<Endpoint>> Connect(std::string_view address) = 0;
  // The next established connection that a peer made, or null. Strangers who say nothing sensible
  // within a few seconds are dropped and never seen here.
  virtual std::unique_ptr<Endpoint> Accept() = 0;

  // OK, or why connections that peers made could not be taken: RESOURCE_EXHAUSTED.
  virtual const Status& status() const = 0;
  // Why the last stranger was dropped, for whoever waits for a peer that does not come; empty where
  // none was.
  virtual std::string_view last_stranger() const { return {}; }

  // Where it can share memory with its peers; else null.
  virtual MemorySharer* memory_sharer() { return nullptr; }

  // Moves what can be moved now, over all connections. True if anything was.
  virtual bool Progress() = 0;

  // Sleeping: when Arm() returned true, wait_handle() (a descriptor for poll()) becomes readable as
  // soon as Progress() has something to do. False: it has something to do already. Any call of
  // Progress() disarms.
  virtual bool Arm() = 0;
  virtual int wait_handle() const = 0;
};

}  // namespace hr::comm
