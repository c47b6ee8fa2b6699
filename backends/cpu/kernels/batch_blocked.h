// The batch-blocked layout: [ceil(N / B)][K][B] where K is an image's elements (C * H * W) and B of
// them fill 64 bytes. Element k of image i is at ((i / B) * K + k) * B + i % B. Vector lanes are
// images, so any number of channels is free of padding. Lanes beyond N are zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/base/executor.h"

namespace hr::cpu {

// Images of a block.
template <typename T>
inline constexpr int64_t kBatchBlock = 64 / sizeof(T);

template <typename T>
constexpr int64_t BatchBlocks(int64_t n) {
  return (n + kBatchBlock<T> - 1) / kBatchBlock<T>;
}

// Elements of a batch-blocked tensor of n images of k elements.
template <typename T>
constexpr int64_t BatchBlockedElements(int64_t n, int64_t k) {
  return BatchBlocks<T>(n) * kBatchBlock<T> * k;
}

// Zeroes the lanes beyond the first `images`, in adjacent pixels of a last block that is not full.
template <typename T>
void ZeroLanes(int64_t images, int64_t pixels, T* y) {
  constexpr int64_t kB = kBatchBlock<T>;
  for (T* const end = y + pixels * kB; y < end; y += kB) std::fill(y + images, y + kB, T{0});
}

// to[j][i] = from[i][j], i < rows, j < columns. float and double.
template <typename T>
void TransposeMatrix(const T* from, int64_t from_stride, int64_t rows, int64_t columns, T* to,
                     int64_t to_stride);

// from is [n][k], to is batch-blocked; and back. float and double.
template <typename T>
void ToBatchBlocked(const Lease& threads, int64_t n, int64_t k, const T* from, T* to, int slices);
template <typename T>
void FromBatchBlocked(const Lease& threads, int64_t n, int64_t k, const T* from, T* to, int slices);

}  // namespace hr::cpu
