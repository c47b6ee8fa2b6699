#include <algorithm>

#include "backends/cpu/kernels/ranges.h"
#include "backends/cpu/kernels/reduce.h"

namespace hr::cpu {
namespace {

// Lines that are searched side by side, so that the compiler keeps them in vectors.
constexpr int64_t kBlock = 64;

// Whether a later candidate replaces the best so far. No short cuts, so that loops stay vectors.
template <typename T, bool smallest, bool last>
bool Better(T value, T best) {
  const bool beats = smallest ? value < best : value > best;
  const bool ties = last & (value == best);
  const bool is_nan = (value != value) & (last | (best == best));
  return beats | ties | is_nan;
}

// Index is as large as T where n allows it.
template <typename T, typename Index, bool smallest, bool last>
void ArgOfColumns(const ArgShape& shape, const T* x, int64_t columns, int64_t* y) {
  T best[kBlock];
  Index at[kBlock] = {};
  std::copy_n(x, columns, best);
  for (int64_t i = 1; i < shape.n; ++i) {
    const T* row = x + i * shape.inner;
    for (int64_t j = 0; j < columns; ++j) {
      const bool better = Better<T, smallest, last>(row[j], best[j]);
      best[j] = better ? row[j] : best[j];
      at[j] = better ? static_cast<Index>(i) : at[j];
    }
  }
  std::copy_n(at, columns, y);
}

template <typename T, bool smallest, bool last>
int64_t ArgOfShortRow(const T* x, int64_t n) {
  T best = x[0];
  int64_t at = 0;
  for (int64_t i = 1; i < n; ++i) {
    if (!Better<T, smallest, last>(x[i], best)) continue;
    best = x[i];
    at = i;
  }
  return at;
}

// The extreme first, in vectors, then its place.
template <typename T, bool smallest, bool last>
int64_t ArgOfRow(const T* x, int64_t n) {
  if (n < kBlock) return ArgOfShortRow<T, smallest, last>(x, n);
  T best;
  const ReduceShape row{.length = n};
  const Fold fold = smallest ? Fold::kMin : Fold::kMax;
  KernelsForReduce<T>().rows[static_cast<int>(fold)](row, x, nullptr, &best, 0, 1);
  const auto is_best = [&](int64_t i) { return x[i] == best || (best != best && x[i] != x[i]); };
  int64_t at = last ? n - 1 : 0;
  while (!is_best(at)) at += last ? -1 : 1;
  return at;
}

int64_t BlocksOf(const ArgShape& shape) { return CeilDiv(shape.inner, kBlock); }

template <typename T, bool smallest, bool last>
void Search(const ArgShape& shape, const T* x, int64_t* y, int64_t begin, int64_t end) {
  if (shape.inner == 1) {
    for (int64_t o = begin; o < end; ++o)
      y[o] = ArgOfRow<T, smallest, last>(x + o * shape.n, shape.n);
    return;
  }
  const int64_t blocks = BlocksOf(shape);
  const bool narrow = sizeof(T) == 4 && shape.n <= INT32_MAX;
  const auto columns_of =
      narrow ? ArgOfColumns<T, int32_t, smallest, last> : ArgOfColumns<T, int64_t, smallest, last>;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t outer = unit / blocks;
    const int64_t column = unit % blocks * kBlock;
    const int64_t columns = std::min(kBlock, shape.inner - column);
    columns_of(shape, x + outer * shape.n * shape.inner + column, columns,
               y + outer * shape.inner + column);
  }
}

}  // namespace

int ArgRanges(const ArgShape& shape, int slices) {
  constexpr int64_t kCost = 4;  // against streaming
  const int64_t blocks = BlocksOf(shape);
  return RangeCount(shape.outer * blocks,
                    kCost * shape.n * (shape.inner / std::max<int64_t>(1, blocks)), slices);
}

template <typename T>
void ArgReduce(const Lease& threads, const ArgShape& shape, const T* x, int64_t* y, int ranges) {
  constexpr decltype(&Search<T, false, false>) kSearch[2][2] = {
      {Search<T, false, false>, Search<T, false, true>},
      {Search<T, true, false>, Search<T, true, true>}};
  const auto search = kSearch[shape.smallest][shape.last];
  ForRanges(threads, shape.outer * BlocksOf(shape), ranges,
            [&](int64_t begin, int64_t end, int) { search(shape, x, y, begin, end); });
}

template void ArgReduce(const Lease&, const ArgShape&, const float*, int64_t*, int);
template void ArgReduce(const Lease&, const ArgShape&, const double*, int64_t*, int);
template void ArgReduce(const Lease&, const ArgShape&, const int32_t*, int64_t*, int);
template void ArgReduce(const Lease&, const ArgShape&, const int64_t*, int64_t*, int);

}  // namespace hr::cpu
