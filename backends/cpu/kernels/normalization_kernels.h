// Passes over one run of elements, once per instruction set.
#pragma once

#include <cstdint>

namespace hr::cpu {

// d stands for dy * scale, or for dy where scale is null; xhat for (x - mean) * inverse.
template <typename T>
struct NormKernels {
  T (*sum)(const T* x, int64_t n);
  T (*squares)(const T* x, int64_t n, T mean);                      // sum of (x - mean)²
  void (*normalize_each)(const T* x, int64_t n, T mean, T inverse,  // xhat scale + bias
                         const T* scale, const T* bias, T* y);      // bias null: 0
  void (*dots)(const T* dy, const T* scale, const T* x, int64_t n, T mean, T inverse,
               T sums[2]);  // of d and of d xhat
  void (*gradient)(const T* dy, const T* scale, const T* x, int64_t n, T a, T b, T mean, T c,
                   T* dx);  // a (d - b - (x - mean) c)
  void (*combine)(const T* dy, const T* x, int64_t n, T a, T b, T mean, T c,
                  T* dx);  // a dy - b - (x - mean) c
  void (*accumulate)(const T* dy, const T* x, int64_t n, T mean, T inverse,
                     T* sum);  // sum += dy xhat
};

template <typename T>
const NormKernels<T>& KernelsForNormalization();

}  // namespace hr::cpu
