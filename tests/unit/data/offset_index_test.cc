#include "runtime/data/offset_index.h"

#include <gtest/gtest.h>

namespace hr::data {
namespace {

TEST(OffsetIndexTest, RemembersEveryItemAndThenFewer) {
  OffsetIndex index(8);
  for (int64_t i = 0; i < 1000; ++i) {
    index.Add(static_cast<uint64_t>(10 * i));
    EXPECT_EQ(index.count(), i + 1);
    for (int64_t item : {int64_t{0}, i / 2, i}) {
      const OffsetIndex::Place place = index.Before(item);
      EXPECT_LE(place.item, item);
      EXPECT_EQ(place.offset, static_cast<uint64_t>(10 * place.item));
      EXPECT_LE(item - place.item, i / 4);
    }
  }
}

}  // namespace
}  // namespace hr::data
