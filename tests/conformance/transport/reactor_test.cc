// Threads that wait on a reactor: who drives, who sleeps, and that nobody oversleeps.
#include <sys/resource.h>

#include <thread>

#include "runtime/comm/poller.h"
#include "runtime/comm/reactor.h"
#include "tests/conformance/transport/fixture.h"

namespace hr::comm {
namespace {

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval t) { return t.tv_sec + t.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// One process: a transport, its reactor, and an endpoint.
struct Side : ReactorClient {
  bool Advance(bool) override { return false; }
  void Deliver() override {}
  int64_t OnTimer(int64_t) override { return INT64_MAX; }

  std::unique_ptr<Transport> transport;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<Endpoint> endpoint;
};

// A transfer that can be waited for.
struct Awaited {
  Awaited(Side& side, size_t bytes, uint64_t tag) : side(side), data(bytes) {
    transfer.data = data.data();
    transfer.bytes = bytes;
    transfer.tag = tag;
    transfer.owner = this;
    transfer.done = [](Transfer& t) {
      auto* self = static_cast<Awaited*>(t.owner);
      Reactor& reactor = *self->side.reactor;
      self->done.store(true, std::memory_order_release);  // from here `self` may be gone
      reactor.NoteCompletion();
    };
  }
  ~Awaited() {
    if (done) return;
    Reactor::Guard guard(*side.reactor);
    side.endpoint->Cancel(transfer);
  }
  void Send() {
    Reactor::Guard guard(*side.reactor);
    side.endpoint->Send(transfer);
  }
  void Recv() {
    Reactor::Guard guard(*side.reactor);
    side.endpoint->Recv(transfer);
  }
  Status Wait(std::chrono::nanoseconds limit = std::chrono::seconds(10)) {
    return side.reactor->Wait(done, Within(limit));
  }

  Side& side;
  std::vector<std::byte> data;
  Transfer transfer;
  std::atomic<bool> done{false};
};

// Something in flight that perhaps nobody waits for.
struct Unattended {
  explicit Unattended(Side& side) : reactor(*side.reactor) {
    Reactor::Guard guard(reactor);
    reactor.BeginUnattended();
  }
  ~Unattended() { reactor.EndUnattended(); }

  Reactor& reactor;
};

// Whether it ends without a thread that waits for it.
bool Comes(const Awaited& awaited) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!awaited.done && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return awaited.done;
}

class ReactorTest : public ::testing::TestWithParam<TransportDriver> {
 protected:
  void SetUp() override {
    auto create = GetParam().open();
    for (Side& side : sides_) {
      side.transport = std::move(create("peer")).value();
      side.reactor = std::move(Reactor::Create({side.transport.get()}, side)).value();
    }
    sides_[0].endpoint =
        std::move(sides_[0].transport->Connect(sides_[1].transport->address())).value();
    while (sides_[1].endpoint == nullptr) {
      sides_[0].reactor->Turn();
      sides_[1].reactor->Turn();
      sides_[1].endpoint = sides_[1].transport->Accept();
    }
  }
  void TearDown() override {
    for (Side& side : sides_) side.reactor.reset();
    for (Side& side : sides_) side.endpoint.reset();
  }
  // `rounds` of ping-pong, a thread each side.
  void PingPong(int rounds, size_t bytes, uint64_t tag) {
    auto play = [&](Side& side, bool serves) {
      for (int i = 0; i < rounds; ++i) {
        Awaited sent(side, bytes, tag), received(side, bytes, tag);
        received.Recv();
        if (serves) sent.Send();
        ASSERT_TRUE(received.Wait().ok());
        if (!serves) sent.Send();
        ASSERT_TRUE(sent.Wait().ok());
      }
    };
    std::thread other([&] { play(sides_[1], false); });
    play(sides_[0], true);
    other.join();
  }

  std::unique_ptr<Poller> poller_ = std::move(Poller::Create()).value();
  Side sides_[2];
};

TEST_P(ReactorTest, PingPongSpinning) { PingPong(2000, 8, 1); }

TEST_P(ReactorTest, PingPongSleeping) {
  for (Side& side : sides_) side.reactor->set_spin_nanos(0);
  PingPong(2000, 8, 1);
  PingPong(20, 1 << 20, 1);
}

TEST_P(ReactorTest, SeveralThreadsOfOneSideWait) {
  for (int64_t spin : {0, 50'000}) {
    for (Side& side : sides_) side.reactor->set_spin_nanos(spin);
    std::vector<std::thread> pairs;
    for (uint64_t tag = 1; tag <= 4; ++tag)
      pairs.emplace_back([&, tag] { PingPong(300, 64, tag); });
    for (std::thread& pair : pairs) pair.join();
  }
}

TEST_P(ReactorTest, DeadlineAndCancelEndAWait) {
  Awaited never(sides_[0], 8, 1);
  never.Recv();
  EXPECT_EQ(never.Wait(std::chrono::milliseconds(20)).code(), Code::kDeadlineExceeded);
  CancelToken token;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    token.Cancel();
  });
  EXPECT_EQ(sides_[0].reactor->Wait(never.done, {.cancel = &token}).code(), Code::kCancelled);
  canceller.join();
}

TEST_P(ReactorTest, AWaitThatIsLongUsesNoCpu) {
  Awaited never(sides_[0], 8, 1);
  never.Recv();
  const double before = CpuSeconds();
  EXPECT_FALSE(never.Wait(std::chrono::milliseconds(500)).ok());
  EXPECT_LT(CpuSeconds() - before, 0.05);
}

TEST_P(ReactorTest, ThePollerDrivesWhileNobodyWaitsAndSleepsWhenIdle) {
  for (Side& side : sides_) poller_->Add(*side.reactor);
  for (int i = 0; i < 20; ++i) {
    Awaited sent(sides_[0], 4 << 20, 1), received(sides_[1], 4 << 20, 1);
    received.Recv();
    sent.Send();
    ASSERT_TRUE(Comes(received)) << i;
    ASSERT_TRUE(Comes(sent)) << i;
  }
  PingPong(500, 8, 2);  // the poller makes way, and comes back
  Awaited sent(sides_[0], 4 << 20, 1), received(sides_[1], 4 << 20, 1);
  received.Recv();
  sent.Send();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_TRUE(received.done && sent.done);
  const double before = CpuSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LT(CpuSeconds() - before, 0.02);
}

// Something in flight that nobody waits for, with a thread that has waited long for something else:
// nothing but its leaving makes the poller look.
TEST_P(ReactorTest, WhoLeavesCallsThePollerForWhatIsInFlight) {
  for (Side& side : sides_) poller_->Add(*side.reactor);
  for (int i = 0; i < 5; ++i) {
    Unattended in_flight(sides_[0]);
    Awaited never(sides_[0], 8, 9), sent(sides_[1], 1 << 20, 1), received(sides_[0], 1 << 20, 1);
    received.Recv();
    EXPECT_FALSE(never.Wait(std::chrono::milliseconds(20)).ok());
    sent.Send();
    ASSERT_TRUE(Comes(received)) << i;
    ASSERT_TRUE(Comes(sent)) << i;
  }
}

TEST_P(ReactorTest, ThePollerSleepsThoughSomethingIsInFlight) {
  poller_->Add(*sides_[0].reactor);
  Unattended in_flight(sides_[0]);
  Awaited never(sides_[0], 8, 1);
  never.Recv();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double before = CpuSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LT(CpuSeconds() - before, 0.02);
}

INSTANTIATE_TEST_SUITE_P(All, ReactorTest, ::testing::ValuesIn(TransportDrivers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
