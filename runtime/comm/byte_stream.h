// The interface of a transport that moves bytes in order. StreamTransport makes a Transport of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/base/file.h"
#include "runtime/base/result.h"

namespace hr::comm {

// An eager frame for which a receive waits, and the memory for its payload.
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

  // Accepts as many bytes of `pieces`, in order, as it can now, and returns their number; 0 if it
  // is full or not yet connected. A failure is final. Between calls the stream may read bytes that
  // it has not accepted yet. Therefore the next call has to offer the same bytes, in the same
  // memory or after LetGo().
  virtual Result<size_t> Write(std::span<const Bytes> pieces) = 0;
  // Must be called before the memory that was offered last is freed.
  virtual void LetGo() {}
  // Reads up to `bytes` bytes and returns their number; 0 if none has come. If the peer has closed,
  // the result is UNAVAILABLE after everything that it wrote has been read.
  virtual Result<size_t> Read(std::byte* to, size_t bytes) = 0;

  // Reads as Read does, for long messages: if it returns 0, the stream may write into `to` between
  // calls. The next call has to name the same memory, unless StopReading() is called before.
  virtual Result<size_t> ReadLong(std::byte* to, size_t bytes) { return Read(to, bytes); }
  // Must be called before the memory that ReadLong named last is freed. Waits while something
  // writes into it now, but never for the peer.
  virtual void StopReading() {}

  // Returns whether the peer is probably reading now what was written; a thread that polls does not
  // sleep meanwhile.
  virtual bool PeerIsBusy() { return false; }

  // Writes a whole short eager frame, in order with the bytes, for streams on which that is faster.
  // Returns false if it is not possible now; then nothing has happened.
  virtual bool WriteEager(uint64_t /*tag*/, uint64_t /*label*/, Bytes /*payload*/) { return false; }
  // Reads as Read does; but if the next bytes are exactly this frame, the stream may take it into
  // the frame's memory and return 0.
  virtual Result<size_t> ReadExpecting(ExpectedFrame& /*frame*/, std::byte* to, size_t bytes) {
    return Read(to, bytes);
  }

  // Announces that nothing more will be written: the peer's Read fails after it has read
  // everything.
  virtual void EndWriting() {}

  // Asks for the transport's wait handle to be raised when Read would return bytes or a failure (if
  // `read`) and when Write would accept bytes (if `write`). Returns false if one of them is the
  // case already.
  virtual bool Arm(bool read, bool write) = 0;
  // Returns a name of the peer for messages; empty if there is none.
  virtual std::string Describe() const { return ""; }
};

// The sizes that suit a kind of stream.
struct StreamTraits {
  size_t eager_bytes;   // messages up to this size travel with their header, uninvited
  size_t credit_bytes;  // the most eager bytes, headers included, that may lie unreceived at a peer
  size_t frame_bytes;   // the most payload in one frame, so that frames of several messages mix
  size_t read_ahead;    // bytes to ask for when a header is due: large if a read is a system call
  // The stream loses bytes that the peer has not received yet, if it is closed while bytes of the
  // peer are unread. Therefore an endpoint that closes waits for a short time for the peer to
  // close, too.
  bool lingers = false;
  // Peers may be processes of this host that can read messages from this process's memory.
  bool lends = false;
};

}  // namespace hr::comm
