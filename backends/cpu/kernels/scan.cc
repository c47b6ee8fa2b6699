#include "backends/cpu/kernels/scan.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/cpu/kernels/element_size.h"
#include "backends/cpu/kernels/ranges.h"

namespace hr::cpu {

namespace {

// Calls body(first, step) for each line: where it begins in its direction, and how far its elements
// are apart.
template <typename Body>
void ForLines(const ScanShape& shape, Body&& body) {
  const int64_t step = shape.reverse ? -shape.inner : shape.inner;
  const int64_t first = shape.reverse ? (shape.n - 1) * shape.inner : 0;
  for (int64_t o = 0; o < shape.outer; ++o) {
    for (int64_t i = 0; i < shape.inner; ++i) {
      body(o * shape.n * shape.inner + i + first, step);
    }
  }
}

// What runs along a line: integers wrap around, and float32 gains no error of its own however long
// the line is.
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <typename T, typename Combine>
void Running(const ScanShape& shape, const T* x, T* y, T start, Combine&& combine) {
  ForLines(shape, [&](int64_t at, int64_t step) {
    auto value = static_cast<Wide<T>>(start);
    for (int64_t c = 0; c < shape.n; ++c, at += step) {
      const Wide<T> before = value;
      value = combine(value, static_cast<Wide<T>>(x[at]));
      y[at] = static_cast<T>(shape.exclusive ? before : value);
    }
  });
}

}  // namespace

template <typename T>
void CumSum(const ScanShape& shape, const T* x, T* y) {
  Running<T>(shape, x, y, 0, [](auto sum, auto v) { return sum + v; });
}

template <typename T>
void CumProd(const ScanShape& shape, const T* x, T* y) {
  Running<T>(shape, x, y, 1, [](auto product, auto v) { return product * v; });
}

template <typename T>
void CumProdGradient(const ScanShape& shape, const T* dy, const T* x, T* dx, double* products) {
  ForLines(shape, [&](int64_t first, int64_t step) {
    double before = 1;
    for (int64_t k = 0; k < shape.n; ++k) {
      products[k] = before;
      before *= x[first + k * step];
    }
    double s = 0;
    for (int64_t k = shape.n - 1; k >= 0; --k) {
      const int64_t at = first + k * step;
      if (!shape.exclusive) s += dy[at];
      dx[at] = static_cast<T>(products[k] * s);
      if (shape.exclusive) s = dy[at] + x[at] * s;
      if (!shape.exclusive) s *= x[at];
    }
  });
}

int TopKRanges(const TopKShape& shape, int slices) {
  constexpr int64_t kCost = 16;  // against streaming
  return RangeCount(shape.outer * shape.inner, kCost * shape.n, slices);
}

template <typename T>
void TopK(const Lease& threads, const TopKShape& shape, const T* x, T* values, int64_t* indices,
          int ranges, void* scratch) {
  const int64_t step = shape.inner;
  const auto larger = [](T a, T b) { return a > b || (a != a && b == b); };
  ForRanges(threads, shape.outer * shape.inner, ranges, [&](int64_t begin, int64_t end, int range) {
    int64_t* order = static_cast<int64_t*>(scratch) + range * shape.n;
    for (int64_t line = begin; line < end; ++line) {
      const int64_t outer = line / shape.inner, inner = line % shape.inner;
      const T* from = x + outer * shape.n * step + inner;
      std::iota(order, order + shape.n, 0);
      std::partial_sort(order, order + shape.k, order + shape.n, [&](int64_t a, int64_t b) {
        const T left = from[a * step], right = from[b * step];
        if (shape.largest ? larger(left, right) : larger(right, left)) return true;
        if (shape.largest ? larger(right, left) : larger(left, right)) return false;
        return a < b;
      });
      const int64_t to = outer * shape.k * step + inner;
      for (int64_t i = 0; i < shape.k; ++i) {
        if (values != nullptr) values[to + i * step] = from[order[i] * step];
        if (indices != nullptr) indices[to + i * step] = order[i];
      }
    }
  });
}

void Triangle(int64_t matrices, int64_t rows, int64_t columns, int64_t k, bool upper,
              size_t element_bytes, const void* x, void* y) {
  k = std::clamp(k, -rows - 1, columns + 1);
  ForElementSize(element_bytes, [&]<typename U>() {
    const auto* from = static_cast<const U*>(x);
    auto* to = static_cast<U*>(y);
    if (from != to && matrices * rows * columns != 0) {
      std::memcpy(to, from, static_cast<size_t>(matrices * rows * columns) * sizeof(U));
    }
    for (int64_t row = 0; row < matrices * rows; ++row, to += columns) {
      const int64_t diagonal = row % rows + k;  // its column
      const int64_t kept = std::clamp<int64_t>(upper ? diagonal : diagonal + 1, 0, columns);
      std::fill(upper ? to : to + kept, upper ? to + kept : to + columns, U(0));
    }
  });
}

#define HR_INSTANTIATE(T)                               \
  template void CumSum(const ScanShape&, const T*, T*); \
  template void CumProd(const ScanShape&, const T*, T*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
HR_INSTANTIATE(int32_t);
HR_INSTANTIATE(int64_t);
#undef HR_INSTANTIATE
#define HR_INSTANTIATE(T) \
  template void TopK(const Lease&, const TopKShape&, const T*, T*, int64_t*, int, void*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
HR_INSTANTIATE(int8_t);
HR_INSTANTIATE(int16_t);
HR_INSTANTIATE(int32_t);
HR_INSTANTIATE(int64_t);
HR_INSTANTIATE(uint8_t);
HR_INSTANTIATE(uint16_t);
HR_INSTANTIATE(uint32_t);
HR_INSTANTIATE(uint64_t);
#undef HR_INSTANTIATE
template void CumProdGradient(const ScanShape&, const float*, const float*, float*, double*);
template void CumProdGradient(const ScanShape&, const double*, const double*, double*, double*);

}  // namespace hr::cpu
