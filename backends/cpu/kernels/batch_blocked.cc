#include "backends/cpu/kernels/batch_blocked.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/partition.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/batch_blocked.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

// to[j * to_stride + i] = from[i * from_stride + j] for 16 bytes of i and j.
template <typename T>
HWY_INLINE void TransposeTile(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t i = 0; i < 16 / sizeof(T); ++i) {
    for (size_t j = 0; j < 16 / sizeof(T); ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
#else
  const hn::FixedTag<T, 16 / sizeof(T)> d;
  if constexpr (sizeof(T) == 8) {
    const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_stride);
    hn::StoreU(hn::InterleaveLower(d, a, b), d, to);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + to_stride);
  } else {
    const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_stride);
    const auto c = hn::LoadU(d, from + 2 * from_stride), e = hn::LoadU(d, from + 3 * from_stride);
    const auto ac_low = hn::InterleaveLower(d, a, c), ac_high = hn::InterleaveUpper(d, a, c);
    const auto be_low = hn::InterleaveLower(d, b, e), be_high = hn::InterleaveUpper(d, b, e);
    hn::StoreU(hn::InterleaveLower(d, ac_low, be_low), d, to);
    hn::StoreU(hn::InterleaveUpper(d, ac_low, be_low), d, to + to_stride);
    hn::StoreU(hn::InterleaveLower(d, ac_high, be_high), d, to + 2 * to_stride);
    hn::StoreU(hn::InterleaveUpper(d, ac_high, be_high), d, to + 3 * to_stride);
  }
#endif
}

// to[j][i] = from[i][j], i < rows, j < columns.
template <typename T>
HWY_ATTR void Transpose(const T* from, int64_t from_stride, int64_t rows, int64_t columns, T* to,
                        int64_t to_stride) {
  constexpr int64_t kTile = 16 / sizeof(T);
  const int64_t full_rows = rows / kTile * kTile, full_columns = columns / kTile * kTile;
  for (int64_t j = 0; j < full_columns; j += kTile) {
    for (int64_t i = 0; i < full_rows; i += kTile) {
      TransposeTile(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i < full_rows ? full_columns : 0; j < columns; ++j) {
      to[j * to_stride + i] = from[i * from_stride + j];
    }
  }
}

void TransposeFloat(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                    float* to, int64_t to_stride) {
  Transpose(from, from_stride, rows, columns, to, to_stride);
}

void TransposeDouble(const double* from, int64_t from_stride, int64_t rows, int64_t columns,
                     double* to, int64_t to_stride) {
  Transpose(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace
}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
namespace {

HWY_EXPORT(TransposeFloat);
HWY_EXPORT(TransposeDouble);

// Pieces of elements that are converted at one time: what they touch fits the L1 cache, and few
// blocks still give work to all threads.
constexpr int64_t kPiece = 128;

// Calls body(block, elements) for all pieces of all blocks.
template <typename T, typename Body>
void ForEachPiece(const Lease& threads, int64_t n, int64_t k, int slices, Body&& body) {
  const int64_t pieces = CeilDiv(k, kPiece);
  threads.ParallelFor(slices, [&](int slice) {
    const Range units = PartOf(BatchBlocks<T>(n) * pieces, slices, slice);
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      const int64_t first = unit % pieces * kPiece;
      body(unit / pieces, Range{first, std::min(k, first + kPiece)});
    }
  });
}

}  // namespace

template <>
void TransposeMatrix(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                     float* to, int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(TransposeFloat)(from, from_stride, rows, columns, to, to_stride);
}

template <>
void TransposeMatrix(const double* from, int64_t from_stride, int64_t rows, int64_t columns,
                     double* to, int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(TransposeDouble)(from, from_stride, rows, columns, to, to_stride);
}

template <typename T>
void ToBatchBlocked(const Lease& threads, int64_t n, int64_t k, const T* from, T* to, int slices) {
  constexpr int64_t kB = kBatchBlock<T>;
  ForEachPiece<T>(threads, n, k, slices, [&](int64_t block, Range piece) {
    const int64_t images = std::min(kB, n - block * kB);
    T* const out = to + (block * k + piece.begin) * kB;
    if (images < kB) std::memset(out, 0, piece.size() * kB * sizeof(T));
    TransposeMatrix(from + block * kB * k + piece.begin, k, images, piece.size(), out, kB);
  });
}

template <typename T>
void FromBatchBlocked(const Lease& threads, int64_t n, int64_t k, const T* from, T* to,
                      int slices) {
  constexpr int64_t kB = kBatchBlock<T>;
  ForEachPiece<T>(threads, n, k, slices, [&](int64_t block, Range piece) {
    const int64_t images = std::min(kB, n - block * kB);
    TransposeMatrix(from + (block * k + piece.begin) * kB, kB, piece.size(), images,
                    to + block * kB * k + piece.begin, k);
  });
}

#define HR_INSTANTIATE(T)                                                          \
  template void ToBatchBlocked(const Lease&, int64_t, int64_t, const T*, T*, int); \
  template void FromBatchBlocked(const Lease&, int64_t, int64_t, const T*, T*, int)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
#endif  // HWY_ONCE
