#include "runtime/base/strings.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "runtime/base/utf8.h"

namespace hr {

namespace internal {
namespace {

void AppendNumber(std::string* out, auto value) {
  char digits[40];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out->append(digits, static_cast<size_t>(end - digits));
}

}  // namespace

std::string ConcatenateList(uint64_t kinds, va_list pieces) {
  std::string out;
  for (; kinds != kEnd; kinds >>= kKindBits) {
    switch (static_cast<PieceKind>(kinds % (1 << kKindBits))) {
      case kEnd: break;
      case kLiteral: out += va_arg(pieces, const char*); break;
      case kView: out += *va_arg(pieces, const std::string_view*); break;
      case kString: out += *va_arg(pieces, const std::string*); break;
      case kChar: out += static_cast<char>(va_arg(pieces, int)); break;
      case kSigned: AppendNumber(&out, va_arg(pieces, long long)); break;
      case kUnsigned: AppendNumber(&out, va_arg(pieces, unsigned long long)); break;
      case kReal: AppendNumber(&out, va_arg(pieces, double)); break;
      case kShape: out += ShapeText(*va_arg(pieces, const Shape*)); break;
      case kShapeView: out += ShapeText(*va_arg(pieces, const ShapeView*)); break;
    }
  }
  return out;
}

std::string Concatenate(uint64_t kinds, ...) {
  va_list pieces;
  va_start(pieces, kinds);
  std::string out = ConcatenateList(kinds, pieces);
  va_end(pieces);
  return out;
}

}  // namespace internal

bool Literal::Equals(std::string_view text) const { return text == text_; }

bool IsOneOf(std::string_view word, std::initializer_list<Literal> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string ZeroPadded(uint64_t number, size_t digits) {
  std::string text = Cat(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

std::string ListText(std::span<const std::string> names) {
  return names.empty() ? " none" : ": " + Join(names);
}

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
  size_t best_distance = (word.size() + 1) / 3 + 1;  // more would be another word
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
