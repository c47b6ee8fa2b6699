// Frames on their way out.
#include <algorithm>

#include "runtime/comm/stream_endpoint.h"

namespace hr::comm {
namespace {

// Whether a frame may go before one that waits already: what is short does not stand in line behind
// the bulk of messages, which receivers tell apart by more than their order.
bool MayPass(FrameKind frame, FrameKind waiting) {
  switch (frame) {
    case FrameKind::kInvite:
    case FrameKind::kCredit:
      return waiting == FrameKind::kData || waiting == FrameKind::kEager ||
             waiting == FrameKind::kOffer;
    case FrameKind::kEager:
    case FrameKind::kOffer: return waiting == FrameKind::kData;
    default: return false;
  }
}

Bytes WireForm(const FrameHeader& header) {
  return {reinterpret_cast<const std::byte*>(&header), HeaderBytes(header.kind)};
}

}  // namespace

void StreamEndpoint::Enqueue(Outgoing frame) {
  if (outgoing_.empty()) {
    Result<size_t> written = WriteSome(frame);
    // A failure is met again, and handled, when reading or by the next Flush().
    if (written.ok() && frame.done()) return OnWritten(frame);
  }
  // The first may have begun; see Detach().
  auto at = outgoing_.end();
  const auto first = outgoing_.empty() ? at : outgoing_.begin() + 1;
  while (at != first && MayPass(frame.header.kind, std::prev(at)->header.kind)) --at;
  outgoing_.insert(at, std::move(frame));
}

bool StreamEndpoint::SendNow(uint64_t tag, uint64_t label, Bytes message) {
  if (!status_.ok() || !outgoing_.empty()) return false;
  FrameHeader header{};
  header.tag = tag;
  header.label = label;
  if (!TakeCredit(header, message.size())) return false;
  if (stream_->WriteEager(tag, label, message)) return true;
  const Bytes pieces[] = {WireForm(header), message};
  Result<size_t> written = stream_->Write(pieces);
  const size_t count = written.ok() ? *written : 0;  // a failure is met again; see Enqueue
  if (count < pieces[0].size() + message.size()) {
    stream_->LetGo();
    outgoing_.push_back(
        {.header = header, .owned = std::string(AsText(message)), .written = count});
  }
  return true;
}

void StreamEndpoint::Tell(FrameKind kind, uint32_t sender, uint32_t receiver) {
  FrameHeader header{};
  header.kind = kind;
  header.sender = sender;
  header.receiver = receiver;
  Enqueue({.header = header});
}

// A peer that only asks and never reads would have ever more answers wait for it.
Status StreamEndpoint::Deny() {
  if (++denials_ > kMaxOffers) return Broken("it asks for messages that were never offered");
  Outgoing frame{};
  frame.header.kind = FrameKind::kWithdraw;
  frame.header.receiver = header_.receiver;
  frame.denial = true;
  Enqueue(std::move(frame));
  return {};
}

void StreamEndpoint::EnqueueText(FrameKind kind, uint32_t sender, std::string_view text) {
  Outgoing frame{};
  frame.owned = text.substr(0, kMaxText);
  frame.header.kind = kind;
  frame.header.payload = static_cast<uint32_t>(frame.owned.size());
  frame.header.sender = sender;
  Enqueue(std::move(frame));
}

Result<size_t> StreamEndpoint::WriteSome(Outgoing& frame) {
  const FrameHeader& header = frame.header;
  if (header.kind == FrameKind::kEager && frame.written == 0 &&
      stream_->WriteEager(header.tag, header.label, {frame.begin(), header.payload})) {
    return frame.written = kHeadBytes + header.payload;
  }
  Bytes pieces[2];
  size_t count = 0;
  const size_t header_done = std::min(frame.written, frame.header_bytes());
  if (header_done < frame.header_bytes()) {
    pieces[count++] = WireForm(frame.header).subspan(header_done);
  }
  const size_t sent = frame.written - header_done;
  const size_t left = frame.header.payload - sent;
  if (left > 0) pieces[count++] = Bytes(frame.begin() + sent, left);
  HR_ASSIGN_OR_RETURN(size_t written, stream_->Write({pieces, count}));
  frame.written += written;
  return written;
}

void StreamEndpoint::OnWritten(Outgoing& frame) {
  Transfer* transfer = frame.transfer;
  denials_ -= frame.denial;
  if (transfer == nullptr) return;
  if (frame.header.kind == FrameKind::kEager) return Finish(*transfer, {});
  transfer->moved += frame.header.payload;
  if (transfer->moved == transfer->bytes) return Finish(*transfer, {});
  EnqueueData(*transfer, frame.header.receiver);
}

void StreamEndpoint::EnqueueData(Transfer& transfer, uint32_t receiver) {
  Outgoing frame{};
  frame.header.kind = FrameKind::kData;
  frame.header.payload =
      static_cast<uint32_t>(std::min(transfer.bytes - transfer.moved, traits_.frame_bytes));
  frame.header.receiver = receiver;
  frame.payload = transfer.data + transfer.moved;
  frame.transfer = &transfer;
  outgoing_.push_back(std::move(frame));
}

bool StreamEndpoint::Flush() {
  bool moved = false;
  while (!outgoing_.empty()) {
    Result<size_t> written = WriteSome(outgoing_.front());
    if (!written.ok()) {
      // What the peer said last tells more than a broken pipe, so reading reports the failure.
      if (!status_.ok()) DropOutgoing();
      return moved;
    }
    if (*written == 0) return moved;
    moved = true;
    if (!outgoing_.front().done()) continue;
    Outgoing frame = std::move(outgoing_.front());
    outgoing_.pop_front();
    OnWritten(frame);
  }
  return moved;
}

void StreamEndpoint::DropOutgoing() {
  stream_->LetGo();
  outgoing_.clear();
  denials_ = 0;
}

// Ends a frame's hold on its transfer's memory. The first may have begun, even if nothing of it
// is known to be written yet, and so goes on with a copy, as does what took credit.
void StreamEndpoint::Detach(size_t index) {
  Outgoing& frame = outgoing_[index];
  if (index > 0 && frame.header.kind == FrameKind::kData) {
    outgoing_.erase(outgoing_.begin() + static_cast<ptrdiff_t>(index));
    return;
  }
  if (index == 0) stream_->LetGo();
  frame.owned = AsText({frame.payload, frame.header.payload});
  frame.transfer = nullptr;
}

}  // namespace hr::comm
