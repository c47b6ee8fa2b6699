// Convolution and pooling as their definitions read, in double: what kernels are judged against.
// Plain NCHW. The gradients are those of sum(y * dy).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace hr::reference {

// Any struct with the fields of hr::cpu::ConvShape or PoolShape will do.
template <typename Shape>
int64_t InputRow(const Shape& s, int64_t oh, int64_t r) {
  return oh * s.sh - s.pad_top + r * s.dh;
}
template <typename Shape>
int64_t InputColumn(const Shape& s, int64_t ow, int64_t c) {
  return ow * s.sw - s.pad_left + c * s.dw;
}
template <typename Shape>
bool Inside(const Shape& s, int64_t ih, int64_t iw) {
  return ih >= 0 && ih < s.ih && iw >= 0 && iw < s.iw;
}

// Calls fn(x index, w index, y index) for each product of a convolution; those of one element of y
// come in the order of the weights.
template <typename Shape, typename Fn>
void ForEachProduct(const Shape& s, Fn&& fn) {
  const int64_t gi = s.ic / s.groups, go = s.oc / s.groups;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t o = 0; o < s.oc; ++o)
      for (int64_t c = 0; c < gi; ++c)
        for (int64_t r = 0; r < s.kh; ++r)
          for (int64_t k = 0; k < s.kw; ++k) {
            const int64_t channel = n * s.ic + o / go * gi + c;
            const int64_t wi = ((o * gi + c) * s.kh + r) * s.kw + k;
            for (int64_t oh = 0; oh < s.oh; ++oh) {
              const int64_t ih = InputRow(s, oh, r);
              if (ih < 0 || ih >= s.ih) continue;
              const int64_t row = (channel * s.ih + ih) * s.iw;
              const int64_t out = ((n * s.oc + o) * s.oh + oh) * s.ow;
              int64_t iw = InputColumn(s, 0, k);
              for (int64_t ow = 0; ow < s.ow; ++ow, iw += s.sw) {
                if (iw >= 0 && iw < s.iw) fn(row + iw, wi, out + ow);
              }
            }
          }
}

using Values = std::vector<double>;

template <typename Shape>
Values Conv(const Shape& s, const Values& x, const Values& w, const Values& bias) {
  Values y(s.n * s.oc * s.oh * s.ow);
  for (size_t i = 0; i < y.size(); ++i) y[i] = bias.empty() ? 0 : bias[i / (s.oh * s.ow) % s.oc];
  ForEachProduct(s, [&](int64_t xi, int64_t wi, int64_t yi) { y[yi] += x[xi] * w[wi]; });
  return y;
}

template <typename Shape>
Values ConvBackwardData(const Shape& s, const Values& w, const Values& dy) {
  Values dx(s.n * s.ic * s.ih * s.iw);
  ForEachProduct(s, [&](int64_t xi, int64_t wi, int64_t yi) { dx[xi] += dy[yi] * w[wi]; });
  return dx;
}

template <typename Shape>
Values ConvBackwardWeights(const Shape& s, const Values& x, const Values& dy) {
  Values dw(s.oc * (s.ic / s.groups) * s.kh * s.kw);
  ForEachProduct(s, [&](int64_t xi, int64_t wi, int64_t yi) { dw[wi] += dy[yi] * x[xi]; });
  return dw;
}

template <typename Shape>
Values ConvBackwardBias(const Shape& s, const Values& dy) {
  Values db(s.oc);
  for (size_t i = 0; i < dy.size(); ++i) db[i / (s.oh * s.ow) % s.oc] += dy[i];
  return db;
}

// Calls fn(y index, x indices) for each window; what lies in the padding is left out. `places` are
// the positions of those elements in the window, row by row.
template <typename Shape, typename Fn>
void ForEachWindow(const Shape& s, Fn&& fn) {
  for (int64_t plane = 0; plane < s.n * s.c; ++plane)
    for (int64_t oh = 0; oh < s.oh; ++oh)
      for (int64_t ow = 0; ow < s.ow; ++ow) {
        std::vector<int64_t> elements, places;
        for (int64_t r = 0; r < s.kh; ++r)
          for (int64_t k = 0; k < s.kw; ++k) {
            const int64_t ih = InputRow(s, oh, r), iw = InputColumn(s, ow, k);
            if (!Inside(s, ih, iw)) continue;
            elements.push_back((plane * s.ih + ih) * s.iw + iw);
            places.push_back(r * s.kw + k);
          }
        fn((plane * s.oh + oh) * s.ow + ow, elements, places);
      }
}

// y, and for each y the index of its x (the first of equals; -1 for a window all in the padding).
template <typename Shape>
Values MaxPool(const Shape& s, const Values& x, std::vector<int64_t>* chosen = nullptr) {
  Values y(s.n * s.c * s.oh * s.ow, -std::numeric_limits<double>::infinity());
  if (chosen != nullptr) chosen->assign(y.size(), -1);
  ForEachWindow(s, [&](int64_t at, const auto& elements, const auto&) {
    for (const int64_t i : elements) {
      if (i != elements[0] && !(x[i] > y[at]) && !std::isnan(x[i])) continue;
      y[at] = x[i];
      if (chosen != nullptr) (*chosen)[at] = i;
    }
  });
  return y;
}

template <typename Shape>
Values MaxPoolBackward(const Shape& s, const std::vector<int64_t>& chosen, const Values& dy) {
  Values dx(s.n * s.c * s.ih * s.iw);
  for (size_t i = 0; i < dy.size(); ++i) {
    if (chosen[i] >= 0) dx[chosen[i]] += dy[i];
  }
  return dx;
}

// What an average divides by: with count_include_pad, the part of the window inside the padded
// image.
template <typename Shape>
double AverageDivisor(const Shape& s, int64_t at, size_t inside) {
  if (!s.count_include_pad) return static_cast<double>(inside);
  int64_t count = 0;
  for (int64_t r = 0; r < s.kh; ++r)
    for (int64_t k = 0; k < s.kw; ++k) {
      count += InputRow(s, at / s.ow % s.oh, r) < s.ih + s.pad_bottom &&
               InputColumn(s, at % s.ow, k) < s.iw + s.pad_right;
    }
  return static_cast<double>(count);
}

template <typename Shape>
Values AveragePool(const Shape& s, const Values& x) {
  Values y(s.n * s.c * s.oh * s.ow);
  ForEachWindow(s, [&](int64_t at, const auto& elements, const auto&) {
    for (const int64_t i : elements) y[at] += x[i];
    if (!elements.empty()) y[at] /= AverageDivisor(s, at, elements.size());
  });
  return y;
}

template <typename Shape>
Values AveragePoolBackward(const Shape& s, const Values& dy) {
  Values dx(s.n * s.c * s.ih * s.iw);
  ForEachWindow(s, [&](int64_t at, const auto& elements, const auto&) {
    for (const int64_t i : elements) dx[i] += dy[at] / AverageDivisor(s, at, elements.size());
  });
  return dx;
}

}  // namespace hr::reference
