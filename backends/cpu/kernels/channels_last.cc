#include "backends/cpu/kernels/channels_last.h"

#include "backends/cpu/kernels/gemm_kernels.h"

namespace hr::cpu {
namespace {

// to[i * distance + j] = from[j * stride + i], i < rows, j < count
template <typename T>
void Transpose(const T* from, int64_t stride, int64_t count, int64_t rows, T* to,
               int64_t distance) {
  if constexpr (sizeof(T) >= sizeof(float)) {
    KernelsForGemm<T>().transpose(from, stride, count, rows, to, distance);
  } else {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < count; ++j) to[i * distance + j] = from[j * stride + i];
    }
  }
}

// Cut along both axes, so that a single image of few channels is work for all threads, whichever
// way it goes.
template <typename T>
void TransposeEach(const Lease& threads, int64_t n, int64_t c, int64_t plane, const void* from,
                   void* to, int slices) {
  constexpr int64_t kRows = 32, kColumns = 128;
  const int64_t bands = CeilDiv(plane, kRows), tiles = bands * CeilDiv(c, kColumns);
  threads.ParallelFor(slices, [&](int slice) {
    const Range part = PartOf(n * tiles, slices, slice);
    for (int64_t unit = part.begin; unit < part.end; ++unit) {
      const int64_t image = unit / tiles * c * plane, tile = unit % tiles;
      const int64_t i = tile % bands * kRows, j = tile / bands * kColumns;
      Transpose(static_cast<const T*>(from) + image + j * plane + i, plane,
                std::min(kColumns, c - j), std::min(kRows, plane - i),
                static_cast<T*>(to) + image + i * c + j, c);
    }
  });
}

}  // namespace

// Only the size of elements matters: they are moved, never computed with.
void ToChannelsLast(const Lease& threads, int64_t n, int64_t c, int64_t plane, size_t element_bytes,
                    const void* from, void* to, int slices) {
  switch (element_bytes) {
    case 1: return TransposeEach<uint8_t>(threads, n, c, plane, from, to, slices);
    case 2: return TransposeEach<uint16_t>(threads, n, c, plane, from, to, slices);
    case 4: return TransposeEach<float>(threads, n, c, plane, from, to, slices);
    default: return TransposeEach<double>(threads, n, c, plane, from, to, slices);
  }
}

}  // namespace hr::cpu
