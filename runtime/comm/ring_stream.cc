#include "runtime/comm/ring_stream.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::comm {
namespace {

// Reads that found nothing between two looks at whether the peer lives.
constexpr unsigned kIdleReads = 4096;
// What is written or read at once, so that both sides copy at the same time, and from caches.
constexpr size_t kFirstSliceBytes = 4 << 10;
constexpr size_t kRingSliceBytes = 16 << 10;

// The next slice of `bytes` when `done` of them are: the first ones are short, since the other side
// has nothing to do until it has them.
size_t Slice(size_t done, size_t bytes) {
  return std::min(bytes - done, std::clamp(done, kFirstSliceBytes, kRingSliceBytes));
}

class RingStream final : public ByteStream {
 public:
  RingStream(const RingPair& rings, bool dialled, std::unique_ptr<RingPeer> peer)
      : out_(rings.ring(dialled ? 0 : 1), rings.capacity),
        in_(rings.ring(dialled ? 1 : 0), rings.capacity),
        peer_(std::move(peer)) {}

  Result<size_t> Write(std::span<const Bytes> pieces) override {
    size_t total = 0;
    for (Bytes piece : pieces) {
      const size_t count = Append(piece);
      total += count;
      if (count < piece.size()) break;
    }
    if (total > 0) Publish();
    return total;
  }

  Result<size_t> Read(std::byte* to, size_t bytes) override {
    size_t count = ReadSlices(to, bytes);
    if (count == 0) {
      // Room is given back while there is nothing else to do: nobody waits for a little of it.
      if (in_.Owes()) Release();
      if (++idle_ % kIdleReads != 0 || peer_->Alive()) return count;
      // What it wrote before it went is still there.
      count = in_.Read(to, bytes);
      if (count == 0) return Unavailable("the peer process is gone");
    }
    idle_ = 0;
    return count;
  }

  bool Arm(bool read, bool write) override {
    if (in_.Owes()) Release();
    if (read && !in_.Arm()) return false;
    if (write && !out_.Arm()) return false;
    if (peer_->Alive()) return true;
    idle_ = kIdleReads - 1;  // so that the next Read notices
    return !read && !write;
  }

 private:
  size_t Append(Bytes piece) {
    for (size_t done = 0;;) {
      const size_t slice = Slice(done, piece.size());
      const size_t count = out_.Append(piece.subspan(done, slice));
      done += count;
      if (count < slice || done == piece.size()) return done;
      Publish();
    }
  }
  size_t ReadSlices(std::byte* to, size_t bytes) {
    for (size_t done = 0;;) {
      const size_t slice = Slice(done, bytes);
      const size_t count = in_.Read(to + done, slice);
      done += count;
      if (in_.OwesMuch()) Release();
      if (count < slice || done == bytes) return done;
    }
  }
  void Publish() {
    if (out_.Publish()) peer_->Wake();
  }
  void Release() {
    if (in_.Release()) peer_->Wake();
  }

  RingWriter out_;
  RingReader in_;
  std::unique_ptr<RingPeer> peer_;
  unsigned idle_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> CreateRingStream(const RingPair& rings, bool dialled,
                                             std::unique_ptr<RingPeer> peer) {
  return std::make_unique<RingStream>(rings, dialled, std::move(peer));
}

}  // namespace hr::comm
