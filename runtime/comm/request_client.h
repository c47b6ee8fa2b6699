// Sends requests to a server and waits for their answers. See request_server.h.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/comm/request_server.h"

namespace hr::comm {

struct RequestClientOptions {
  std::string name;               // what the server calls it, for people
  uint64_t max_bytes = 64 << 20;  // of an answer
  size_t max_in_flight = 64;      // not more than the server's
  Allocator* allocator = &SystemAllocator();
};

// A request in flight. Thread-safe.
class PendingAnswer {
 public:
  bool done() const { return done_.load(std::memory_order_acquire); }
  // The following are valid when done(). CANCELLED and DEADLINE_EXCEEDED: it was cancelled, or its
  // time was over; the server may have done it all the same. UNAVAILABLE: the server has gone.
  const Status& status() const { return status_; }
  Bytes answer() const { return message_.bytes(); }

 private:
  friend class RequestClient;
  uint64_t id_ = 0;
  int64_t deadline_nanos_ = INT64_MAX;
  Status status_;
  RequestMessage message_;
  std::atomic<bool> done_{false};
};

// A connection to one server. Thread-safe.
class RequestClient {
 public:
  // Connects to the server at `address` within `limits`. `poller` outlives the object.
  static Result<std::unique_ptr<RequestClient>> Connect(const TransportFactory& transport,
                                                        std::string_view address, Poller& poller,
                                                        RequestClientOptions options,
                                                        const CallLimits& limits);
  // Ends what is in flight with CANCELLED.
  ~RequestClient();

  // Sends a request. `timeout_nanos`: it then ends with DEADLINE_EXCEEDED; 0: never.
  // RESOURCE_EXHAUSTED if max_in_flight requests have no answer from the server yet; those that
  // were cancelled count until it comes.
  Result<std::shared_ptr<PendingAnswer>> Start(int32_t method, Block body, int64_t timeout_nanos);
  // Waits for the end, and returns the status. If `limits` end the wait, the request goes on.
  Status Wait(const PendingAnswer& answer, const CallLimits& limits);
  // Ends the request with CANCELLED, and tells the server.
  void Cancel(PendingAnswer& answer);
  // Sends a request, waits for its answer, and cancels it if `limits` end the wait.
  Result<std::shared_ptr<PendingAnswer>> Call(int32_t method, Block body, const CallLimits& limits);

  // Returns OK while the server is there.
  Status status() const;

 private:
  class Core;
  explicit RequestClient(std::unique_ptr<Core> core);

  const std::unique_ptr<Core> core_;
};

}  // namespace hr::comm
