// A ByteStream over two rings in common memory.
#pragma once

#include <functional>
#include <memory>

#include "runtime/comm/byte_ring.h"
#include "runtime/comm/byte_stream.h"

namespace hr::comm {

// The common memory of a connection: two rings of `capacity` bytes (a power of two). The side that
// dialled writes the first. All zero bytes is the state before use.
struct RingPair {
  std::byte* memory;
  size_t capacity;

  static size_t Bytes(size_t capacity) { return 2 * RingMemory::Bytes(capacity); }
  RingMemory& ring(int i) const {
    return *reinterpret_cast<RingMemory*>(memory + i * RingMemory::Bytes(capacity));
  }
};

// What a ring cannot tell by itself.
class RingPeer {
 public:
  virtual ~RingPeer() = default;  // gives the common memory back
  // Wakes the peer's transport from its sleep.
  virtual void Wake() = 0;
  // False if the peer has closed or is gone. Called now and then while nothing comes, and before
  // a sleep, which ends when the answer changes.
  virtual bool Alive() = 0;
};

std::unique_ptr<ByteStream> CreateRingStream(const RingPair& rings, bool dialled,
                                             std::unique_ptr<RingPeer> peer);

}  // namespace hr::comm
