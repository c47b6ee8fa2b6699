// What a Slice takes of one axis; the type rule and the kernels share it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hr::ops {

// Elements start, start + step, … (`count` of them).
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// ONNX's and NumPy's rule: positions below 0 count from the end, then they are clamped. `step` is
// not 0.
inline SliceRange ResolveSlice(int64_t size, int64_t start, int64_t end, int64_t step) {
  auto from_end = [&](int64_t position) { return position < 0 ? position + size : position; };
  int64_t least = step > 0 ? 0 : -1;
  int64_t most = step > 0 ? size : size - 1;
  start = std::clamp(from_end(start), std::min(least + (step < 0), most), most);
  end = std::clamp(from_end(end), least, most);
  int64_t length = step > 0 ? end - start : start - end;
  if (size == 0 || length <= 0) return {.start = 0, .step = step, .count = 0};
  uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  uint64_t count = (static_cast<uint64_t>(length) - 1) / stride + 1;
  return {.start = start, .step = step, .count = static_cast<int64_t>(count)};
}

}  // namespace hr::ops
