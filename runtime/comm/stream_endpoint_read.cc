// Frames that come in, and the messages in them.
#include <algorithm>
#include <cstring>

#include "runtime/comm/stream_endpoint.h"

namespace hr::comm {
namespace {

// Reads of one Progress() call, so that a busy peer does not starve the others.
constexpr int kReadsPerTurn = 64;
// A message so long is dealt with before more is read: the peer may be waiting for what comes of
// it, and sends on meanwhile.
constexpr size_t kLongMessage = 64 << 10;
// What an endpoint keeps for early messages to come.
constexpr size_t kMaxSpare = 8;
constexpr size_t kMaxSpareBytes = 4096;

Status TooLong(uint64_t bytes, size_t room) {
  return InvalidArgument("the message has ", bytes, " bytes but the receive has room for ", room,
                         "; post a receive of the sender's size");
}

constexpr std::string_view kTooMuch = "it sent more than its credit allows";

}  // namespace

Status StreamEndpoint::Broken(std::string_view what) {
  return DataLoss("the peer broke the protocol: ", what);
}

// An entry for the frame that is being read: one that was used before if there is one.
StreamEndpoint::Arrival& StreamEndpoint::NewArrival() {
  if (spare_.empty()) spare_.emplace_back();
  unexpected_.splice(unexpected_.end(), spare_, spare_.begin());
  Arrival& arrival = unexpected_.back();
  arrival.tag = header_.tag;
  arrival.label = header_.label;
  arrival.sender = 0;
  arrival.offer = arrival.complete = false;
  arrival.claimed = nullptr;
  return arrival;
}

void StreamEndpoint::DropArrival(std::list<Arrival>::iterator arrival) {
  if (spare_.size() >= kMaxSpare || arrival->room > kMaxSpareBytes) {
    unexpected_.erase(arrival);
  } else {
    spare_.splice(spare_.begin(), unexpected_, arrival);
  }
}

void StreamEndpoint::TakeArrival(Transfer& transfer, Arrival& arrival) {
  ReturnCredit(arrival.bytes);
  transfer.label = arrival.label;
  transfer.received = arrival.bytes;
  if (arrival.bytes > transfer.bytes) {
    return Finish(transfer, TooLong(arrival.bytes, transfer.bytes));
  }
  if (arrival.bytes > 0) std::memcpy(transfer.data, arrival.data.get(), arrival.bytes);
  Finish(transfer, {});
}

void StreamEndpoint::TakeOffer(Transfer& transfer, const Offer& offer) {
  transfer.label = offer.label;
  transfer.received = offer.bytes;
  if (offer.bytes > transfer.bytes) {
    Status status = TooLong(offer.bytes, transfer.bytes);
    EnqueueText(FrameKind::kRefuse, offer.sender, status.message());
    return Finish(transfer, std::move(status));
  }
  transfer.id = next_id_++;
  if (Borrows(transfer, offer.place)) return Borrow(transfer, offer.place, offer.sender);
  Invite(transfer, offer.sender);
}

void StreamEndpoint::Invite(Transfer& transfer, uint32_t sender) {
  transfer.moved = 0;
  receiving_.Push(transfer);
  Tell(FrameKind::kInvite, sender, transfer.id);
}

void StreamEndpoint::ReturnCredit(uint64_t message_bytes) {
  credit_to_give_ += HeaderBytes(FrameKind::kEager) + message_bytes;
  if (!status_.ok() || credit_to_give_ < traits_.credit_bytes / 2) return;
  FrameHeader header{};
  header.kind = FrameKind::kCredit;
  header.bytes = credit_to_give_;
  uncredited_ -= credit_to_give_;
  credit_to_give_ = 0;
  Enqueue({.header = header});
}

bool StreamEndpoint::Progress() {
  bool moved = !outgoing_.empty() && Flush();
  if (closed_) Leave();
  turn_over_ = false;
  for (int i = 0; i < kReadsPerTurn && status_.ok() && !turn_over_; ++i) {
    Result<bool> read = ReadSome();
    if (!read.ok()) {
      OnReadFailure(std::move(read).status());
      return true;
    }
    if (!*read) break;
    moved = true;
    if (drained_ && ahead_begin_ == ahead_end_) break;
  }
  moved |= ReadPeerMemory();
  return moved || PeerIsBusy();
}

// A peer that broke the protocol is told why; one that is gone is not written to any more.
void StreamEndpoint::OnReadFailure(Status status) {
  const bool tell = status.code() == Code::kDataLoss;
  Fail(std::move(status));
  if (tell) return EnqueueText(FrameKind::kGoodbye, 0, status_.message());
  DropOutgoing();
  stream_->EndWriting();  // which answers its goodbye
}

// Reads what the peer still has to say, which nobody wants any more: it may be on its way out
// likewise, and each waits for room to write.
void StreamEndpoint::Leave() {
  std::byte dropped[4096];
  if (outgoing_.empty()) stream_->EndWriting();
  for (int i = 0; i < kReadsPerTurn; ++i) {
    Result<size_t> got = stream_->Read(dropped, sizeof dropped);
    if (!got.ok()) {
      linger_until_.reset();
      return DropOutgoing();
    }
    if (*got == 0) return;
  }
}

bool StreamEndpoint::Arm() {
  if ((ahead_begin_ != ahead_end_ || !borrowing_.empty()) && status_.ok()) return false;
  return stream_->Arm(status_.ok(), !outgoing_.empty());
}

Status StreamEndpoint::ReadAhead(size_t bytes, ExpectedFrame* expected) {
  if (ahead_.size() < bytes) ahead_.resize(bytes);
  std::byte* to = ahead_.data();
  HR_ASSIGN_OR_RETURN(const size_t got, expected == nullptr
                                            ? stream_->Read(to, bytes)
                                            : stream_->ReadExpecting(*expected, to, bytes));
  drained_ = got < bytes;
  ahead_begin_ = 0;
  ahead_end_ = got;
  return {};
}

// A message that comes whole and first, and that somebody waits for, past all lists. Whatever else
// is there stays for Progress().
bool StreamEndpoint::TakeAhead(uint64_t tag, uint64_t label, std::span<std::byte> to) {
  if (header_read_ > 0 || !established_ || !status_.ok() || posted_.HasTag(tag)) return false;
  if (ahead_begin_ == ahead_end_) {
    ExpectedFrame expected = {.tag = tag, .label = label, .room = to};
    Status read = ReadAhead(std::max(read_ahead_, kHeadBytes + to.size()), &expected);
    if (expected.taken) return NoteTaken(expected.bytes);
    if (!read.ok()) OnReadFailure(std::move(read));
  }
  FrameHeader header;
  const size_t have = ahead_end_ - ahead_begin_;
  if (have < kHeadBytes) return false;
  const std::byte* frame = ahead_.data() + ahead_begin_;
  std::memcpy(&header, frame, kHeadBytes);
  const size_t bytes = kHeadBytes + header.payload;
  if (header.kind != FrameKind::kEager || header.tag != tag || header.label != label ||
      header.payload > to.size() || bytes > have) {
    return false;
  }
  if (header.payload > 0) std::memcpy(to.data(), frame + kHeadBytes, header.payload);
  ahead_begin_ += bytes;
  return NoteTaken(header.payload);
}

// An eager frame was taken to where it was wanted. False where it should not have been sent.
bool StreamEndpoint::NoteTaken(size_t payload) {
  arrivals_ += kHeadBytes + payload;
  uncredited_ += kHeadBytes + payload;
  if (uncredited_ > traits_.credit_bytes) {
    OnReadFailure(Broken(kTooMuch));
    return false;
  }
  ReturnCredit(payload);
  return true;
}

// Bytes read ahead first; directly if much is wanted.
Result<size_t> StreamEndpoint::Fill(std::byte* to, size_t bytes) {
  if (ahead_begin_ == ahead_end_) {
    if (bytes >= read_ahead_) {
      HR_ASSIGN_OR_RETURN(const size_t got, stream_->ReadLong(to, bytes));
      drained_ = got < bytes;
      return got;
    }
    HR_RETURN_IF_ERROR(ReadAhead(read_ahead_, nullptr));
  }
  const size_t count = std::min(bytes, ahead_end_ - ahead_begin_);
  std::memcpy(to, ahead_.data() + ahead_begin_, count);
  ahead_begin_ += count;
  return count;
}

Result<size_t> StreamEndpoint::Drop(size_t bytes) {
  std::byte dropped[4096];
  Result<size_t> got = Fill(dropped, std::min(bytes, sizeof dropped));
  stream_->StopReading();
  return got;
}

// Whether all of the header is there; what kind it is tells how long that is.
bool StreamEndpoint::HasHeader() const {
  return header_read_ >= kHeadBytes && header_read_ == HeaderBytes(header_.kind);
}

// Reads a piece of the header. False if nothing has come.
Result<bool> StreamEndpoint::ReadHeader() {
  const size_t begun = header_read_;
  do {
    const size_t want = header_read_ < kHeadBytes ? kHeadBytes : HeaderBytes(header_.kind);
    std::byte* to = reinterpret_cast<std::byte*>(&header_) + header_read_;
    HR_ASSIGN_OR_RETURN(const size_t got, Fill(to, want - header_read_));
    header_read_ += got;
    arrivals_ += got;
    if (header_read_ < want) break;
  } while (!HasHeader());
  return header_read_ > begun;
}

// Reads a piece of a header or of a payload. False if nothing has come.
Result<bool> StreamEndpoint::ReadSome() {
  if (!HasHeader()) {
    HR_ASSIGN_OR_RETURN(const bool moved, ReadHeader());
    if (!HasHeader()) return moved;
    payload_left_ = header_.payload;
    HR_RETURN_IF_ERROR(OnHeader());
  }
  if (payload_left_ > 0) {
    Result<size_t> got = sink_ != nullptr ? Fill(sink_, payload_left_) : Drop(payload_left_);
    if (!got.ok()) return std::move(got).status();
    payload_left_ -= *got;
    arrivals_ += *got;
    if (sink_ != nullptr) sink_ += *got;
    if (payload_left_ > 0) return *got > 0;
  }
  header_read_ = 0;
  HR_RETURN_IF_ERROR(OnPayload());
  return true;
}

// A header has come: says where its payload goes. What has none is dealt with in OnPayload(), too.
Status StreamEndpoint::OnHeader() {
  sink_ = nullptr;
  reading_ = nullptr;
  arriving_ = nullptr;
  if (!established_ && header_.kind != FrameKind::kGreeting) {
    return Broken("it did not begin with a greeting; is it a Headrace program?");
  }
  switch (header_.kind) {
    case FrameKind::kGreeting:
    case FrameKind::kRefuse:
    case FrameKind::kGoodbye:
      if (header_.payload > kMaxText) return Broken("a text is too long");
      text_.resize(header_.payload);
      sink_ = reinterpret_cast<std::byte*>(text_.data());
      return {};
    case FrameKind::kEager: return OnEager();
    case FrameKind::kData: return OnData();
    case FrameKind::kOffer:
      place_ = 0;
      if (header_.payload == sizeof place_) {
        sink_ = reinterpret_cast<std::byte*>(&place_);
        return {};
      }
      [[fallthrough]];
    case FrameKind::kInvite:
    case FrameKind::kWithdraw:
    case FrameKind::kCredit:
    case FrameKind::kProbe:
    case FrameKind::kReads:
    case FrameKind::kReading:
    case FrameKind::kRead:
    case FrameKind::kSettle:
      return header_.payload == 0 ? Status() : Broken("a control frame has a payload");
  }
  return Broken(Cat("unknown frame kind ", static_cast<uint32_t>(header_.kind)));
}

Status StreamEndpoint::OnEager() {
  uncredited_ += HeaderBytes(FrameKind::kEager) + header_.payload;
  if (uncredited_ > traits_.credit_bytes) return Broken(kTooMuch);
  if (Transfer* transfer = posted_.TakeByTag(header_.tag)) {
    reading_ = transfer;
    if (header_.payload <= transfer->bytes) sink_ = transfer->data;
    return {};
  }
  Arrival& arrival = NewArrival();
  arrival.bytes = header_.payload;
  if (arrival.room < arrival.bytes) {
    arrival.data = std::make_unique_for_overwrite<std::byte[]>(arrival.bytes);
    arrival.room = arrival.bytes;
  }
  arriving_ = &arrival;
  sink_ = arrival.data.get();
  return {};
}

Status StreamEndpoint::OnData() {
  Transfer* transfer = receiving_.FindById(header_.receiver);
  if (transfer == nullptr) return {};  // cancelled meanwhile: dropped
  if (header_.payload > transfer->received - transfer->moved) {
    return Broken("a message is longer than its offer said");
  }
  reading_ = transfer;
  sink_ = transfer->data + transfer->moved;
  return {};
}

// The whole frame has come.
Status StreamEndpoint::OnPayload() {
  switch (header_.kind) {
    case FrameKind::kGreeting: return OnGreeting();
    case FrameKind::kOffer: return OnOffer();
    case FrameKind::kInvite: return OnInvite();
    case FrameKind::kWithdraw: return OnWithdraw();
    case FrameKind::kCredit: return OnCredit();
    case FrameKind::kRefuse: return OnRefuse();
    case FrameKind::kProbe: return OnProbe();
    case FrameKind::kReads: lends_ = traits_.lends; return {};
    case FrameKind::kReading: OnReading(); return {};
    case FrameKind::kRead: return OnRead();
    case FrameKind::kSettle: return OnSettle();
    case FrameKind::kGoodbye:
      peer_left_ = true;
      return Unavailable("the peer closed the connection: ", text_);
    case FrameKind::kEager: OnEagerComplete(); return {};
    case FrameKind::kData:
      if (reading_ == nullptr) return {};
      reading_->moved += header_.payload;
      if (reading_->moved < reading_->received) return {};
      receiving_.Remove(*reading_);
      NotePath(*reading_, ReceivePath::kStream);
      FinishReading({});
      return {};
  }
  return {};
}

Status StreamEndpoint::OnGreeting() {
  if (established_) return Broken("it greeted twice");
  if (header_.tag != kProtocolMagic) {
    return Broken("its greeting is not Headrace's; is it another program?");
  }
  if (header_.label != kProtocolVersion) {
    return DataLoss("the peer speaks version ", header_.label, " of the wire protocol, this one ",
                    kProtocolVersion, "; run the same version of Headrace on all ranks");
  }
  credit_ = std::min<uint64_t>(header_.bytes, traits_.credit_bytes);
  peer_identity_ = text_;
  read_ahead_ = traits_.read_ahead;
  established_ = true;
  return {};
}

void StreamEndpoint::OnEagerComplete() {
  if (arriving_ != nullptr) return OnArrivalComplete();
  ReturnCredit(header_.payload);
  if (reading_ == nullptr) return;  // cancelled meanwhile
  reading_->label = header_.label;
  reading_->received = header_.payload;
  FinishReading(reading_->received <= reading_->bytes
                    ? Status()
                    : TooLong(reading_->received, reading_->bytes));
}

void StreamEndpoint::FinishReading(Status status) {
  Transfer& transfer = *std::exchange(reading_, nullptr);
  turn_over_ = transfer.received >= kLongMessage;
  Finish(transfer, std::move(status));
}

void StreamEndpoint::OnArrivalComplete() {
  Arrival& arrival = *std::exchange(arriving_, nullptr);
  arrival.complete = true;
  if (arrival.claimed == nullptr) return;
  TakeArrival(*arrival.claimed, arrival);
  DropArrival(std::find_if(unexpected_.begin(), unexpected_.end(),
                           [&](const Arrival& a) { return &a == &arrival; }));
}

Status StreamEndpoint::OnOffer() {
  if (Transfer* transfer = posted_.TakeByTag(header_.tag)) {
    TakeOffer(*transfer, {header_.label, header_.bytes, place_, header_.sender});
    return {};
  }
  if (++offers_ > kMaxOffers) return Broken("it has too many messages on offer");
  Arrival& offer = NewArrival();
  offer.bytes = header_.bytes;
  offer.sender = header_.sender;
  offer.place = place_;
  offer.offer = true;
  return {};
}

Status StreamEndpoint::OnInvite() {
  Transfer* transfer = offered_.TakeById(header_.sender);
  if (transfer == nullptr) return Deny();  // withdrawn meanwhile
  EnqueueData(*transfer, header_.receiver);
  Flush();
  return {};
}

Status StreamEndpoint::OnCredit() {
  if (header_.bytes > traits_.credit_bytes - std::min<uint64_t>(credit_, traits_.credit_bytes)) {
    return Broken("it gave more credit than was used");
  }
  credit_ += header_.bytes;
  return {};
}

Status StreamEndpoint::OnWithdraw() {
  if (header_.receiver != 0) {
    if (Transfer* transfer = receiving_.TakeById(header_.receiver)) {
      Finish(*transfer, Aborted("the sender cancelled the message"));
    }
    return {};
  }
  offers_ -= unexpected_.remove_if(
      [&](const Arrival& a) { return a.offer && a.sender == header_.sender; });
  return {};
}

Status StreamEndpoint::OnRefuse() {
  if (Transfer* transfer = offered_.TakeById(header_.sender)) {
    Finish(*transfer, InvalidArgument("the peer refused the message: ", text_));
  }
  return {};
}

}  // namespace hr::comm
