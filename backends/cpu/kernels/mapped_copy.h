// Copies in which every axis has a table that says where its positions come from: padding with
// reflected, repeated or wrapped elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/executor.h"

namespace hr::cpu {

struct MappedShape {
  // For each axis of the large tensor, how far position i lies from the beginning of the small
  // one, in elements.
  std::vector<std::vector<int64_t>> offsets;
  int64_t rows = 1;  // positions of all axes but the last
};

// large[i, j, …] = small[offsets[0][i] + offsets[1][j] + …]
void MappedCopy(const MappedShape& shape, size_t element_bytes, const void* small, void* large);
// The same backwards: small = 0, then each large element is added to the one it came from. float
// and double.
template <typename T>
void MappedAdd(const MappedShape& shape, const T* large, int64_t small_elements, T* small);

}  // namespace hr::cpu
