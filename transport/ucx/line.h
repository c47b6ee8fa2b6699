// One connection as UCX sees it: an endpoint to send by, and the bytes that came for it.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/comm/wake_event.h"

namespace hr::comm {

// What every message begins with. Keys are made by the side that dials, from random bits, and are
// even towards the side that is dialled and odd towards the one that dialled.
enum class EnvelopeKind : uint32_t { kHello = 1, kBytes = 2, kGone = 3 };
struct Envelope {
  uint64_t key;
  EnvelopeKind kind;
  uint32_t sequence;  // of this direction
};
static_assert(sizeof(Envelope) == 16);

// A message fits into one piece of every transport of UCX, so messages come as they were sent.
inline constexpr size_t kPacketBytes = 8128;
inline constexpr size_t kPacketRoom = kPacketBytes - sizeof(Envelope);

// Bytes that came and were not read yet.
class Inbox {
 public:
  bool empty() const { return begin_ == bytes_.size(); }
  void Put(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  size_t Take(std::byte* to, size_t bytes) {
    bytes = std::min(bytes, bytes_.size() - begin_);
    std::memcpy(to, bytes_.data() + begin_, bytes);
    begin_ += bytes;
    if (empty()) {
      bytes_.clear();
      begin_ = 0;
    }
    return bytes;
  }

 private:
  std::vector<std::byte> bytes_;
  size_t begin_ = 0;
};

class UcxWorker;

struct Line {
  UcxWorker* worker = nullptr;
  uint64_t key = 0;  // what comes for us carries it
  ucp_ep_h endpoint = nullptr;
  bool notices = false;  // UCX tells when the peer is lost
  Inbox inbox;
  Status status;                    // why nothing more comes, once the inbox is empty
  uint32_t sent = 0, received = 0;  // messages
  size_t pending = 0;               // packets that UCX has not let go of
  size_t taken = 0;                 // bytes in a packet whose sending was not reported yet
  bool heard = false;               // anything of the peer
  std::chrono::steady_clock::time_point dialled;
  Descriptor process;  // readable when the peer's process ends; invalid where it is not ours to see
  void* closing = nullptr;  // UCX's request
  bool hung_up = false;
};

}  // namespace hr::comm
