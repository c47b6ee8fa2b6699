#include "backends/cpu/kernels/resample.h"

#include <cstring>

#include "backends/cpu/kernels/element_size.h"

namespace hr::cpu {
namespace {

// Calls body(outer, columns) for pieces of all lines: many outer ones, or parts of long lines.
template <typename T, typename Body>
void ForEachPiece(const Lease& threads, const Resample<T>& r, int slices, Body&& body) {
  const int64_t parts = r.outer >= slices ? 1 : std::min<int64_t>(slices, r.inner);
  threads.ParallelFor(slices, [&](int slice) {
    const Range pieces = PartOf(r.outer * parts, slices, slice);
    for (int64_t i = pieces.begin; i < pieces.end; ++i) {
      body(i / parts, PartOf(r.inner, parts, i % parts));
    }
  });
}

}  // namespace

template <typename T>
void ResampleLines(const Lease& threads, const Resample<T>& r, const T* x, T* y, int slices) {
  ForEachPiece(threads, r, slices, [&](int64_t outer, Range columns) {
    const T* const from = x + outer * r.in * r.inner;
    for (int64_t o = 0; o < r.out; ++o) {
      T* const to = y + (outer * r.out + o) * r.inner;
      std::fill(to + columns.begin, to + columns.end, r.filled[o] ? r.fill : T{0});
      if (r.filled[o]) continue;
      for (int64_t t = o * r.taps; t < (o + 1) * r.taps; ++t) {
        const T* const line = from + r.index[t] * r.inner;
        const T weight = r.weight[t];
        if (weight == 0) continue;  // also keeps infinities out of the sum
        for (int64_t i = columns.begin; i < columns.end; ++i) to[i] += weight * line[i];
      }
    }
  });
}

template <typename T>
void ResampleLinesBackward(const Lease& threads, const Resample<T>& r, const T* dy, T* dx,
                           int slices) {
  ForEachPiece(threads, r, slices, [&](int64_t outer, Range columns) {
    T* const to = dx + outer * r.in * r.inner;
    for (int64_t i = 0; i < r.in; ++i) {
      std::fill(to + i * r.inner + columns.begin, to + i * r.inner + columns.end, T{0});
    }
    for (int64_t o = 0; o < r.out; ++o) {
      if (r.filled[o]) continue;
      const T* const from = dy + (outer * r.out + o) * r.inner;
      for (int64_t t = o * r.taps; t < (o + 1) * r.taps; ++t) {
        T* const line = to + r.index[t] * r.inner;
        const T weight = r.weight[t];
        for (int64_t i = columns.begin; i < columns.end; ++i) line[i] += weight * from[i];
      }
    }
  });
}

namespace {

// Lines of one element each, of a type that has its size.
template <typename T>
void CopyElements(const Lease& threads, const Resample<double>& r, const void* x, const void* fill,
                  void* y, int slices) {
  T outside;
  std::memcpy(&outside, fill, sizeof outside);
  const int64_t *const index = r.index.data(), count = r.out;
  const uint8_t* const filled = r.filled.data();
  threads.ParallelFor(slices, [&](int slice) {
    const Range part = PartOf(r.outer, slices, slice);
    for (int64_t outer = part.begin; outer < part.end; ++outer) {
      const T* const from = static_cast<const T*>(x) + outer * r.in;
      T* const to = static_cast<T*>(y) + outer * count;
      for (int64_t o = 0; o < count; ++o) to[o] = filled[o] ? outside : from[index[o]];
    }
  });
}

}  // namespace

void CopyLines(const Lease& threads, const Resample<double>& r, size_t bytes, const void* x,
               const void* fill, void* y, int slices) {
  if (r.inner == 1 && bytes <= sizeof(uint64_t)) {
    return ForElementSize(bytes,
                          [&]<typename T>() { CopyElements<T>(threads, r, x, fill, y, slices); });
  }
  ForEachPiece(threads, r, slices, [&](int64_t outer, Range columns) {
    const auto offset = static_cast<size_t>(columns.begin) * bytes;
    const auto line = static_cast<size_t>(r.inner) * bytes;
    for (int64_t o = 0; o < r.out; ++o) {
      std::byte* to =
          static_cast<std::byte*>(y) + static_cast<size_t>(outer * r.out + o) * line + offset;
      const std::byte* const from = static_cast<const std::byte*>(x) +
                                    static_cast<size_t>(outer * r.in + r.index[o]) * line + offset;
      if (!r.filled[o]) {
        std::memcpy(to, from, static_cast<size_t>(columns.size()) * bytes);
        continue;
      }
      for (int64_t i = 0; i < columns.size(); ++i) std::memcpy(to + i * bytes, fill, bytes);
    }
  });
}

#define HR_INSTANTIATE(T)                                                           \
  template void ResampleLines(const Lease&, const Resample<T>&, const T*, T*, int); \
  template void ResampleLinesBackward(const Lease&, const Resample<T>&, const T*, T*, int)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
