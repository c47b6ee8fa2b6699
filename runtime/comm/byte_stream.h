// What a transport that moves bytes in order has to provide; StreamTransport makes a Transport of
// it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/base/file.h"
#include "runtime/base/result.h"

namespace hr::comm {

// An eager frame that somebody waits for, and where its payload goes.
struct ExpectedFrame {
  uint64_t tag, label;
  std::span<std::byte> room;
  bool taken = false;
  size_t bytes = 0;  // of the payload, once it was taken
};

// A connected pair of byte pipes, such as a socket or two rings in shared memory. Not thread-safe;
// no call waits.
class ByteStream {
 public:
  virtual ~ByteStream() = default;  // closes

  // Accepts as many bytes of `pieces`, in order, as it can now; 0 where it is full or not yet
  // connected. A failure is final and says why. A stream may go on to read what it has not accepted
  // yet: the next call has to offer the same bytes, in the same memory or after LetGo().
  virtual Result<size_t> Write(std::span<const Bytes> pieces) = 0;
  // The memory that was offered last is about to go.
  virtual void LetGo() {}
  // Reads up to `bytes`; 0 where none has come. A peer that closed is a failure, UNAVAILABLE, once
  // everything it wrote before has been read.
  virtual Result<size_t> Read(std::byte* to, size_t bytes) = 0;

  // As Read, for what is long: where it returns 0, a stream may go on to write into `to` between
  // calls. The next call has to name the same memory, unless StopReading() comes before.
  virtual Result<size_t> ReadLong(std::byte* to, size_t bytes) { return Read(to, bytes); }
  // The memory that ReadLong named last is about to go. Waits where something writes into it now,
  // but never for the peer.
  virtual void StopReading() {}

  // True while the peer is at work on what was written, for as long as that should take: whoever
  // polls does not sleep meanwhile.
  virtual bool PeerIsBusy() { return false; }

  // For streams that carry short eager frames faster whole than as bytes, among which they keep
  // their place. False where that cannot be now; nothing has happened then.
  virtual bool WriteEager(uint64_t /*tag*/, uint64_t /*label*/, Bytes /*payload*/) { return false; }
  // As Read, but where the next bytes are just this frame, a stream may take it instead: 0 then.
  virtual Result<size_t> ReadExpecting(ExpectedFrame& /*frame*/, std::byte* to, size_t bytes) {
    return Read(to, bytes);
  }

  // Nothing more will be written: the peer's Read fails once it has read everything.
  virtual void EndWriting() {}

  // Asks for the transport's wait handle to be raised when Read would return bytes or a failure (if
  // `read`), and when Write would accept some (if `write`). False where that is so already.
  virtual bool Arm(bool read, bool write) = 0;
  // Who the peer is, for messages; empty where that says nothing.
  virtual std::string Describe() const { return ""; }
};

// How messages are best cut for a kind of stream.
struct StreamTraits {
  size_t eager_bytes;   // messages up to this size travel with their header, uninvited
  size_t credit_bytes;  // the most eager bytes, headers included, that may lie unreceived at a peer
  size_t frame_bytes;   // the most payload in one frame, so that frames of several messages mix
  size_t read_ahead;  // bytes to ask for when a header is due: large where a read is a system call
  // Closing a stream takes back what the peer has not got yet, where something of the peer's comes
  // unread: so the last word waits for its answer, for a short time.
  bool lingers = false;
  // Peers may be processes of this host, and may read what is sent to them from where it lies.
  bool lends = false;
};

}  // namespace hr::comm
