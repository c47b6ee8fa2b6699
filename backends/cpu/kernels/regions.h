// Pooling over regions of images. Which image a region is of, and where it lies, are data: they are
// checked before they are used. Nothing is allocated; results do not depend on threads. float and
// double.
#pragma once

#include <cstdint>

#include "runtime/base/errors.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// Images [images, channels, height, width]; results [regions, channels, rows, columns].
struct RegionShape {
  int64_t images = 1, channels = 1, height = 1, width = 1;
  int64_t regions = 1, rows = 1, columns = 1;
  int64_t Plane() const { return height * width; }
  int64_t Bins() const { return rows * columns; }
};
int RegionRanges(const RegionShape& shape, int slices);

// What RoiAlign's attributes say.
struct AlignOptions {
  double scale = 1;         // from a region's coordinates to those of the image
  int64_t sampling = 0;     // points along each side of a bin; 0: one for each element it covers
  bool half_pixel = false;  // elements lie at their middles
  bool largest = false;     // of what the points read, else their mean
};

// regions [regions, 4]: x and y of two corners. Points are interpolated between four elements; with
// `largest` they are the largest of these times its weight, as ONNX has it.
template <typename T>
Status RoiAlign(const Lease& threads, const RegionShape& shape, const AlignOptions& options,
                const T* x, const T* regions, const int64_t* images, T* y, int ranges);
// dx = gradient of x; all of it is written. With `largest`, the first largest gets everything.
template <typename T>
Status RoiAlignGradient(const Lease& threads, const RegionShape& shape, const AlignOptions& options,
                        const T* dy, const T* x, const T* regions, const int64_t* images, T* dx,
                        int ranges);

// regions [regions, 5]: the image, x and y of two corners, which are rounded and both inside. A
// bin without elements is 0.
template <typename T>
Status MaxRoiPool(const Lease& threads, const RegionShape& shape, double scale, const T* x,
                  const T* regions, T* y, int ranges);
// The first largest element of a bin gets all of its gradient.
template <typename T>
Status MaxRoiPoolGradient(const Lease& threads, const RegionShape& shape, double scale, const T* dy,
                          const T* x, const T* regions, T* dx, int ranges);

}  // namespace hr::cpu
