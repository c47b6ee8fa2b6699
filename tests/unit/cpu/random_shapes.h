// Shapes of convolution and pooling at random: odd sizes, strides, dilations, uneven pads, groups;
// and of square images.
#pragma once

#include <functional>
#include <ostream>

#include "backends/cpu/kernels/conv_shape.h"

namespace hr::cpu {

using RandomInteger = std::function<int64_t(int64_t, int64_t)>;

inline void RandomWindow(const RandomInteger& any, bool padding_less_than_kernel, WindowShape& s) {
  if (any(0, 1) == 0) s.sh = any(1, 3), s.sw = any(1, 3);
  if (any(0, 2) == 0) s.dh = any(1, 3), s.dw = any(1, 3);
  if (any(0, 1) == 0) {
    const int64_t rows = padding_less_than_kernel ? s.kh - 1 : 3;
    const int64_t columns = padding_less_than_kernel ? s.kw - 1 : 3;
    s.pad_top = any(0, rows), s.pad_left = any(0, columns);
    s.pad_bottom = any(0, rows), s.pad_right = any(0, columns);
  }
  s.ih = (s.kh - 1) * s.dh + any(1, 9);
  s.iw = (s.kw - 1) * s.dw + any(1, 13);
  s.DeriveOutput();
}

inline ConvShape RandomConv(const RandomInteger& any, int64_t most_images) {
  ConvShape s;
  s.n = any(1, most_images);
  s.groups = any(0, 3) == 0 ? any(2, 3) : 1;
  s.ic = s.groups * any(1, 4);
  s.oc = s.groups * any(1, 13);
  s.kh = any(1, 5), s.kw = any(1, 7);
  RandomWindow(any, false, s);
  return s;
}

// Of an image of size x size, padded by half of the kernel.
inline ConvShape SquareConv(int64_t n, int64_t ic, int64_t oc, int64_t kernel, int64_t size,
                            int64_t stride = 1, int64_t dilation = 1) {
  ConvShape s;
  s.n = n, s.ic = ic, s.oc = oc, s.kh = s.kw = kernel, s.ih = s.iw = size;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = kernel / 2 * dilation;
  s.sh = s.sw = stride, s.dh = s.dw = dilation;
  s.DeriveOutput();
  return s;
}

inline PoolShape RandomPool(const RandomInteger& any, int64_t most_images) {
  PoolShape s;
  s.n = any(1, most_images), s.c = any(1, 5);
  s.kh = any(1, 4), s.kw = any(1, 4);
  RandomWindow(any, true, s);
  s.count_include_pad = any(0, 1) == 0;
  // As with ceil_mode: one more window, that begins inside the image.
  if (s.oh * s.sh - s.pad_top < s.ih && any(0, 1) == 0) ++s.oh;
  if (s.ow * s.sw - s.pad_left < s.iw && any(0, 1) == 0) ++s.ow;
  return s;
}

inline std::ostream& operator<<(std::ostream& out, const WindowShape& s) {
  return out << "in " << s.ih << "x" << s.iw << " out " << s.oh << "x" << s.ow << " kernel " << s.kh
             << "x" << s.kw << " strides " << s.sh << "x" << s.sw << " dilations " << s.dh << "x"
             << s.dw << " pads " << s.pad_top << " " << s.pad_left << " " << s.pad_bottom << " "
             << s.pad_right;
}

inline std::ostream& operator<<(std::ostream& out, const ConvShape& s) {
  return out << "n " << s.n << " channels " << s.ic << " -> " << s.oc << " groups " << s.groups
             << " " << static_cast<const WindowShape&>(s);
}

inline std::ostream& operator<<(std::ostream& out, const PoolShape& s) {
  return out << "n " << s.n << " channels " << s.c << " " << static_cast<const WindowShape&>(s);
}

}  // namespace hr::cpu
