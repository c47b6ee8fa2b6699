#include "backends/cpu/kernels/ngrams.h"

#include <algorithm>

#include "backends/cpu/kernels/ranges.h"

namespace hr::cpu {
namespace {

// -1, 0, 1: how the n-gram of x that begins here, a step apart, compares with one of the pool.
template <typename T>
int Compare(const T* x, int64_t step, const int64_t* gram, int64_t length) {
  for (int64_t i = 0; i < length; ++i) {
    const auto number = static_cast<int64_t>(x[i * step]);
    if (number != gram[i]) return number < gram[i] ? -1 : 1;
  }
  return 0;
}

// Its column, or -1 if the pool does not have it.
template <typename T>
int64_t ColumnOf(const NGrams& of, const T* x, int64_t step) {
  auto low = int64_t{0}, high = static_cast<int64_t>(of.columns.size());
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const int order = Compare(x, step, of.grams.data() + middle * of.length, of.length);
    if (order == 0) return of.columns[static_cast<size_t>(middle)];
    (order < 0 ? high : low) = order < 0 ? middle : middle + 1;
  }
  return -1;
}

template <typename T>
void CountRow(const NGramPool& pool, int64_t length, const T* x, float* y) {
  std::fill_n(y, pool.columns, 0.0F);
  for (const NGrams& of : pool.lengths) {
    // Single numbers are not apart.
    const int64_t skips = of.length == 1 ? 0 : std::min(pool.most_skips, length);
    for (int64_t step = 1; step <= skips + 1; ++step) {
      for (int64_t at = 0; at + step * (of.length - 1) < length; ++at) {
        const int64_t column = ColumnOf(of, x + at, step);
        if (column >= 0) y[column] += 1;
      }
    }
  }
  if (pool.score == NGramScore::kCount) return;
  for (int64_t i = 0; i < pool.columns; ++i) {
    const float weight = pool.weights.empty() ? 1 : pool.weights[static_cast<size_t>(i)];
    const bool once = pool.score == NGramScore::kWeightIfAny;
    y[i] = (once ? static_cast<float>(y[i] > 0) : y[i]) * weight;
  }
}

}  // namespace

template <typename T>
void CountNGrams(const Lease& threads, const NGramPool& pool, int64_t rows, int64_t length,
                 const T* x, float* y, int slices) {
  constexpr int64_t kCost = 32;  // of a search, against streaming
  const int64_t searches =
      length * static_cast<int64_t>(pool.lengths.size()) * (1 + std::min(pool.most_skips, length));
  const int ranges = RangeCount(rows, kCost * searches + pool.columns, slices);
  ForRanges(threads, rows, ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      CountRow(pool, length, x + row * length, y + row * pool.columns);
    }
  });
}

template void CountNGrams(const Lease&, const NGramPool&, int64_t, int64_t, const int32_t*, float*,
                          int);
template void CountNGrams(const Lease&, const NGramPool&, int64_t, int64_t, const int64_t*, float*,
                          int);

}  // namespace hr::cpu
