// How ranks agree on the next epoch, when one of them gives up meanwhile.
#include "runtime/comm/regroup.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace hr::comm {
namespace {

using std::chrono::milliseconds;

CallLimits For(milliseconds time) {
  return {.deadline_nanos = SystemClock().NowNanos() + time.count() * 1'000'000,
          .clock = &SystemClock()};
}

// The store as one rank sees it, which the test can keep waiting.
class ViewedStore final : public Store {
 public:
  explicit ViewedStore(Store& store) : store_(store) {}

  Status Set(std::string_view key, std::string_view value, const CallLimits& limits) override {
    return store_.Set(key, value, limits);
  }
  Result<std::optional<std::string>> TryGet(std::string_view key,
                                            const CallLimits& limits) override {
    if (blind && key.find("/seat/") != key.npos) return std::optional<std::string>();
    return store_.TryGet(key, limits);
  }
  Result<std::string> Get(std::string_view key, const CallLimits& limits) override {
    return store_.Get(key, limits);
  }
  Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits& limits) override {
    return store_.Add(key, delta, limits);
  }
  Result<std::string> CompareAndSwap(std::string_view key, std::optional<std::string_view> expected,
                                     std::string_view desired, const CallLimits& limits) override {
    if (before_swap && key.ends_with(kMembershipKey)) before_swap();
    auto held = store_.CompareAndSwap(key, expected, desired, limits);
    if (after_swap && key.ends_with(kMembershipKey)) after_swap();
    return held;
  }
  Status Delete(std::string_view key, const CallLimits& limits) override {
    if (before_delete && key.find("/stays/") != key.npos) before_delete();
    return store_.Delete(key, limits);
  }
  std::string Describe() const override { return store_.Describe(); }

  bool blind = false;  // to those who come
  std::function<void()> before_swap, after_swap, before_delete;

 private:
  Store& store_;
};

// Ranks 0 and 1 of an epoch that is to get a third rank, which waits for its seat.
class GivingUp : public ::testing::Test {
 protected:
  void SetUp() override {
    zero_.blind = true;  // so that rank 1 proposes
    const Membership now = {.formed = true, .job = "job"};
    ASSERT_TRUE(store_->Set(GroupKey(Mesh(0), kMembershipKey), now.Encode(), {}).ok());
  }
  MeshOptions Mesh(int rank) {
    MeshOptions mesh;
    mesh.rank = rank;
    mesh.size = 2;
    mesh.job = "job";
    mesh.store = rank == 0 ? &zero_ : &one_;
    return mesh;
  }
  std::future<Result<Membership>> Agree(int rank, milliseconds time) {
    return std::async(std::launch::async, [this, rank, time] {
      return Round(Mesh(rank), 3, For(time)).Agree({}, nullptr);
    });
  }
  std::future<Result<Membership>> Come(milliseconds time) {
    return std::async(std::launch::async, [this, time] {
      MeshOptions mesh = Mesh(0);
      mesh.store = store_.get();
      return AwaitSeat(mesh, "+new", For(time));
    });
  }

  const std::unique_ptr<Store> store_ = CreateMemoryStore();
  ViewedStore zero_{*store_}, one_{*store_};
};

TEST_F(GivingUp, NobodyGoesOnWithARankThatHasGivenUp) {
  std::promise<void> proposes, gone;
  std::once_flag once;
  // Rank 1 has seen rank 0's announcement, and is slow.
  one_.before_swap = [&] {
    std::call_once(once, [&] {
      proposes.set_value();
      gone.get_future().wait();
    });
  };
  auto come = Come(milliseconds(1500));
  auto one = Agree(1, milliseconds(1000));
  auto zero = Agree(0, milliseconds(300));
  proposes.get_future().wait();
  const Result<Membership> left = zero.get();
  EXPECT_EQ(left.status().code(), Code::kDeadlineExceeded);
  gone.set_value();
  const Result<Membership> other = one.get();
  EXPECT_EQ(other.status().code(), Code::kDeadlineExceeded) << other->Encode();
  const auto now = ReadMembership(Mesh(0), {});
  EXPECT_EQ((*now)->epoch, 0u);
  EXPECT_FALSE(come.get().ok());
}

TEST_F(GivingUp, ARankThatTheOthersCountOnGoesAlong) {
  std::promise<void> gives_up, agreed;
  std::once_flag once, done;
  one_.before_swap = [&] { std::call_once(once, [&] { gives_up.get_future().wait(); }); };
  one_.after_swap = [&] { std::call_once(done, [&] { agreed.set_value(); }); };
  zero_.before_delete = [&] {
    gives_up.set_value();
    agreed.get_future().wait();
  };
  auto come = Come(milliseconds(1500));
  auto one = Agree(1, milliseconds(1000));
  const Result<Membership> zero = Agree(0, milliseconds(300)).get();
  ASSERT_TRUE(zero.ok()) << zero.status().ToString();
  EXPECT_EQ(zero->epoch, 1u);
  ASSERT_EQ(zero->members, (std::vector<std::string>{"0", "1", "+new"}));
  EXPECT_TRUE(one.get().ok());
  EXPECT_TRUE(come.get().ok());
}

}  // namespace
}  // namespace hr::comm
