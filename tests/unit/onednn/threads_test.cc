#include <dirent.h>

#include <atomic>
#include <thread>

#include "backends/cpu/onednn/convolution.h"
#include "backends/cpu/onednn/matmul.h"
#include "tests/unit/cpu/blocked_testing.h"

namespace hr::cpu::onednn {
namespace {

int ThreadsOfThisProcess() {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return 0;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

class OneDnnThreads : public BlockedTest {};

// The env's budget is kept: oneDNN never makes a team of its own.
TEST_P(OneDnnThreads, AreOnlyThoseOfTheLease) {
  const int before = ThreadsOfThisProcess();
  if (before == 0) GTEST_SKIP() << "no /proc";
  const auto shape = GemmShape::Dense(512, 512, 512);
  auto product = MatMul::Create(shape, {.packed_b = true, .slices = 3}).value();
  Buffer<float> a(512 * 512), b(512 * 512), c(512 * 512);
  Buffer<float> packed(static_cast<int64_t>(product->packed_bytes() / sizeof(float)));
  Buffer<char> scratch(static_cast<int64_t>(product->scratch_bytes()));
  ASSERT_TRUE(product->Pack(three_, b.data(), packed.data(), scratch.data()).ok());
  ASSERT_TRUE(
      product->Run(three_, a.data(), packed.data(), nullptr, c.data(), scratch.data()).ok());

  ConvShape s;
  s.n = 4, s.ic = s.oc = 64, s.ih = s.iw = 30, s.kh = s.kw = 3;
  s.DeriveOutput();
  Buffer<float> x(s.n * s.ic * s.InputPlane()), w(s.oc * s.Taps()), y(s.n * s.oc * s.OutputPlane());
  for (ConvPass pass : {ConvPass::kForward, ConvPass::kBackwardData, ConvPass::kBackwardWeights}) {
    auto convolution = Convolution::Create(s, {.pass = pass, .slices = 3}).value();
    Buffer<char> memory(static_cast<int64_t>(convolution->scratch_bytes()));
    ASSERT_TRUE(convolution->Run(three_, {x.data(), w.data(), y.data()}, memory.data()).ok());
  }
  EXPECT_EQ(ThreadsOfThisProcess(), before);
}

// What a host thread had set for OpenMP is as before.
TEST_P(OneDnnThreads, LeaveTheHostsOpenMpAlone) {
  auto library = Library::Open().value();
  const OpenMp& open_mp = library->open_mp();
  if (open_mp.threads == nullptr) GTEST_SKIP() << "this oneDNN has no OpenMP";
  open_mp.set_threads(3);
  {
    SerialScope scope(*library);
    EXPECT_EQ(open_mp.threads(), 1);
  }
  EXPECT_EQ(open_mp.threads(), 3);
}

// More callers at one time than were planned for.
TEST_P(OneDnnThreads, ManyMayRunOneKernel) {
  const auto shape = GemmShape::Dense(60, 70, 80);
  auto product = MatMul::Create(shape, {.slices = 2}).value();
  const auto a = Random<float>(60 * 80), b = Random<float>(80 * 70);
  Buffer<float> expected(60 * 70);
  Buffer<char> memory(static_cast<int64_t>(product->scratch_bytes()));
  ASSERT_TRUE(product->Run(one_, a.data(), b.data(), nullptr, expected.data(), memory.data()).ok());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 5; ++caller) {
    callers.emplace_back([&] {
      Buffer<float> c(60 * 70);
      Buffer<char> scratch(static_cast<int64_t>(product->scratch_bytes()));
      for (int i = 0; i < 200; ++i) {
        std::fill_n(c.data(), c.size(), 0.0f);
        Status status =
            product->Run(Lease(), a.data(), b.data(), nullptr, c.data(), scratch.data());
        wrong += !status.ok() || !std::equal(c.data(), c.data() + c.size(), expected.data());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(OneDnn, OneDnnThreads, testing::Values(HWY_STATIC_TARGET));

}  // namespace
}  // namespace hr::cpu::onednn
