#include "pieces.h"

#include <fstream>
#include <stdexcept>

namespace {

constexpr size_t kWords = 16, kTestEvery = 4;

// The words behind the last whole piece are left out.
std::vector<std::string> pieces_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  std::vector<std::string> out;
  size_t words = 0;
  for (std::string word; file >> word; ++words) {
    if (words % kWords == 0) out.emplace_back();
    out.back() += (out.back().empty() ? "" : " ") + word;
  }
  if (words % kWords != 0) out.pop_back();
  if (out.size() < kTestEvery) {
    throw std::runtime_error("'" + path + "' is too short: it has " + std::to_string(words) +
                             " words, at least " + std::to_string(kWords * kTestEvery) +
                             " are needed");
  }
  return out;
}

}  // namespace

Task read_pieces(const std::vector<std::string>& files) {
  Task out;
  for (size_t kind = 0; kind < files.size(); ++kind) {
    const std::vector<std::string> pieces = pieces_of(files[kind]);
    for (size_t i = 0; i < pieces.size(); ++i) {
      Pieces& to = (i + 1) % kTestEvery == 0 ? out.test : out.train;
      to.texts.push_back(pieces[i]);
      to.kinds.push_back(static_cast<int64_t>(kind));
    }
  }
  return out;
}
