// How work and memory are cut.
#pragma once

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

}  // namespace hr::cpu
