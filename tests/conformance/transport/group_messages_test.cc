// What a group promises of its messages and of its end, over every transport.
#include <numeric>

#include "tests/conformance/transport/ranks.h"

namespace hr::comm {
namespace {

using GroupPtr = std::shared_ptr<Group>;

Operation GroupMessage(OpKind kind, uint64_t count, int peer, uint32_t tag = 0) {
  return {.kind = kind, .dtype = DType::kInt32, .count = count, .peer = peer, .tag = tag};
}

// A receive whose limits end gets its message or leaves it to the next one.
TEST_P(GroupTest, ReceivesThatEndEarlyLoseNothing) {
  constexpr uint64_t kCounts[] = {1, 700, 30'000, 150'000, 1'000'000};
  RunRanks(2, [&](GroupPtr group) {
    std::vector<int32_t> data(1'000'000);
    for (int number = 0; number < 60; ++number) {
      const uint64_t count = kCounts[number % std::size(kCounts)];
      if (group->rank() == 0) {
        std::fill_n(data.begin(), count, number);
        const Status sent = group->Run(GroupMessage(OpKind::kSend, count, 1), data.data(), nullptr,
                                       Within(std::chrono::seconds(20)));
        ASSERT_TRUE(sent.ok()) << sent.ToString();
        continue;
      }
      std::fill(data.begin(), data.end(), -1);
      Status received;
      int tries = 0;
      do {
        received = group->Run(GroupMessage(OpKind::kRecv, count, 0), nullptr, data.data(),
                              Within(std::chrono::microseconds(20 * (number % 7))));
      } while (received.code() == Code::kDeadlineExceeded && group->status().ok() &&
               ++tries < 1'000'000);
      ASSERT_TRUE(received.ok()) << received.ToString();
      ASSERT_EQ(data[0], number);
      ASSERT_EQ(std::count(data.begin(), data.begin() + count, number), count);
    }
  });
}

TEST_P(GroupTest, EmptyMessagesAreMessages) {
  RunRanks(2, [](GroupPtr group) {
    int32_t data[4] = {};
    for (int round = 0; round < 20; ++round) {
      for (uint64_t count : {0, 0, 0, 4}) {
        const bool sends = group->rank() == 0;
        if (sends) std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));
        if (sends) std::iota(data, data + 4, round);
        const Operation operation =
            GroupMessage(sends ? OpKind::kSend : OpKind::kRecv, count, 1 - group->rank(), 5);
        const Status status = group->Run(operation, data, data, Within(std::chrono::seconds(20)));
        ASSERT_TRUE(status.ok()) << status.ToString();
      }
      ASSERT_EQ(data[3], round + 3);
    }
  });
}

// Two threads of each rank, each with a sub-group of its own, as often as it takes them to meet.
TEST_P(GroupTest, SubGroupsThatAreSplitAtOnceDoNotMixMessages) {
  RunRanks(2, [](GroupPtr world) {
    const CallLimits limits = Within(std::chrono::seconds(60));
    GroupPtr parts[2];
    for (GroupPtr& part : parts) part = std::move(world->Split(0, 0, limits)).value();
    auto use = [&](int which) {
      for (int round = 0; round < 40; ++round) {
        Result<GroupPtr> split = parts[which]->Split(0, 0, limits);
        ASSERT_TRUE(split.ok()) << split.status().ToString();
        const bool sends = world->rank() == 0;
        int32_t data = sends ? 1000 * which + round : -1;
        const Operation operation =
            GroupMessage(sends ? OpKind::kSend : OpKind::kRecv, 1, 1 - world->rank());
        const Status status = (*split)->Run(operation, &data, &data, limits);
        ASSERT_TRUE(status.ok()) << status.ToString();
        ASSERT_EQ(data, 1000 * which + round);
      }
    };
    std::thread other(use, 1);
    use(0);
    other.join();
  });
}

TEST_P(GroupTest, AnAbortIsHeardThoughTheGroupIsLeftAtOnce) {
  RunRanks(3, [](GroupPtr group) {
    const CallLimits limits = Within(std::chrono::seconds(20));
    Status status = group->Run({.kind = OpKind::kBarrier}, nullptr, nullptr, limits);
    if (group->rank() == 2) {
      ASSERT_TRUE(status.ok()) << status.ToString();
      group->Abort("there is no more data");
      return;
    }
    while (status.ok()) {
      status = group->Run({.kind = OpKind::kBarrier}, nullptr, nullptr, limits);
    }
    EXPECT_EQ(status.code(), Code::kAborted) << status.ToString();
    EXPECT_NE(status.message().find("there is no more data"), std::string_view::npos)
        << status.ToString();
  });
}

// Each takes itself for the root, so nobody receives what both send.
TEST_P(GroupTest, RootsThatDifferAreFound) {
  RunRanks(2, [](GroupPtr group) {
    Operation operation = {.kind = OpKind::kBroadcast, .dtype = DType::kInt32, .count = 4};
    operation.peer = group->rank();
    int32_t data[4] = {};
    Status status;
    const CallLimits limits = Within(std::chrono::seconds(20));
    for (int i = 0; i < 4000 && status.ok(); ++i) {
      status = group->Run(operation, data, data, limits);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
    EXPECT_NE(status.message().find("called different"), std::string_view::npos)
        << status.ToString();
  });
}

// In another order, also where one of the two goes through shared memory and the other does not.
TEST_P(GroupTest, CallsInAnotherOrderAreFound) {
  for (int root : {0, 1}) {
    RunRanks(
        2, [root](GroupOptions& options) { options.mesh.epoch = root; },
        [root](GroupPtr group) {
          const CallLimits limits = Within(std::chrono::seconds(20));
          int32_t data[4] = {};
          Status status;
          for (int i = group->rank(); i < 4000 && status.ok(); ++i) {
            const OpKind kind = i % 2 == 0 ? OpKind::kBarrier : OpKind::kReduce;
            const Operation operation = {
                .kind = kind, .dtype = DType::kInt32, .count = 4, .peer = root};
            status = kind == OpKind::kBarrier ? group->Run({.kind = kind}, nullptr, nullptr, limits)
                                              : group->Run(operation, data, data, limits);
            if (i > 10) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
          EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
        });
  }
}

// What is empty on one rank alone is no less a difference.
TEST_P(GroupTest, EmptyCallsAreComparedToo) {
  RunRanks(2, [](GroupPtr group) {
    const uint64_t count = group->rank() == 0 ? 4 : 0;
    const Operation operation = {
        .kind = OpKind::kBroadcast, .dtype = DType::kInt32, .count = count};
    int32_t data[4] = {};
    Status status = group->Run(operation, data, data, Within(std::chrono::seconds(20)));
    if (status.ok()) {  // the root had only to send
      status = group->Run({.kind = OpKind::kBarrier}, nullptr, nullptr,
                          Within(std::chrono::seconds(20)));
    }
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
  });
}

}  // namespace
}  // namespace hr::comm
