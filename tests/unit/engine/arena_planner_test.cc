#include "runtime/engine/arena_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/base/allocator.h"
#include "runtime/base/strings.h"

namespace hr::engine {
namespace {

using Lifetimes = std::vector<Lifetime>;

size_t Rounded(size_t bytes) {
  while (bytes % kTensorAlignment != 0) ++bytes;
  return bytes;
}

bool LiveTogether(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

// "" where no two buffers are alive at the same time in the same bytes, and all lie in the arena.
std::string Wrong(const Lifetimes& lifetimes, const ArenaLayout& layout) {
  if (layout.offsets.size() != lifetimes.size()) return "offsets are missing";
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const size_t begin = layout.offsets[i], end = begin + lifetimes[i].bytes;
    if (begin % kTensorAlignment != 0) return Cat("buffer ", i, " lies at ", begin);
    if (end > layout.bytes) return Cat("buffer ", i, " ends at ", end, " of ", layout.bytes);
    for (size_t k = 0; k < i; ++k) {
      const size_t other = layout.offsets[k];
      const bool apart = end <= other || other + lifetimes[k].bytes <= begin;
      if (LiveTogether(lifetimes[i], lifetimes[k]) && !apart)
        return Cat("buffers ", k, " and ", i, " overlap");
    }
  }
  return "";
}

// What is alive at the worst step: no arena is smaller.
size_t MostAtOnce(const Lifetimes& lifetimes) {
  size_t most = 0;
  for (const Lifetime& at : lifetimes) {  // the most are alive where one begins
    size_t bytes = 0;
    for (const Lifetime& other : lifetimes) {
      if (other.first <= at.first && at.first <= other.last) bytes += Rounded(other.bytes);
    }
    most = std::max(most, bytes);
  }
  return most;
}

size_t SumOf(const Lifetimes& lifetimes) {
  size_t sum = 0;
  for (const Lifetime& buffer : lifetimes) sum += Rounded(buffer.bytes);
  return sum;
}

// `count` buffers of up to `bytes` bytes, many of them equal or empty, over `steps` steps.
Lifetimes RandomLifetimes(std::mt19937_64& random, size_t count, size_t bytes, uint32_t steps) {
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  Lifetimes out(count);
  for (Lifetime& buffer : out) {
    buffer.bytes = below(4) == 0 ? below(4) * kTensorAlignment : below(bytes);
    buffer.first = static_cast<uint32_t>(below(steps));
    const size_t most = below(2) == 0 ? 3 : steps;
    buffer.last = static_cast<uint32_t>(std::min<size_t>(steps - 1, buffer.first + below(most)));
  }
  return out;
}

TEST(PlanArena, BuffersThatLiveTogetherNeverShareMemory) {
  std::mt19937_64 random(20260101);
  size_t planned = 0, sum = 0;
  for (int round = 0; round < 600; ++round) {
    const size_t count = 1 + random() % 60;
    const size_t bytes = size_t{2} << random() % 20;
    const Lifetimes lifetimes =
        RandomLifetimes(random, count, bytes, static_cast<uint32_t>(1 + random() % 40));
    const ArenaLayout layout = PlanArena(lifetimes);
    ASSERT_EQ(Wrong(lifetimes, layout), "") << "round " << round;
    ASSERT_LE(layout.bytes, SumOf(lifetimes)) << "round " << round;
    ASSERT_GE(layout.bytes, MostAtOnce(lifetimes)) << "round " << round;
    planned += layout.bytes;
    sum += SumOf(lifetimes);
  }
  EXPECT_LT(planned, sum / 2);  // in all, memory is used again
}

TEST(PlanArena, TheLayoutFollowsFromTheLifetimes) {
  std::mt19937_64 random(7);
  const Lifetimes lifetimes = RandomLifetimes(random, 50, 5000, 20);
  const ArenaLayout first = PlanArena(lifetimes), second = PlanArena(lifetimes);
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.bytes, second.bytes);
}

// Each buffer is made from the one before: two are alive at any step.
TEST(PlanArena, AChainTakesTwoBuffers) {
  Lifetimes chain;
  for (uint32_t step = 0; step < 100; ++step) chain.push_back({640, step, step + 1});
  const ArenaLayout layout = PlanArena(chain);
  EXPECT_EQ(Wrong(chain, layout), "");
  EXPECT_EQ(layout.bytes, 2 * 640u);
}

// As in a network whose layers shrink, and in one whose layers grow.
TEST(PlanArena, AChainOfDifferentSizesTakesItsTwoLargestNeighbours) {
  Lifetimes shrinking, growing;
  for (uint32_t step = 0; step < 10; ++step) {
    shrinking.push_back({(10 - step) * 128, step, step + 1});
    growing.push_back({(step + 1) * 128, step, step + 1});
  }
  for (const Lifetimes& chain : {shrinking, growing}) {
    const ArenaLayout layout = PlanArena(chain);
    EXPECT_EQ(Wrong(chain, layout), "");
    EXPECT_EQ(layout.bytes, (10 + 9) * 128u);
  }
}

TEST(PlanArena, OneAfterTheOtherTakeTheLargestAndAllAtOnceTheSum) {
  const Lifetimes apart = {{64, 0, 0}, {1000, 1, 1}, {300, 2, 5}};
  EXPECT_EQ(PlanArena(apart).bytes, 1024u);
  EXPECT_EQ(PlanArena(apart).offsets, (std::vector<size_t>{0, 0, 0}));
  const Lifetimes together = {{64, 0, 9}, {1000, 0, 9}, {300, 9, 9}};
  EXPECT_EQ(PlanArena(together).bytes, 64u + 1024 + 320);
  EXPECT_EQ(Wrong(together, PlanArena(together)), "");
}

// A step's inputs are in use while it writes its output.
TEST(PlanArena, ABufferIsInUseInItsLastStep) {
  const Lifetimes touching = {{64, 0, 3}, {64, 3, 5}}, apart = {{64, 0, 3}, {64, 4, 5}};
  EXPECT_EQ(PlanArena(touching).bytes, 128u);
  EXPECT_EQ(PlanArena(apart).bytes, 64u);
}

TEST(PlanArena, GapsAreFilledWhereTheyAreWideEnough) {
  // The first three lie one behind the other; then the middle one's place is free.
  Lifetimes lifetimes = {{512, 0, 9}, {256, 0, 1}, {192, 0, 9}, {128, 5, 6}};
  ArenaLayout layout = PlanArena(lifetimes);
  EXPECT_EQ(layout.bytes, 512u + 256 + 192);
  EXPECT_EQ(layout.offsets[3], 512u);
  lifetimes.push_back({128, 5, 6});  // what the other left
  layout = PlanArena(lifetimes);
  EXPECT_EQ(layout.bytes, 512u + 256 + 192);
  EXPECT_EQ(Wrong(lifetimes, layout), "");
  lifetimes.push_back({1, 6, 6});  // nothing is left
  EXPECT_EQ(PlanArena(lifetimes).bytes, 512u + 256 + 192 + 64);
}

TEST(PlanArena, SizesAreRoundedUpToWholeLines) {
  const Lifetimes lifetimes = {{1, 0, 0}, {65, 0, 0}, {64, 0, 0}};
  const ArenaLayout layout = PlanArena(lifetimes);
  EXPECT_EQ(layout.bytes, 64u + 128 + 64);
  EXPECT_EQ(Wrong(lifetimes, layout), "");
}

TEST(PlanArena, EmptyBuffersTakeNoMemory) {
  EXPECT_EQ(PlanArena({}).bytes, 0u);
  const Lifetimes empty = {{0, 0, 5}, {0, 2, 2}, {0, 0, 5}};
  EXPECT_EQ(PlanArena(empty).bytes, 0u);
  const Lifetimes mixed = {{0, 0, 5}, {256, 1, 3}, {0, 2, 2}, {64, 2, 4}};
  const ArenaLayout layout = PlanArena(mixed);
  EXPECT_EQ(layout.bytes, 320u);
  EXPECT_EQ(Wrong(mixed, layout), "");
}

// The largest tensors there may be, three of them at once: 2^64 bytes and more. No allocator gives
// an arena of SIZE_MAX bytes; one of what is left after wrapping around would be far too small.
TEST(PlanArena, SizesThatAddUpBeyondAllMemoryAskForAllOfIt) {
  constexpr size_t kLargest = INT64_MAX;
  const Lifetimes three = {{kLargest, 0, 1}, {kLargest, 0, 1}, {kLargest, 0, 1}};
  EXPECT_EQ(PlanArena(three).bytes, SIZE_MAX);
  const Lifetimes four = {{64, 0, 1}, {kLargest, 0, 1}, {kLargest, 1, 2}, {SIZE_MAX, 0, 1}};
  EXPECT_EQ(PlanArena(four).bytes, SIZE_MAX);
  EXPECT_EQ(Block::Create(SystemAllocator(), SIZE_MAX).status().code(), Code::kResourceExhausted);
  const Lifetimes apart = {{kLargest, 0, 0}, {kLargest, 1, 1}, {kLargest, 2, 2}};
  EXPECT_EQ(PlanArena(apart).bytes, size_t{1} << 63);
}

}  // namespace
}  // namespace hr::engine
