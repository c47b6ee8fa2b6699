// How text becomes tokens, which are numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/base/result.h"

namespace hr::data {

class Tokenizer {
 public:
  enum class Kind : int32_t {
    kBytes,   // each byte is the token of its value
    kPieces,  // the longest text of the vocabulary that stands here
    kWords,   // whole words of the vocabulary, with white space between
  };
  static constexpr int64_t kNone = -1;

  // `vocabulary` has a text on each line, whose token is the number of the line, from 0. \n, \t,
  // \r, \s (a space), \\ and \xHH stand for characters; an empty line for a token that no text has.
  // `unknown` is the token of what is not in it, one character or one word; kNone: it is a failure.
  static Result<Tokenizer> Create(Kind kind, std::string_view vocabulary, int64_t unknown);

  // Takes the next token of a text at `p`, and returns what follows it. Returns null if there is
  // none: `*token` is kNone at the end of the text, and kNone - 1 if the text at `*at` has no
  // token.
  const char* Next(const char* p, const char* end, int64_t* token, const char** at) const;

 private:
  const char* NextPiece(const char* p, const char* end, int64_t* token) const;
  const char* NextWord(const char* p, const char* end, int64_t* token, const char** at) const;
  Status Add(const std::string& text, int64_t token);

  Kind kind_ = Kind::kBytes;
  int64_t unknown_ = kNone;
  std::unordered_map<std::string, int64_t> words_;
  // A tree of the pieces: a byte leads from a node to another; nodes have tokens.
  std::unordered_map<uint64_t, uint32_t> next_;
  std::vector<int64_t> tokens_ = {kNone};
};

}  // namespace hr::data
