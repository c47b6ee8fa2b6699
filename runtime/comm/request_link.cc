#include "runtime/comm/request_link.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/strings.h"

namespace hr::comm {

RequestLink::RequestLink(std::unique_ptr<Endpoint> endpoint, Allocator& allocator,
                         uint64_t max_bytes)
    : endpoint_(std::move(endpoint)), allocator_(allocator), max_bytes_(max_bytes) {
  Listen();
}

RequestLink::~RequestLink() { endpoint_.reset(); }  // before the memory that it uses

void RequestLink::Listen() {
  listening_ = {.data = head_, .bytes = sizeof head_, .tag = kHeadTag, .owner = this};
  listening_.done = [](Transfer& t) { static_cast<RequestLink*>(t.owner)->head_there_ = true; };
  endpoint_->Recv(listening_);
}

Status RequestLink::status() const {
  return failure_.ok() ? endpoint_->status().Clone() : failure_.Clone();
}

void RequestLink::Close(std::string_view reason) { endpoint_->Close(reason); }

void RequestLink::SendPart(Outgoing& message, Transfer& transfer, std::byte* data, size_t bytes,
                           uint64_t tag) {
  transfer = {.data = data, .bytes = bytes, .tag = tag, .owner = &message};
  transfer.done = [](Transfer& t) { --static_cast<Outgoing*>(t.owner)->pending; };
  ++message.pending;
  endpoint_->Send(transfer);
}

void RequestLink::Send(const RequestHead& head, Block body) {
  if (!status().ok()) return;
  Outgoing& message = outgoing_.emplace_back();
  message.body = std::move(body);
  const bool follows = head.bytes > kInlineBytes;
  std::memcpy(message.head, &head, sizeof head);
  const size_t inline_bytes = follows ? 0 : static_cast<size_t>(head.bytes);
  if (inline_bytes > 0) {
    std::memcpy(message.head + sizeof head, message.body.data(), inline_bytes);
  }
  SendPart(message, message.transfers[0], message.head, sizeof head + inline_bytes, kHeadTag);
  if (!follows) return;
  SendPart(message, message.transfers[1], message.body.begin(), static_cast<size_t>(head.bytes),
           kBodyTag | head.id);
}

std::optional<RequestMessage> RequestLink::Next(FunctionRef<Status(const RequestHead&)> admit) {
  outgoing_.remove_if([](const Outgoing& message) { return message.pending == 0; });
  // What came before the connection ended is there to be had.
  const auto ended = [this] {
    return !listening_.status.ok() && listening_.status.code() != Code::kInvalidArgument;
  };
  while (failure_.ok() && head_there_ && !ended()) {
    head_there_ = false;
    failure_ = TakeHead(admit);
    if (!failure_.ok()) endpoint_->Close(failure_.message());
  }
  const auto found = std::find_if(incoming_.begin(), incoming_.end(),
                                  [](const Incoming& one) { return one.complete; });
  if (found == incoming_.end() || !failure_.ok()) return std::nullopt;
  RequestMessage message = std::move(found->message);
  incoming_.erase(found);
  return message;
}

// What the other end sends is not trusted.
Status RequestLink::TakeHead(FunctionRef<Status(const RequestHead&)> admit) {
  using Kind = RequestHead::Kind;
  if (!listening_.status.ok()) return DataLoss("expected the head of a request, got more");
  RequestMessage message;
  RequestHead& head = message.head;
  const size_t received = listening_.received;
  if (received < sizeof head) return DataLoss("expected the head of a request, got less");
  std::memcpy(&head, head_, sizeof head);
  const bool follows = head.bytes > kInlineBytes;
  if (head.kind < Kind::kRequest || head.kind > Kind::kCancel || head.id >= kBodyTag ||
      received != sizeof head + (follows ? 0 : head.bytes)) {
    return DataLoss("expected the head of a request, got something else");
  }
  if (head.bytes > max_bytes_) {
    return ResourceExhausted("a message of ", head.bytes, " bytes, where at most ", max_bytes_,
                             " are taken");
  }
  HR_RETURN_IF_ERROR(admit(head));
  HR_RETURN_IF_ERROR(TakeBody(std::move(message)));
  Listen();
  return {};
}

Status RequestLink::TakeBody(RequestMessage message) {
  const auto bytes = static_cast<size_t>(message.head.bytes);
  if (bytes > 0) {
    HR_ASSIGN_OR_RETURN(message.body, Block::Create(allocator_, bytes));
  }
  Incoming& incoming = incoming_.emplace_back();
  incoming.message = std::move(message);
  if (bytes <= kInlineBytes) {
    if (bytes > 0) std::memcpy(incoming.message.body.data(), head_ + sizeof(RequestHead), bytes);
    incoming.complete = true;
    return {};
  }
  Transfer& transfer = incoming.transfer;
  transfer = {.data = incoming.message.body.begin(),
              .bytes = bytes,
              .tag = kBodyTag | incoming.message.head.id,
              .owner = &incoming};
  transfer.done = [](Transfer& t) {
    static_cast<Incoming*>(t.owner)->complete = t.status.ok() && t.received == t.bytes;
  };
  endpoint_->Recv(transfer);
  return {};
}

}  // namespace hr::comm
