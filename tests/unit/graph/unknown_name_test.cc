#include "runtime/graph/unknown_name.h"

#include <gtest/gtest.h>

#include "runtime/graph/graph.h"

namespace hr::graph {
namespace {

TEST(UnknownName, SaysWhatIsCloseOrWhatThereIs) {
  const std::vector<std::string> few = {"first", "second"};
  EXPECT_EQ(UnknownName("graph", "node", "secnod", few).message(),
            "the graph has no node 'secnod'; did you mean 'second'?");
  EXPECT_EQ(UnknownName("model", "value", "x", few).message(),
            "the model has no value 'x'; there are: first, second");
  EXPECT_EQ(UnknownName("model", "value", "x", {}).code(), Code::kNotFound);
  const std::vector<std::string> many(9, "something else");
  EXPECT_EQ(UnknownName("model", "value", "x", many).message(),
            "the model has no value 'x'; there are 9 others");
}

TEST(UnknownName, WhatHasNoNameIsNotListed) {
  const std::vector<Node> nodes = {{.name = "a"}, {}, {.name = "b"}};
  EXPECT_EQ(NamesOf(nodes), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace hr::graph
