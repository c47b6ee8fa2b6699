// Axes of a tensor, walked in row-major order.
#pragma once

#include <cstdint>
#include <span>

namespace hr::cpu {

// The most axes that a kernel walks, after neighbours that lie alike in memory have been joined.
inline constexpr int kMaxAxes = 12;

// Strides are in elements and may be 0 or negative.
struct Axes {
  int count = 0;
  int64_t dims[kMaxAxes];
  int64_t strides[kMaxAxes];

  void Add(int64_t dim, int64_t stride) {
    dims[count] = dim;
    strides[count] = stride;
    ++count;
  }
  int64_t elements() const {
    int64_t product = 1;
    for (int i = 0; i < count; ++i) product *= dims[i];
    return product;
  }
  // Where element number `index` lies.
  int64_t Offset(int64_t index) const {
    int64_t offset = 0;
    for (int i = count - 1; i > 0; --i) {
      offset += index % dims[i] * strides[i];
      index /= dims[i];
    }
    return count == 0 ? 0 : offset + index * strides[0];
  }
};

}  // namespace hr::cpu
