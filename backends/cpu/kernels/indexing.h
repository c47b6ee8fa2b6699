// Picking and placing elements by index. Indices of an axis of n elements lie in [-n, n), negative
// ones count from the end; every index is checked before it is used, and one outside is
// OUT_OF_RANGE. Nothing is allocated; results do not depend on threads.
#pragma once

#include "backends/cpu/kernels/axes.h"
#include "backends/cpu/kernels/int_view.h"
#include "runtime/base/dtype.h"
#include "runtime/base/errors.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// data [outer, size, inner] taken at `count` indices: [outer, count, inner].
struct GatherShape {
  int64_t outer = 1, size = 1, inner = 1, count = 1;
};
int GatherRanges(const GatherShape& shape, int slices);
Status Gather(const Lease& threads, const GatherShape& shape, size_t element_bytes,
              const void* data, IntView indices, void* y, int ranges);

// The rows [size, inner] at `count` indices, and rows of 0 where an index is outside [0, size).
void GatherOrZero(const Lease& threads, const GatherShape& shape, size_t element_bytes,
                  const void* rows, IntView indices, void* y, int ranges);

// A table of rows in fewer bits: int8 or uint8 with scales and, perhaps, zero points (one in all,
// or one for each row), or 16-bit floats.
struct NarrowTable {
  DType dtype = DType::kInt8;
  bool scale_of_row = false;
  const void* numbers = nullptr;
  const float* scales = nullptr;
  const void* zeros = nullptr;  // of the table's type, or null
};
// The rows [size, inner] at `count` indices, as float: (number - zero) * scale. `outer` is 1.
Status GatherWidened(const Lease& threads, const GatherShape& shape, const NarrowTable& table,
                     IntView indices, float* y, int ranges);

// dx = 0, then each dy is added where it was taken, in the order of the indices. float and double.
int GatherGradRanges(const GatherShape& shape, int slices);
template <typename T>
Status GatherGrad(const Lease& threads, const GatherShape& shape, const T* dy, IntView indices,
                  T* dx, int ranges);

// How an update meets the element it is placed on.
enum class Scatter : uint8_t { kReplace, kAdd, kMul, kMax, kMin };

// Indices that have a shape like the data's: element (…, i, …) of them names the element of data
// with the same place but for the axis. They are seen as rows.
struct ElementsShape {
  Axes rows;                     // strides in data; 0 along the axis
  int64_t length = 1;            // of a row
  int64_t step = 1;              // between its elements in data, 0 where it lies along the axis
  int64_t size = 1, stride = 1;  // the axis in data
};
int ElementsRanges(const ElementsShape& shape, int slices);
Status GatherElements(const Lease& threads, const ElementsShape& shape, size_t element_bytes,
                      const void* data, IntView indices, void* y, int ranges);
// Places updates in y, which holds the data, in the order of the indices. float, double, int32_t,
// int64_t; unsigned integers of any size replace only.
template <typename T>
Status ScatterElements(const ElementsShape& shape, Scatter scatter, const T* updates,
                       IntView indices, T* y);

// Rows of `taken` indices each, which name blocks of `inner` elements of data. Every
// `rows_per_batch` rows the data moves on by `batch_stride`.
struct PlacesShape {
  Axes axes;  // of data: the indexed ones
  int64_t rows = 1, inner = 1;
  int64_t rows_per_batch = 1, batch_stride = 0;
};
Status GatherND(const Lease& threads, const PlacesShape& shape, size_t element_bytes,
                const void* data, const int64_t* indices, void* y, int ranges);
int PlacesRanges(const PlacesShape& shape, int slices);
template <typename T>
Status ScatterND(const PlacesShape& shape, Scatter scatter, const T* updates,
                 const int64_t* indices, T* y);

}  // namespace hr::cpu
