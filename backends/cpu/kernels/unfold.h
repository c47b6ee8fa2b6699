// Images [planes, image…] and the columns of their windows [planes, block, positions]: a block of
// elements for each position of the window, both row-major. Elements in the padding are 0 in
// columns, and dropped from images. Nothing is allocated; results do not depend on threads.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/executor.h"

namespace hr::cpu {

struct UnfoldAxis {
  int64_t image = 1, block = 1, positions = 1;
  int64_t stride = 1, dilation = 1, pad = 0;
};
struct UnfoldShape {
  int64_t planes = 1;
  std::vector<UnfoldAxis> axes;  // at least one
  int64_t Image() const;
  int64_t Block() const;
  int64_t Positions() const;
};
int UnfoldRanges(const UnfoldShape& shape, int slices);

// Sums the columns where windows overlap. float, double and unsigned integers (signed ones have the
// same bits).
template <typename T>
void ColumnsToImage(const Lease& threads, const UnfoldShape& shape, const T* columns, T* image,
                    int ranges);
// float and double.
template <typename T>
void ImageToColumns(const Lease& threads, const UnfoldShape& shape, const T* image, T* columns,
                    int ranges);

}  // namespace hr::cpu
