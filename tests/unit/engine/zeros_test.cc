// Memory that is not there twice: zeros, and what was read of a file.
#include "runtime/device/zeros.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>

namespace hr {
namespace {

constexpr int64_t kBytes = int64_t{64} << 20;

int64_t ResidentBytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t SumOf(const Tensor& tensor) {
  const auto bytes = tensor.span<uint8_t>();
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

TEST(Zeros, TakeNoMemory) {
  const int64_t before = ResidentBytes();
  const Tensor zeros = MakeZeros(SystemAllocator(), DType::kUint8, {kBytes}).value();
  EXPECT_EQ(SumOf(zeros), 0);
  EXPECT_LT(ResidentBytes() - before, kBytes / 4);
  EXPECT_TRUE(zeros.read_only());
  const Tensor copy = zeros.Clone(SystemAllocator()).value();
  EXPECT_FALSE(copy.read_only());
  copy.as<uint8_t>()[5] = 7;
  EXPECT_EQ(SumOf(copy), 7);
  EXPECT_EQ(SumOf(zeros), 0);
}

TEST(Zeros, AreZerosInEverySize) {
  for (const int64_t count : {0, 1, 100, 1 << 14, (1 << 14) + 1}) {
    const Tensor zeros = MakeZeros(SystemAllocator(), DType::kFloat32, {count}).value();
    EXPECT_EQ(zeros.elements(), count);
    EXPECT_TRUE(std::ranges::all_of(zeros.span<float>(), [](float x) { return x == 0; }));
  }
  EXPECT_FALSE(MakeZeros(SystemAllocator(), DType::kFloat32, {-1}).ok());
}

TEST(MappedTensor, GivesItsMemoryBackAndReadsItAgain) {
  const std::string path = testing::TempDir() + "headrace_mapped_tensor";
  std::ofstream(path) << std::string(static_cast<size_t>(kBytes), '\1');
  const Tensor tensor =
      Tensor::View(MapFile(path).value(), 4096, DType::kUint8, {kBytes - 4096}).value();
  EXPECT_EQ(SumOf(tensor), tensor.elements());
  const int64_t before = ResidentBytes();
  tensor.Forget();
  EXPECT_GT(before - ResidentBytes(), kBytes / 4 * 3);
  EXPECT_EQ(SumOf(tensor), tensor.elements());
  std::remove(path.c_str());
}

}  // namespace
}  // namespace hr
