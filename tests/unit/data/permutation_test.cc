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

}  // namespace
}  // namespace hr::data
