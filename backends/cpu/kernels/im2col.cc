#include "backends/cpu/kernels/im2col.h"

#include <algorithm>

namespace hr::cpu {
namespace {

// The output columns of [begin, end) whose input column, from iw = ow * stride + shift, is inside
// [0, in).
Range InsideColumns(Range columns, int64_t stride, int64_t shift, int64_t in) {
  const int64_t begin = shift >= 0 ? 0 : CeilDiv(-shift, stride);
  const int64_t end = in > shift ? CeilDiv(in - shift, stride) : 0;
  const int64_t first = std::clamp(begin, columns.begin, columns.end);
  return {first, std::clamp(end, first, columns.end)};
}

// Calls run(tap, input offset of output column 0 or -1, columns, inside, first pixel) for each
// piece of an output row among the pixels, for each tap.
template <typename Fn>
void ForEachPiece(const ConvShape& s, Range taps, Range pixels, Fn&& run) {
  for (int64_t k = taps.begin; k < taps.end; ++k) {
    const int64_t c = k / s.KernelSize(), d = k / (s.kh * s.kw) % s.kd, r = k / s.kw % s.kh;
    const int64_t shift = k % s.kw * s.dw - s.pad_left;
    for (int64_t p = pixels.begin; p < pixels.end;) {
      const int64_t od = p / (s.oh * s.ow), id = od * s.sd - s.pad_front + d * s.dd;
      const int64_t oh = p / s.ow % s.oh, ih = oh * s.sh - s.pad_top + r * s.dh;
      const Range columns{p % s.ow, std::min(s.ow, p % s.ow + pixels.end - p)};
      const bool exists = id >= 0 && id < s.id && ih >= 0 && ih < s.ih;
      const Range inside =
          exists ? InsideColumns(columns, s.sw, shift, s.iw) : Range{columns.begin, columns.begin};
      const int64_t at = (k - taps.begin) * pixels.size() + p - pixels.begin;
      run(at, ((c * s.id + id) * s.ih + ih) * s.iw + shift, columns, inside);
      p += columns.size();
    }
  }
}

}  // namespace

template <typename T>
void Im2Col(const ConvShape& s, const T* x, Range taps, Range pixels, T* matrix, T padding) {
  ForEachPiece(s, taps, pixels, [&](int64_t at, int64_t from, Range columns, Range inside) {
    T* const to = matrix + at - columns.begin;
    std::fill(to + columns.begin, to + inside.begin, padding);
    if (s.sw == 1) {
      std::copy(x + from + inside.begin, x + from + inside.end, to + inside.begin);
    } else {
      for (int64_t j = inside.begin; j < inside.end; ++j) to[j] = x[from + j * s.sw];
    }
    std::fill(to + inside.end, to + columns.end, padding);
  });
}

template <typename T>
void Col2Im(const ConvShape& s, const T* matrix, Range taps, Range pixels, T* x) {
  ForEachPiece(s, taps, pixels, [&](int64_t at, int64_t to, Range columns, Range inside) {
    const T* const from = matrix + at - columns.begin;
    if (s.sw == 1) {
      for (int64_t j = inside.begin; j < inside.end; ++j) x[to + j] += from[j];
    } else {
      for (int64_t j = inside.begin; j < inside.end; ++j) x[to + j * s.sw] += from[j];
    }
  });
}

#define HR_INSTANTIATE(T)                                                \
  template void Im2Col(const ConvShape&, const T*, Range, Range, T*, T); \
  template void Col2Im(const ConvShape&, const T*, Range, Range, T*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE
// Of 8-bit numbers, signed ones included, and of bfloat16 as its bits.
template void Im2Col(const ConvShape&, const uint8_t*, Range, Range, uint8_t*, uint8_t);
template void Im2Col(const ConvShape&, const uint16_t*, Range, Range, uint16_t*, uint16_t);

}  // namespace hr::cpu
