// BERT's tokenizer: words in small letters without accents, and of these the longest pieces that a
// vocabulary has (WordPiece).
#ifndef HEADRACE_SAMPLES_TOKENIZER_H_
#define HEADRACE_SAMPLES_TOKENIZER_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

class Tokenizer {
 public:
  // Reads a vocab.txt: a piece on each line, whose token is the line's number from 0. A piece that
  // goes on with a word begins with "##".
  explicit Tokenizer(const std::string& path);

  // Returns the tokens of a UTF-8 text between [CLS] and [SEP]; those beyond `most` are left out.
  std::vector<int64_t> tokens(const std::string& text, size_t most) const;

 private:
  int64_t token(const std::string& piece) const;
  void add_word(const std::string& word, std::vector<int64_t>& out) const;

  std::unordered_map<std::string, int64_t> pieces_;
  int64_t begin_, end_, unknown_;
};

#endif
