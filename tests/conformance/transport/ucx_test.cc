// What is UCX's alone: trust, a process that calls itself, and signals.
#ifdef HEADRACE_TEST_UCX
#include "transport/ucx/ucx.h"

#include <dlfcn.h>
#include <signal.h>

#include "runtime/base/wake_event.h"
#include "tests/conformance/transport/fixture.h"
#include "transport/ucx/resources.h"

namespace hr::comm {
namespace {

std::string OfAnotherHost(std::string address) { return address.replace(4, 4, "cafe"); }

TEST(Ucx, OtherHostsNeedTrust) {
  auto confined = std::move(ucx::CreateUcxTransport({}, "x")).value();
  const std::string away = OfAnotherHost(confined->address());
  EXPECT_TRUE(confined->Reaches(confined->address()));
  EXPECT_FALSE(confined->Reaches(away));
  auto endpoint = confined->Connect(away);
  ASSERT_EQ(endpoint.status().code(), Code::kFailedPrecondition) << endpoint.status().ToString();
  EXPECT_NE(endpoint.status().message().find("trusted_fabric"), std::string_view::npos);
  auto trusting = std::move(ucx::CreateUcxTransport({.trusted_fabric = true}, "x")).value();
  EXPECT_TRUE(trusting->Reaches(away));
}

TEST(Ucx, AddressesThatAreNone) {
  auto transport = std::move(ucx::CreateUcxTransport({}, "x")).value();
  for (const char* address :
       {"ucx:", "ucx:a:1:", "ucx:a:b:00", "ucx:a:1:0", "ucx:a:1:zz", "shm:a"}) {
    EXPECT_EQ(transport->Connect(address).status().code(), Code::kInvalidArgument) << address;
  }
}

TEST(Ucx, AProcessReachesItself) {
  auto transport = std::move(ucx::CreateUcxTransport({}, "me")).value();
  auto there = std::move(transport->Connect(transport->address())).value();
  std::unique_ptr<Endpoint> here;
  Message sent(300'000);
  auto room = Message::Room(300'000);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  there->Send(sent.transfer);
  while (!room->done() && std::chrono::steady_clock::now() < give_up) {
    transport->Progress();
    if (here != nullptr || (here = transport->Accept()) == nullptr) continue;
    here->Recv(room->transfer);
  }
  ASSERT_TRUE(room->done());
  EXPECT_EQ(there->peer_identity(), "me");
  EXPECT_TRUE(room->data == sent.data);
}

// A peer that reads nothing fills its shared memory, and does not tell when it reads again.
TEST(Ucx, WhoWaitsForAFullPeerSleeps) {
  auto left = std::move(ucx::CreateUcxTransport({}, "left")).value();
  auto right = std::move(ucx::CreateUcxTransport({}, "right")).value();
  auto to_right = std::move(left->Connect(right->address())).value();
  std::unique_ptr<Endpoint> to_left;
  Message sent(8 << 20);
  auto room = Message::Room(8 << 20);
  to_right->Send(sent.transfer);
  while (to_left == nullptr) {
    left->Progress();
    right->Progress();
    to_left = right->Accept();
  }
  to_left->Recv(room->transfer);
  const std::byte first = room->data[0];
  while (room->data[0] == first) {
    right->Progress();
    left->Progress();
  }
  for (int i = 0; i < 1000; ++i) left->Progress();
  ASSERT_FALSE(sent.done());
  int sleeps = 0;
  for (int i = 0; i < 10; ++i) {
    left->Progress();
    if (!left->Arm()) continue;
    const int handle = left->wait_handle();
    WaitReadable({&handle, 1}, 1'000'000'000);
    ++sleeps;
  }
  EXPECT_GE(sleeps, 8);
  while (!room->done()) {
    left->Progress();
    right->Progress();
  }
  EXPECT_TRUE(room->data == sent.data);
}

TEST(Ucx, SignalsStayTheHosts) {
  auto transport = ucx::CreateUcxTransport({}, "x");
  for (int signal : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) {
    struct sigaction action {};
    Dl_info owner{};
    ASSERT_EQ(sigaction(signal, nullptr, &action), 0);
    if (dladdr(reinterpret_cast<void*>(action.sa_sigaction), &owner) == 0) continue;
    EXPECT_EQ(std::string_view(owner.dli_fname).find("libuc"), std::string_view::npos) << signal;
  }
}

TEST(Ucx, KnowsHardware) {
  EXPECT_TRUE(ucx::IsRdma("rc_mlx5/mlx5_0:1") && ucx::IsRdma("dc_mlx5/mlx5_0:1"));
  EXPECT_FALSE(ucx::IsRdma("tcp/eth0") || ucx::IsRdma("cma/memory"));
  EXPECT_TRUE(ucx::IsSharedMemory("posix/memory"));
  EXPECT_FALSE(ucx::IsSharedMemory("self/memory0"));
}

}  // namespace
}  // namespace hr::comm
#endif
