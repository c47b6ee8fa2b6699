#include "transport/ucx/worker.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace hr::ucx {
namespace {

constexpr size_t kMaxCallers = 256;
// How often one reading looks for messages, for all lines together. Another reading costs more than
// a look, and messages are found late if looks are rare.
constexpr size_t kLooks = 16;
constexpr size_t kHoldBytes = 1024;  // from here on holding a message costs less than a copy
constexpr auto kAnswerTime = std::chrono::seconds(8);

Bytes BytesOf(const auto& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

}  // namespace

// ---- Lines ----

Line& UcxWorker::NewLine(uint64_t key) {
  if (++last_id_ == 0) ++last_id_;
  Line& line = *all_.emplace_back(std::make_unique<Line>(*this, worker_, key, last_id_));
  lines_[key] = ids_[line.id] = &line;
  return line;
}

Status UcxWorker::Open(Line& line, const UcxPeer& peer) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.worker.data());
  // Shared memory does not notice how a peer fares; its process is watched instead.
  line.notices = !shares_memory_ || peer.host != self_.host;
  line.lends = lends_ || (line.notices && has_rdma_);
  params.err_mode = line.notices ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler = {OnFailure, &line};
  const ucs_status_t status = ucp_ep_create(worker_, &params, &line.endpoint);
  if (status != UCS_OK) return UcxFailure("cannot reach the peer", status);
  return WatchProcess(line, peer);
}

Result<Line*> UcxWorker::Dial(const UcxPeer& peer) {
  Line& line = NewLine((next_key_ += 2) | 1);
  line.dialled = std::chrono::steady_clock::now();
  line.status = Open(line, peer);
  if (line.status.ok()) SayHello(line);
  if (line.status.ok()) return &line;
  Status status = line.status.Clone();
  HangUp(line);
  return status;
}

void UcxWorker::SayHello(Line& line) {
  Packet& packet = NewPacket(line, EnvelopeKind::kHello);
  packet.kept = EncodeHello({.peer = self_, .line = line.id});
  packet.body = AsBytes(packet.kept);
  Post(packet);
}

void UcxWorker::OnHello(uint64_t key, Bytes text) {
  if (callers_.size() >= kMaxCallers || lines_.contains(key)) return;
  std::optional<UcxHello> hello = DecodeHello(AsText(text));
  if (!hello.has_value()) return;
  Line& line = NewLine(key);
  line.heard = true;
  line.peer_id = hello->line;
  callers_.push_back({&line, *std::move(hello)});
}

Result<Line*> UcxWorker::Answer() {
  if (callers_.empty()) return nullptr;
  const Caller caller = std::move(callers_.front());
  callers_.pop_front();
  Status status = Welcome(caller.hello, *caller.line);
  if (status.ok()) return caller.line;
  HangUp(*caller.line);
  return status;
}

// Answers a hello. A peer of another version is told so.
Status UcxWorker::Welcome(const UcxHello& hello, Line& line) {
  HR_RETURN_IF_ERROR(Open(line, hello.peer));
  const bool same = hello.version == kUcxVersion;
  const std::string why =
      Cat("the peer speaks version ", kUcxVersion, " of UCX's messages, this process version ",
          hello.version, "; run the same version of Headrace on all ranks");
  Packet& packet = NewPacket(line, same ? EnvelopeKind::kWelcome : EnvelopeKind::kGone);
  packet.Add(same ? BytesOf(line.id) : AsBytes(why));
  Post(packet);
  return same ? Status() : DataLoss(why);
}

void UcxWorker::HangUp(Line& line) {
  Keep(line);
  if (line.endpoint != nullptr && line.status.ok()) {
    Post(NewPacket(line, EnvelopeKind::kGone));
  }
  lines_.erase(line.key);
  ids_.erase(line.id);
  if (last_ == &line) last_ = nullptr;
  Close(line);
}

// ---- Sending ----

size_t Packet::Pack(size_t offset, std::byte* to, size_t room) const {
  size_t packed = 0;
  if (offset < front_bytes) {
    packed = std::min(room, front_bytes - offset);
    std::memcpy(to, front + offset, packed);
  }
  const size_t at = offset + packed - front_bytes;
  const size_t rest = std::min(room - packed, body.size() - at);
  if (rest > 0) std::memcpy(to + packed, body.data() + at, rest);
  return packed + rest;
}

Packet& UcxWorker::NewPacket(Line& line, EnvelopeKind kind) {
  if (free_.empty()) free_.push_back(packets_.emplace_back(std::make_unique<Packet>()).get());
  Packet& packet = *free_.back();
  free_.pop_back();
  packet.line = &line;
  packet.Begin({line.key ^ 1, kind, line.sent++});
  return packet;
}

// UCX copies a packet with a body where it wants it, by packet_type_; the peer reads what is
// `lent`.
void UcxWorker::Post(Packet& packet, Bytes lent) {
  ucp_request_param_t params;
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = lent.empty() ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
  params.cb.send = OnSent;
  params.user_data = &packet;
  const void* from = packet.front;
  size_t count = packet.front_bytes, header_bytes = 0;
  if (!lent.empty()) {
    header_bytes = count;
    from = lent.data();
    count = lent.size();
  } else if (!packet.body.empty()) {
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    params.datatype = packet_type_;
    from = &packet;
    count = 1;
  }
  Line& line = *packet.line;
  ++line.pending;
  line.posted = &packet;
  void* request = ucp_am_send_nbx(line.endpoint, kLongMessage, packet.front, header_bytes, from,
                                  count, &params);
  if (request == nullptr || UCS_PTR_IS_ERR(request)) {
    OnSent(nullptr, UCS_PTR_RAW_STATUS(request), &packet);
  }
}

void UcxWorker::OnSent(void* request, ucs_status_t status, void* data) {
  Packet& packet = *static_cast<Packet*>(data);
  Line& line = *packet.line;
  --line.pending;
  if (line.posted == &packet) line.posted = nullptr;
  if (status != UCS_OK && line.status.ok()) line.status = UcxFailure("cannot send", status);
  line.worker->free_.push_back(&packet);
  if (request == nullptr) return;
  line.worker->news_ = true;
  ucp_request_free(request);
}

Result<size_t> UcxWorker::Send(Line& line, std::span<const Bytes> pieces) {
  if (!line.status.ok()) return line.status.Clone();
  if (!TakesMore(line)) return 0;
  if (line.lending != Lending::kNone) Settle(line);
  if (line.taken > 0) return std::exchange(line.taken, 0);
  if (!TakesMore(line)) return 0;
  line.taken = PostBytes(line, pieces);
  return TakesMore(line) && line.lending == Lending::kNone ? std::exchange(line.taken, 0) : 0;
}

// UCX copies what it takes at once, and takes nothing of what it cannot.
bool UcxWorker::SendEager(Line& line, uint64_t tag, uint64_t label, Bytes payload) {
  if (line.peer_id == 0 || !line.status.ok() || line.taken > 0 || !TakesMore(line) ||
      payload.size() > sizeof(ShortFrame::payload)) {
    return false;
  }
  ShortFrame frame;
  frame.line = line.peer_id;
  frame.tag = tag;
  frame.label = label;
  if (!payload.empty()) std::memcpy(frame.payload, payload.data(), payload.size());
  ucp_request_param_t params;
  params.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  const bool done = ucp_am_send_nbx(line.endpoint, kShortMessage, nullptr, 0, &frame,
                                    kShortHead + payload.size(), &params) == nullptr;
  line.sent += done;
  return done;
}

// Posts as many of the pieces as fit into a packet, in order. A long piece is lent instead of
// copied, alone.
size_t UcxWorker::PostBytes(Line& line, std::span<const Bytes> pieces) {
  if (line.Lends(pieces.front())) return Lend(line, pieces.front());
  Packet& packet = NewPacket(line, EnvelopeKind::kBytes);
  for (Bytes piece : pieces) {
    if (packet.Add(piece)) continue;
    if (line.Lends(piece)) break;
    packet.body = piece.first(std::min(piece.size(), kPacketBytes - packet.front_bytes));
    break;
  }
  const size_t bytes = packet.bytes() - sizeof(Envelope);
  Post(packet);
  return bytes;
}

// ---- Receiving ----

Result<size_t> UcxWorker::Receive(Line& line, std::span<std::byte> to, bool patient) {
  if (line.inbox.empty()) {
    line.sink = to;
    for (size_t i = 0; i < kLooks && !Progress(); i += lines_.size()) {
    }
    const size_t got = to.size() - line.sink.size();
    line.sink = {};
    if (got > 0) return got;
  }
  if (line.inbox.loan() != nullptr) return ReadLoan(line, to, patient);
  if (!line.inbox.empty()) return line.inbox.Take(to.data(), to.size());
  if (!line.status.ok()) return line.status.Clone();
  return 0;
}

ucs_status_t UcxWorker::OnActiveMessage(void* self, const void* header, size_t header_bytes,
                                        void* data, size_t bytes,
                                        const ucp_am_recv_param_t* param) {
  const bool lent = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  Envelope envelope;
  if ((lent ? header_bytes : bytes) < sizeof envelope)
    return UCS_OK;  // not from a Headrace process
  std::memcpy(&envelope, lent ? header : data, sizeof envelope);
  if (lent != (envelope.kind == EnvelopeKind::kLoan)) return UCS_OK;
  const Bytes rest =
      lent ? Bytes()
           : Bytes(static_cast<const std::byte*>(data) + sizeof envelope, bytes - sizeof envelope);
  UcxWorker& worker = *static_cast<UcxWorker*>(self);
  Line* line = worker.FindLine(envelope, rest);
  if (line == nullptr || !line->status.ok()) return UCS_OK;
  worker.news_ = true;
  line->heard = true;
  if (envelope.sequence != line->received++) {
    line->status = DataLoss("the peer broke the protocol: messages are missing");
  } else if (envelope.kind == EnvelopeKind::kGone) {
    line->status =
        rest.empty() ? Unavailable("the peer dropped the connection") : DataLoss(AsText(rest));
  } else if (envelope.kind == EnvelopeKind::kWelcome && rest.size() == sizeof line->peer_id) {
    std::memcpy(&line->peer_id, rest.data(), sizeof line->peer_id);
  } else if (lent) {
    return OnLoan(*line, data, bytes);
  } else if (envelope.kind == EnvelopeKind::kRepaid || envelope.kind == EnvelopeKind::kRevoked) {
    if (line->loan != nullptr) std::exchange(line->loan, nullptr)->verdict = envelope.kind;
  } else if (envelope.kind == EnvelopeKind::kBytes && !rest.empty()) {
    const bool can_stay = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    if (can_stay && rest.size() >= kHoldBytes && !line->Sinks(rest.size())) {
      line->inbox.Hold(data, rest);
      return UCS_INPROGRESS;
    }
    line->Take({}, rest);
  }
  return UCS_OK;
}

ucs_status_t UcxWorker::OnShortMessage(void* self, const void*, size_t, void* data, size_t bytes,
                                       const ucp_am_recv_param_t* param) {
  ShortFrame frame;
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 || bytes < kShortHead) {
    return UCS_OK;  // not from a Headrace process
  }
  std::memcpy(&frame, data, kShortHead);
  UcxWorker& worker = *static_cast<UcxWorker*>(self);
  Line* line = worker.FindLine(frame.line);
  if (line == nullptr || !line->status.ok()) return UCS_OK;
  worker.news_ = true;
  ++line->received;
  const Bytes payload = {static_cast<const std::byte*>(data) + kShortHead, bytes - kShortHead};
  if (line->Expects(frame, payload.size())) {
    if (!payload.empty()) std::memcpy(line->expected->room.data(), payload.data(), payload.size());
    line->expected->bytes = payload.size();
    line->expected->taken = true;
    return UCS_OK;
  }
  comm::FrameHeader header;
  header.kind = comm::FrameKind::kEager;
  header.payload = static_cast<uint32_t>(payload.size());
  header.tag = frame.tag;
  header.label = frame.label;
  line->Take(BytesOf(header).first(comm::kHeadBytes), payload);
  return UCS_OK;
}

Line* UcxWorker::FindLine(uint32_t id) {
  if (last_ == nullptr || last_->id != id) {
    const auto found = ids_.find(id);
    last_ = found == ids_.end() ? nullptr : found->second;
  }
  return last_;
}

// The line that a message is for; a hello makes it. Null if nobody wants it (any more).
Line* UcxWorker::FindLine(const Envelope& envelope, Bytes rest) {
  if (last_ != nullptr && last_->key == envelope.key) return last_;
  auto found = lines_.find(envelope.key);
  if (found == lines_.end() && envelope.kind == EnvelopeKind::kHello && envelope.key % 2 == 0) {
    OnHello(envelope.key, rest);
    found = lines_.find(envelope.key);
  }
  last_ = found == lines_.end() ? nullptr : found->second;
  return last_;
}

void UcxWorker::OnFailure(void* data, ucp_ep_h, ucs_status_t status) {
  Line& line = *static_cast<Line*>(data);
  line.worker->news_ = true;
  if (line.status.ok()) line.status = UcxFailure("lost the peer", status);
}

// ---- Endings ----

void UcxWorker::Close(Line& line) {
  line.hung_up = true;
  EndLoans(line);
  line.inbox.Clear();
  line.process = Descriptor();
  CloseEndpoint(line);
}

void UcxWorker::CloseEndpoint(Line& line) {
  if (line.endpoint == nullptr) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = line.notices && !line.status.ok() ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  void* request = ucp_ep_close_nbx(std::exchange(line.endpoint, nullptr), &params);
  if (UCS_PTR_IS_PTR(request)) line.closing = request;
}

bool UcxWorker::Closed(Line& line) {
  if (!line.hung_up) return false;
  if (line.closing != nullptr) {
    if (ucp_request_check_status(line.closing) == UCS_INPROGRESS) return false;
    ucp_request_free(std::exchange(line.closing, nullptr));
  }
  return line.pending == 0;
}

void UcxWorker::Tend() {
  Drain();
  FindDeaths();
  const auto now = std::chrono::steady_clock::now();
  for (auto& line : all_) {
    const bool dialled = line->key % 2 == 1;
    if (!dialled || line->heard || !line->status.ok() || now < line->dialled + kAnswerTime)
      continue;
    line->status = Unavailable("the peer did not answer in 8 seconds");
  }
  std::erase_if(all_, [this](const auto& line) { return Closed(*line); });
}

void UcxWorker::Drain() {
  for (int i = 0; i < 1000 && Progress(); ++i) {
  }
}

}  // namespace hr::ucx
