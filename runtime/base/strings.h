// Joining pieces of text into messages, without streams and without locale.
#pragma once

#include <charconv>
#include <concepts>
#include <span>
#include <string>
#include <string_view>

namespace hr {

namespace internal {
void AppendDouble(std::string* out, double value);

inline void AppendPiece(std::string* out, std::string_view text) { out->append(text); }
inline void AppendPiece(std::string* out, const char* text) { out->append(text); }
inline void AppendPiece(std::string* out, char c) { out->push_back(c); }
inline void AppendPiece(std::string* out, bool b) { out->append(b ? "true" : "false"); }
template <std::integral T>
void AppendPiece(std::string* out, T value) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out->append(digits, static_cast<size_t>(end - digits));
}
template <std::floating_point T>
void AppendPiece(std::string* out, T value) {
  AppendDouble(out, static_cast<double>(value));
}
}  // namespace internal

template <typename... Pieces>
std::string Cat(const Pieces&... pieces) {
  std::string out;
  (internal::AppendPiece(&out, pieces), ...);
  return out;
}

// "2, 3, 4"
template <typename Range>
std::string Join(const Range& items, std::string_view separator = ", ") {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.append(separator);
    first = false;
    internal::AppendPiece(&out, item);
  }
  return out;
}

// "[2, 3, 4]", the way shapes are written in messages.
std::string ShapeText(std::span<const int64_t> dims);

// Well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms) without zero bytes: text that any
// binding and any JSON reader takes.
bool IsCleanText(std::string_view text);

// The closest of `candidates` to `word` for "did you mean"; empty where none is close.
std::string_view ClosestWord(std::string_view word, std::span<const std::string> candidates);

}  // namespace hr
