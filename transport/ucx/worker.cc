#include "transport/ucx/worker.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace hr::comm {
namespace {

constexpr size_t kMaxCallers = 256;
constexpr size_t kHoldBytes = 1024;  // from here a copy costs more than the bookkeeping
constexpr auto kAnswerTime = std::chrono::seconds(8);

// A hello carries this, the host's text and the worker's address.
constexpr uint64_t kMagic = 0x6f6c6c65'68636872;
struct Hello {
  uint64_t magic;
  uint32_t pid;
  uint32_t host_bytes;
};

}  // namespace

// ---- Lines ----

Line& UcxWorker::NewLine(uint64_t key) {
  Line& line = *all_.emplace_back(std::make_unique<Line>(*this, worker_, key));
  lines_[key] = &line;
  return line;
}

Status UcxWorker::Open(Line& line, const UcxPeer& peer) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.worker.data());
  // Shared memory does not notice how a peer fares; its process is watched instead.
  line.notices = !shares_memory_ || peer.host != self_.host;
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
  if (line.status.ok()) {
    const Hello hello = {kMagic, self_.pid, static_cast<uint32_t>(self_.host.size())};
    Packet& packet = NewPacket(line, EnvelopeKind::kHello);
    packet.Put({reinterpret_cast<const std::byte*>(&hello), sizeof hello});
    packet.Put(AsBytes(self_.host));
    packet.Put(AsBytes(self_.worker));
    Post(packet);
  }
  if (line.status.ok()) return &line;
  Status status = line.status.Clone();
  HangUp(line);
  return status;
}

void UcxWorker::OnHello(uint64_t key, Bytes text) {
  Hello hello;
  if (text.size() < sizeof hello || callers_.size() >= kMaxCallers) return;
  std::memcpy(&hello, text.data(), sizeof hello);
  text = text.subspan(sizeof hello);
  if (hello.magic != kMagic || hello.host_bytes >= text.size() || lines_.contains(key)) return;
  UcxPeer peer = {.host = std::string(AsText(text.first(hello.host_bytes))),
                  .pid = hello.pid,
                  .worker = std::string(AsText(text.subspan(hello.host_bytes)))};
  Line& line = NewLine(key);
  line.heard = true;
  callers_.push_back({&line, std::move(peer)});
}

Result<Line*> UcxWorker::Answer() {
  if (callers_.empty()) return nullptr;
  const Caller caller = std::move(callers_.front());
  callers_.pop_front();
  Status status = Open(*caller.line, caller.peer);
  if (status.ok()) return caller.line;
  HangUp(*caller.line);
  return status;
}

void UcxWorker::HangUp(Line& line) {
  if (line.endpoint != nullptr && line.status.ok()) {
    Post(NewPacket(line, EnvelopeKind::kGone));
  }
  lines_.erase(line.key);
  if (last_ == &line) last_ = nullptr;
  Close(line);
}

// ---- Sending ----

UcxWorker::Packet& UcxWorker::NewPacket(Line& line, EnvelopeKind kind) {
  if (free_.empty()) free_.push_back(packets_.emplace_back(std::make_unique<Packet>()).get());
  Packet& packet = *free_.back();
  free_.pop_back();
  packet.line = &line;
  packet.bytes = 0;
  packet.envelope = {line.key ^ 1, kind, line.sent++};
  return packet;
}

void UcxWorker::Post(Packet& packet) {
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.cb.send = OnSent;
  params.user_data = &packet;
  Line& line = *packet.line;
  ++line.pending;
  void* request = ucp_am_send_nbx(line.endpoint, kActiveMessage, nullptr, 0, &packet.envelope,
                                  sizeof packet.envelope + packet.bytes, &params);
  if (request == nullptr || UCS_PTR_IS_ERR(request)) {
    OnSent(nullptr, UCS_PTR_RAW_STATUS(request), &packet);
  }
}

void UcxWorker::OnSent(void* request, ucs_status_t status, void* data) {
  Packet& packet = *static_cast<Packet*>(data);
  Line& line = *packet.line;
  --line.pending;
  if (status != UCS_OK && line.status.ok()) line.status = UcxFailure("cannot send", status);
  line.worker->free_.push_back(&packet);
  if (request == nullptr) return;
  line.worker->news_ = true;
  ucp_request_free(request);
}

Result<size_t> UcxWorker::Send(Line& line, std::span<const Bytes> pieces) {
  if (!line.status.ok()) return line.status.Clone();
  if (!TakesMore(line)) return 0;
  if (line.taken > 0) return std::exchange(line.taken, 0);
  Packet& packet = NewPacket(line, EnvelopeKind::kBytes);
  for (Bytes piece : pieces) packet.Put(piece.first(std::min(piece.size(), packet.room())));
  line.taken = packet.bytes;
  Post(packet);
  return TakesMore(line) ? std::exchange(line.taken, 0) : 0;
}

// ---- Receiving ----

ucs_status_t UcxWorker::OnActiveMessage(void* self, const void*, size_t, void* data, size_t bytes,
                                        const ucp_am_recv_param_t* param) {
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 || bytes < sizeof(Envelope)) {
    return UCS_OK;  // nobody of ours
  }
  Envelope envelope;
  std::memcpy(&envelope, data, sizeof envelope);
  const Bytes rest = {static_cast<const std::byte*>(data) + sizeof envelope,
                      bytes - sizeof envelope};
  UcxWorker& worker = *static_cast<UcxWorker*>(self);
  Line* line = worker.FindLine(envelope, rest);
  if (line == nullptr || !line->status.ok()) return UCS_OK;
  worker.news_ = true;
  line->heard = true;
  if (envelope.sequence != line->received++) {
    line->status = DataLoss("the peer broke the protocol: messages are missing");
  } else if (envelope.kind == EnvelopeKind::kGone) {
    line->status = Unavailable("the peer dropped the connection");
  } else if (envelope.kind == EnvelopeKind::kBytes && !rest.empty()) {
    const bool can_stay = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    if (can_stay && rest.size() >= kHoldBytes) {
      line->inbox.Hold(data, rest);
      return UCS_INPROGRESS;
    }
    line->inbox.Copy(rest);
  }
  return UCS_OK;
}

// The line that a message is for; a hello makes it. Null where nobody wants it (any more).
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
  line.inbox.Clear();
  line.process = Descriptor();
  if (line.endpoint == nullptr) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = line.notices && !line.status.ok() ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  void* request = ucp_ep_close_nbx(line.endpoint, &params);
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

}  // namespace hr::comm
