// Groups whose ranks stand on several hosts: shared memory inside each, another transport between.
#ifdef __linux__

#include <charconv>

#include "tests/conformance/transport/ranks.h"
#include "transport/inproc/inproc.h"
#include "transport/shm/shm.h"

namespace hr::comm {
namespace {

// Shared memory that believes in hosts of so many ranks each.
class HostedTransport final : public Transport {
 public:
  HostedTransport(std::unique_ptr<Transport> inner, int host)
      : inner_(std::move(inner)),
        prefix_(Cat("shm:host", host, ":")),
        address_(Cat(prefix_, inner_->address())) {}

  std::string_view name() const override { return inner_->name(); }
  const std::string& address() const override { return address_; }
  bool Reaches(std::string_view address) const override { return address.starts_with(prefix_); }
  Result<std::unique_ptr<Endpoint>> Connect(std::string_view address) override {
    return inner_->Connect(address.substr(prefix_.size()));
  }
  std::unique_ptr<Endpoint> Accept() override { return inner_->Accept(); }
  const Status& status() const override { return inner_->status(); }
  MemorySharer* memory_sharer() override { return inner_->memory_sharer(); }
  bool Progress() override { return inner_->Progress(); }
  bool Arm() override { return inner_->Arm(); }
  int wait_handle() const override { return inner_->wait_handle(); }

 private:
  const std::unique_ptr<Transport> inner_;
  const std::string prefix_, address_;
};

TransportFactory SharedMemoryOfHosts(int ranks_each) {
  return [ranks_each](std::string identity) -> Result<std::unique_ptr<Transport>> {
    int rank = 0;
    std::from_chars(identity.data(), identity.data() + identity.size(), rank);
    HR_ASSIGN_OR_RETURN(auto inner, shm::CreateShmTransport(std::move(identity)));
    return std::make_unique<HostedTransport>(std::move(inner), rank / ranks_each);
  };
}

class Hosts : public GroupTest {
 protected:
  // Runs body(group) on hosts of two ranks each, the last one of what is left.
  template <typename Body>
  void RunHosts(int size, Body body) {
    const TransportFactory near = SharedMemoryOfHosts(2);
    RunRanks(
        size,
        [&](GroupOptions& options) {
          options.mesh.transports = {near, factory_};
          for (OpKind kind : {OpKind::kBarrier, OpKind::kBroadcast, OpKind::kReduce,
                              OpKind::kAllReduce, OpKind::kAllGather, OpKind::kReduceScatter}) {
            options.algorithms[kind] = "hierarchical";
          }
        },
        body);
  }
};

TEST_P(Hosts, HierarchicalAlgorithmsRun) {
  for (int size : {3, 4, 5}) {
    RunHosts(size, [size](std::shared_ptr<Group> group) {
      for (uint64_t count : {1, 1001, 300'001}) {
        const Operation operation = {
            .kind = OpKind::kAllReduce, .dtype = DType::kInt32, .count = count};
        std::vector<int32_t> own(count, group->rank()), out(count);
        const CallLimits limits = Within(std::chrono::seconds(20));
        ASSERT_TRUE(group->Run(operation, own.data(), out.data(), limits).ok());
        EXPECT_EQ(out, std::vector<int32_t>(count, size * (size - 1) / 2));
        ASSERT_TRUE(group->Run(operation, own.data(), own.data(), limits).ok());
        EXPECT_EQ(own, out);
        for (int root = 0; root < size; ++root) {
          const Operation cast = {
              .kind = OpKind::kBroadcast, .dtype = DType::kInt32, .count = count, .peer = root};
          std::fill(own.begin(), own.end(), group->rank() + 7);
          ASSERT_TRUE(group->Run(cast, own.data(), own.data(), limits).ok());
          EXPECT_EQ(own, std::vector<int32_t>(count, root + 7));
        }
      }
    });
  }
}

// Rank r's block b is full of r * 100 + b.
TEST_P(Hosts, HierarchicalAlgorithmsMoveBlocks) {
  for (int size : {3, 4, 5}) {
    RunHosts(size, [size](std::shared_ptr<Group> group) {
      const CallLimits limits = Within(std::chrono::seconds(20));
      const int rank = group->rank();
      for (uint64_t count : {1, 1001, 300'001}) {
        std::vector<int32_t> blocks(count * size), out(count), all(count * size);
        for (uint64_t i = 0; i < blocks.size(); ++i) {
          blocks[i] = rank * 100 + static_cast<int32_t>(i / count);
        }
        Operation operation = {
            .kind = OpKind::kReduceScatter, .dtype = DType::kInt32, .count = count};
        ASSERT_TRUE(group->Run(operation, blocks.data(), out.data(), limits).ok());
        EXPECT_EQ(out, std::vector<int32_t>(count, 50 * size * (size - 1) + size * rank));
        operation.kind = OpKind::kAllGather;
        ASSERT_TRUE(group->Run(operation, out.data(), all.data(), limits).ok());
        for (int r = 0; r < size; ++r) {
          EXPECT_EQ(all[r * count], 50 * size * (size - 1) + size * r);
          EXPECT_EQ(all[(r + 1) * count - 1], all[r * count]);
        }
        operation.kind = OpKind::kReduce;
        for (operation.peer = 0; operation.peer < size; ++operation.peer) {
          ASSERT_TRUE(group->Run(operation, blocks.data(), out.data(), limits).ok());
          if (rank != operation.peer) continue;
          EXPECT_EQ(out, std::vector<int32_t>(count, 50 * size * (size - 1)));
        }
        ASSERT_TRUE(group->Run({.kind = OpKind::kBarrier}, nullptr, nullptr, limits).ok());
      }
    });
  }
}

TEST_P(Hosts, TheGroupKnowsItsHosts) {
  RunHosts(4, [](std::shared_ptr<Group> group) {
    EXPECT_NE(group->Describe().find("\"hosts\":2"), std::string::npos) << group->Describe();
    // A part on one host has no use for it, and takes the next best.
    auto part = group->Split(group->rank() / 2, 0, Within(std::chrono::seconds(20)));
    ASSERT_TRUE(part.ok());
    EXPECT_NE((*part)->Describe().find("\"hosts\":0"), std::string::npos);
    int32_t x = 1;
    const Operation sum = {.kind = OpKind::kAllReduce, .dtype = DType::kInt32, .count = 1};
    ASSERT_TRUE((*part)->Run(sum, &x, &x, Within(std::chrono::seconds(20))).ok());
    EXPECT_EQ(x, 2);
  });
}

TEST_P(Hosts, OneHostCannotBePinnedToThem) {
  RunRanks(
      2, [](GroupOptions&) {},
      [&](std::shared_ptr<Group> group) {
        GroupOptions options = Options(group->rank(), 2);
        options.mesh.name = "other";
        options.algorithms[OpKind::kAllReduce] = "hierarchical";
        auto other = Group::Create(std::move(options), Within(std::chrono::seconds(20)));
        EXPECT_EQ(other.status().code(), Code::kFailedPrecondition);
        EXPECT_NE(other.status().message().find("not on several hosts"), std::string::npos);
      });
}

TransportDriver Between() {
  for (TransportDriver& driver : TransportDrivers()) {
    if (driver.name == "tcp") return driver;
  }
  return TransportDrivers()[0];
}
INSTANTIATE_TEST_SUITE_P(All, Hosts, testing::Values(TransportDrivers()[0], Between()),
                         [](const auto& info) { return Cat(info.index, info.param.name); });

}  // namespace
}  // namespace hr::comm

#endif
