// Requests and their answers on one connection, as both of its ends see it. See request_server.h
// and request_client.h.
//
// A message is a head and a body. A short body travels with its head; a longer one is a message of
// its own, which is read straight into the memory made for it.
#pragma once

#include <bit>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/allocator.h"
#include "runtime/base/function_ref.h"
#include "runtime/comm/transport.h"

namespace hr::comm {

// What the two ends call themselves. Others are turned away.
inline constexpr std::string_view kRequestServer = "headrace.requests/1 server";
inline constexpr std::string_view kRequestClient = "headrace.requests/1 client";

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

struct RequestHead {
  enum class Kind : uint32_t {
    kRequest = 1,  // code: the method
    kAnswer = 2,   // code: of the status; if it is not OK the body is its sentence
    kCancel = 3,   // nobody waits for the answer any more, which comes all the same
  };
  Kind kind = Kind::kRequest;
  int32_t code = 0;
  uint64_t id = 0;            // chosen by the client; free again when the answer has come
  uint64_t bytes = 0;         // of the body
  int64_t timeout_nanos = 0;  // of a request: for how long an answer is of use; 0: not limited
};
static_assert(sizeof(RequestHead) == 32);

struct RequestMessage {
  RequestHead head;
  Block body;

  Bytes bytes() const { return {body.begin(), static_cast<size_t>(head.bytes)}; }
};

// Guarded by the reactor of its transport.
class RequestLink {
 public:
  // Messages of more than `max_bytes` break the connection.
  RequestLink(std::unique_ptr<Endpoint> endpoint, Allocator& allocator, uint64_t max_bytes);
  ~RequestLink();
  RequestLink(const RequestLink&) = delete;

  // Sends a message if the connection is usable. `body` has at least head.bytes.
  void Send(const RequestHead& head, Block body);
  // Returns the next message that is there in full. `admit` is asked about each head before memory
  // is taken for its body; its failure breaks the connection.
  std::optional<RequestMessage> Next(FunctionRef<Status(const RequestHead&)> admit);

  // Returns OK while the connection is usable, else why it is not.
  Status status() const;
  // Returns whether the other end has broken the rules, and is being told so.
  bool broken() const { return !failure_.ok(); }
  void Close(std::string_view reason);
  const Endpoint& endpoint() const { return *endpoint_; }
  // Gives the endpoint away, which must be closed: until it is flushed.
  std::unique_ptr<Endpoint> Release() { return std::move(endpoint_); }

 private:
  static constexpr size_t kInlineBytes = 2048;
  static constexpr uint64_t kHeadTag = 1;
  static constexpr uint64_t kBodyTag = uint64_t{1} << 63;
  struct Incoming {
    RequestMessage message;
    Transfer transfer;
    bool complete = false;
  };
  struct Outgoing {
    std::byte head[sizeof(RequestHead) + kInlineBytes];
    Block body;
    Transfer transfers[2];
    int pending = 0;
  };

  void Listen();
  void SendPart(Outgoing& message, Transfer& transfer, std::byte* data, size_t bytes, uint64_t tag);
  Status TakeHead(FunctionRef<Status(const RequestHead&)> admit);
  Status TakeBody(RequestMessage message);

  std::unique_ptr<Endpoint> endpoint_;
  Allocator& allocator_;
  const uint64_t max_bytes_;
  std::byte head_[sizeof(RequestHead) + kInlineBytes];
  Transfer listening_;
  bool head_there_ = false;
  Status failure_;
  std::list<Incoming> incoming_;  // in the order of their heads
  std::list<Outgoing> outgoing_;
};

}  // namespace hr::comm
