#include "runtime/data/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace hr::data {
namespace {

std::vector<int64_t> Order(uint64_t seed, uint64_t epoch, size_t size) {
  std::vector<int64_t> order(size);
  ShuffledOrder(seed, epoch, order);
  return order;
}

TEST(ShuffledOrder, ContainsEveryExampleOnce) {
  for (size_t size : {0, 1, 2, 3, 1000}) {
    std::vector<int64_t> order = Order(7, 3, size);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(order[i], static_cast<int64_t>(i));
  }
}

TEST(ShuffledOrder, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(Order(7, 3, 100), Order(7, 3, 100));
  EXPECT_NE(Order(7, 3, 100), Order(7, 4, 100));
  EXPECT_NE(Order(8, 3, 100), Order(7, 3, 100));
}

// A change of these numbers would break resumed trainings and other platforms.
TEST(ShuffledOrder, IsFixedForever) {
  EXPECT_EQ(Order(7, 0, 8), (std::vector<int64_t>{4, 6, 2, 7, 3, 0, 1, 5}));
  EXPECT_EQ(Order(7, 1, 8), (std::vector<int64_t>{1, 7, 3, 0, 4, 6, 2, 5}));
}

TEST(ShuffledOrder, PutsEachExampleAnywhereEquallyOften) {
  constexpr int kSize = 6;
  constexpr int kEpochs = 60000;
  int seen[kSize][kSize] = {};
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    std::vector<int64_t> order = Order(11, static_cast<uint64_t>(epoch), kSize);
    for (int place = 0; place < kSize; ++place) ++seen[place][order[place]];
  }
  double expected = kEpochs / static_cast<double>(kSize);
  for (auto& row : seen) {
    for (int count : row) EXPECT_LT(std::abs(count - expected), 5 * std::sqrt(expected));
  }
}

std::vector<int64_t> Computed(uint64_t seed, uint64_t epoch, int64_t size) {
  const Shuffle shuffle(seed, epoch, size);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < size; ++i) order.push_back(shuffle.At(i));
  return order;
}

TEST(ShuffleTest, IsAPermutationOfAnySize) {
  for (int64_t size : {1, 2, 3, 4, 5, 16, 17, 100, 1000, 4097}) {
    std::vector<int64_t> order = Computed(7, 1, size);
    std::ranges::sort(order);
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i) << size;
  }
}

TEST(ShuffleTest, IsFixedForever) {
  EXPECT_EQ(Computed(7, 0, 8), (std::vector<int64_t>{0, 2, 1, 3, 7, 6, 5, 4}));
  EXPECT_EQ(Shuffle(7, 1, int64_t{1} << 40).At(0), 920709614405);
}

TEST(ShuffleTest, DependsOnSeedAndEpoch) {
  EXPECT_NE(Computed(7, 3, 100), Computed(7, 4, 100));
  EXPECT_NE(Computed(8, 3, 100), Computed(7, 3, 100));
}

TEST(ShuffleTest, PutsEachExampleAnywhereEquallyOften) {
  constexpr int kSize = 12;
  constexpr int kEpochs = 60000;
  int seen[kSize][kSize] = {};
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const Shuffle shuffle(11, static_cast<uint64_t>(epoch), kSize);
    for (int64_t place = 0; place < kSize; ++place) ++seen[place][shuffle.At(place)];
  }
  const double expected = kEpochs / static_cast<double>(kSize);
  for (auto& row : seen) {
    for (int count : row) EXPECT_LT(std::abs(count - expected), 5 * std::sqrt(expected));
  }
}

}  // namespace
}  // namespace hr::data
