// Operations of a group over every transport. What the algorithms compute is tested apart
// (tests/unit/transport/schedule_test.cc); here they run over real connections.
#include <map>
#include <mutex>
#include <numeric>

#include "tests/conformance/transport/ranks.h"

namespace hr::comm {
namespace {

using GroupPtr = std::shared_ptr<Group>;
const CallLimits kNoLimits = {};

Operation AllReduce(uint64_t count, DType dtype = DType::kFloat32, ReduceOp op = ReduceOp::kSum) {
  return {.kind = OpKind::kAllReduce, .dtype = dtype, .count = count, .reduce_op = op};
}

void WaitForAll(std::span<WorkRef> works) {
  for (WorkRef& work : works) {
    const Status status = work->Wait(Within(std::chrono::seconds(20)));
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

TEST_P(GroupTest, AllReduceOfEverySize) {
  for (int size : {1, 2, 3, 4}) {
    RunRanks(size, [size](GroupPtr group) {
      for (uint64_t count : {0, 1, 3, 256, 5000, 70'000, 1'000'003}) {
        std::vector<float> data(count);
        for (uint64_t i = 0; i < count; ++i) data[i] = static_cast<float>(i % 97 + group->rank());
        ASSERT_TRUE(
            group->Run(AllReduce(count), data.data(), data.data(), Within(std::chrono::seconds(20)))
                .ok());
        for (uint64_t i = 0; i < count; ++i) {
          ASSERT_EQ(data[i], static_cast<float>(i % 97) * size + size * (size - 1) / 2) << i;
        }
      }
    });
  }
}

TEST_P(GroupTest, EveryOperationRuns) {
  RunRanks(3, [](GroupPtr group) {
    const int rank = group->rank();
    for (uint64_t count : {1, 700, 50'000}) {
      std::vector<int32_t> own(count, rank + 1), all(3 * count), three(3 * count), out(count);
      for (int block = 0; block < 3; ++block) {
        std::fill_n(three.begin() + block * count, count, 10 * rank + block);
      }
      auto run = [&](OpKind kind, const void* in, void* to, int root = 1) {
        Operation operation = {.kind = kind, .dtype = DType::kInt32, .count = count, .peer = root};
        Status status = group->Run(operation, in, to, Within(std::chrono::seconds(20)));
        ASSERT_TRUE(status.ok()) << status.ToString();
      };
      run(OpKind::kBarrier, nullptr, nullptr);
      run(OpKind::kBroadcast, own.data(), out.data());
      EXPECT_EQ(out, std::vector<int32_t>(count, 2));
      run(OpKind::kReduce, own.data(), out.data());
      EXPECT_TRUE(rank != 1 || out == std::vector<int32_t>(count, 6));
      run(OpKind::kAllGather, own.data(), all.data());
      EXPECT_TRUE(all[0] == 1 && all[count] == 2 && all[3 * count - 1] == 3);
      run(OpKind::kGather, own.data(), all.data(), 2);
      run(OpKind::kScatter, three.data(), out.data());
      EXPECT_EQ(out, std::vector<int32_t>(count, 10 + rank));
      run(OpKind::kReduceScatter, three.data(), out.data());
      EXPECT_EQ(out, std::vector<int32_t>(count, 30 + 3 * rank));
      run(OpKind::kAllToAll, three.data(), all.data());
      EXPECT_TRUE(all[0] == rank && all[count] == 10 + rank && all[3 * count - 1] == 20 + rank);
    }
  });
}

TEST_P(GroupTest, PinnedAlgorithmsAreUsedAndUnknownOnesRefused) {
  for (const char* name : {"ring", "recursive_doubling", "rabenseifner"}) {
    RunRanks(
        3, [&](GroupOptions& options) { options.algorithms[OpKind::kAllReduce] = name; },
        [&](GroupPtr group) {
          for (uint64_t count : {1, 700'001}) {
            std::vector<float> x(count, 1);
            const CallLimits limits = Within(std::chrono::seconds(20));
            ASSERT_TRUE(group->Run(AllReduce(count), x.data(), x.data(), limits).ok());
            EXPECT_EQ(x, std::vector<float>(count, 3));
          }
        });
  }
  GroupOptions options = Options(0, 1);
  options.algorithms[OpKind::kAllReduce] = "magic";
  auto group = Group::Create(std::move(options), Within(std::chrono::seconds(20)));
  EXPECT_EQ(group.status().code(), Code::kInvalidArgument) << group.status().ToString();
}

// Every reduction of every dtype, around the borders of slots and slices; in place and not; all
// ranks get the same bits.
TEST_P(GroupTest, AllReduceOfEveryTypeInPlaceAndNot) {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16,
                              DType::kInt8,    DType::kInt16,   DType::kInt32,   DType::kInt64,
                              DType::kUint8,   DType::kUint16,  DType::kUint32,  DType::kUint64};
  for (int size : {2, 3}) {
    std::mutex mutex;
    std::map<std::string, std::vector<std::byte>> results;  // of the first rank that came
    RunRanks(size, [&](GroupPtr group) {
      for (DType dtype : kTypes) {
        for (uint64_t bytes : {8, 8192, 16384, 262144, 262208, 400'000, 1'300'000}) {
          const uint64_t count = bytes / DTypeSize(dtype) + (bytes > 8 ? 1 : 0);
          for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMax}) {
            std::vector<std::byte> data(count * DTypeSize(dtype)), out(data.size());
            for (size_t i = 0; i < data.size(); ++i) {  // no NaN in any type
              data[i] = static_cast<std::byte>((i * 37 + group->rank() * 11) % 61);
            }
            const Operation operation = AllReduce(count, dtype, op);
            const CallLimits limits = Within(std::chrono::seconds(20));
            ASSERT_TRUE(group->Run(operation, data.data(), out.data(), limits).ok());
            ASSERT_TRUE(group->Run(operation, data.data(), data.data(), limits).ok());
            ASSERT_EQ(data, out) << operation.Text();
            std::lock_guard lock(mutex);
            auto [first, fresh] = results.try_emplace(operation.Text(), out);
            ASSERT_EQ(first->second, out) << operation.Text() << " differs between ranks";
          }
        }
      }
    });
  }
}

TEST_P(GroupTest, OperationsInFlightTakeTheirTurns) {
  RunRanks(3, [](GroupPtr group) {
    std::vector<int32_t> sums(40, group->rank()), all(3 * 40);
    std::vector<WorkRef> works;
    for (int i = 0; i < 40; ++i) {
      works.push_back(group->Post(AllReduce(1, DType::kInt32), &sums[i], &sums[i]).value());
      if (i % 3 == 0) works.push_back(group->Post({}, nullptr, nullptr).value());
    }
    WaitForAll(works);
    for (int32_t sum : sums) ASSERT_EQ(sum, 3);
  });
}

// One operation begins while other ranks are in the one before, whatever the two are.
TEST_P(GroupTest, OperationsOfManySizesFollowEachOther) {
  RunRanks(3, [](GroupPtr group) {
    constexpr uint64_t kCounts[] = {1, 40'000, 300, 9, 700'001, 5000, 70'000, 200'000};
    std::vector<std::vector<int32_t>> sums, own, all;
    for (int i = 0; i < 48; ++i) {
      sums.emplace_back(kCounts[i % std::size(kCounts)], group->rank() + i);
      own.push_back(sums.back());
      all.emplace_back(3 * own.back().size());
    }
    std::vector<WorkRef> works;
    for (size_t i = 0; i < own.size(); ++i) {
      Operation operation = AllReduce(own[i].size(), DType::kInt32);
      works.push_back(group->Post(operation, sums[i].data(), sums[i].data()).value());
      operation.kind = OpKind::kAllGather;
      if (i % 3 != 1) works.push_back(group->Post(operation, own[i].data(), all[i].data()).value());
    }
    WaitForAll(works);
    for (size_t i = 0; i < own.size(); ++i) {
      const int n = static_cast<int>(i);
      ASSERT_EQ(sums[i], std::vector<int32_t>(sums[i].size(), 3 + 3 * n)) << i;
      for (size_t at = 0; i % 3 != 1 && at < all[i].size(); ++at) {
        ASSERT_EQ(all[i][at], static_cast<int>(at / own[i].size()) + n) << i << " " << at;
      }
    }
  });
}

// Nobody waits: the poller's thread must be woken by what comes through shared memory, too.
TEST_P(GroupTest, OperationsEndWhileNobodyWaits) {
  RunRanks(2, [](GroupPtr group) {
    for (int i = 0; i < 5; ++i) {
      int32_t x = 1;
      WorkRef work = group->Post(AllReduce(1, DType::kInt32), &x, &x).value();
      const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!work->done() && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1 + 30 * group->rank()));
      }
      ASSERT_TRUE(work->done());
      ASSERT_EQ(x, 2);
    }
  });
}

TEST_P(GroupTest, MessagesBetweenTwoRanksMeetByTag) {
  RunRanks(2, [](GroupPtr group) {
    const int peer = 1 - group->rank();
    std::vector<int64_t> a(1000), b(200'000), c(1000), d(200'000);
    std::iota(a.begin(), a.end(), group->rank());
    std::iota(b.begin(), b.end(), 7 * group->rank());
    auto operation = [&](OpKind kind, uint64_t count, uint32_t tag) {
      return Operation{
          .kind = kind, .dtype = DType::kInt64, .count = count, .peer = peer, .tag = tag};
    };
    std::vector<WorkRef> works;
    works.push_back(group->Post(operation(OpKind::kSend, 200'000, 2), b.data(), nullptr).value());
    works.push_back(group->Post(operation(OpKind::kSend, 1000, 1), a.data(), nullptr).value());
    works.push_back(group->Post(operation(OpKind::kRecv, 1000, 1), nullptr, c.data()).value());
    works.push_back(group->Post(operation(OpKind::kRecv, 200'000, 2), nullptr, d.data()).value());
    WaitForAll(works);
    EXPECT_EQ(c[0], peer);
    EXPECT_EQ(d[100], 7 * peer + 100);
  });
}

TEST_P(GroupTest, ManyOperationsInFlightAndCallbacks) {
  RunRanks(3, [](GroupPtr group) {
    constexpr int kOperations = 200;
    std::vector<std::vector<float>> data(kOperations, std::vector<float>(300, 1.0f));
    std::atomic<int> called{0};
    std::vector<WorkRef> works;
    for (auto& x : data) {
      works.push_back(group->Post(AllReduce(x.size()), x.data(), x.data()).value());
      works.back()->OnDone([&](const Status& status) { called += status.ok(); });
    }
    WaitForAll(works);
    for (auto& x : data) ASSERT_EQ(x[299], 3.0f);
    for (int i = 0; i < 1000 && called < kOperations; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(called, kOperations);
    ASSERT_TRUE(group->Run({}, nullptr, nullptr, kNoLimits).ok());
  });
}

TEST_P(GroupTest, GoesOnWhileNobodyWaits) {
  RunRanks(2, [](GroupPtr group) {
    std::vector<float> data(1 << 20, 1.0f);
    WorkRef work = group->Post(AllReduce(data.size()), data.data(), data.data()).value();
    for (int i = 0; i < 5000 && !work->done(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(work->done());
    ASSERT_TRUE(group->Run({}, nullptr, nullptr, kNoLimits).ok());
  });
}

TEST_P(GroupTest, SplitMakesIndependentGroups) {
  RunRanks(4, [](GroupPtr world) {
    // Odd and even ranks, in reverse order.
    auto half = world->Split(world->rank() % 2, -world->rank(), Within(std::chrono::seconds(20)));
    ASSERT_TRUE(half.ok()) << half.status().ToString();
    GroupPtr group = *half;
    EXPECT_EQ(group->size(), 2);
    EXPECT_EQ(group->rank(), world->rank() < 2 ? 1 : 0);
    int32_t sum = world->rank();
    ASSERT_TRUE(
        group->Run(AllReduce(1, DType::kInt32), &sum, &sum, Within(std::chrono::seconds(20))).ok());
    EXPECT_EQ(sum, world->rank() % 2 == 0 ? 2 : 4);
    // A thread for each group may post at the same time.
    std::thread other([&] {
      for (int i = 0; i < 100; ++i) {
        int32_t x = 1;
        ASSERT_TRUE(
            group->Run(AllReduce(1, DType::kInt32), &x, &x, Within(std::chrono::seconds(20))).ok());
        ASSERT_EQ(x, 2);
      }
    });
    for (int i = 0; i < 100; ++i) {
      int32_t x = 1;
      ASSERT_TRUE(
          world->Run(AllReduce(1, DType::kInt32), &x, &x, Within(std::chrono::seconds(20))).ok());
      ASSERT_EQ(x, 4);
    }
    other.join();
    auto none = world->Split(world->rank() == 0 ? -1 : 0, 0, Within(std::chrono::seconds(20)));
    ASSERT_TRUE(none.ok());
    EXPECT_EQ(*none == nullptr, world->rank() == 0);
    ASSERT_TRUE(world->Run({}, nullptr, nullptr, kNoLimits).ok());
  });
}

// ---- Faults ----

void ExpectSameCause(const std::vector<std::string>& causes, std::string_view part) {
  for (const std::string& cause : causes) {
    EXPECT_EQ(cause, causes[0]);
    EXPECT_NE(cause.find(part), std::string::npos) << cause;
  }
}

TEST_P(GroupTest, DifferentOperationsFailEverywhereWithBothTold) {
  std::vector<std::string> causes(3);
  RunRanks(3, [&](GroupPtr group) {
    std::vector<float> x(4000, 1.0f);
    const uint64_t count = group->rank() == 2 ? 4000 : 3999;
    // So that the verdict finds no rank still creating its group.
    Status status = group->Run({}, nullptr, nullptr, Within(std::chrono::seconds(20)));
    if (status.ok()) {
      status = group->Run(AllReduce(count), x.data(), x.data(), Within(std::chrono::seconds(20)));
    }
    // A rank may have got what it needed before the verdict; then the next operation tells.
    if (status.ok()) status = group->Run({}, nullptr, nullptr, Within(std::chrono::seconds(20)));
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
    causes[group->rank()] = group->status().message();
  });
  ExpectSameCause(causes, "all_reduce(sum, float32[4000])");
  ExpectSameCause(causes, "all_reduce(sum, float32[3999])");
}

TEST_P(GroupTest, OtherDtypeOfTheSameSizeIsNoticed) {
  std::vector<std::string> causes(2);
  RunRanks(2, [&](GroupPtr group) {
    std::vector<float> x(16);
    const DType dtype = group->rank() == 0 ? DType::kFloat32 : DType::kInt32;
    Status status =
        group->Run(AllReduce(16, dtype), x.data(), x.data(), Within(std::chrono::seconds(20)));
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
    causes[group->rank()] = group->status().message();
  });
  ExpectSameCause(causes, "int32[16]");
}

TEST_P(GroupTest, AbortReachesEveryRank) {
  std::vector<std::string> causes(3);
  RunRanks(3, [&](GroupPtr group) {
    int32_t x = 0;
    Status status = group->Run({}, nullptr, nullptr, Within(std::chrono::seconds(20)));
    if (group->rank() == 1) group->Abort("the disk is full");
    while (status.ok()) {
      status = group->Run(AllReduce(1, DType::kInt32), &x, &x, Within(std::chrono::seconds(20)));
    }
    EXPECT_EQ(status.code(), Code::kAborted) << status.ToString();
    causes[group->rank()] = group->status().message();
  });
  ExpectSameCause(causes, "rank 1: the disk is full");
}

TEST_P(GroupTest, ALeavingRankFailsWhoNeedsIt) {
  std::atomic<int> failed{0};
  RunRanks(3, [&](GroupPtr group) {
    if (group->rank() == 2) return;  // leaves at once
    int32_t x = 0;
    Status status =
        group->Run(AllReduce(1, DType::kInt32), &x, &x, Within(std::chrono::seconds(20)));
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
    EXPECT_NE(status.message().find("rank 2"), std::string_view::npos) << status.ToString();
    ++failed;
  });
  EXPECT_EQ(failed, 2);
}

TEST_P(GroupTest, DeadlineEndsTheWaitNotTheOperation) {
  RunRanks(2, [](GroupPtr group) {
    int32_t x = 1;
    WorkRef work = group->Post(AllReduce(1, DType::kInt32), &x, &x).value();
    if (group->rank() == 0) {
      // Rank 1 may be done already: both ends are fine, a hang is not.
      const Code code = work->Wait(Within(std::chrono::microseconds(1))).code();
      EXPECT_TRUE(code == Code::kDeadlineExceeded || code == Code::kOk);
    }
    WaitForAll({&work, 1});
    EXPECT_EQ(x, 2);
  });
}

TEST_P(GroupTest, CancelledReceiveLeavesTheGroupUsable) {
  RunRanks(2, [](GroupPtr group) {
    int32_t x = 0;
    const Operation receive = {.kind = OpKind::kRecv,
                               .dtype = DType::kInt32,
                               .count = 1,
                               .peer = 1 - group->rank(),
                               .tag = 5};
    WorkRef work = group->Post(receive, nullptr, &x).value();
    work->Cancel();
    EXPECT_EQ(work->Wait(kNoLimits).code(), Code::kCancelled);
    ASSERT_TRUE(
        group->Run(AllReduce(1, DType::kInt32), &x, &x, Within(std::chrono::seconds(20))).ok());
  });
}

TEST_P(GroupTest, BadCallsAreRefusedBeforeAnythingIsSent) {
  RunRanks(2, [](GroupPtr group) {
    float x = 0;
    auto code = [&](Operation operation, const void* in, void* out) {
      auto work = group->Post(operation, in, out);
      return work.ok() ? Code::kOk : work.status().code();
    };
    Operation operation = AllReduce(1);
    EXPECT_EQ(code(operation, nullptr, &x), Code::kInvalidArgument);
    operation.dtype = DType::kBool;
    EXPECT_EQ(code(operation, &x, &x), Code::kInvalidArgument);
    operation.dtype = DType::kString;
    EXPECT_EQ(code(operation, &x, &x), Code::kInvalidArgument);
    EXPECT_EQ(code({.kind = OpKind::kBroadcast, .count = 1, .peer = 2}, &x, &x),
              Code::kInvalidArgument);
    EXPECT_EQ(code({.kind = OpKind::kSend, .count = 1, .peer = group->rank()}, &x, &x),
              Code::kInvalidArgument);
    EXPECT_EQ(code({.kind = OpKind::kAllGather, .count = UINT64_MAX / 2}, &x, &x),
              Code::kInvalidArgument);
    EXPECT_EQ(code({.kind = static_cast<OpKind>(99)}, &x, &x), Code::kInvalidArgument);
    ASSERT_TRUE(group->Run(AllReduce(1), &x, &x, Within(std::chrono::seconds(20))).ok());
  });
}

TEST_P(GroupTest, ASecondProcessWithTheSameRankIsToldSo) {
  RunRanks(2, [&](GroupPtr group) {
    if (group->rank() == 0) {
      auto second = Group::Create(Options(1, 2), Within(std::chrono::seconds(5)));
      ASSERT_FALSE(second.ok());
      EXPECT_EQ(second.status().code(), Code::kAlreadyExists) << second.status().ToString();
    }
    ASSERT_TRUE(group->Run({}, nullptr, nullptr, Within(std::chrono::seconds(20))).ok());
  });
}

TEST_P(GroupTest, AMissingRankIsNamed) {
  auto group = Group::Create(Options(0, 3), Within(std::chrono::milliseconds(50)));
  ASSERT_FALSE(group.ok());
  EXPECT_EQ(group.status().code(), Code::kDeadlineExceeded);
  EXPECT_NE(group.status().message().find("waits for rank 1, 2"), std::string_view::npos)
      << group.status().ToString();
}

TEST_P(GroupTest, ManyGroupsComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    RunRanks(2, [](GroupPtr group) {
      int32_t x = 1;
      ASSERT_TRUE(
          group->Run(AllReduce(1, DType::kInt32), &x, &x, Within(std::chrono::seconds(20))).ok());
    });
  }
}

TEST_P(GroupTest, TheRecorderTellsWhatHappened) {
  RunRanks(2, [](GroupPtr group) {
    float x[4] = {};
    for (int i = 0; i < 2100; ++i) {
      ASSERT_TRUE(group->Run(AllReduce(4), x, x, Within(std::chrono::seconds(20))).ok());
    }
    const std::string dump = group->Dump();
    EXPECT_NE(dump.find("\"sequence\":2099"), std::string::npos) << dump.substr(0, 300);
    EXPECT_EQ(dump.find("\"sequence\":99,"), std::string::npos);
    EXPECT_NE(dump.find("all_reduce(sum, float32[4])"), std::string::npos);
    ASSERT_TRUE(group->Run({}, nullptr, nullptr, kNoLimits).ok());
  });
}

INSTANTIATE_TEST_SUITE_P(All, GroupTest, ::testing::ValuesIn(TransportDrivers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
