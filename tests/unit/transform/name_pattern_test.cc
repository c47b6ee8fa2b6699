#include "runtime/transform/name_pattern.h"

#include <gtest/gtest.h>

namespace hr::transform {
namespace {

// All strings of up to five of these characters against a matcher that tries everything.
bool Fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*')
    return Fits(pattern.substr(1), name) || (!name.empty() && Fits(pattern, name.substr(1)));
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
         Fits(pattern.substr(1), name.substr(1));
}

std::vector<std::string> Strings(std::string_view characters, size_t most) {
  std::vector<std::string> out = {""};
  for (size_t begin = 0, length = 0; length < most; ++length) {
    const size_t end = out.size();
    for (; begin < end; ++begin) {
      for (char c : characters) out.push_back(out[begin] + c);
    }
  }
  return out;
}

TEST(NamePatternTest, FitsAsTryingEverythingSays) {
  const auto names = Strings("ab", 5);
  for (const std::string& pattern : Strings("ab*?", 5)) {
    for (const std::string& name : names)
      ASSERT_EQ(FitsPattern(pattern, name), Fits(pattern, name)) << pattern << " " << name;
  }
}

TEST(NamePatternTest, StarsTakeNoExponentialTime) {
  const std::string name(20000, 'a');
  EXPECT_FALSE(FitsPattern("*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
}

TEST(NamePatternTest, AnyPatternChooses) {
  const std::vector<std::string> names = {"fc1/weight", "fc1/bias", "fc2/weight", "conv"};
  EXPECT_EQ(*MatchNames("variable", "*/bias,,conv", names), (std::vector<char>{0, 1, 0, 1}));
  EXPECT_EQ(MatchNames("variable", "fc3/weigth", names).status().message(),
            "no variable fits the pattern 'fc3/weigth'; the nearest: 'fc1/weight', 'fc2/weight'");
  EXPECT_EQ(MatchNames("variable", "x*", {}).status().message(),
            "no variable fits the pattern 'x*'; there are none");
  EXPECT_EQ(MatchNames("variable", "", names).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace hr::transform
