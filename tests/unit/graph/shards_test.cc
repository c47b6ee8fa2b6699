#include "runtime/graph/shards.h"

#include <gtest/gtest.h>

namespace hr::graph {
namespace {

Module WithVariable(const Dims& dims) {
  Module out;
  out.graphs.emplace_back();
  out.variables.push_back({.name = "w/m", .dtype = DType::kFloat32, .dims = dims});
  return out;
}

TEST(Shards, AreReadAsTheyWereWritten) {
  Module module = WithVariable({3});
  for (const std::optional<Dims>& dims :
       {std::optional<Dims>({5, 1}), std::optional<Dims>({0, 9}), std::optional<Dims>()}) {
    module.variables[0].dims = {dims ? (ElementCount(*dims) + 1) / 2 : 3};
    module.metadata = {
        ShardMetadata(module, {.variable = 0, .group = "a b", .ranks = 2, .dims = dims})};
    const auto shards = ShardsOf(module);
    ASSERT_TRUE(shards.ok()) << shards.status().ToString();
    ASSERT_EQ(shards->size(), 1u);
    EXPECT_EQ((*shards)[0].group, "a b");
    EXPECT_EQ((*shards)[0].ranks, 2);
    EXPECT_EQ((*shards)[0].dims, dims);
  }
}

TEST(Shards, ThatDoNotFitAreRefused) {
  Module module = WithVariable({3});
  for (const char* value : {"", "g", "g\n2", "g\n2\n", "g\n2\n7", "g\n0\n3", "g\n2\n-6", "g\n2\n6x",
                            "\n2\n6", "g\n2\n99999999999,99999999999"}) {
    module.metadata = {{"headrace.shard.w/m", value}};
    EXPECT_EQ(ShardsOf(module).status().code(), Code::kInvalidArgument) << value;
  }
  module.metadata = {{"headrace.shard.v", "g\n2\n6"}};
  EXPECT_EQ(ShardsOf(module).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace hr::graph
