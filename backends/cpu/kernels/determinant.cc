#include "backends/cpu/kernels/determinant.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/cpu/kernels/ranges.h"

namespace hr::cpu {
namespace {

// A row-major n x n matrix.
struct Square {
  double* data;
  int64_t n;
  double& operator()(int64_t i, int64_t j) const { return data[i * n + j]; }
};

void SwapRows(const Square& a, int64_t i, int64_t k) {
  if (i != k) std::swap_ranges(a.data + i * a.n, a.data + (i + 1) * a.n, a.data + k * a.n);
}

void SwapColumns(const Square& a, int64_t j, int64_t k) {
  for (int64_t i = 0; j != k && i < a.n; ++i) std::swap(a(i, j), a(i, k));
}

// Takes pivot k from the rows below it; the factors stay in its column.
void Eliminate(const Square& a, int64_t k) {
  for (int64_t i = k + 1; i < a.n; ++i) {
    const double factor = a(i, k) /= a(k, k);
    for (int64_t j = k + 1; j < a.n; ++j) a(i, j) -= factor * a(k, j);
  }
}

// Overwrites a.
double Determinant(const Square& a) {
  double det = 1;
  for (int64_t k = 0; k < a.n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < a.n; ++i) {
      if (std::fabs(a(i, k)) > std::fabs(a(pivot, k))) pivot = i;
    }
    if (a(pivot, k) == 0) return 0;
    if (pivot != k) det = -det;
    SwapRows(a, k, pivot);
    det *= a(k, k);
    Eliminate(a, k);
  }
  return det;
}

// P A Q = L U in the place of a, L below the diagonal.
struct Factors {
  Square lu;
  int64_t* rows;     // of A, in the order of P A
  int64_t* columns;  // of A, in the order of A Q
  double sign = 1;   // det(P) det(Q)
  bool few = false;  // the rank is below n - 1
};

void Factor(Factors& f) {
  const Square& a = f.lu;
  std::iota(f.rows, f.rows + a.n, 0);
  std::iota(f.columns, f.columns + a.n, 0);
  for (int64_t k = 0; k < a.n; ++k) {
    int64_t row = k, column = k;
    for (int64_t i = k; i < a.n; ++i) {
      for (int64_t j = k; j < a.n; ++j) {
        if (std::fabs(a(i, j)) > std::fabs(a(row, column))) row = i, column = j;
      }
    }
    if ((row != k) != (column != k)) f.sign = -f.sign;
    SwapRows(a, k, row);
    SwapColumns(a, k, column);
    std::swap(f.rows[k], f.rows[row]);
    std::swap(f.columns[k], f.columns[column]);
    if (k == a.n - 1) return;
    if (a(k, k) == 0) {
      f.few = true;
      return;
    }
    Eliminate(a, k);
  }
}

// v = adj(U): the inverse of U times its determinant, without a division by the last pivot.
void AdjugateOfUpper(const Square& u, const Square& v) {
  const int64_t n = u.n;
  std::fill_n(v.data, n * n, 0.0);
  double others = 1;  // all pivots but the last
  for (int64_t k = 0; k + 1 < n; ++k) others *= u(k, k);
  for (int64_t j = 0; j < n; ++j) {
    v(j, j) = j == n - 1 ? others : others / u(j, j) * u(n - 1, n - 1);
    for (int64_t i = j - 1; i >= 0; --i) {
      double sum = 0;
      for (int64_t k = i + 1; k <= j; ++k) sum += u(i, k) * v(k, j);
      v(i, j) = -sum / u(i, i);
    }
  }
}

// v = v inv(L), where L has ones on its diagonal.
void DivideByLower(const Square& l, const Square& v) {
  for (int64_t j = v.n - 1; j >= 0; --j) {
    for (int64_t k = j + 1; k < v.n; ++k) {
      for (int64_t i = 0; i < v.n; ++i) v(i, j) -= v(i, k) * l(k, j);
    }
  }
}

template <typename T>
void Gradient(T dy, const T* x, T* dx, int64_t n, double* scratch) {
  auto* order = reinterpret_cast<int64_t*>(scratch + 2 * n * n);
  Factors f{{scratch, n}, order, order + n};
  std::copy_n(x, n * n, scratch);
  Factor(f);
  std::fill_n(dx, n * n, T{0});
  if (f.few) return;
  const Square v{scratch + n * n, n};
  AdjugateOfUpper(f.lu, v);
  DivideByLower(f.lu, v);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      dx[f.rows[j] * n + f.columns[i]] = static_cast<T>(static_cast<double>(dy) * f.sign * v(i, j));
    }
  }
}

}  // namespace

int DeterminantRanges(const MatricesShape& shape, int slices) {
  return RangeCount(shape.count, shape.n * shape.n * std::max<int64_t>(shape.n / 4, 1), slices);
}

template <typename T>
void Determinants(const Lease& threads, const MatricesShape& shape, const T* x, T* y, int ranges,
                  double* scratch) {
  const int64_t size = shape.n * shape.n;
  ForRanges(threads, shape.count, ranges, [&](int64_t begin, int64_t end, int range) {
    const Square a{scratch + range * size, shape.n};
    for (int64_t i = begin; i < end; ++i) {
      std::copy_n(x + i * size, size, a.data);
      y[i] = static_cast<T>(Determinant(a));
    }
  });
}

template <typename T>
void DeterminantGradients(const Lease& threads, const MatricesShape& shape, const T* dy, const T* x,
                          T* dx, int ranges, double* scratch) {
  const int64_t size = shape.n * shape.n;
  const auto own = static_cast<int64_t>(DeterminantGradientScratch(shape, 1));
  ForRanges(threads, shape.count, ranges, [&](int64_t begin, int64_t end, int range) {
    for (int64_t i = begin; i < end && size != 0; ++i) {
      Gradient(dy[i], x + i * size, dx + i * size, shape.n, scratch + range * own);
    }
  });
}

#define HR_INSTANTIATE(T)                                                                        \
  template void Determinants(const Lease&, const MatricesShape&, const T*, T*, int, double*);    \
  template void DeterminantGradients(const Lease&, const MatricesShape&, const T*, const T*, T*, \
                                     int, double*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
