// Messages that the receiver reads from where they lie: between processes of one host whose kernel
// allows it, and where it takes less time than to stream them.
//
// An offer tells where the message is. A receiver that reads it says so (kReading), then that it
// has (kRead), and believes what it got when the sender answers that the message was still there
// (kSettle); to one that was cancelled meanwhile the answer is kWithdraw. So a sender gives its
// memory back at any time, without waiting for the receiver.
#include <algorithm>

#include "runtime/base/cancel.h"
#include "runtime/base/host.h"
#include "runtime/comm/stream_endpoint.h"

namespace hr::comm {
namespace {

// Below, the handshake costs more than a copy.
constexpr size_t kMinLoanBytes = 16 << 10;
// What is read at once: nobody else is served meanwhile.
constexpr size_t kSliceBytes = 1 << 20;
// How long a sender expects a reading to take, at the most.
constexpr int64_t kMaxReadingNanos = 2'000'000;

int64_t Now() { return SystemClock().NowNanos(); }

}  // namespace

// Shows the peer something to try to read.
void StreamEndpoint::OfferMemory() {
  if (!traits_.lends) return;
  secret_ = UniqueBits();
  FrameHeader probe{};
  probe.kind = FrameKind::kProbe;
  probe.tag = reinterpret_cast<uintptr_t>(&secret_);
  probe.label = secret_;
  probe.sender = PeerMemory::OwnProcess();
  outgoing_.push_back({.header = probe});
}

Status StreamEndpoint::OnProbe() {
  if (!traits_.lends || peer_memory_.open()) return Broken("a probe that nobody asked for");
  if (!peer_memory_.Open(header_.sender, header_.tag, header_.label)) return {};
  Tell(FrameKind::kReads, 0, 0);
  return {};
}

// ---- The sender ----

// Adds where the message is to its offer.
void StreamEndpoint::Lend(const Transfer& transfer, Outgoing& offer) {
  if (!lends_ || transfer.bytes < kMinLoanBytes) return;
  const uint64_t at = reinterpret_cast<uintptr_t>(transfer.data);
  offer.owned.assign(reinterpret_cast<const char*>(&at), sizeof at);
  offer.header.payload = sizeof at;
}

void StreamEndpoint::OnReading() {
  const Transfer* transfer = offered_.FindById(header_.sender);
  if (transfer == nullptr) return;
  // At a byte a nanosecond.
  read_until_ = Now() + std::min<int64_t>(static_cast<int64_t>(transfer->bytes), kMaxReadingNanos);
}

Status StreamEndpoint::OnRead() {
  Transfer* transfer = offered_.TakeById(header_.sender);
  read_until_ = 0;
  if (transfer == nullptr) return Deny();
  Tell(FrameKind::kSettle, 0, header_.receiver);
  Finish(*transfer, {});
  return {};
}

bool StreamEndpoint::PeerIsBusy() {
  if (!outgoing_.empty() && stream_->PeerIsBusy()) return true;
  return read_until_ != 0 && !offered_.empty() && Now() < read_until_;
}

// ---- The receiver ----

// Whether a message that was offered with its place, or without (0), is read from there.
bool StreamEndpoint::Borrows(Transfer& transfer, uint64_t place) {
  transfer.begun = 0;
  if (place == 0 || !peer_memory_.open()) return false;
  transfer.begun = Now();
  return receive_path_.Choose(transfer.received) == ReceivePath::kPeerMemory;
}

void StreamEndpoint::Borrow(Transfer& transfer, uint64_t place, uint32_t sender) {
  transfer.place = place;
  transfer.sender = sender;
  borrowing_.Push(transfer);
  Tell(FrameKind::kReading, sender, 0);
}

// Reads a piece of the first message; true where there is one. What cannot be read is streamed.
bool StreamEndpoint::ReadPeerMemory() {
  Transfer* transfer = borrowing_.front();
  if (transfer == nullptr || !status_.ok()) return false;
  const size_t bytes = std::min(transfer->received - transfer->moved, kSliceBytes);
  std::byte* to = transfer->data + transfer->moved;
  if (!peer_memory_.Read(transfer->place + transfer->moved, to, bytes)) {
    borrowing_.Pop();
    receive_path_.Note(transfer->received, ReceivePath::kPeerMemory, INT64_MAX);
    Invite(*transfer, transfer->sender);
    return true;
  }
  transfer->moved += bytes;
  arrivals_ += bytes;
  if (transfer->moved < transfer->received) return true;
  borrowing_.Pop();
  receiving_.Push(*transfer);
  Tell(FrameKind::kRead, transfer->sender, transfer->id);
  return true;
}

Status StreamEndpoint::OnSettle() {
  Transfer* transfer = receiving_.FindById(header_.receiver);
  if (transfer == nullptr) return {};  // cancelled meanwhile
  if (transfer->moved != transfer->received) return Broken("it settled what was not read");
  receiving_.Remove(*transfer);
  turn_over_ = true;
  NotePath(*transfer, ReceivePath::kPeerMemory);
  Finish(*transfer, {});
  return {};
}

void StreamEndpoint::NotePath(const Transfer& transfer, ReceivePath path) {
  if (transfer.begun != 0) receive_path_.Note(transfer.received, path, Now() - transfer.begun);
}

}  // namespace hr::comm
