// The plainest matrix product, summed in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "backends/cpu/kernels/gemm.h"

namespace hr::reference {

template <typename T>
void Gemm(const cpu::GemmShape& shape, const T* a, const T* b, T* c,
          const cpu::GemmEpilogue<T>& epilogue) {
  for (int64_t i = 0; i < shape.m; ++i) {
    for (int64_t j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < shape.k; ++k) {
        const T left = shape.transpose_a ? a[k * shape.lda + i] : a[i * shape.lda + k];
        const T right = shape.transpose_b ? b[j * shape.ldb + k] : b[k * shape.ldb + j];
        sum += static_cast<double>(left) * static_cast<double>(right);
      }
      T& out = c[i * shape.ldc + j];
      sum *= epilogue.alpha;
      if (epilogue.beta != 0) sum += epilogue.beta * static_cast<double>(out);
      if (epilogue.row_bias) sum += epilogue.row_bias[i];
      if (epilogue.column_bias) sum += epilogue.column_bias[j];
      if (epilogue.activation == cpu::Activation::kRelu && sum < 0) sum = 0;
      if (epilogue.activation == cpu::Activation::kGelu) {
        sum *= 0.5 * (1 + std::erf(sum / std::numbers::sqrt2));
      }
      out = static_cast<T>(sum);
    }
  }
}

}  // namespace hr::reference
