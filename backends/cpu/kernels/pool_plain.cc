#include "backends/cpu/kernels/pool_plain.h"

#include <cmath>
#include <limits>

namespace hr::cpu {
namespace {

// The part of a window that is inside the image.
struct Window {
  int64_t out;    // offset in the output plane
  int64_t first;  // offset in the input plane of the first element
  int64_t depths, rows, columns;
  int64_t depth_step, row_step, column_step;
  int64_t divisor;
};

template <typename Fn>
void ForEachWindow(const PoolShape& s, Fn&& fn) {
  for (int64_t row = 0; row < s.od * s.oh; ++row) {
    const int64_t od = row / s.oh, oh = row % s.oh;
    const Range depths = ValidDepths(s, od), rows = ValidRows(s, oh);
    const int64_t id = od * s.sd - s.pad_front + depths.begin * s.dd;
    const int64_t ih = oh * s.sh - s.pad_top + rows.begin * s.dh;
    for (int64_t ow = 0; ow < s.ow; ++ow) {
      const Range columns = ValidColumns(s, ow);
      const int64_t iw = ow * s.sw - s.pad_left + columns.begin * s.dw;
      fn(Window{row * s.ow + ow, (id * s.ih + ih) * s.iw + iw, depths.size(), rows.size(),
                columns.size(), s.dd * s.ih * s.iw, s.dh * s.iw, s.dw,
                AverageDivisor(s, oh, ow, od)});
    }
  }
}

// Calls fn(offset in the input plane) for the elements of a window, in the order of memory.
template <typename Fn>
void ForEachElement(const Window& window, Fn&& fn) {
  for (int64_t d = 0; d < window.depths; ++d) {
    for (int64_t r = 0; r < window.rows; ++r) {
      const int64_t row = window.first + d * window.depth_step + r * window.row_step;
      for (int64_t c = 0; c < window.columns; ++c) fn(row + c * window.column_step);
    }
  }
}

// Calls body(input offset, output offset) for every channel of every image.
template <typename Body>
void ForEachPlane(const Lease& threads, const PoolShape& s, int slices, Body&& body) {
  threads.ParallelFor(slices, [&](int slice) {
    const Range planes = PartOf(s.n * s.c, slices, slice);
    for (int64_t p = planes.begin; p < planes.end; ++p) {
      body(p * s.InputPlane(), p * s.OutputPlane());
    }
  });
}

}  // namespace

template <typename T>
void MaxPoolPlain(const Lease& threads, const PoolShape& s, const T* x, T* y, int64_t* argmax,
                  int slices) {
  ForEachPlane(threads, s, slices, [&](int64_t in, int64_t out) {
    ForEachWindow(s, [&](const Window& window) {
      T best = -std::numeric_limits<T>::infinity();
      int64_t where = -1;
      ForEachElement(window, [&](int64_t i) {
        const T value = x[in + i];
        if (where >= 0 && !(value > best) && !std::isnan(value)) return;  // a NaN stays
        best = value;
        where = i;
      });
      y[out + window.out] = best;
      if (argmax != nullptr) argmax[out + window.out] = where;
    });
  });
}

template <typename T>
void MaxPoolPlainBackward(const Lease& threads, const PoolShape& s, const T* dy,
                          const int64_t* argmax, T* dx, int slices) {
  ForEachPlane(threads, s, slices, [&](int64_t in, int64_t out) {
    std::fill_n(dx + in, s.InputPlane(), T{0});
    for (int64_t i = out; i < out + s.OutputPlane(); ++i) {
      if (argmax[i] >= 0) dx[in + argmax[i]] += dy[i];
    }
  });
}

template <typename T>
void AveragePoolPlain(const Lease& threads, const PoolShape& s, const T* x, T* y, int slices) {
  ForEachPlane(threads, s, slices, [&](int64_t in, int64_t out) {
    ForEachWindow(s, [&](const Window& window) {
      double sum = 0;  // so that the mean of a large image keeps its digits
      ForEachElement(window, [&](int64_t i) { sum += x[in + i]; });
      y[out + window.out] = static_cast<T>(sum / static_cast<double>(window.divisor));
    });
  });
}

template <typename T>
void AveragePoolPlainBackward(const Lease& threads, const PoolShape& s, const T* dy, T* dx,
                              int slices) {
  const bool whole = s.OutputPlane() == 1 && s.KernelSize() == s.InputPlane();
  ForEachPlane(threads, s, slices, [&](int64_t in, int64_t out) {
    ForEachWindow(s, [&](const Window& window) {
      const T share = dy[out + window.out] / static_cast<T>(window.divisor);
      if (whole && window.depths * window.rows * window.columns == s.InputPlane()) {
        std::fill_n(dx + in, s.InputPlane(), share);
        return;
      }
      if (window.out == 0) std::fill_n(dx + in, s.InputPlane(), T{0});
      ForEachElement(window, [&](int64_t i) { dx[in + i] += share; });
    });
  });
}

// Norms are taken in double, which holds the powers of all floats that are used as p-norms.
template <typename T>
void LpPoolPlain(const Lease& threads, const PoolShape& s, double p, const T* x, T* y, int slices) {
  ForEachPlane(threads, s, slices, [&](int64_t in, int64_t out) {
    ForEachWindow(s, [&](const Window& window) {
      double sum = 0;
      ForEachElement(window, [&](int64_t i) {
        const double size = std::fabs(static_cast<double>(x[in + i]));
        sum += p == 2 ? size * size : p == 1 ? size : std::pow(size, p);
      });
      y[out + window.out] = static_cast<T>(p == 2   ? std::sqrt(sum)
                                           : p == 1 ? sum
                                                    : std::pow(sum, 1 / p));
    });
  });
}

template <typename T>
void LpPoolPlainBackward(const Lease& threads, const PoolShape& s, double p, const T* dy,
                         const T* x, const T* y, T* dx, int slices) {
  ForEachPlane(threads, s, slices, [&](int64_t in, int64_t out) {
    std::fill_n(dx + in, s.InputPlane(), T{0});
    ForEachWindow(s, [&](const Window& window) {
      const double norm = y[out + window.out];
      if (norm == 0) return;
      ForEachElement(window, [&](int64_t i) {
        const double part = std::fabs(static_cast<double>(x[in + i])) / norm;
        const double slope = p == 2 ? part : p == 1 ? x[in + i] != 0 : std::pow(part, p - 1);
        dx[in + i] += dy[out + window.out] * static_cast<T>(x[in + i] < 0 ? -slope : slope);
      });
    });
  });
}

#define HR_INSTANTIATE(T)                                                                          \
  template void MaxPoolPlain(const Lease&, const PoolShape&, const T*, T*, int64_t*, int);         \
  template void MaxPoolPlainBackward(const Lease&, const PoolShape&, const T*, const int64_t*, T*, \
                                     int);                                                         \
  template void AveragePoolPlain(const Lease&, const PoolShape&, const T*, T*, int);               \
  template void AveragePoolPlainBackward(const Lease&, const PoolShape&, const T*, T*, int);       \
  template void LpPoolPlain(const Lease&, const PoolShape&, double, const T*, T*, int);            \
  template void LpPoolPlainBackward(const Lease&, const PoolShape&, double, const T*, const T*,    \
                                    const T*, T*, int)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
