#include "runtime/data/tokenizer.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/errors.h"
#include "runtime/data/query.h"

namespace hr::data {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Where the character of UTF-8 at `p` ends.
const char* AfterCharacter(const char* p, const char* end) {
  ++p;
  while (p != end && (static_cast<unsigned char>(*p) & 0xC0) == 0x80) ++p;
  return p;
}

// The character behind a backslash at text[*at], which moves behind it.
Result<char> Unescape(std::string_view text, size_t* at) {
  constexpr std::string_view kLetters = "ntrs\\", kMeanings = "\n\t\r \\";
  const std::string_view rest = text.substr(*at + 1);
  if (rest.starts_with('x') && rest.size() >= 3) {
    unsigned char value = 0;
    const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + 3, value, 16);
    if (error == std::errc() && end == rest.data() + 3) {
      *at += 4;
      return static_cast<char>(value);
    }
  }
  const size_t known = rest.empty() ? std::string_view::npos : kLetters.find(rest[0]);
  if (known == std::string_view::npos)
    return DataLoss("expected \\n, \\t, \\r, \\s, \\\\ or \\xHH in the vocabulary, got '", text,
                    "'");
  *at += 2;
  return kMeanings[known];
}

Result<std::string> Unescaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out.push_back(text[at++]);
      continue;
    }
    HR_ASSIGN_OR_RETURN(const char c, Unescape(text, &at));
    out.push_back(c);
  }
  return out;
}

}  // namespace

Status Tokenizer::Add(const std::string& text, int64_t token) {
  if (kind_ == Kind::kWords) {
    if (std::ranges::any_of(text, IsSpace))
      return DataLoss("the vocabulary's word '", text,
                      "' has white space in it; say tokens=pieces");
    if (words_.emplace(text, token).second) return {};
  } else {
    uint32_t node = 0;
    for (const char c : text) {
      const uint64_t step = uint64_t{node} << 8 | static_cast<unsigned char>(c);
      const auto [found, added] = next_.emplace(step, static_cast<uint32_t>(tokens_.size()));
      if (added) tokens_.push_back(kNone);
      node = found->second;
    }
    if (tokens_[node] == kNone) {
      tokens_[node] = token;
      return {};
    }
  }
  return DataLoss("'", text, "' stands twice in the vocabulary");
}

Result<Tokenizer> Tokenizer::Create(Kind kind, std::string_view vocabulary, int64_t unknown) {
  Tokenizer tokenizer;
  tokenizer.kind_ = kind;
  tokenizer.unknown_ = unknown;
  if (kind == Kind::kBytes) return tokenizer;
  int64_t token = 0;
  for (std::string& line : SplitText(vocabulary, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    HR_ASSIGN_OR_RETURN(const std::string text, Unescaped(line));
    if (!text.empty()) HR_RETURN_IF_ERROR(tokenizer.Add(text, token));
    ++token;
  }
  return tokenizer;
}

const char* Tokenizer::NextPiece(const char* p, const char* end, int64_t* token) const {
  const char* after = nullptr;
  uint32_t node = 0;
  *token = kNone;
  for (const char* at = p; at != end;) {
    const auto found = next_.find(uint64_t{node} << 8 | static_cast<unsigned char>(*at));
    if (found == next_.end()) break;
    node = found->second;
    ++at;
    if (tokens_[node] == kNone) continue;
    *token = tokens_[node];
    after = at;
  }
  if (after != nullptr) return after;
  *token = unknown_;
  return AfterCharacter(p, end);
}

const char* Tokenizer::NextWord(const char* p, const char* end, int64_t* token,
                                const char** at) const {
  p = std::find_if_not(p, end, IsSpace);
  *at = p;
  *token = kNone;
  if (p == end) return nullptr;
  const char* after = std::find_if(p, end, IsSpace);
  const auto found = words_.find(std::string(p, after));
  *token = found == words_.end() ? unknown_ : found->second;
  return after;
}

const char* Tokenizer::Next(const char* p, const char* end, int64_t* token, const char** at) const {
  *at = p;
  *token = kNone;
  if (p == end) return nullptr;
  if (kind_ == Kind::kBytes) {
    *token = static_cast<unsigned char>(*p);
    return p + 1;
  }
  const char* after =
      kind_ == Kind::kPieces ? NextPiece(p, end, token) : NextWord(p, end, token, at);
  if (after == nullptr || *token != kNone) return after;
  *token = kNone - 1;
  return nullptr;
}

}  // namespace hr::data
