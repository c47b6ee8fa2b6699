#include <map>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

// Columns by n-gram, for the lengths that count.
using Pool = std::map<std::vector<int64_t>, int64_t>;

Pool PoolOf(const Call& call) {
  const auto counts = call.Ints("ngram_counts"), pool = call.Ints("pool_int64s");
  const auto indexes = call.Ints("ngram_indexes");
  Pool out;
  size_t gram = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const size_t end = i + 1 < counts.size() ? static_cast<size_t>(counts[i + 1]) : pool.size();
    for (auto at = static_cast<size_t>(counts[i]); at < end; at += i + 1, ++gram) {
      const auto length = static_cast<int64_t>(i) + 1;
      if (length < call.Int("min_gram_length", 1) || length > call.Int("max_gram_length", 1)) {
        continue;
      }
      const auto begin = pool.begin() + static_cast<std::ptrdiff_t>(at);
      out[{begin, begin + length}] = indexes[gram];
    }
  }
  return out;
}

void TfIdfVectorizer(Call& call) {
  const Array& x = call.In(0);
  int64_t columns = 0;
  for (int64_t index : call.Ints("ngram_indexes")) columns = std::max(columns, index + 1);
  const int64_t length = x.rank() == 0 ? 1 : x.dims.back();
  const int64_t rows = x.rank() == 2 ? x.dims[0] : 1;
  Array y(DType::kFloat32, x.rank() == 2 ? Dims{rows, columns} : Dims{columns});
  for (int64_t row = 0; row < rows; ++row) {
    for (const auto& [gram, column] : PoolOf(call)) {
      const auto size = static_cast<int64_t>(gram.size());
      const int64_t steps = size == 1 ? 1 : call.Int("max_skip_count", 0) + 1;
      for (int64_t step = 1; step <= steps; ++step) {
        for (int64_t at = 0; at + step * (size - 1) < length; ++at) {
          bool same = true;
          for (int64_t i = 0; i < size; ++i) {
            same &= x.data[static_cast<size_t>(row * length + at + i * step)] ==
                    static_cast<Number>(gram[static_cast<size_t>(i)]);
          }
          y.data[static_cast<size_t>(row * columns + column)] += same ? 1 : 0;
        }
      }
    }
  }
  const auto* given = call.node.Find("weights");
  const auto weights =
      given == nullptr ? std::vector<double>() : std::get<std::vector<double>>(*given);
  const auto mode = call.String("mode", "TF");
  for (size_t i = 0; i < y.size() && mode != "TF"; ++i) {
    const Number weight = weights.empty() ? 1 : weights[i % static_cast<size_t>(columns)];
    y.data[i] = weight * (mode == "IDF" ? (y.data[i] > 0 ? 1 : 0) : y.data[i]);
  }
  call.Out(0, std::move(y));
}

const Entry kNgramsEntries[] = {{"", "TfIdfVectorizer", TfIdfVectorizer}};

}  // namespace

std::span<const Entry> NGramFunctions() { return kNgramsEntries; }

}  // namespace hr::reference
