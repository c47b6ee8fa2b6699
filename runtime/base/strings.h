// Joining pieces of text into messages, without streams and without locale.
#pragma once

#include <concepts>
#include <cstdarg>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hr {

// A string literal: a string_view of half the size, for tables. The constructors run only in the
// compiler, which refuses text that is not constant or does not end with a zero byte.
class Literal {
 public:
  consteval Literal(const char* text) : text_(text) { CheckEnd(text); }  // NOLINT: implicit
  consteval Literal(std::string_view text)                               // NOLINT: implicit
      : text_(text.data()) {
    CheckEnd(text.data() + text.size());
  }
  // Other text that ends with a zero byte. It must outlive the result and all copies of that.
  static constexpr Literal Kept(const char* text) { return Literal(text, KeptTag()); }
  constexpr operator std::string_view() const { return text_; }  // NOLINT: implicit
  constexpr const char* data() const { return text_; }
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(Literal a, const Text& b) {
    return a.Equals(b);
  }

 private:
  struct KeptTag {};
  constexpr Literal(const char* text, KeptTag) : text_(text) {}
  // Reads as far as the zero byte; reading anything that is not a constant does not compile.
  static consteval void CheckEnd(const char* text) {
    while (*text != '\0') ++text;
  }
  bool Equals(std::string_view text) const;

  const char* text_;
};

namespace internal {

// The kinds of pieces of a text. Messages are made in hundreds of places; to keep these small, each
// only passes its pieces to one function that concatenates them.
enum PieceKind : uint64_t {
  kEnd,
  kLiteral,
  kView,
  kString,
  kChar,
  kSigned,
  kUnsigned,
  kReal,
  kShape,
  kShapeView
};
inline constexpr int kKindBits = 4;

inline const char* Travelling(const char* text) { return text; }
inline const std::string_view* Travelling(const std::string_view& text) { return &text; }
inline const std::string* Travelling(const std::string& text) { return &text; }
inline const char* Travelling(Literal text) { return text.data(); }
using Shape = std::vector<int64_t>;
using ShapeView = std::span<const int64_t>;
inline const Shape* Travelling(const Shape& shape) { return &shape; }
inline const ShapeView* Travelling(const ShapeView& shape) { return &shape; }
inline int Travelling(char c) { return c; }
inline const char* Travelling(bool b) { return b ? "true" : "false"; }
inline long long Travelling(std::signed_integral auto value) { return value; }
inline unsigned long long Travelling(std::unsigned_integral auto value) { return value; }
inline double Travelling(std::floating_point auto value) { return value; }

template <typename T>
inline constexpr PieceKind kKindOf = kLiteral;
template <>
inline constexpr PieceKind kKindOf<const std::string_view*> = kView;
template <>
inline constexpr PieceKind kKindOf<const std::string*> = kString;
template <>
inline constexpr PieceKind kKindOf<const Shape*> = kShape;
template <>
inline constexpr PieceKind kKindOf<const ShapeView*> = kShapeView;
template <>
inline constexpr PieceKind kKindOf<int> = kChar;
template <>
inline constexpr PieceKind kKindOf<long long> = kSigned;
template <>
inline constexpr PieceKind kKindOf<unsigned long long> = kUnsigned;
template <>
inline constexpr PieceKind kKindOf<double> = kReal;

// Returns the kinds of pieces that are passed as Ts, the first in the lowest bits.
template <typename... Ts>
consteval uint64_t Kinds() {
  static_assert(sizeof...(Ts) <= (64 - 8) / kKindBits);  // 8 bits are left for an error's code
  uint64_t kinds = kEnd;
  int shift = 0;
  ((kinds |= uint64_t{kKindOf<Ts>} << shift, shift += kKindBits), ...);
  return kinds;
}

std::string Concatenate(uint64_t kinds, ...);
std::string ConcatenateList(uint64_t kinds, va_list pieces);

}  // namespace internal

// Returns the concatenation of texts, numbers, bools and shapes ("[2, 3, 4]").
template <typename... Pieces>
[[gnu::always_inline]] inline std::string Cat(const Pieces&... pieces) {
  using namespace internal;
  return Concatenate(Kinds<decltype(Travelling(pieces))...>(), Travelling(pieces)...);
}

// Returns the items with separators between them: "2, 3, 4".
template <typename Range>
std::string Join(const Range& items, Literal separator = ", ") {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.append(separator.data());
    first = false;
    out.append(Cat(item));
  }
  return out;
}

// Returns the number with at least `digits` digits: "000123".
std::string ZeroPadded(uint64_t number, size_t digits);

// Returns ": a, b", or " none", as the end of a sentence that lists names.
std::string ListText(std::span<const std::string> names);

// Returns a shape as it is written in messages: "[2, 3, 4]".
std::string ShapeText(std::span<const int64_t> dims);

// Returns whether the text is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms)
// without zero bytes, which every binding and every JSON reader accepts.
bool IsCleanText(std::string_view text);

// Returns whether `word` is one of `words`.
bool IsOneOf(std::string_view word, std::initializer_list<Literal> words);

// Returns the candidate that is closest to `word`, for "did you mean"; empty if none is close.
std::string_view ClosestWord(std::string_view word, std::span<const std::string> candidates);

}  // namespace hr
