// What every store does, whoever keeps it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

#include "runtime/base/strings.h"
#include "tests/conformance/store/drivers.h"

namespace hr::comm {
namespace {

using std::chrono::milliseconds;

CallLimits Within(std::chrono::nanoseconds time) {
  return {.deadline_nanos = SystemClock().NowNanos() + time.count(), .clock = &SystemClock()};
}
CallLimits Soon() { return Within(std::chrono::seconds(20)); }

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval t) { return t.tv_sec + t.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class StoreTest : public testing::TestWithParam<StoreDriver> {
 protected:
  StoreTest() : fixture_(GetParam().create()), first_(fixture_.open()), second_(fixture_.open()) {}

  StoreFixture fixture_;
  std::shared_ptr<Store> first_, second_;
};

TEST_P(StoreTest, WhatOneSetsTheOtherGets) {
  EXPECT_FALSE(second_->TryGet("a", Soon())->has_value());
  ASSERT_TRUE(first_->Set("a", "1", Soon()).ok());
  EXPECT_EQ(second_->TryGet("a", Soon())->value(), "1");
  ASSERT_TRUE(second_->Set("a", "", Soon()).ok());
  EXPECT_EQ(*first_->Get("a", Soon()), "");
  ASSERT_TRUE(first_->Delete("a", Soon()).ok());
  EXPECT_FALSE(second_->TryGet("a", Soon())->has_value());
  EXPECT_TRUE(second_->Delete("a", Soon()).ok()) << "twice is fine";
}

TEST_P(StoreTest, AnyBytesAndTheLargestValue) {
  const std::string key = "with space/slash%\xc3\xa4";
  std::string value(kMaxStoreValue, 'x');
  value[5] = '\n';
  value[7] = '\xff';
  if (GetParam().name != "host") value[6] = '\0';
  ASSERT_TRUE(first_->Set(key, value, Soon()).ok());
  EXPECT_TRUE(second_->TryGet(key, Soon())->value() == value);
  const std::string other(kMaxStoreValue, 'y');
  EXPECT_TRUE(*second_->CompareAndSwap(key, value, other, Soon()) == other);
  EXPECT_TRUE(*first_->Get(key, Soon()) == other);
}

TEST_P(StoreTest, KeysAndValuesThatAreTooLongAreRefused) {
  for (Store* store : {first_.get(), second_.get()}) {
    EXPECT_EQ(store->Set("", "x", Soon()).code(), Code::kInvalidArgument);
    EXPECT_EQ(store->Set(std::string(kMaxStoreKey + 1, 'k'), "x", Soon()).code(),
              Code::kInvalidArgument);
    EXPECT_EQ(store->Set("k", std::string(kMaxStoreValue + 1, 'x'), Soon()).code(),
              Code::kInvalidArgument);
    EXPECT_EQ(store->TryGet("", Soon()).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(store->Add("", 1, Soon()).status().code(), Code::kInvalidArgument);
  }
}

TEST_P(StoreTest, CompareAndSwap) {
  EXPECT_EQ(*first_->CompareAndSwap("k", "something", "1", Soon()), "") << "there was nothing";
  EXPECT_EQ(*first_->CompareAndSwap("k", std::nullopt, "1", Soon()), "1");
  EXPECT_EQ(*second_->CompareAndSwap("k", std::nullopt, "2", Soon()), "1");
  EXPECT_EQ(*second_->CompareAndSwap("k", "0", "2", Soon()), "1");
  EXPECT_EQ(*second_->CompareAndSwap("k", "1", "2", Soon()), "2");
  EXPECT_EQ(*first_->Get("k", Soon()), "2");
}

TEST_P(StoreTest, AddCountsEveryCallOnce) {
  constexpr int kThreads = 4, kEach = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, store = i % 2 == 0 ? first_ : second_] {
      for (int n = 0; n < kEach; ++n) EXPECT_TRUE(store->Add("count", 1, Soon()).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*second_->Add("count", -5, Soon()), kThreads * kEach - 5);
  EXPECT_EQ(*first_->Get("count", Soon()), Cat(kThreads * kEach - 5));
  ASSERT_TRUE(first_->Set("text", "three", Soon()).ok());
  EXPECT_EQ(second_->Add("text", 1, Soon()).status().code(), Code::kFailedPrecondition);
}

TEST_P(StoreTest, OneOfManySwappersWins) {
  std::atomic<int> winners{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i, store = i % 2 == 0 ? first_ : second_] {
      if (*store->CompareAndSwap("leader", std::nullopt, Cat(i), Soon()) == Cat(i)) ++winners;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
}

TEST_P(StoreTest, GetWaitsUntilTheKeyIsThere) {
  for (auto [waits, sets] : {std::pair(first_, second_), std::pair(second_, first_)}) {
    const std::string key = waits == first_ ? "a" : "b";
    std::thread setter([&, store = sets] {
      std::this_thread::sleep_for(milliseconds(50));
      ASSERT_TRUE(store->Set("other", "x", Soon()).ok());
      ASSERT_TRUE(store->CompareAndSwap(key, std::nullopt, "here", Soon()).ok());
    });
    EXPECT_EQ(*waits->Get(key, Soon()), "here");
    setter.join();
  }
}

TEST_P(StoreTest, ManyWaitAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i, store = i % 2 == 0 ? first_ : second_] {
      EXPECT_EQ(*store->Get(Cat("key", i), Soon()), Cat("value", i));
    });
  }
  std::this_thread::sleep_for(milliseconds(20));
  for (int i = 7; i >= 0; --i) {
    EXPECT_TRUE(second_->Set(Cat("key", i), Cat("value", i), Soon()).ok());
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(StoreTest, LimitsEndAWait) {
  for (Store* store : {first_.get(), second_.get()}) {
    Result<std::string> late = store->Get("never", Within(milliseconds(50)));
    EXPECT_EQ(late.status().code(), Code::kDeadlineExceeded);
    EXPECT_NE(late.status().message().find("'never'"), std::string_view::npos);
    CancelToken token;
    std::thread canceller([&] {
      std::this_thread::sleep_for(milliseconds(50));
      token.Cancel();
    });
    EXPECT_EQ(store->Get("never", {.cancel = &token}).status().code(), Code::kCancelled);
    canceller.join();
    // A wait that was left does not disturb what comes.
    ASSERT_TRUE(store->Set("never", "after all", Soon()).ok());
    EXPECT_EQ(*store->Get("never", Soon()), "after all");
    ASSERT_TRUE(store->Delete("never", Soon()).ok());
  }
}

TEST_P(StoreTest, WaitingUsesNoCpu) {
  if (GetParam().name == "file" || GetParam().name == "host") {
    GTEST_SKIP() << "nobody tells when these change";
  }
  ASSERT_TRUE(second_->Set("x", "1", Soon()).ok());
  const double before = CpuSeconds();
  std::thread waits([&] { EXPECT_FALSE(first_->Get("never", Within(milliseconds(400))).ok()); });
  EXPECT_FALSE(second_->Get("never", Within(milliseconds(400))).ok());
  waits.join();
  EXPECT_LT(CpuSeconds() - before, 0.03);
}

INSTANTIATE_TEST_SUITE_P(All, StoreTest, testing::ValuesIn(StoreDrivers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
