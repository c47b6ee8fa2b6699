#include "runtime/train/state_parts.h"

#include <gtest/gtest.h>

namespace hr::train {
namespace {

using Places = std::vector<PartPlace>;
using Ranks = std::vector<int>;

TEST(StateParts, AreHeldByThoseThatHaveBegun) {
  const PartPlace first{true, 2, 0, 7}, second{true, 2, 1, 7}, new_one{false, 3, 2, 0};
  EXPECT_EQ(HoldersOf(Places{first, second}), (Ranks{0, 1}));
  EXPECT_EQ(HoldersOf(Places{first, second, new_one}), (Ranks{0, 1}));
  EXPECT_EQ(HoldersOf(Places{second, new_one, first}), (Ranks{2, 0})) << "by part";
}

TEST(StateParts, OfRanksThatHaveNotBegunAreTheirOwn) {
  EXPECT_EQ(HoldersOf(Places{{false, 2, 0, 0}, {false, 2, 1, 0}}), (Ranks{0, 1}));
  EXPECT_EQ(HoldersOf(Places{{false, 3, 0, 0}, {false, 3, 2, 0}}), Ranks());
}

TEST(StateParts, MayBeGone) {
  const PartPlace first{true, 3, 0, 7}, second{true, 3, 1, 7}, third{true, 3, 2, 7};
  EXPECT_EQ(HoldersOf(Places{first, second, third}), (Ranks{0, 1, 2}));
  EXPECT_EQ(HoldersOf(Places{first, third}), Ranks());
  EXPECT_EQ(HoldersOf(Places{first, third, {false, 3, 2, 0}}), Ranks())
      << "one that comes has nothing";
  EXPECT_EQ(HoldersOf(Places{first, second, {true, 3, 2, 8}}), Ranks()) << "another step";
  EXPECT_EQ(HoldersOf(Places{first, second, {true, 3, 2, -1}}), Ranks()) << "half updated";
  EXPECT_EQ(HoldersOf(Places{first, second, {true, 2, 1, 7}}), Ranks()) << "of another division";
  EXPECT_EQ(HoldersOf(Places{{true, 1, 0, -1}}), Ranks());
}

}  // namespace
}  // namespace hr::train
