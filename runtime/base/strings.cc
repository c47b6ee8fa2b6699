#include "runtime/base/strings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/utf8.h"

namespace hr {

namespace internal {
void AppendDouble(std::string* out, double value) {
  char digits[40];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out->append(digits, static_cast<size_t>(end - digits));
}
}  // namespace internal

std::string ShapeText(std::span<const int64_t> dims) { return Cat("[", Join(dims), "]"); }

namespace {

// Levenshtein distance, one row at a time.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

bool IsCleanText(std::string_view text) {
  return text.find('\0') == std::string_view::npos && IsUtf8(text);
}

std::string_view ClosestWord(std::string_view word, std::span<const std::string> candidates) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace hr
