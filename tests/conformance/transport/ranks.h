// Groups whose ranks are threads of the test.
#pragma once

#include <gtest/gtest.h>

#include <thread>

#include "runtime/comm/group.h"
#include "runtime/comm/poller.h"
#include "tests/conformance/transport/drivers.h"
#include "transport/collective/planner.h"

namespace hr::comm {

class GroupTest : public ::testing::TestWithParam<TransportDriver> {
 protected:
  void SetUp() override { factory_ = GetParam().open(); }

  GroupOptions Options(int rank, int size) {
    GroupOptions options;
    options.mesh.rank = rank;
    options.mesh.size = size;
    options.mesh.store = store_.get();
    options.mesh.poller = poller_.get();
    options.mesh.transports = {factory_};
    options.mesh.spin_nanos = size > 2 ? 0 : 20'000;
    options.planner = planner_.get();
    return options;
  }
  // Runs body(group) on `size` threads, each a rank.
  template <typename Body>
  void RunRanks(int size, Body body) {
    RunRanks(
        size, [](GroupOptions&) {}, body);
  }
  template <typename Change, typename Body>
  void RunRanks(int size, Change change, Body body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        GroupOptions options = Options(rank, size);
        change(options);
        auto group = Group::Create(std::move(options), Within(std::chrono::seconds(20)));
        ASSERT_TRUE(group.ok()) << group.status().ToString();
        body(std::move(group).value());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::unique_ptr<Store> store_ = CreateMemoryStore();
  std::unique_ptr<Poller> poller_ = std::move(Poller::Create()).value();
  std::unique_ptr<Planner> planner_ = collective::CreatePlanner();
  TransportFactory factory_;
};

}  // namespace hr::comm
