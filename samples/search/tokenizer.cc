#include "tokenizer.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace {

// Longer words are unknown, as in BERT.
constexpr size_t kLongestWord = 100;
constexpr char32_t kReplacement = 0xFFFD;

// The character at text[at], which goes on to the next. What is no UTF-8 is U+FFFD.
char32_t next_character(const std::string& text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at++);
  if (first < 0x80) return first;
  const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC2 ? 1 : 0;
  if (more == 0 || at + more > text.size()) return kReplacement;
  char32_t out = first & (0x3F >> more);
  for (size_t i = 0; i < more; ++i) {
    if ((byte(at) & 0xC0) != 0x80) return kReplacement;
    out = out << 6 | (byte(at++) & 0x3F);
  }
  return out;
}

void append(std::string& to, char32_t c) {
  if (c < 0x80) {
    to += static_cast<char>(c);
  } else if (c < 0x800) {
    to += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    to += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
           static_cast<char>(0x80 | (c & 0x3F))};
  } else {
    to += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
           static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
  }
}

// The small letters without accents of U+00C0 to U+017F. '.': the character itself; ',': its small
// form, which has no other.
constexpr char kLatin[] =
    "aaaaaa,ceeeeiiii"   // 00C0
    ",nooooo.,uuuuy,."   // 00D0
    "aaaaaa.ceeeeiiii"   // 00E0
    ".nooooo..uuuuy.y"   // 00F0
    "aaaaaaccccccccdd"   // 0100
    ",.eeeeeeeeeegggg"   // 0110
    "gggghh,.iiiiiiii"   // 0120
    "i.,.jjkk.llllll,"   // 0130
    ".,.nnnnnn.,.oooo"   // 0140
    "oo,.rrrrrrssssss"   // 0150
    "sstttt,.uuuuuuuu"   // 0160
    "uuuuwwyyyzzzzzz.";  // 0170

// The vocabulary has English in mind: letters of other scripts keep their case and accents.
char32_t small(char32_t c) {
  if (c >= 'A' && c <= 'Z') return c + 32;
  if (c < 0xC0 || c > 0x17F) return c;
  const char letter = kLatin[c - 0xC0];
  if (letter == '.') return c;
  if (letter == ',') return c + (c < 0x100 ? 32 : 1);
  return static_cast<unsigned char>(letter);
}

struct Range {
  char32_t first, last;
};

template <size_t kCount>
bool in(char32_t c, const Range (&ranges)[kCount]) {
  return std::any_of(ranges, ranges + kCount,
                     [c](const Range& range) { return c >= range.first && c <= range.last; });
}

bool is_space(char32_t c) {
  static constexpr Range kSpaces[] = {{'\t', '\n'},     {'\r', '\r'},     {' ', ' '},
                                      {0xA0, 0xA0},     {0x2000, 0x200A}, {0x2028, 0x2029},
                                      {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
  return in(c, kSpaces);
}

// Control characters, and accents that stand behind their letter.
bool is_nothing(char32_t c) {
  static constexpr Range kNothing[] = {{0, 0x1F},        {0x7F, 0x9F},
                                       {0xAD, 0xAD},     {0x300, 0x36F},
                                       {0x200B, 0x200F}, {0x202A, 0x202E},
                                       {0x2060, 0x2064}, {0x2066, 0x206F},
                                       {0xFEFF, 0xFEFF}, {kReplacement, kReplacement}};
  return in(c, kNothing);
}

// A word by itself: marks, and the characters of Chinese, whose words have no spaces between.
bool stands_alone(char32_t c) {
  static constexpr Range kAlone[] = {
      {'!', '/'},       {':', '@'},        {'[', '`'},       {'{', '~'},       {0xA1, 0xA1},
      {0xA7, 0xA7},     {0xAB, 0xAB},      {0xB6, 0xB7},     {0xBB, 0xBB},     {0xBF, 0xBF},
      {0x2010, 0x2027}, {0x2030, 0x2043},  {0x2045, 0x2051}, {0x2053, 0x205E}, {0x2308, 0x230B},
      {0x3001, 0x3003}, {0x3008, 0x3011},  {0x3014, 0x301F}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF},
      {0xF900, 0xFAFF}, {0xFF01, 0xFF03},  {0xFF05, 0xFF0A}, {0xFF0C, 0xFF0F}, {0xFF1A, 0xFF1B},
      {0xFF1F, 0xFF20}, {0x20000, 0x2FA1F}};
  return in(c, kAlone);
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = small(next_character(text, at));
    if (is_space(c)) {
      inside = false;
    } else if (!is_nothing(c)) {
      if (!inside || stands_alone(c)) out.emplace_back();
      append(out.back(), c);
      inside = !stands_alone(c);
    }
  }
  return out;
}

}  // namespace

Tokenizer::Tokenizer(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  int64_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    pieces_.emplace(line, count);
  }
  begin_ = token("[CLS]");
  end_ = token("[SEP]");
  unknown_ = token("[UNK]");
}

int64_t Tokenizer::token(const std::string& piece) const {
  const auto found = pieces_.find(piece);
  if (found == pieces_.end()) {
    throw std::runtime_error("the vocabulary is none of BERT's: it has no " + piece);
  }
  return found->second;
}

// The longest piece that the word begins with, then the longest that goes on, and so forth. If
// there is none somewhere, the whole word is unknown.
void Tokenizer::add_word(const std::string& word, std::vector<int64_t>& out) const {
  const size_t before = out.size();
  for (size_t at = 0; at < word.size();) {
    size_t size = word.size() - at;
    auto found = pieces_.end();
    for (; size > 0 && word.size() <= kLongestWord; --size) {
      found = pieces_.find((at == 0 ? "" : "##") + word.substr(at, size));
      if (found != pieces_.end()) break;
    }
    if (found == pieces_.end()) {
      out.resize(before);
      out.push_back(unknown_);
      return;
    }
    out.push_back(found->second);
    at += size;
  }
}

std::vector<int64_t> Tokenizer::tokens(const std::string& text, size_t most) const {
  std::vector<int64_t> out = {begin_};
  for (const std::string& word : words(text)) {
    if (out.size() >= most) break;
    add_word(word, out);
  }
  out.resize(std::min(out.size(), most - 1));
  out.push_back(end_);
  return out;
}
