// Texts cut into pieces of a few words: which text is a piece from?
#ifndef HEADRACE_SAMPLES_FINETUNE_PIECES_H_
#define HEADRACE_SAMPLES_FINETUNE_PIECES_H_

#include <cstdint>
#include <string>
#include <vector>

struct Pieces {
  std::vector<std::string> texts;
  std::vector<int64_t> kinds;  // the number of the file that each is from
};

// Of four pieces one is for tests, the others are to be learned from.
struct Task {
  Pieces train, test;
};

Task read_pieces(const std::vector<std::string>& files);

#endif
