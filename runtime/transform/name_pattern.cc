#include "runtime/transform/name_pattern.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::transform {
namespace {

constexpr size_t kMostNearest = 3;

std::vector<std::string_view> SplitPatterns(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma != 0) out.push_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

// What is fixed in a pattern, to be compared with names.
std::string FixedPart(std::string_view pattern) {
  std::string out(pattern);
  std::erase_if(out, [](char c) { return c == '*' || c == '?'; });
  return out;
}

Status NothingFits(Literal what, std::string_view pattern, std::span<const std::string> names) {
  std::vector<std::string> rest(names.begin(), names.end()), nearest;
  const std::string fixed = FixedPart(pattern);
  while (nearest.size() < kMostNearest) {
    const std::string close(ClosestWord(fixed, rest));
    if (close.empty()) break;
    nearest.push_back(Cat("'", close, "'"));
    std::erase(rest, close);
  }
  const std::string hint =
      !nearest.empty()   ? Cat("; the nearest: ", Join(nearest))
      : names.size() < 9 ? Cat("; there are", ListText(names))
                         : Cat("; the ", names.size(), " names begin with '", names.front(), "'");
  return NotFound("no ", what, " fits the pattern '", pattern, "'", hint);
}

}  // namespace

bool FitsPattern(std::string_view pattern, std::string_view name) {
  // Where to go on if what follows the last '*' does not fit: one character of the name further.
  size_t p = 0, n = 0, after_star = std::string_view::npos, retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      retry = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      n = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Result<std::vector<char>> MatchNames(Literal what, std::string_view patterns,
                                     std::span<const std::string> names) {
  const auto split = SplitPatterns(patterns);
  if (split.empty()) {
    return InvalidArgument("expected patterns of names, such as 'encoder/*', got '", patterns, "'");
  }
  std::vector<char> out(names.size(), false);
  for (std::string_view pattern : split) {
    bool any = false;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!FitsPattern(pattern, names[i])) continue;
      out[i] = true;
      any = true;
    }
    if (!any) return NothingFits(what, pattern, names);
  }
  return out;
}

}  // namespace hr::transform
