// Answers the requests of any number of clients, which come and go as they like: no group, and no
// epoch. A client that dies, lies or is slow costs the others nothing.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/base/allocator.h"
#include "runtime/base/cancel.h"
#include "runtime/comm/poller.h"
#include "runtime/comm/request_link.h"

namespace hr::comm {

struct RequestServerOptions {
  uint64_t max_bytes = 64 << 20;  // of a request, and of an answer
  // Of one client, which is turned away if it sends more before it has the answers.
  size_t max_in_flight = 64;
  size_t max_clients = 1024;
  int threads = 4;  // that call the handler
  Allocator* allocator = &SystemAllocator();
};

class RequestServer {
 public:
  struct Request {
    int32_t method;
    Bytes body;
    // The client's deadline. They are cancelled if the client cancels, leaves or dies, and when the
    // server stops: the answer is then of no use.
    const CallLimits& limits;
    std::string_view client;  // its name
  };
  // Returns the answer, or a failure, which the client gets. Called by several threads at a time.
  using Handler = std::function<Result<Block>(const Request&)>;

  // Listens by all transports until the object goes. `poller` outlives it.
  static Result<std::unique_ptr<RequestServer>> Create(
      const std::vector<TransportFactory>& transports, Poller& poller, Handler handler,
      RequestServerOptions options = {});
  // Cancels the requests in flight, waits for the handler to return, and says goodbye.
  ~RequestServer();

  // Returns the addresses at which clients reach it, one for each transport.
  std::vector<std::string> addresses() const;
  // Returns how many clients are connected, and how many of their requests have no answer yet.
  size_t clients() const;
  size_t in_flight() const;
  // Returns why the last client was turned away or lost; empty if none was.
  std::string last_trouble() const;

 private:
  class Core;
  explicit RequestServer(std::unique_ptr<Core> core);

  const std::unique_ptr<Core> core_;
};

}  // namespace hr::comm
