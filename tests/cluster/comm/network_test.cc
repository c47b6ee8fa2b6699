// Ranks whose network delays, cuts to pieces, resets, swallows or damages what they send, in each
// state of their group, over TCP in plain text and with TLS: what can go on does, and else all
// ranks end with one cause, in time.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/base/file.h"
#include "runtime/comm/elastic.h"
#include "runtime/comm/remote_store.h"
#include "tests/cluster/comm/fault_proxy.h"
#include "transport/collective/planner.h"
#include "transport/tcp/tcp.h"

namespace hr::comm {
namespace {

constexpr int kSize = 3, kVictim = 1;
constexpr int64_t kSilence = 1'500'000'000;
using std::chrono::milliseconds;

CallLimits Within(std::chrono::nanoseconds time) {
  return {.deadline_nanos = SystemClock().NowNanos() + time.count(), .clock = &SystemClock()};
}

// The store as one rank sees it: the others' addresses lead through the proxy.
class RoutedStore final : public Store {
 public:
  RoutedStore(std::shared_ptr<Store> store, FaultProxy& proxy, int rank)
      : store_(std::move(store)), proxy_(proxy), rank_(rank) {}
  Status Set(std::string_view key, std::string_view value, const CallLimits& limits) override {
    return store_->Set(key, value, limits);
  }
  Result<std::optional<std::string>> TryGet(std::string_view key,
                                            const CallLimits& limits) override {
    HR_ASSIGN_OR_RETURN(std::optional<std::string> value, store_->TryGet(key, limits));
    const size_t at = key.find("address/");
    if (value.has_value() && at != key.npos) {
      value->pop_back();  // the space behind each address
      value = proxy_.Route(rank_, key[at + 8] - '0', *value) + " ";
    }
    return value;
  }
  Result<std::string> Get(std::string_view key, const CallLimits& limits) override {
    return store_->Get(key, limits);
  }
  Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits& limits) override {
    return store_->Add(key, delta, limits);
  }
  Result<std::string> CompareAndSwap(std::string_view key, std::optional<std::string_view> expected,
                                     std::string_view desired, const CallLimits& limits) override {
    return store_->CompareAndSwap(key, expected, desired, limits);
  }
  Status Delete(std::string_view key, const CallLimits& limits) override {
    return store_->Delete(key, limits);
  }
  std::string Describe() const override { return store_->Describe(); }

 private:
  const std::shared_ptr<Store> store_;
  FaultProxy& proxy_;
  const int rank_;
};

// What libuv opens once for the whole process is no test's.
class OpenedOnce final : public testing::Environment {
  void SetUp() override { EXPECT_TRUE(tcp::CreateTcpTransport({}, "once").ok()); }
};
[[maybe_unused]] auto* const opened_once = testing::AddGlobalTestEnvironment(new OpenedOnce);

class CommNetwork : public testing::TestWithParam<std::string> {
 protected:
  // Runs play(group) in each rank; the end of each is in ends_.
  template <typename Play>
  void RunRanks(Play play, std::chrono::nanoseconds limit = std::chrono::seconds(20)) {
    std::vector<std::thread> threads;
    ends_.resize(kSize);
    for (int rank = 0; rank < kSize; ++rank) {
      threads.emplace_back([&, rank, limit] {
        // A question to the arbiter may still be asked when the group is gone.
        auto store = std::make_shared<RoutedStore>(
            clients_[rank] != nullptr ? clients_[rank] : store_, proxy_, rank);
        GroupOptions options;
        options.mesh.rank = rank;
        options.mesh.size = kSize;
        options.mesh.store = store.get();
        options.mesh.keeps = store;
        options.mesh.poller = poller_.get();
        options.mesh.spin_nanos = 0;
        options.mesh.silence_nanos = kSilence;
        options.mesh.transports = {[](std::string identity) {
          return tcp::CreateTcpTransport({.secret = GetParam()}, std::move(identity));
        }};
        options.planner = planner_.get();
        options.algorithms[OpKind::kAllReduce] = "ring";
        auto group = Group::Create(std::move(options), Within(limit));
        ends_[rank] = group.ok() ? play(**group) : std::move(group).status();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static std::unique_ptr<Store> OpenStore(std::string_view place, bool serve) {
    return std::move(OpenRemoteStore(tcp::CreateTcpTransport, "tcp", place,
                                     {.serve = serve, .secret = GetParam()}))
        .value();
  }
  static Status Reduce(Group& group, std::vector<float>& data) {
    const Operation operation = {
        .kind = OpKind::kAllReduce, .dtype = DType::kFloat32, .count = data.size()};
    return group.Run(operation, data.data(), data.data(), Within(std::chrono::seconds(20)));
  }
  // The first thing all do; then the victim's network is struck once, after a while.
  Status Meet(Group& group, NetFault fault) {
    std::vector<float> data(16);
    HR_RETURN_IF_ERROR(Reduce(group, data));
    if (group.rank() != kVictim) return {};
    striker_ = std::thread([this, fault] {
      std::this_thread::sleep_for(milliseconds(100));
      struck_ = SystemClock().NowNanos();
      proxy_.Strike(kVictim, fault);
    });
    return {};
  }
  Status ReduceForEver(Group& group, size_t count) {
    std::vector<float> data(count);
    for (;;) HR_RETURN_IF_ERROR(Reduce(group, data));
  }
  // The victim is cut off; all try to go on. Only the others do.
  void SplitAndGoOn(Code victims_end) {
    RunRanks([&](Group& group) -> Status {
      HR_RETURN_IF_ERROR(Meet(group, NetFault::kBlackHole));
      ReduceForEver(group, 16).IgnoreError();
      HR_ASSIGN_OR_RETURN(auto next, Shrink(group, Within(std::chrono::seconds(20))));
      std::vector<float> ones(16, 1);
      HR_RETURN_IF_ERROR(Reduce(*next, ones));
      EXPECT_EQ(ones[15], kSize - 1);
      return {};
    });
    striker_.join();
    for (int rank = 0; rank < kSize; ++rank) {
      const Code code = rank == kVictim ? victims_end : Code::kOk;
      EXPECT_EQ(ends_[rank].code(), code) << rank << ": " << ends_[rank].ToString();
    }
  }
  void ExpectOneCause(Code code) {
    const int64_t took = SystemClock().NowNanos() - struck_;
    striker_.join();
    EXPECT_LT(took, kSilence * 5 / 4 + 1'000'000'000);
    for (const Status& end : ends_) {
      EXPECT_EQ(end.code(), code) << end.ToString();
      EXPECT_EQ(end.message(), ends_[0].message());
    }
  }

  FaultProxy proxy_;
  std::shared_ptr<Store> store_ = CreateMemoryStore();
  std::shared_ptr<Store> clients_[kSize];  // how ranks reach it, where it has an address
  std::unique_ptr<Poller> poller_ = std::move(Poller::Create()).value();
  std::unique_ptr<Planner> planner_ = collective::CreatePlanner();
  std::vector<Status> ends_;
  std::thread striker_;
  std::atomic<int64_t> struck_{0};
};

TEST_P(CommNetwork, PiecesAndDelaysHarmNothing) {
  for (NetFault fault : {NetFault::kPieces, NetFault::kDelay}) {
    store_ = CreateMemoryStore();
    RunRanks([&](Group& group) -> Status {
      std::vector<float> small(3, 1), large(200'000, 1);
      HR_RETURN_IF_ERROR(Reduce(group, small));
      proxy_.Strike(group.rank(), fault);
      for (int i = 0; i < 3; ++i) HR_RETURN_IF_ERROR(Reduce(group, large));
      EXPECT_EQ(large[123'456], 27);
      return Reduce(group, small);
    });
    for (const Status& end : ends_) EXPECT_TRUE(end.ok()) << end.ToString();
  }
}

TEST_P(CommNetwork, SmallMessages) {
  for (NetFault fault : {NetFault::kReset, NetFault::kBlackHole}) {
    store_ = CreateMemoryStore();
    RunRanks([&](Group& group) -> Status {
      HR_RETURN_IF_ERROR(Meet(group, fault));
      return ReduceForEver(group, 16);
    });
    ExpectOneCause(Code::kUnavailable);
  }
}

TEST_P(CommNetwork, InTheMiddleOfARing) {
  for (NetFault fault : {NetFault::kReset, NetFault::kBlackHole}) {
    store_ = CreateMemoryStore();
    RunRanks([&](Group& group) -> Status {
      HR_RETURN_IF_ERROR(Meet(group, fault));
      return ReduceForEver(group, 4 << 20);
    });
    ExpectOneCause(Code::kUnavailable);
  }
}

TEST_P(CommNetwork, ALargeMessageOnOffer) {
  for (NetFault fault : {NetFault::kReset, NetFault::kBlackHole}) {
    store_ = CreateMemoryStore();
    RunRanks([&](Group& group) -> Status {
      HR_RETURN_IF_ERROR(Meet(group, fault));
      std::vector<float> large(1 << 20);
      const Operation send = {.kind = OpKind::kSend,
                              .dtype = DType::kFloat32,
                              .count = large.size(),
                              .peer = (group.rank() + 1) % kSize};
      return group.Run(send, large.data(), nullptr, Within(std::chrono::seconds(20)));
    });
    ExpectOneCause(Code::kUnavailable);
  }
}

TEST_P(CommNetwork, ADamagedBitIsNoticedUnderTls) {
  if (GetParam().empty()) GTEST_SKIP() << "plain text has TCP's checksum alone";
  RunRanks([&](Group& group) -> Status {
    HR_RETURN_IF_ERROR(Meet(group, NetFault::kCorrupt));
    return ReduceForEver(group, 1 << 20);
  });
  ExpectOneCause(Code::kDataLoss);
}

// Nobody comes through from the start: while they meet, and in the handshake.
TEST_P(CommNetwork, WhileTheyMeet) {
  proxy_.StrikeNew(kVictim, NetFault::kBlackHole);
  const int64_t begin = SystemClock().NowNanos();
  RunRanks([](Group&) { return Status(); }, std::chrono::seconds(3));
  // The silence counts, long before the limits do.
  EXPECT_LT(SystemClock().NowNanos() - begin, 2'500'000'000);
  for (const Status& end : ends_) {
    EXPECT_EQ(end.code(), Code::kUnavailable) << end.ToString();
    EXPECT_NE(end.message().find("while the ranks met"), end.message().npos) << end.ToString();
    EXPECT_EQ(end.message(), ends_[0].message());
  }
}

TEST_P(CommNetwork, ADamagedHandshake) {
  if (GetParam().empty()) GTEST_SKIP() << "plain text has none";
  proxy_.StrikeNew(kVictim, NetFault::kCorrupt);
  RunRanks([](Group&) { return Status(); });
  for (const Status& end : ends_) {
    EXPECT_EQ(end.code(), Code::kUnauthenticated) << end.ToString();
    EXPECT_EQ(end.message(), ends_[0].message());
  }
}

// Goodbyes that never arrive hold nobody up.
TEST_P(CommNetwork, WhileTheyClose) {
  std::atomic<int64_t> slowest{0};
  RunRanks([&](Group& group) -> Status {
    std::vector<float> data(16);
    HR_RETURN_IF_ERROR(Reduce(group, data));
    proxy_.Strike(kVictim, NetFault::kBlackHole);
    const int64_t begin = SystemClock().NowNanos();
    group.Close();
    slowest = std::max<int64_t>(slowest, SystemClock().NowNanos() - begin);
    return {};
  });
  EXPECT_LT(slowest, 2'000'000'000);
}

// Who is cut off from the others still reaches the store, and learns that they go on without it.
TEST_P(CommNetwork, OneSideOfASplitNetworkGoesOn) {
  SplitAndGoOn(Code::kFailedPrecondition);
  std::string folder = testing::TempDir() + "headrace_split_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  store_ = std::move(CreateFileStore(folder)).value();
  SplitAndGoOn(Code::kFailedPrecondition);
  EXPECT_TRUE(RemoveTree(folder).ok());
}

TEST_P(CommNetwork, TheSideWithTheStoreGoesOn) {
  store_ = OpenStore("127.0.0.1:0", true);
  for (int rank = 1; rank < kSize; ++rank) {
    clients_[rank] = OpenStore(proxy_.Route(rank, 0, store_->Url()).substr(4), false);
  }
  SplitAndGoOn(Code::kArbiterLost);
}

// A store's client whose connection breaks all the time.
TEST_P(CommNetwork, AStoreCountsEveryCallOnceThoughConnectionsBreak) {
  constexpr int kCalls = 300;
  auto server = OpenStore("127.0.0.1:0", true);
  auto client = OpenStore(proxy_.Route(kVictim, 0, server->Url()).substr(4), false);
  std::atomic<bool> stop{false};
  int breaks = 0;
  std::thread breaker([&] {
    for (; !stop; ++breaks) {
      std::this_thread::sleep_for(milliseconds(15));
      proxy_.Strike(kVictim, NetFault::kReset);
      std::this_thread::sleep_for(milliseconds(5));
      proxy_.Strike(kVictim, NetFault::kNone);
    }
  });
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_TRUE(client->Add("count", 1, Within(std::chrono::seconds(20))).ok());
    std::this_thread::sleep_for(milliseconds(1));
  }
  stop = true;
  breaker.join();
  EXPECT_GT(breaks, 3);
  EXPECT_EQ(*server->Get("count", {}), Cat(kCalls));
}

INSTANTIATE_TEST_SUITE_P(All, CommNetwork, testing::Values("", "a secret of these tests"),
                         [](const auto& info) { return info.param.empty() ? "tcp" : "tcp_tls"; });

}  // namespace
}  // namespace hr::comm
