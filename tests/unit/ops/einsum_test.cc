#include "runtime/ops/einsum.h"

#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

std::string TypeOf(const char* equation, std::initializer_list<std::string_view> inputs) {
  OneNode node("Einsum");
  for (std::string_view input : inputs) node.In(input);
  return node.With("equation", std::string(equation)).Text();
}

TEST(Einsum, Shapes) {
  EXPECT_EQ(TypeOf("bij, bjk -> bik", {"float32[n, 2, 3]", "float32[n, 3, m]"}),
            "float32[n, 2, m]");
  EXPECT_EQ(TypeOf("ji,jk", {"float32[a, b]", "float32[a, c]"}), "float32[b, c]");
  EXPECT_EQ(TypeOf("ba", {"int32[a, b]"}), "int32[b, a]");
  EXPECT_EQ(TypeOf("iij->j", {"float32[?, 4, 3]"}), "float32[3]");
  EXPECT_EQ(TypeOf("...ij->...ji", {"float32[a, b, 2, 3]"}), "float32[a, b, 3, 2]");
  EXPECT_EQ(TypeOf("...i,...i", {"float32[7, 1, 2]", "float32[n, 2]"}), "float32[7, n]");
  EXPECT_EQ(TypeOf("...i,...i", {"float32[a, 2]", "float32[b, 2]"}), "float32[?]");
}

TEST(Einsum, UnknownRanks) {
  EXPECT_EQ(TypeOf("ij,jk->ik", {"float32", "float32[3, k]"}), "float32[?, k]");
  EXPECT_EQ(TypeOf("...j,jk->...k", {"float32", "float32[3, k]"}), "float32 of unknown rank");
}

TEST(Einsum, BadInputs) {
  EXPECT_EQ(TypeOf("ij,jk", {"float32[2, 3]", "float32[4, 5]"}),
            "Einsum: sizes of 'j' up to input 1 (float32[4, 5]) differ: 3 and 4");
  EXPECT_EQ(TypeOf("...i,...i", {"float32[2, 3]", "float32[4, 3]"}),
            "Einsum: sizes of '...' up to input 1 (float32[4, 3]) differ: 2 and 4");
  EXPECT_EQ(TypeOf("ij", {"float32[2, 3, 4]"}),
            "Einsum's equation has 2 axes for input 0, got rank 3");
  EXPECT_EQ(TypeOf("...ij", {"float32[2]"}),
            "Einsum's equation has 2 or more axes for input 0, got rank 1");
}

TEST(Einsum, BadEquations) {
  const auto failure = [](const char* equation) { return TypeOf(equation, {"float32[2, 2]"}); };
  EXPECT_EQ(failure("ij,jk"), "Einsum's equation 'ij,jk' has 2 terms for 1 inputs");
  EXPECT_EQ(failure("i1"), "Einsum's equation 'i1' wants letters and one '...' in 'i1', got '1'");
  EXPECT_EQ(failure("...i..."),
            "Einsum's equation '...i...' wants letters and one '...' in '...i...', got '.'");
  EXPECT_EQ(failure("ij->k"),
            "Einsum's equation 'ij->k' has 'k' in its output, which is in no input");
  EXPECT_EQ(failure("ij->ii"),
            "Einsum's equation 'ij->ii' has 'i' in its output, which is there twice");
  EXPECT_EQ(failure("...j->j"),
            "Einsum's equation '...j->j' wants '...' on both sides of '->', or on none");
}

}  // namespace
}  // namespace hr::ops
