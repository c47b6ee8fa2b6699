// More elements than 32 bits count, sent and summed up.
#include <cstdio>
#include <fstream>

#include "tests/conformance/transport/ranks.h"
#include "transport/shm/shm.h"

namespace hr::comm {
namespace {

constexpr uint64_t kCount = (uint64_t{1} << 32) + 12'345;
constexpr size_t kPeriod = 4093, kBlock = 256 * kPeriod;  // 2^32 is no multiple of the period
constexpr int kMost = 42;                                 // three of them are an int8

// Elements that tell where they stand, each `times` what it is.
std::vector<int8_t> Block(int times) {
  std::vector<int8_t> block(kBlock);
  for (size_t i = 0; i < kBlock; ++i) {
    block[i] = static_cast<int8_t>(times * static_cast<int>(i % kPeriod % (kMost + 1)));
  }
  return block;
}

class Data {
 public:
  Data() : data_(std::make_unique_for_overwrite<int8_t[]>(kCount)) {}
  int8_t* get() const { return data_.get(); }
  void Fill(int times) {
    const auto block = Block(times);
    for (uint64_t at = 0; at < kCount; at += kBlock) {
      std::memcpy(get() + at, block.data(), std::min<uint64_t>(kBlock, kCount - at));
    }
  }
  // The first block that is something else.
  uint64_t FirstWrong(int times) const {
    const auto block = Block(times);
    uint64_t at = 0;
    while (at < kCount &&
           std::memcmp(get() + at, block.data(), std::min<uint64_t>(kBlock, kCount - at)) == 0) {
      at += kBlock;
    }
    return std::min(at, kCount);
  }

 private:
  std::unique_ptr<int8_t[]> data_;
};

uint64_t AvailableGibibytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    unsigned long long kibibytes = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %llu", &kibibytes) == 1) return kibibytes >> 20;
  }
  return 0;
}

using Counts = GroupTest;

TEST_P(Counts, BeyondThoseOf32Bits) {
  if (AvailableGibibytes() < 12) GTEST_SKIP() << "takes 12 GiB of memory";
  RunRanks(2, [](std::shared_ptr<Group> group) {
    const CallLimits limits = Within(std::chrono::minutes(5));
    const int rank = group->rank();
    Operation operation = {.kind = rank == 0 ? OpKind::kSend : OpKind::kRecv,
                           .dtype = DType::kInt8,
                           .count = kCount,
                           .peer = 1 - rank};
    Data data;
    data.Fill(1 + rank);
    const Status moved = group->Run(operation, data.get(), data.get(), limits);
    ASSERT_TRUE(moved.ok()) << moved.ToString();
    EXPECT_EQ(data.FirstWrong(1), kCount);  // at both ends
    data.Fill(1 + rank);
    operation.kind = OpKind::kAllReduce;
    const Status summed = group->Run(operation, data.get(), data.get(), limits);
    ASSERT_TRUE(summed.ok()) << summed.ToString();
    EXPECT_EQ(data.FirstWrong(3), kCount);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Counts,
                         testing::Values(TransportDriver{"shm",
                                                         [] { return shm::CreateShmTransport; }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hr::comm
