// How work and memory are cut.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hr::cpu {

inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// Part `index` of [0, total) cut into `parts` nearly equal ranges.
inline Range PartOf(int64_t total, int64_t parts, int64_t index) {
  return {total * index / parts, total * (index + 1) / parts};
}

// to = the sums of `parts` arrays that are `stride` apart, added in order.
template <typename T>
void AddParts(const T* from, int64_t stride, int64_t parts, int64_t count, T* to) {
  std::copy_n(from, count, to);
  for (int64_t part = 1; part < parts; ++part) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[part * stride + i];
  }
}

}  // namespace hr::cpu
