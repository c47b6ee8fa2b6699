#include "backends/cpu/kernels/selection.h"

#include <algorithm>
#include <compare>
#include <cstring>
#include <numeric>

namespace hr::cpu {
namespace {

// A number of 16 bits, as something that compares like it.
template <uint16_t kInfinity>
struct Half {
  uint16_t bits;
  int Key() const {
    const int magnitude = std::min<int>(bits & 0x7fff, kInfinity + 1);  // all NaN are one
    return magnitude <= kInfinity && (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }
};

// Orders elements; NaN comes last and equals itself.
template <typename T>
std::strong_ordering Ordered(T a, T b) {
  if (a < b || (a == a && b != b)) return std::strong_ordering::less;
  if (a > b || (a != a && b == b)) return std::strong_ordering::greater;
  return std::strong_ordering::equal;
}
template <uint16_t kInfinity>
std::strong_ordering Ordered(Half<kInfinity> a, Half<kInfinity> b) {
  return a.Key() <=> b.Key();
}

template <typename T>
bool IsZero(T x) {
  return x == 0;
}
template <uint16_t kInfinity>
bool IsZero(Half<kInfinity> x) {
  return (x.bits & 0x7fff) == 0;
}

template <typename Body>
int64_t ForType(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kFloat32: return body.template operator()<float>();
    case DType::kFloat64: return body.template operator()<double>();
    case DType::kFloat16: return body.template operator()<Half<0x7c00>>();
    case DType::kBfloat16: return body.template operator()<Half<0x7f80>>();
    case DType::kInt8: return body.template operator()<int8_t>();
    case DType::kInt16: return body.template operator()<int16_t>();
    case DType::kInt32: return body.template operator()<int32_t>();
    case DType::kInt64: return body.template operator()<int64_t>();
    case DType::kUint16: return body.template operator()<uint16_t>();
    case DType::kUint32: return body.template operator()<uint32_t>();
    case DType::kUint64: return body.template operator()<uint64_t>();
    default: return body.template operator()<uint8_t>();  // uint8 and bool
  }
}

// The elements of slice `i` in row-major order: [outer, inner].
template <typename T>
std::strong_ordering CompareSlices(const SelectionShape& shape, const T* x, int64_t a, int64_t b) {
  for (int64_t o = 0; o < shape.outer; ++o) {
    const T* line = x + o * shape.n * shape.inner;
    for (int64_t i = 0; i < shape.inner; ++i) {
      const auto order = Ordered(line[a * shape.inner + i], line[b * shape.inner + i]);
      if (order != std::strong_ordering::equal) return order;
    }
  }
  return std::strong_ordering::equal;
}

// Slices from the smallest to the largest; the first of equal ones first.
template <typename T>
void SortSlices(const SelectionShape& shape, const T* x, int64_t* order) {
  std::iota(order, order + shape.n, 0);
  std::sort(order, order + shape.n, [&](int64_t a, int64_t b) {
    const auto compared = CompareSlices(shape, x, a, b);
    return compared == std::strong_ordering::equal ? a < b : compared == std::strong_ordering::less;
  });
}

// From the sorted slices: first_of[i] is the first slice that equals slice i.
template <typename T>
void FindFirsts(const SelectionShape& shape, const T* x, const int64_t* order, int64_t* first_of) {
  for (int64_t i = 0; i < shape.n; ++i) {
    const bool same =
        i > 0 && CompareSlices(shape, x, order[i - 1], order[i]) == std::strong_ordering::equal;
    first_of[order[i]] = same ? first_of[order[i - 1]] : order[i];
  }
}

void CopySlice(const SelectionShape& shape, size_t bytes, const void* from, int64_t i, void* to,
               int64_t k, int64_t count) {
  const size_t row = static_cast<size_t>(shape.inner) * bytes;
  for (int64_t o = 0; row != 0 && o < shape.outer; ++o) {
    std::memcpy(static_cast<char*>(to) + static_cast<size_t>(o * count + k) * row,
                static_cast<const char*>(from) + static_cast<size_t>(o * shape.n + i) * row, row);
  }
}

// Numbers the results, whose first slices are firsts[0, count), and says which of them each slice
// is. first_of is overwritten: it becomes -1 - k at the first slice of result k.
void NumberSlices(const SelectionShape& shape, const int64_t* firsts, int64_t count,
                  int64_t* first_of, const UniqueOutputs& out) {
  if (out.counts != nullptr) std::fill_n(out.counts, count, 0);
  for (int64_t k = 0; k < count; ++k) first_of[firsts[k]] = -1 - k;
  for (int64_t i = 0; i < shape.n; ++i) {
    const int64_t first = first_of[i] < 0 ? i : first_of[i];
    const int64_t k = -1 - first_of[first];
    if (out.inverse != nullptr) out.inverse[i] = k;
    if (out.counts != nullptr) ++out.counts[k];
  }
}

template <typename T>
int64_t UniqueOf(const SelectionShape& shape, bool sorted, const T* x, const UniqueOutputs& out,
                 int64_t* scratch) {
  int64_t* const order = scratch;
  int64_t* const first_of = scratch + shape.n;
  SortSlices(shape, x, order);
  FindFirsts(shape, x, order, first_of);
  if (!sorted) std::iota(order, order + shape.n, 0);
  const int64_t count =
      std::remove_if(order, order + shape.n, [&](int64_t i) { return first_of[i] != i; }) - order;
  for (int64_t k = 0; k < count; ++k) {
    if (out.y != nullptr) CopySlice(shape, sizeof(T), x, order[k], out.y, k, count);
    if (out.indices != nullptr) out.indices[k] = order[k];
  }
  NumberSlices(shape, order, count, first_of, out);
  return count;
}

template <typename T>
int64_t NonZeroOf(std::span<const int64_t> dims, const T* x, int64_t elements, int64_t* indices) {
  const int64_t count = std::count_if(x, x + elements, [](T v) { return !IsZero(v); });
  int64_t found = 0;
  for (int64_t i = 0; i < elements; ++i) {
    if (IsZero(x[i])) continue;
    int64_t rest = i;
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) {
      indices[static_cast<int64_t>(axis) * count + found] = rest % dims[axis];
    }
    ++found;
  }
  return count;
}

// A box as its two corners, in order, and what it covers.
struct Box {
  Box(const float* b, bool center_point) {
    if (center_point) {
      low[0] = b[0] - b[2] / 2, high[0] = b[0] + b[2] / 2;
      low[1] = b[1] - b[3] / 2, high[1] = b[1] + b[3] / 2;
    } else {
      for (int i : {0, 1}) low[i] = std::min(b[i], b[i + 2]), high[i] = std::max(b[i], b[i + 2]);
    }
  }
  float Area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
  float low[2], high[2];
};

// Whether the intersection of the boxes is more than this part of their union.
bool Overlap(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.high[0], b.high[0]) - std::max(a.low[0], b.low[0]);
  const float height = std::min(a.high[1], b.high[1]) - std::max(a.low[1], b.low[1]);
  if (!(width > 0 && height > 0)) return false;
  const float both = width * height, all = a.Area() + b.Area() - both;
  return all > 0 && both / all > threshold;
}

// The boxes that may be taken, by falling score; returns how many.
int64_t Candidates(const float* scores, int64_t boxes, const float* threshold, int64_t* order) {
  int64_t count = 0;
  for (int64_t i = 0; i < boxes; ++i) {
    const bool taken = threshold == nullptr ? scores[i] == scores[i] : scores[i] > *threshold;
    if (taken) order[count++] = i;
  }
  std::sort(order, order + count, [&](int64_t a, int64_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  return count;
}

// Of one class of one batch element: `order` has the candidates, of which those that are taken stay
// at its beginning. Returns their number.
int64_t Suppress(const float* boxes, bool center_point, const SuppressionLimits& limits,
                 int64_t* order, int64_t candidates) {
  int64_t taken = 0;
  for (int64_t c = 0; c < candidates && taken < limits.most_per_class; ++c) {
    const Box box(boxes + 4 * order[c], center_point);
    const bool suppressed = std::any_of(order, order + taken, [&](int64_t other) {
      return Overlap(box, Box(boxes + 4 * other, center_point), limits.iou_threshold);
    });
    if (!suppressed) order[taken++] = order[c];
  }
  return taken;
}

}  // namespace

int64_t NonZero(std::span<const int64_t> dims, DType dtype, const void* x, int64_t* indices) {
  int64_t elements = 1;
  for (int64_t dim : dims) elements *= dim;
  return ForType(dtype, [&]<typename T>() {
    return NonZeroOf(dims, static_cast<const T*>(x), elements, indices);
  });
}

int64_t Unique(const SelectionShape& shape, DType dtype, bool sorted, const void* x,
               const UniqueOutputs& outputs, void* scratch) {
  return ForType(dtype, [&]<typename T>() {
    return UniqueOf(shape, sorted, static_cast<const T*>(x), outputs,
                    static_cast<int64_t*>(scratch));
  });
}

int64_t NonMaxSuppression(const SuppressionShape& shape, const SuppressionLimits& limits,
                          const float* boxes, const float* scores, int64_t* selected,
                          void* scratch) {
  auto* order = static_cast<int64_t*>(scratch);
  int64_t rows = 0;
  for (int64_t n = 0; n < shape.batches; ++n) {
    for (int64_t c = 0; c < shape.classes; ++c) {
      const float* of_class = scores + (n * shape.classes + c) * shape.boxes;
      const int64_t candidates = Candidates(of_class, shape.boxes, limits.score_threshold, order);
      const int64_t taken =
          Suppress(boxes + n * shape.boxes * 4, shape.center_point_box, limits, order, candidates);
      for (int64_t i = 0; i < taken; ++i, ++rows) {
        const int64_t row[] = {n, c, order[i]};
        std::copy_n(row, 3, selected + 3 * rows);
      }
    }
  }
  return rows;
}

}  // namespace hr::cpu
