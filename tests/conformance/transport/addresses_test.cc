// The address that the route to another leaves from, which is where TCP listens. What depends on
// routes is tried in a network namespace of its own, where there are but those made here.
#ifdef HEADRACE_TEST_TCP
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <thread>

#include "transport/tcp/socket.h"
#include "transport/tcp/tcp.h"

namespace hr::comm {
namespace {

Result<std::string> HostTowards(const std::string& host) {
  HR_ASSIGN_OR_RETURN(const tcp::SocketAddress there, tcp::SocketAddress::From(host, 9));
  HR_ASSIGN_OR_RETURN(const tcp::SocketAddress here, tcp::LocalAddressTowards(there));
  return here.Host();
}

void ExpectNoRoute(const std::string& host) {
  const Status status = HostTowards(host).status().Clone();
  EXPECT_EQ(status.code(), Code::kUnavailable) << host;
  EXPECT_NE(status.message().find("no route to " + host), std::string_view::npos)
      << status.ToString();
}

// Runs `body` where this host has 10.9.8.7 and fd00::7, and knows its neighbours alone. Why it
// could not, or "".
template <typename Body>
std::string InSmallNetwork(Body body) {
  std::string why;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) != 0) {
      why = "may not make network namespaces";
    } else if (std::system("ip link set dev lo up && ip address add 10.9.8.7/24 dev lo && "
                           "ip address add fd00::7/64 dev lo nodad") != 0) {
      why = "the command ip does not work here";
    } else {
      body();
    }
  }).join();
  return why;
}

TEST(Addresses, LoopbackIsReachedFromLoopback) {
  EXPECT_EQ(HostTowards("127.0.0.1").value(), "127.0.0.1");
  EXPECT_EQ(HostTowards("::1").value(), "::1");
  auto transport = tcp::CreateTcpTransport({.towards = "127.0.0.1"}, "x");
  ASSERT_TRUE(transport.ok());
  EXPECT_EQ((*transport)->address().find("tcp:127.0.0.1:"), 0U) << (*transport)->address();
}

TEST(Addresses, ListensWhereTheRouteLeaves) {
  const std::string why = InSmallNetwork([] {
    EXPECT_EQ(HostTowards("10.9.8.1").value(), "10.9.8.7");
    EXPECT_EQ(HostTowards("fd00::1:2").value(), "fd00::7");
    for (const char* towards : {"10.9.8.1", "fd00::1:2"}) {
      auto transport = tcp::CreateTcpTransport({.towards = towards, .trusted_fabric = true}, "x");
      ASSERT_TRUE(transport.ok()) << transport.status().ToString();
      const std::string here =
          std::string_view(towards)[0] == 'f' ? "tcp:[fd00::7]:" : "tcp:10.9.8.7:";
      EXPECT_EQ((*transport)->address().find(here), 0U) << (*transport)->address();
    }
    // What leaves the host is encrypted, or the network is trusted.
    EXPECT_EQ(tcp::CreateTcpTransport({.towards = "10.9.8.1"}, "x").status().code(),
              Code::kFailedPrecondition);
  });
  if (!why.empty()) GTEST_SKIP() << why;
}

TEST(Addresses, SaysWhereThereIsNoRoute) {
  const std::string why = InSmallNetwork([] {
    ExpectNoRoute("192.0.2.1");  // nobody's (RFC 5737, RFC 3849)
    ExpectNoRoute("2001:db8::1");
    auto transport = tcp::CreateTcpTransport({.towards = "192.0.2.1", .trusted_fabric = true}, "x");
    EXPECT_EQ(transport.status().code(), Code::kUnavailable);
  });
  if (!why.empty()) GTEST_SKIP() << why;
}

// The only other address that is asked for is nobody's, where the default route shows.
TEST(Addresses, ANameOfThisHostListensAtItsLoopbackWithoutADefaultRoute) {
  const std::string why = InSmallNetwork([] {
    auto transport = tcp::CreateTcpTransport({.towards = "localhost"}, "x");
    ASSERT_TRUE(transport.ok()) << transport.status().ToString();
    EXPECT_TRUE(tcp::SocketAddress::Parse((*transport)->address())->loopback());
  });
  if (!why.empty()) GTEST_SKIP() << why;
}

}  // namespace
}  // namespace hr::comm
#endif
