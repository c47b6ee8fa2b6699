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
#include "runtime/base/wake_event.h"
#include "runtime/comm/byte_stream.h"
#include "runtime/comm/frame.h"

namespace hr::ucx {

// What every message begins with. Keys are made by the side that dials, from random bits, and are
// even towards the side that is dialled and odd towards the one that dialled.
enum class EnvelopeKind : uint32_t {
  kHello = 1,
  kBytes = 2,
  kGone = 3,
  kWelcome = 4,
  kLoan = 5,    // the next bytes are the peer's to read from where they lie: UCX's rendezvous
  kRepaid = 6,  // the loan's bytes were the right ones for as long as it lasted
  kRevoked = 7  // they perhaps were not, and come again, as others do
};
struct Envelope {
  uint64_t key;
  EnvelopeKind kind;
  uint32_t sequence;  // of this direction
};
static_assert(sizeof(Envelope) == 16);

// What a short eager frame is instead, once the peer's id for its line is known: a message of 8
// bytes then fills just a cache line of UCX's queue. The rest of its header follows from what UCX
// says of it: that it is one of these, and how long it is.
struct [[gnu::packed]] ShortFrame {
  uint32_t line;
  uint64_t tag, label;
  std::byte payload[236];  // as much as there is
};
inline constexpr size_t kShortHead = offsetof(ShortFrame, payload);
static_assert(kShortHead == 20);

// A message fits into one piece of every transport of UCX, so messages come as they were sent.
inline constexpr size_t kPacketBytes = 8128;
inline constexpr size_t kPacketRoom = kPacketBytes - sizeof(Envelope);

// What is lent at once.
inline constexpr size_t kMinLoanBytes = 32 << 10, kMaxLoanBytes = 1 << 20;

class UcxWorker;
struct Line;

// Which of the two it is to UCX.
enum MessageId : unsigned { kLongMessage = 0, kShortMessage = 1 };

// A message on its way out.
struct Packet {
  static constexpr size_t kFrontBytes = 1024;  // from here a copy costs more than the bookkeeping

  void Begin(const Envelope& envelope) {
    std::memcpy(front, &envelope, sizeof envelope);
    front_bytes = sizeof envelope;
    body = {};
  }
  // False if it does not fit into the front.
  bool Add(Bytes piece) {
    if (piece.size() > kFrontBytes - front_bytes) return false;
    std::memcpy(front + front_bytes, piece.data(), piece.size());
    front_bytes += piece.size();
    return true;
  }
  // The memory of `body` is about to go.
  void Keep() {
    kept = AsText(body);
    body = AsBytes(kept);
  }
  size_t bytes() const { return front_bytes + body.size(); }
  // All of it from `offset` on; returns how much there was room for.
  size_t Pack(size_t offset, std::byte* to, size_t room) const;

  Line* line = nullptr;
  size_t front_bytes = 0;
  Bytes body;        // behind the front; not copied
  std::string kept;  // the body, if nobody else keeps it
  std::byte front[kFrontBytes];
};

// The sender's side of a loan.
enum class Lending { kNone, kActive, kRevoked };

// The receiver's side: bytes that it reads from where they lie in the sender's memory.
struct Loan {
  bool reading() const { return request != nullptr; }
  // Whether the sender has said how it ended, which it does after the reading.
  bool ended() const { return verdict != EnvelopeKind::kLoan; }

  size_t bytes = 0;
  void* message = nullptr;  // UCX's, until the reading begins
  void* request = nullptr;  // UCX's, while it lasts
  std::byte* to = nullptr;
  std::unique_ptr<std::byte[]> own;  // `to`, if the reader has no room for all
  ucs_status_t status = UCS_OK;
  EnvelopeKind verdict = EnvelopeKind::kLoan;
};

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
    held_.push_back({nullptr, std::move(own), left, nullptr});
  }
  // `bytes` are the end of `message`, which is UCX's and is given back when they have been read.
  void Hold(void* message, Bytes bytes) { held_.push_back({message, nullptr, bytes, nullptr}); }
  // Bytes that are still to be fetched: there is nothing to take while they come first.
  Loan* Hold(std::unique_ptr<Loan> loan) {
    held_.push_back({nullptr, nullptr, {}, std::move(loan)});
    return held_.back().loan.get();
  }
  Loan* loan() const {
    return begin_ < copied_.size() || held_.empty() ? nullptr : held_.front().loan.get();
  }
  // The loan that comes first has ended: its bytes take its place, if they are here.
  void EndLoan() {
    const std::unique_ptr<Loan> loan = std::move(held_.front().loan);
    held_.pop_front();
    if (loan->own == nullptr || loan->verdict != EnvelopeKind::kRepaid) return;
    const Bytes left = {loan->own.get(), loan->bytes};
    held_.push_front({nullptr, std::move(loan->own), left, nullptr});
  }
  template <typename Function>
  void ForEachLoan(Function&& function) {
    for (Held& held : held_) {
      if (held.loan != nullptr) function(*held.loan);
    }
  }
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
    std::unique_ptr<Loan> loan;
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

struct Line {
  Line(UcxWorker& owner, ucp_worker_h ucp_worker, uint64_t own_key, uint32_t own_id)
      : worker(&owner), key(own_key), id(own_id), inbox(ucp_worker) {}

  // Whether the peer reads this where it lies, rather than that it is copied twice.
  bool Lends(Bytes piece) const { return lends && piece.size() >= kMinLoanBytes; }
  // Whether Receive() has something to do now.
  bool due() const {
    if (inbox.empty()) return !status.ok();
    const Loan* first = inbox.loan();
    return first == nullptr || !status.ok() || first->message != nullptr ||
           (first->ended() && !first->reading());
  }
  // Whether bytes that come now go where the reader wants them.
  bool Sinks(size_t bytes) const { return bytes <= sink.size() && inbox.empty(); }
  // Whether this frame is expected, and comes next.
  bool Expects(const ShortFrame& frame, size_t payload) const {
    return expected != nullptr && !expected->taken && expected->tag == frame.tag &&
           expected->label == frame.label && payload <= expected->room.size() && Sinks(0);
  }
  // Takes bytes that came, in two pieces.
  void Take(Bytes head, Bytes rest) {
    const bool sinks = Sinks(head.size() + rest.size());
    expected = nullptr;  // it would not be the first any more
    for (Bytes piece : {head, rest}) {
      if (piece.empty()) continue;
      if (!sinks) {
        inbox.Copy(piece);
        continue;
      }
      std::memcpy(sink.data(), piece.data(), piece.size());
      sink = sink.subspan(piece.size());
    }
  }

  UcxWorker* const worker;
  const uint64_t key;    // what comes for us carries it, or …
  const uint32_t id;     // in a short envelope
  uint32_t peer_id = 0;  // what the peer calls its end; 0: it has not told
  ucp_ep_h endpoint = nullptr;
  bool notices = false;  // UCX tells when the peer is lost
  bool lends = false;    // the peer's network adapter reads memory of this process
  Inbox inbox;
  comm::ExpectedFrame* expected = nullptr;
  std::span<std::byte> sink;  // where what comes next goes, past the inbox, as long as it fits
  Status status;              // why nothing more comes, once the inbox is empty
  uint32_t sent = 0, received = 0;   // messages
  size_t pending = 0;                // packets that UCX has not let go of
  Packet* posted = nullptr;          // one of them, which may have others' memory as its body
  size_t taken = 0;                  // bytes in a packet whose sending was not reported yet
  Lending lending = Lending::kNone;  // of those
  std::chrono::steady_clock::time_point lent;
  Loan* loan = nullptr;  // of the peer's, that has not ended
  bool heard = false;    // anything of the peer
  std::chrono::steady_clock::time_point dialled;
  Descriptor process;  // readable when the peer's process ends; invalid if it is not ours to see
  void* closing = nullptr;  // UCX's request
  bool hung_up = false;
};

}  // namespace hr::ucx
