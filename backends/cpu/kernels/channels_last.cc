#include "backends/cpu/kernels/channels_last.h"

#include "backends/cpu/kernels/gemm_kernels.h"

namespace hr::cpu {
namespace {

// to[i * count + j] = from[j * stride + i], i < rows, j < count
template <typename T>
void Transpose(const T* from, int64_t stride, int64_t count, int64_t rows, T* to) {
  if constexpr (sizeof(T) >= sizeof(float)) {
    KernelsForGemm<T>().pack_transposed(from, stride, count, rows, to, count);
  } else {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < count; ++j) to[i * count + j] = from[j * stride + i];
    }
  }
}

template <typename T>
void TransposeEach(const Lease& threads, int64_t n, int64_t c, int64_t plane, const void* from,
                   void* to, int slices) {
  constexpr int64_t kBand = 32;  // pixels
  const int64_t bands = CeilDiv(plane, kBand);
  threads.ParallelFor(slices, [&](int slice) {
    const Range part = PartOf(n * bands, slices, slice);
    for (int64_t unit = part.begin; unit < part.end; ++unit) {
      const int64_t pixel = unit % bands * kBand, image = unit / bands * c * plane;
      Transpose(static_cast<const T*>(from) + image + pixel, plane, c,
                std::min(kBand, plane - pixel), static_cast<T*>(to) + image + pixel * c);
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
