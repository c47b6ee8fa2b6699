#include "runtime/comm/poller.h"

#include <gtest/gtest.h>

#include <chrono>

namespace hr::comm {
namespace {

// A transport that keeps to the letter of the contract: once it has been progressed, its handle
// tells nothing until it is armed again. "Data" is a flag that the test raises.
class Doorbell final : public Transport {
 public:
  std::string_view name() const override { return "doorbell"; }
  const std::string& address() const override { return address_; }
  bool Reaches(std::string_view) const override { return false; }
  Result<std::unique_ptr<Endpoint>> Connect(std::string_view) override {
    return Unimplemented("nobody is there");
  }
  std::unique_ptr<Endpoint> Accept() override { return nullptr; }
  const Status& status() const override { return status_; }
  bool Progress() override {
    if (armed_.exchange(false)) wake_.Clear();
    return raised_.exchange(false);
  }
  bool Arm() override {
    armed_ = true;
    return !raised_;
  }
  int wait_handle() const override { return wake_.handle(); }

  void Raise() {
    raised_ = true;
    if (armed_) wake_.Set();
  }
  bool armed() const { return armed_; }

 private:
  const std::string address_ = "doorbell:";
  const Status status_;
  const WakeEvent wake_ = std::move(WakeEvent::Create()).value();
  std::atomic<bool> armed_{false}, raised_{false};
};

class PollerTest : public testing::Test, public ReactorClient {
 protected:
  // While the object is whole, for the thread calls its virtual functions.
  void SetUp() override { poller_->Add(*reactor_); }
  void TearDown() override { reactor_.reset(); }
  bool Advance(bool moved) override {
    if (moved) ++heard_;
    if (sums_.exchange(false)) {
      reactor_->Unlocked([this] {
        summing_ = true;
        while (summing_) std::this_thread::yield();
      });
    }
    return false;
  }
  void Deliver() override {}
  int64_t OnTimer(int64_t) override {
    ++timers_;
    return INT64_MAX;
  }

  // Whether `done` comes about by the poller alone.
  template <typename Done>
  static bool Comes(Done done) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!done() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
    return done();
  }
  // The poller is in a sum until summing_ is false.
  void BeginSum() {
    sums_ = true;
    transport_.Raise();
    ASSERT_TRUE(Comes([&] { return summing_.load(); }));
  }
  void BeginUnattended() {
    Reactor::Guard guard(*reactor_);
    reactor_->BeginUnattended();
  }

  std::atomic<int> heard_{0}, timers_{0};
  std::atomic<bool> sums_{false}, summing_{false};
  Doorbell transport_;
  std::unique_ptr<Executor> executor_ = std::move(CreateThreadPool(1)).value();
  ThreadBudget budget_{*executor_};
  std::unique_ptr<Poller> poller_ =
      std::move(Poller::Create(std::make_shared<WorkerThreads>(), &budget_)).value();
  std::unique_ptr<Reactor> reactor_ = std::move(Reactor::Create({&transport_}, *this)).value();
};

TEST_F(PollerTest, HearsWhatComesWhileItSleeps) {
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(Comes([&] { return transport_.armed(); })) << i;
    transport_.Raise();
    ASSERT_TRUE(Comes([&] { return heard_ == i; })) << i;
  }
}

TEST_F(PollerTest, ATurnOfAnotherThreadDoesNotMakeItOversleep) {
  BeginUnattended();
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(Comes([&] { return transport_.armed(); })) << i;
    reactor_->Turn();
    transport_.Raise();
    ASSERT_TRUE(Comes([&] { return heard_ == i; })) << i;
  }
  reactor_->EndUnattended();
}

// While a thread waits long the poller does not look at all: what is started afterwards, or left in
// flight, calls it.
TEST_F(PollerTest, WhoLeavesCallsIt) {
  for (int i = 1; i <= 3; ++i) {
    BeginUnattended();
    const std::atomic<bool> never{false};
    const int64_t until = SystemClock().NowNanos() + 20'000'000;
    EXPECT_FALSE(reactor_->Wait(never, {.deadline_nanos = until, .clock = &SystemClock()}).ok());
    transport_.Raise();
    ASSERT_TRUE(Comes([&] { return heard_ == i; })) << i;
    reactor_->EndUnattended();
  }
}

TEST_F(PollerTest, NeitherDataNorTimersWaitForItsSum) {
  BeginSum();
  const int heard = heard_, timers = timers_;
  transport_.Raise();
  reactor_->Turn();
  EXPECT_EQ(heard_, heard + 1);
  reactor_->CallTimer();
  EXPECT_TRUE(Comes([&] { return timers_ > timers; }));
  EXPECT_TRUE(summing_);
  summing_ = false;
}

TEST_F(PollerTest, ItsSumTakesAFreeThreadOfTheBudget) {
  BeginSum();
  Lease lease;
  EXPECT_FALSE(budget_.TryAcquire(1, nullptr, &lease));
  summing_ = false;
  bool acquired = false;
  EXPECT_TRUE(Comes([&] { return acquired |= budget_.TryAcquire(1, nullptr, &lease); }));
  BeginSum();  // the one who holds all threads may wait for it
  summing_ = false;
}

}  // namespace
}  // namespace hr::comm
