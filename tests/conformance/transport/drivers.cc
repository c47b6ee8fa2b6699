#include "tests/conformance/transport/drivers.h"

#include "transport/inproc/inproc.h"
#ifdef HEADRACE_TEST_TCP
#include "runtime/plugin/transport.h"
#include "transport/net/net.h"
#include "transport/tcp/tcp.h"
#endif
#ifdef __linux__
#include "transport/shm/shm.h"
#endif

namespace hr::comm {

#ifdef HEADRACE_TEST_TCP
namespace {

constexpr std::string_view kSecret = "a secret of the conformance suite";

// As a host opens it: through the plugin's table.
TransportDriver ThroughTable(std::string name, std::string_view secret) {
  return {std::move(name), [secret] {
            const plugin::HostServices services = {&SystemAllocator(), &SystemClock(), nullptr};
            auto opened = std::move(plugin::Plugin::Open(NetPluginEntry, services)).value();
            return [opened, secret](std::string identity) {
              return plugin::CreateTransport(opened, "tcp", {.secret = std::string(secret)},
                                             std::move(identity));
            };
          }};
}

}  // namespace
#endif

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
           return CreateTcpTransport({.secret = std::string(kSecret)}, std::move(identity));
         };
       }},
      ThroughTable("tcp_table", ""),
      ThroughTable("tcp_tls_table", kSecret),
#endif
#ifdef __linux__
      {"shm", [] { return CreateShmTransport; }},
#endif
  };
}

}  // namespace hr::comm
