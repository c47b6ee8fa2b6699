#include "runtime/comm/stream_endpoint.h"

#include <algorithm>
#include <cstring>

namespace hr::comm {
namespace {

// Peers get more when they have said who they are.
constexpr size_t kStrangersReadAhead = 1024;
constexpr auto kLingerTime = std::chrono::milliseconds(300);

}  // namespace

StreamEndpoint::StreamEndpoint(std::unique_ptr<ByteStream> stream, const StreamTraits& traits,
                               std::string_view identity)
    : stream_(std::move(stream)),
      traits_(traits),
      read_ahead_(std::min(traits.read_ahead, kStrangersReadAhead)) {
  Outgoing greeting{.header = {.kind = FrameKind::kGreeting,
                               .payload = static_cast<uint32_t>(identity.size()),
                               .tag = kProtocolMagic,
                               .label = kProtocolVersion,
                               .bytes = traits.credit_bytes,
                               .sender = 0,
                               .receiver = 0},
                    .owned = std::string(identity)};
  outgoing_.push_back(std::move(greeting));
  OfferMemory();
}

StreamEndpoint::~StreamEndpoint() {
  stream_.reset();  // which may still read what is to be written
  if (list_ != nullptr) std::erase(*list_, this);
}

void StreamEndpoint::SignInto(std::vector<StreamEndpoint*>& list) {
  list.push_back(this);
  list_ = &list;
}

// Makes it the header of an eager message, if the peer has credit for that.
bool StreamEndpoint::TakeCredit(FrameHeader& header, size_t bytes) {
  const uint64_t cost = HeaderBytes(FrameKind::kEager) + bytes;
  if (bytes > traits_.eager_bytes || cost > credit_) return false;
  credit_ -= cost;
  header.kind = FrameKind::kEager;
  header.payload = static_cast<uint32_t>(bytes);
  return true;
}

void StreamEndpoint::Send(Transfer& transfer) {
  if (!status_.ok()) return Finish(transfer, status_.Clone());
  FrameHeader header{};
  header.tag = transfer.tag;
  header.label = transfer.label;
  if (TakeCredit(header, transfer.bytes)) {
    return Enqueue({.header = header, .payload = transfer.data, .transfer = &transfer});
  }
  transfer.id = next_id_++;
  transfer.moved = 0;
  offered_.Push(transfer);
  header.kind = FrameKind::kOffer;
  header.bytes = transfer.bytes;
  header.sender = transfer.id;
  Outgoing offer{.header = header};
  Lend(transfer, offer);
  Enqueue(std::move(offer));
}

std::list<StreamEndpoint::Arrival>::iterator StreamEndpoint::FindArrival(uint64_t tag) {
  return std::find_if(unexpected_.begin(), unexpected_.end(),
                      [tag](const Arrival& a) { return a.tag == tag && a.claimed == nullptr; });
}

void StreamEndpoint::Recv(Transfer& transfer) {
  transfer.moved = 0;
  const auto found = FindArrival(transfer.tag);
  if (found == unexpected_.end()) {
    return status_.ok() ? posted_.Push(transfer) : Finish(transfer, status_.Clone());
  }
  if (found->offer) {
    const Offer offer = {found->label, found->bytes, found->place, found->sender};
    DropArrival(found);
    --offers_;
    return TakeOffer(transfer, offer);
  }
  if (!found->complete) {
    found->claimed = &transfer;
    return;
  }
  TakeArrival(transfer, *found);
  DropArrival(found);
}

bool StreamEndpoint::RecvNow(uint64_t tag, uint64_t label, std::span<std::byte> to) {
  const auto found = unexpected_.empty() ? unexpected_.end() : FindArrival(tag);
  if (found == unexpected_.end()) return TakeAhead(tag, label, to);
  if (!found->complete || found->label != label || found->bytes > to.size()) return false;
  ReturnCredit(found->bytes);
  if (found->bytes > 0) std::memcpy(to.data(), found->data.get(), found->bytes);
  DropArrival(found);
  return true;
}

bool StreamEndpoint::IsComing(const Transfer& receive) const {
  return reading_ == &receive || receiving_.Has(receive) || borrowing_.Has(receive);
}

bool StreamEndpoint::Unclaimed(size_t index, uint64_t* tag, uint64_t* label) const {
  for (const Arrival& arrival : unexpected_) {
    if (arrival.claimed != nullptr || index-- > 0) continue;
    *tag = arrival.tag;
    *label = arrival.label;
    return true;
  }
  return false;
}

void StreamEndpoint::Cancel(Transfer& transfer) {
  bool found = posted_.Remove(transfer) || receiving_.Remove(transfer);
  if (borrowing_.Remove(transfer)) {
    Tell(FrameKind::kRead, transfer.sender, transfer.id);  // as much as it wanted
    found = true;
  }
  if (reading_ == &transfer) {
    StopReading();
    found = true;
  }
  for (auto arrival = unexpected_.begin(); arrival != unexpected_.end(); ++arrival) {
    if (arrival->claimed != &transfer) continue;
    arrival->claimed = nullptr;  // its bytes are still with us, for the next receive
    found = true;
    break;
  }
  if (offered_.Remove(transfer)) {
    Tell(FrameKind::kWithdraw, transfer.id, 0);
    found = true;
  }
  for (size_t i = 0; i < outgoing_.size(); ++i) {
    if (outgoing_[i].transfer != &transfer) continue;
    found = true;
    const uint32_t receiver = outgoing_[i].header.receiver;
    Detach(i);
    if (receiver != 0) Tell(FrameKind::kWithdraw, 0, receiver);
    break;
  }
  if (found) Finish(transfer, Cancelled("the transfer was cancelled"));
}

// Ends every transfer with `status`. Frames that are on their way keep no hold on their memory.
void StreamEndpoint::Fail(Status status) {
  status_ = std::move(status);
  Transfer* reading = reading_;
  StopReading();
  for (TransferQueue* queue : {&posted_, &receiving_, &borrowing_, &offered_}) {
    while (Transfer* transfer = queue->Pop()) {
      if (transfer == reading) reading = nullptr;
      Finish(*transfer, status_.Clone());
    }
  }
  if (reading != nullptr) Finish(*reading, status_.Clone());
  for (Arrival& arrival : unexpected_) {
    if (arrival.claimed != nullptr) Finish(*arrival.claimed, status_.Clone());
  }
  // What came whole can still be received.
  unexpected_.remove_if([](const Arrival& arrival) { return !arrival.complete; });
  offers_ = 0;
  for (size_t i = outgoing_.size(); i-- > 0;) {
    Transfer* transfer = outgoing_[i].transfer;
    if (transfer == nullptr) continue;
    Detach(i);
    Finish(*transfer, status_.Clone());
  }
}

// What is left of the payload being read is dropped.
void StreamEndpoint::StopReading() {
  if (reading_ == nullptr && arriving_ == nullptr) return;
  stream_->StopReading();
  reading_ = nullptr;
  arriving_ = nullptr;
  sink_ = nullptr;
}

void StreamEndpoint::Close(std::string_view reason) {
  if (!status_.ok()) return DropOutgoing();
  Fail(Cancelled("the connection was closed on this side: ", reason));
  unexpected_.clear();
  closed_ = true;
  EnqueueText(FrameKind::kGoodbye, 0, reason);
  if (traits_.lingers) linger_until_ = std::chrono::steady_clock::now() + kLingerTime;
}

bool StreamEndpoint::flushed() const {
  if (!outgoing_.empty()) return false;
  return !linger_until_.has_value() || std::chrono::steady_clock::now() >= *linger_until_;
}

}  // namespace hr::comm
