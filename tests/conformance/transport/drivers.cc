#include "tests/conformance/transport/drivers.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "transport/inproc/inproc.h"
#ifdef HEADRACE_TEST_TCP
#include "transport/net/net.h"
#include "transport/tcp/tcp.h"
#endif
#ifdef HEADRACE_TEST_UCX
#include "transport/ucx/ucx.h"
#endif
#if defined(HEADRACE_TEST_TCP) || defined(HEADRACE_TEST_UCX)
#include "runtime/plugin/transport.h"
#endif
#ifdef __linux__
#include "transport/shm/shm.h"
#endif

namespace hr::comm {

[[maybe_unused]] static constexpr std::string_view kSecret = "a secret of the conformance suite";

#if defined(HEADRACE_TEST_TCP) || defined(HEADRACE_TEST_UCX)
namespace {

// As a host opens it: through the plugin's table.
TransportDriver ThroughTable(std::string name, hr_plugin_entry_function entry, std::string kind,
                             TransportSettings settings = {}) {
  return {std::move(name), [=] {
            const plugin::HostServices services = {&SystemAllocator(), &SystemClock(), nullptr};
            auto opened = std::move(plugin::Plugin::Open(entry, services)).value();
            return [=](std::string identity) {
              return plugin::CreateTransport(opened, kind, settings, std::move(identity));
            };
          }};
}

#ifdef HEADRACE_TEST_UCX
// As between hosts, where UCX notices lost peers by itself. Without trust it does not ask UCX_TLS.
std::function<Result<std::unique_ptr<Transport>>(std::string)> OpenUcxOverTcp() {
  setenv("UCX_TLS", "tcp", 1);
  setenv("UCX_NET_DEVICES", "lo", 1);
  return [](std::string identity) {
    return ucx::CreateUcxTransport({.trusted_fabric = true}, std::move(identity));
  };
}
#endif

}  // namespace
#endif

namespace {

// What libuv and UCX open once for the whole process is no test's.
class OpenedOnce final : public testing::Environment {
  void SetUp() override {
    for (const TransportDriver& driver : TransportDrivers()) {
      if (driver.name != "tcp" && driver.name != "ucx") continue;
      auto transport = driver.open()("once");
      EXPECT_TRUE(transport.ok()) << driver.name << ": " << transport.status().ToString();
    }
  }
};
[[maybe_unused]] auto* const opened_once = testing::AddGlobalTestEnvironment(new OpenedOnce);

}  // namespace

std::vector<TransportDriver> TransportDrivers() {
  return {
      {"inproc",
       [] {
         return [network = inproc::CreateInprocNetwork()](std::string identity) {
           return inproc::CreateInprocTransport(network, std::move(identity));
         };
       }},
#ifdef HEADRACE_TEST_TCP
      {"tcp",
       [] {
         return
             [](std::string identity) { return tcp::CreateTcpTransport({}, std::move(identity)); };
       }},
      {"tcp_ipv6",
       [] {
         return [](std::string identity) {
           return tcp::CreateTcpTransport({.host = "::1"}, std::move(identity));
         };
       }},
      {"tcp_tls",
       [] {
         return [](std::string identity) {
           return tcp::CreateTcpTransport({.secret = std::string(kSecret)}, std::move(identity));
         };
       }},
      ThroughTable("tcp_table", net::NetPluginEntry, "tcp"),
      ThroughTable("tcp_tls_table", net::NetPluginEntry, "tcp", {.secret = std::string(kSecret)}),
#endif
#ifdef HEADRACE_TEST_UCX
      {"ucx",
       [] {
         return
             [](std::string identity) { return ucx::CreateUcxTransport({}, std::move(identity)); };
       }},
      {"ucx_tcp", OpenUcxOverTcp},
      {"ucx_lent",
       [] {
         return [](std::string identity) {
           return ucx::CreateUcxTransport({}, std::move(identity), true);
         };
       },
       false},
      ThroughTable("ucx_table", ucx::UcxPluginEntry, "ucx"),
#endif
#ifdef __linux__
      {"shm", [] { return shm::CreateShmTransport; }},
#endif
  };
}

}  // namespace hr::comm
