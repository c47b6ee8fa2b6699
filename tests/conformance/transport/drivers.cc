#include "tests/conformance/transport/drivers.h"

#include "transport/inproc/inproc.h"
#ifdef HEADRACE_TEST_TCP
#include "transport/tcp/tcp.h"
#endif
#ifdef __linux__
#include "transport/shm/shm.h"
#endif

namespace hr::comm {

std::vector<TransportDriver> TransportDrivers() {
  return {
      {"inproc",
       [] {
         return [network = CreateInprocNetwork()](std::string identity) {
           return CreateInprocTransport(network, std::move(identity));
         };
       }},
#ifdef HEADRACE_TEST_TCP
      {"tcp",
       [] {
         return [](std::string identity) { return CreateTcpTransport({}, std::move(identity)); };
       }},
      {"tcp_ipv6",
       [] {
         return [](std::string identity) {
           return CreateTcpTransport({.host = "::1"}, std::move(identity));
         };
       }},
      {"tcp_tls",
       [] {
         return [](std::string identity) {
           return CreateTcpTransport({.secret = "a secret of the conformance suite"},
                                     std::move(identity));
         };
       }},
#endif
#ifdef __linux__
      {"shm", [] { return CreateShmTransport; }},
#endif
  };
}

}  // namespace hr::comm
