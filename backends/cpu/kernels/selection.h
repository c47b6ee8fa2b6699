// Operators whose results are as large as the data says. Outputs have room for the largest result
// that the shapes allow; what is computed lies at their beginning, contiguous in the shape that it
// has, and the function returns how large that is. Nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/dtype.h"

namespace hr::cpu {

// Where x is not 0, in row-major order. Returns the number of places; the indices of axis `a` are
// indices[a * count, (a + 1) * count). Room: dims.size() times the elements of x. NaN is not 0.
int64_t NonZero(std::span<const int64_t> dims, DType dtype, const void* x, int64_t* indices);

// data [outer, n, inner], seen along the axis of size n; a whole tensor is [1, elements, 1].
struct SelectionShape {
  int64_t outer = 1, n = 1, inner = 1;
  int64_t elements() const { return outer * n * inner; }
};

// What Unique writes; null where nobody wants it. Each has room for shape.n numbers, and y for the
// elements of x.
struct UniqueOutputs {
  void* y;           // [outer, k, inner]
  int64_t* indices;  // [k]: where each first occurs
  int64_t* inverse;  // [n]: which element of y each element of x is
  int64_t* counts;   // [k]: how often it occurs
};
inline size_t UniqueScratchBytes(const SelectionShape& shape) {
  return 2 * static_cast<size_t>(shape.n) * sizeof(int64_t);
}
// The different slices of x along the axis; returns their number k. Sorted, they come in the order
// of their elements (row-major, NaN last), otherwise as they first occur. NaN equals NaN, as in
// NumPy. `scratch` is aligned for int64.
int64_t Unique(const SelectionShape& shape, DType dtype, bool sorted, const void* x,
               const UniqueOutputs& outputs, void* scratch);

// boxes [batches, boxes, 4] and scores [batches, classes, boxes].
struct SuppressionShape {
  int64_t batches = 1, classes = 1, boxes = 1;
  bool center_point_box = false;  // [x, y, width, height]; else [y, x, y, x] of two corners
};
struct SuppressionLimits {
  int64_t most_per_class = 0;  // of one batch element; 0 or less selects nothing
  float iou_threshold = 0;     // in [0, 1]: boxes that overlap by more than this are suppressed
  const float* score_threshold = nullptr;  // scores up to this are left out; null: none
};
inline size_t SuppressionScratchBytes(const SuppressionShape& shape) {
  return static_cast<size_t>(shape.boxes) * sizeof(int64_t);
}
// Takes boxes by falling score (the first of equal ones first), and leaves out those that overlap
// one that was taken. Returns the number k of rows (batch element, class, box) of `selected`
// [k, 3]. Room: batches * classes * min(most_per_class, boxes) rows. A score that is NaN is never
// taken. `scratch` is aligned for int64.
int64_t NonMaxSuppression(const SuppressionShape& shape, const SuppressionLimits& limits,
                          const float* boxes, const float* scores, int64_t* selected,
                          void* scratch);

}  // namespace hr::cpu
