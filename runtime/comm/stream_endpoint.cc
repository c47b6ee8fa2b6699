#include "runtime/comm/stream_endpoint.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hr::comm {
namespace {

// Reads of one Progress() call, so that a busy peer does not starve the others.
constexpr int kReadsPerTurn = 64;
constexpr std::array<std::byte, 4096> kZeros{};

Bytes HeaderBytes(const FrameHeader& header) {
  return {reinterpret_cast<const std::byte*>(&header), sizeof header};
}

Status TooLong(uint64_t bytes, size_t room) {
  return InvalidArgument("the message has ", bytes, " bytes but the receive has room for ", room,
                         "; post a receive of the sender's size");
}

Status Broken(std::string_view what) { return DataLoss("the peer broke the protocol: ", what); }

}  // namespace

StreamEndpoint::StreamEndpoint(std::unique_ptr<ByteStream> stream, const StreamTraits& traits,
                               std::string_view identity)
    : stream_(std::move(stream)), traits_(traits), ahead_(traits.read_ahead) {
  Outgoing greeting{.header = {.kind = FrameKind::kGreeting,
                               .payload = static_cast<uint32_t>(identity.size()),
                               .tag = kProtocolMagic,
                               .label = kProtocolVersion,
                               .bytes = traits.credit_bytes,
                               .sender = 0,
                               .receiver = 0},
                    .owned = std::string(identity)};
  outgoing_.push_back(std::move(greeting));
}

StreamEndpoint::~StreamEndpoint() {
  if (list_ != nullptr) std::erase(*list_, this);
}

void StreamEndpoint::SignInto(std::vector<StreamEndpoint*>& list) {
  list.push_back(this);
  list_ = &list;
}

// ---- Writing ----

void StreamEndpoint::Send(Transfer& transfer) {
  if (!status_.ok()) return Finish(transfer, status_.Clone());
  FrameHeader header{};
  header.tag = transfer.tag;
  header.label = transfer.label;
  const uint64_t cost = sizeof header + transfer.bytes;
  if (transfer.bytes <= traits_.eager_bytes && cost <= credit_) {
    credit_ -= cost;
    header.kind = FrameKind::kEager;
    header.payload = static_cast<uint32_t>(transfer.bytes);
    return Enqueue({.header = header, .payload = transfer.data, .transfer = &transfer});
  }
  transfer.id = next_id_++;
  transfer.moved = 0;
  offered_.Push(transfer);
  header.kind = FrameKind::kOffer;
  header.bytes = transfer.bytes;
  header.sender = transfer.id;
  Enqueue({.header = header});
}

void StreamEndpoint::Enqueue(Outgoing frame) {
  if (outgoing_.empty()) {
    Result<size_t> written = WriteSome(frame);
    // A failure is met again, and handled, when reading or by the next Flush().
    if (written.ok() && frame.done()) return OnWritten(frame);
  }
  outgoing_.push_back(std::move(frame));
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
  Bytes pieces[2];
  size_t count = 0;
  const size_t header_done = std::min(frame.written, sizeof frame.header);
  if (header_done < sizeof frame.header) {
    pieces[count++] = HeaderBytes(frame.header).subspan(header_done);
  }
  const size_t sent = frame.written - header_done;
  const size_t left = frame.header.payload - sent;
  if (left > 0) {
    const std::byte* payload = frame.owned.empty() ? frame.payload : AsBytes(frame.owned).data();
    pieces[count++] = payload != nullptr ? Bytes(payload + sent, left)
                                         : Bytes(kZeros).first(std::min(left, kZeros.size()));
  }
  HR_ASSIGN_OR_RETURN(size_t written, stream_->Write({pieces, count}));
  frame.written += written;
  return written;
}

void StreamEndpoint::OnWritten(Outgoing& frame) {
  Transfer* transfer = frame.transfer;
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
      if (!status_.ok()) outgoing_.clear();
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

// Makes a frame independent of its transfer's memory.
void StreamEndpoint::Detach(Outgoing& frame) {
  if (frame.header.kind == FrameKind::kEager) {
    frame.owned = AsText({frame.payload, frame.header.payload});
  }
  frame.payload = nullptr;
  frame.transfer = nullptr;
}

// ---- Receiving ----

void StreamEndpoint::Recv(Transfer& transfer) {
  transfer.moved = 0;
  auto found = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const Arrival& a) {
    return a.tag == transfer.tag && a.claimed == nullptr;
  });
  if (found == unexpected_.end()) {
    return status_.ok() ? posted_.Push(transfer) : Finish(transfer, status_.Clone());
  }
  if (found->offer) {
    const Arrival offer = std::move(*found);
    unexpected_.erase(found);
    --offers_;
    return TakeOffer(transfer, offer.label, offer.bytes, offer.sender);
  }
  if (!found->complete) {
    found->claimed = &transfer;
    return;
  }
  TakeArrival(transfer, *found);
  unexpected_.erase(found);
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

void StreamEndpoint::TakeOffer(Transfer& transfer, uint64_t label, uint64_t bytes,
                               uint32_t sender) {
  transfer.label = label;
  transfer.received = bytes;
  if (bytes > transfer.bytes) {
    Status status = TooLong(bytes, transfer.bytes);
    EnqueueText(FrameKind::kRefuse, sender, status.message());
    return Finish(transfer, std::move(status));
  }
  transfer.id = next_id_++;
  receiving_.Push(transfer);
  FrameHeader header{};
  header.kind = FrameKind::kInvite;
  header.sender = sender;
  header.receiver = transfer.id;
  Enqueue({.header = header});
}

void StreamEndpoint::ReturnCredit(uint64_t message_bytes) {
  credit_to_give_ += sizeof(FrameHeader) + message_bytes;
  if (!status_.ok() || credit_to_give_ < traits_.credit_bytes / 2) return;
  FrameHeader header{};
  header.kind = FrameKind::kCredit;
  header.bytes = credit_to_give_;
  uncredited_ -= credit_to_give_;
  credit_to_give_ = 0;
  Enqueue({.header = header});
}

// ---- Reading ----

bool StreamEndpoint::Progress() {
  bool moved = !outgoing_.empty() && Flush();
  for (int i = 0; i < kReadsPerTurn && status_.ok(); ++i) {
    Result<bool> read = ReadSome();
    if (!read.ok()) {
      // A peer that broke the protocol is told why; one that is gone is not written to any more.
      const bool tell = read.status().code() == Code::kDataLoss;
      Fail(std::move(read).status());
      if (!tell) outgoing_.clear();
      if (tell) EnqueueText(FrameKind::kGoodbye, 0, status_.message());
      return true;
    }
    if (!*read) break;
    moved = true;
  }
  return moved;
}

bool StreamEndpoint::Arm() {
  if (ahead_begin_ != ahead_end_ && status_.ok()) return false;
  return stream_->Arm(status_.ok(), !outgoing_.empty());
}

// Bytes read ahead first; directly where much is wanted.
Result<size_t> StreamEndpoint::Fill(std::byte* to, size_t bytes) {
  if (ahead_begin_ == ahead_end_) {
    if (bytes >= ahead_.size()) return stream_->Read(to, bytes);
    HR_ASSIGN_OR_RETURN(ahead_end_, stream_->Read(ahead_.data(), ahead_.size()));
    ahead_begin_ = 0;
  }
  const size_t count = std::min(bytes, ahead_end_ - ahead_begin_);
  std::memcpy(to, ahead_.data() + ahead_begin_, count);
  ahead_begin_ += count;
  return count;
}

// Reads a piece of a header or of a payload. False where nothing has come.
Result<bool> StreamEndpoint::ReadSome() {
  if (header_read_ < sizeof header_) {
    std::byte* to = reinterpret_cast<std::byte*>(&header_) + header_read_;
    HR_ASSIGN_OR_RETURN(const size_t got, Fill(to, sizeof header_ - header_read_));
    header_read_ += got;
    arrivals_ += got;
    if (header_read_ < sizeof header_) return got > 0;
    payload_left_ = header_.payload;
    HR_RETURN_IF_ERROR(OnHeader());
  }
  if (payload_left_ > 0) {
    std::byte dropped[4096];
    Result<size_t> got = sink_ != nullptr ? Fill(sink_, payload_left_)
                                          : Fill(dropped, std::min(payload_left_, sizeof dropped));
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
    case FrameKind::kInvite:
    case FrameKind::kWithdraw:
    case FrameKind::kCredit:
      return header_.payload == 0 ? Status() : Broken("a control frame has a payload");
  }
  return Broken(Cat("unknown frame kind ", static_cast<uint32_t>(header_.kind)));
}

Status StreamEndpoint::OnEager() {
  uncredited_ += sizeof header_ + header_.payload;
  if (uncredited_ > traits_.credit_bytes) return Broken("it sent more than its credit allows");
  if (Transfer* transfer = posted_.TakeByTag(header_.tag)) {
    reading_ = transfer;
    if (header_.payload <= transfer->bytes) sink_ = transfer->data;
    return {};
  }
  Arrival& arrival = unexpected_.emplace_back(
      Arrival{.tag = header_.tag, .label = header_.label, .bytes = header_.payload, .data = {}});
  arrival.data = std::make_unique_for_overwrite<std::byte[]>(arrival.bytes);
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
    case FrameKind::kGoodbye:
      peer_left_ = true;
      return Unavailable("the peer closed the connection: ", text_);
    case FrameKind::kEager:
      if (arriving_ != nullptr) {
        OnArrivalComplete();
        return {};
      }
      ReturnCredit(header_.payload);
      if (reading_ == nullptr) return {};  // cancelled meanwhile
      reading_->label = header_.label;
      reading_->received = header_.payload;
      Finish(*std::exchange(reading_, nullptr), reading_->received <= reading_->bytes
                                                    ? Status()
                                                    : TooLong(header_.payload, reading_->bytes));
      return {};
    case FrameKind::kData:
      if (reading_ == nullptr) return {};
      reading_->moved += header_.payload;
      if (reading_->moved < reading_->received) return {};
      receiving_.Remove(*reading_);
      Finish(*std::exchange(reading_, nullptr), {});
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
  established_ = true;
  return {};
}

void StreamEndpoint::OnArrivalComplete() {
  Arrival& arrival = *std::exchange(arriving_, nullptr);
  arrival.complete = true;
  if (arrival.claimed == nullptr) return;
  TakeArrival(*arrival.claimed, arrival);
  unexpected_.remove_if([&](const Arrival& a) { return &a == &arrival; });
}

Status StreamEndpoint::OnOffer() {
  if (Transfer* transfer = posted_.TakeByTag(header_.tag)) {
    TakeOffer(*transfer, header_.label, header_.bytes, header_.sender);
    return {};
  }
  if (++offers_ > kMaxOffers) return Broken("it has too many messages on offer");
  unexpected_.push_back(Arrival{.tag = header_.tag,
                                .label = header_.label,
                                .bytes = header_.bytes,
                                .sender = header_.sender,
                                .offer = true,
                                .data = {}});
  return {};
}

Status StreamEndpoint::OnInvite() {
  Transfer* transfer = offered_.TakeById(header_.sender);
  if (transfer == nullptr) {  // withdrawn meanwhile
    FrameHeader header{};
    header.kind = FrameKind::kWithdraw;
    header.receiver = header_.receiver;
    Enqueue({.header = header});
    return {};
  }
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

// ---- Ending ----

void StreamEndpoint::Cancel(Transfer& transfer) {
  bool found = posted_.Remove(transfer) || receiving_.Remove(transfer);
  if (reading_ == &transfer) {
    reading_ = nullptr;
    sink_ = nullptr;
    found = true;
  }
  for (Arrival& arrival : unexpected_) {
    if (arrival.claimed != &transfer) continue;
    // Drops the message when it is complete, since its receive is gone.
    ReturnCredit(arrival.bytes);
    arriving_ = nullptr;
    sink_ = nullptr;
    unexpected_.remove_if([&](const Arrival& a) { return &a == &arrival; });
    found = true;
    break;
  }
  FrameHeader withdraw{};
  withdraw.kind = FrameKind::kWithdraw;
  if (offered_.Remove(transfer)) {
    withdraw.sender = transfer.id;
    Enqueue({.header = withdraw});
    found = true;
  }
  for (Outgoing& frame : outgoing_) {
    if (frame.transfer != &transfer) continue;
    found = true;
    const bool data = frame.header.kind == FrameKind::kData;
    Detach(frame);
    if (!data) break;
    withdraw.receiver = frame.header.receiver;
    Enqueue({.header = withdraw});
    break;
  }
  if (found) Finish(transfer, Cancelled("the transfer was cancelled"));
}

// Ends every transfer with `status`. Frames that are on their way keep no hold on their memory.
void StreamEndpoint::Fail(Status status) {
  status_ = std::move(status);
  for (TransferQueue* queue : {&posted_, &receiving_, &offered_}) {
    while (Transfer* transfer = queue->Pop()) {
      if (transfer == reading_) reading_ = nullptr;
      Finish(*transfer, status_.Clone());
    }
  }
  if (reading_ != nullptr) Finish(*std::exchange(reading_, nullptr), status_.Clone());
  for (Arrival& arrival : unexpected_) {
    if (arrival.claimed != nullptr) Finish(*arrival.claimed, status_.Clone());
  }
  // What came whole can still be received.
  unexpected_.remove_if([](const Arrival& arrival) { return !arrival.complete; });
  offers_ = 0;
  for (Outgoing& frame : outgoing_) {
    Transfer* transfer = frame.transfer;
    if (transfer == nullptr) continue;
    Detach(frame);
    Finish(*transfer, status_.Clone());
  }
}

void StreamEndpoint::Close(std::string_view reason) {
  if (!status_.ok()) {
    outgoing_.clear();
    return;
  }
  Fail(Cancelled("the connection was closed on this side: ", reason));
  unexpected_.clear();
  EnqueueText(FrameKind::kGoodbye, 0, reason);
}

}  // namespace hr::comm
