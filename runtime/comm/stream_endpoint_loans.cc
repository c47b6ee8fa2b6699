// Messages that the receiver reads from the sender's memory, between processes of one host. This is
// done if the kernel allows it and if it takes less time than streaming.
//
// An offer contains the address of the message. The receiver announces that it reads (kReading) and
// then that it has read (kRead). It uses the data only after the sender has confirmed that the
// message was there all the time (kSettle); if the send was cancelled meanwhile, the answer is
// kWithdraw. So a sender can give its memory back at any time without waiting for the receiver.
#include <algorithm>

#include "runtime/base/cancel.h"
#include "runtime/base/host.h"
#include "runtime/comm/stream_endpoint.h"

namespace hr::comm {
namespace {

// Below, the handshake costs more than a copy.
constexpr size_t kMinLoanBytes = 16 << 10;
// What is read at once: nobody else is served meanwhile.
constexpr size_t kLoanSliceBytes = 1 << 20;
// How long a sender expects a reading to take, at the most.
constexpr int64_t kMaxReadingNanos = 2'000'000;

int64_t Now() { return SystemClock().NowNanos(); }

}  // namespace

// Sends the address of a random number, by reading which the peer finds out whether it can read
// this process's memory.
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
  if (!traits_.lends || peer_memory_.open()) return Broken("an unexpected probe");
  if (!peer_memory_.Open(header_.sender, header_.tag, header_.label)) return {};
  Tell(FrameKind::kReads, 0, 0);
  return {};
}

// ---- The sender ----

// Adds the address of the message to its offer.
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

// Returns whether an offered message is read from `place` in the peer's memory; 0: the offer has no
// address.
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

// Reads a piece of the first message. Returns false if there is none. A message that cannot be read
// is streamed.
bool StreamEndpoint::ReadPeerMemory() {
  Transfer* transfer = borrowing_.front();
  if (transfer == nullptr || !status_.ok()) return false;
  const size_t bytes = std::min(transfer->received - transfer->moved, kLoanSliceBytes);
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
