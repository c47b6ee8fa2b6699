#include "runtime/transform/request.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace hr::transform {
namespace {

// x [n, k], y [n]; the symbols are n and k.
graph::Module MakeModule(graph::Symbol n) {
  graph::Module module;
  module.symbols = {std::move(n), {.name = "k"}};
  const graph::ValueType x{
      .dtype = DType::kFloat32, .ranked = true, .dims = {{.symbol = 0}, {.symbol = 1}}};
  const graph::ValueType y{.dtype = DType::kFloat32, .ranked = true, .dims = {{.symbol = 0}}};
  module.main().values = {{.type = x, .name = "x"}, {.type = y, .name = "y"}};
  return module;
}

Request Feeds(int64_t n, int64_t k) {
  return {.feeds = {{0, DType::kFloat32, {n, k}}, {1, DType::kFloat32, {n}}}};
}

// "first-last", or "-".
std::string Range(const graph::Module& module, int64_t size) {
  const auto range = RangeOf(module, 0, size);
  return range ? Cat(range->first, "-", range->last) : "-";
}

TEST(RangeOf, EndsAtTheBound) {
  const graph::Module module = MakeModule({.name = "n", .min = 2, .max = 9});
  EXPECT_EQ(Range(module, 2), "2-9");
  EXPECT_EQ(Range(module, 9), "2-9");
  EXPECT_EQ(Range(module, 1), "-");
  EXPECT_EQ(Range(module, 10), "-");
}

TEST(RangeOf, EndsAtTheSmallestBucketThatHoldsTheSize) {
  const graph::Module module =
      MakeModule({.name = "n", .min = 2, .max = 20, .buckets = {1, 4, 8, 32}});
  EXPECT_EQ(Range(module, 2), "2-4");
  EXPECT_EQ(Range(module, 4), "2-4");
  EXPECT_EQ(Range(module, 5), "5-8");
  EXPECT_EQ(Range(module, 9), "9-20");  // the bound lies before the last bucket
}

TEST(RangeOf, IsNothingBeyondAllBucketsWithoutABound) {
  const graph::Module module = MakeModule({.name = "n", .buckets = {4}});
  EXPECT_EQ(Range(module, 0), "0-4");
  EXPECT_EQ(Range(module, 5), "-");
  EXPECT_EQ(Range(MakeModule({.name = "n"}), 3), "-");
}

TEST(AtRangeEnds, MovesDimensionsWithARangeOnly) {
  const graph::Module module = MakeModule({.name = "n", .min = 1, .max = 9});
  const Request request = Feeds(3, 5);
  const Request ends = AtRangeEnds(module, request);
  EXPECT_EQ(ends.feeds[0].dims, (Dims{9, 5}));
  EXPECT_EQ(ends.feeds[1].dims, (Dims{9}));
  EXPECT_EQ(RangesOf(module, request).size(), 1u);  // once, though two feeds have it
}

TEST(CheckRequest, NamesTheDimensionItsBoundsAndTheSize) {
  const graph::Module module = MakeModule({.name = "n", .min = 2, .max = 9});
  EXPECT_TRUE(CheckRequest(module, Feeds(9, 100)).ok());
  EXPECT_NE(CheckRequest(module, Feeds(10, 1))
                .message()
                .find("dimension 'n' is 10, the model wants 2 to 9"),
            std::string::npos);
  Request apart = Feeds(3, 1);
  apart.feeds[1].dims = {4};
  EXPECT_NE(CheckRequest(module, apart).message().find("dimension 'n' is 4 here and 3 in 'x'"),
            std::string::npos);
}

}  // namespace
}  // namespace hr::transform
