// Shapes of convolution and pooling, three spatial axes: depth, rows and columns. Fewer axes are
// three of which the first have size 1; only the plain kernels know depth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "backends/cpu/kernels/partition.h"
#include "runtime/base/strings.h"

namespace hr::cpu {

// A sliding window over an image, with ONNX's meaning of strides, dilations and pads. The output
// size is the caller's (it knows auto_pad and ceil_mode); windows may reach into the padding.
struct WindowShape {
  int64_t id = 1, ih = 1, iw = 1, od = 1, oh = 1, ow = 1;
  int64_t kd = 1, kh = 1, kw = 1;
  int64_t sd = 1, sh = 1, sw = 1, dd = 1, dh = 1, dw = 1;
  int64_t pad_front = 0, pad_top = 0, pad_left = 0, pad_back = 0, pad_bottom = 0, pad_right = 0;

  // Elements of one channel of an image, and of one window.
  int64_t InputPlane() const { return id * ih * iw; }
  int64_t OutputPlane() const { return od * oh * ow; }
  int64_t KernelSize() const { return kd * kh * kw; }
  // Else depth is 1 everywhere, and what is read is there, not padding.
  bool HasDepth() const { return id != 1 || od != 1 || kd != 1 || pad_front != 0; }
  // Sets od, oh and ow to the usual (floor) output size.
  void DeriveOutput() {
    od = (id + pad_front + pad_back - (kd - 1) * dd - 1) / sd + 1;
    oh = (ih + pad_top + pad_bottom - (kh - 1) * dh - 1) / sh + 1;
    ow = (iw + pad_left + pad_right - (kw - 1) * dw - 1) / sw + 1;
  }
};

// y[n][oc][od][oh][ow] = sum over ic / groups, kd, kh, kw of
// x[n][ic][id][ih][iw] * w[oc][ic / groups][kd][kh][kw].
struct ConvShape : WindowShape {
  int64_t n = 1, ic = 1, oc = 1, groups = 1;

  int64_t GroupIn() const { return ic / groups; }
  int64_t GroupOut() const { return oc / groups; }
  // Weights of one output channel.
  int64_t Taps() const { return GroupIn() * KernelSize(); }
};

// Returns the dimensions of its weights and the groups, for the names of formats.
inline std::string WeightsText(const ConvShape& s) {
  return Cat(s.oc, "x", s.GroupIn(), "x", s.kd, "x", s.kh, "x", s.kw, "/", s.groups);
}

struct PoolShape : WindowShape {
  int64_t n = 1, c = 1;
  // AveragePool: padding counts as elements of value 0.
  bool count_include_pad = false;
};

// The taps k in [0, kernel) for which output `out` reads inside [0, in): the input position of tap
// k is out * stride - pad + k * dilation. Empty where none does.
inline Range ValidTaps(int64_t out, int64_t stride, int64_t pad, int64_t dilation, int64_t kernel,
                       int64_t in) {
  const int64_t first = out * stride - pad;
  if (first >= 0 && first + (kernel - 1) * dilation < in) return {0, kernel};  // without division
  const int64_t begin = first >= 0 ? 0 : (-first + dilation - 1) / dilation;
  const int64_t end = in > first ? std::min(kernel, (in - first + dilation - 1) / dilation) : 0;
  return {std::min(begin, end), end};
}

inline Range ValidDepths(const WindowShape& s, int64_t od) {
  return ValidTaps(od, s.sd, s.pad_front, s.dd, s.kd, s.id);
}

inline Range ValidRows(const WindowShape& s, int64_t oh) {
  return ValidTaps(oh, s.sh, s.pad_top, s.dh, s.kh, s.ih);
}

inline Range ValidColumns(const WindowShape& s, int64_t ow) {
  return ValidTaps(ow, s.sw, s.pad_left, s.dw, s.kw, s.iw);
}

// What the mean of a window divides by; at least 1. Windows that reach beyond the padding
// (ceil_mode) count up to its end.
inline int64_t AverageDivisor(const PoolShape& s, int64_t oh, int64_t ow, int64_t od = 0) {
  Range depths = ValidDepths(s, od), rows = ValidRows(s, oh), columns = ValidColumns(s, ow);
  if (s.count_include_pad) {
    depths = ValidTaps(od, s.sd, 0, s.dd, s.kd, s.pad_front + s.id + s.pad_back);
    rows = ValidTaps(oh, s.sh, 0, s.dh, s.kh, s.pad_top + s.ih + s.pad_bottom);
    columns = ValidTaps(ow, s.sw, 0, s.dw, s.kw, s.pad_left + s.iw + s.pad_right);
  }
  return std::max<int64_t>(1, depths.size() * rows.size() * columns.size());
}

// Cuts [begin, end) output columns into runs that read the same taps: fn(columns, taps). Columns
// that padding touches come one at a time.
// With count_include_pad the divisor is the same within a run too: where all taps are inside the
// image, none is beyond the padding.
template <typename Fn>
void ForEachColumnRun(const WindowShape& s, Range columns, Fn&& fn) {
  for (int64_t ow = columns.begin; ow < columns.end;) {
    const Range taps = ValidColumns(s, ow);
    int64_t end = ow + 1;
    if (taps.size() == s.kw) {
      const int64_t last = (s.iw - 1 - (s.kw - 1) * s.dw + s.pad_left) / s.sw;
      end = std::min(columns.end, last + 1);
    }
    fn(Range{ow, end}, taps);
    ow = end;
  }
}

}  // namespace hr::cpu
