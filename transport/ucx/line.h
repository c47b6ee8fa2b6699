// One connection as UCX sees it: an endpoint to send by, and the bytes that came for it.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
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

// Bytes that came and were not read yet. Large messages stay in UCX's memory until then.
class Inbox {
 public:
  explicit Inbox(ucp_worker_h worker) : worker_(worker) {}
  ~Inbox() { Clear(); }
  Inbox(const Inbox&) = delete;

  bool empty() const { return begin_ == copied_.size() && held_.empty(); }
  void Copy(Bytes bytes) {
    if (held_.empty()) {
      copied_.insert(copied_.end(), bytes.begin(), bytes.end());
      return;
    }
    // What is held comes after all that was copied, so this has to line up there.
    auto own = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
    std::memcpy(own.get(), bytes.data(), bytes.size());
    const Bytes left = {own.get(), bytes.size()};
    held_.push_back({nullptr, std::move(own), left});
  }
  // `bytes` are the end of `message`, which is UCX's and is given back when they have been read.
  void Hold(void* message, Bytes bytes) { held_.push_back({message, nullptr, bytes}); }
  void Clear() {
    while (!held_.empty()) DropHeld();
  }
  size_t Take(std::byte* to, size_t bytes) {
    if (begin_ == copied_.size()) return TakeHeld(to, bytes);
    bytes = std::min(bytes, copied_.size() - begin_);
    std::memcpy(to, copied_.data() + begin_, bytes);
    begin_ += bytes;
    if (begin_ < copied_.size()) return bytes;
    copied_.clear();
    begin_ = 0;
    return bytes;
  }

 private:
  struct Held {
    void* message;  // UCX's, or null and …
    std::unique_ptr<std::byte[]> own;
    Bytes left;
  };
  void DropHeld() {
    if (void* message = held_.front().message) ucp_am_data_release(worker_, message);
    held_.pop_front();
  }
  size_t TakeHeld(std::byte* to, size_t bytes) {
    if (held_.empty()) return 0;
    Held& held = held_.front();
    bytes = std::min(bytes, held.left.size());
    std::memcpy(to, held.left.data(), bytes);
    held.left = held.left.subspan(bytes);
    if (held.left.empty()) DropHeld();
    return bytes;
  }

  const ucp_worker_h worker_;
  std::vector<std::byte> copied_;
  size_t begin_ = 0;  // in copied_
  std::deque<Held> held_;
};

class UcxWorker;

struct Line {
  Line(UcxWorker& owner, ucp_worker_h ucp_worker, uint64_t own_key)
      : worker(&owner), key(own_key), inbox(ucp_worker) {}

  UcxWorker* const worker;
  const uint64_t key;  // what comes for us carries it
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
