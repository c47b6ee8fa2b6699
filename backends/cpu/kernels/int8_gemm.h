// Products of matrices of 8-bit numbers, row-major, with exact sums in int32 (which wrap around, as
// ONNX allows: 33,025 terms or fewer never do):
//
//   sum(i, j) = bias + sum over l of (A(i, l) - a_zero(i)) * (B(l, j) - b_zero(j))
//
// and what is made of a finished sum. Results do not depend on `slices` or on threads. Nothing is
// allocated; different calls may run at one time if they do not share scratch or C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/base/executor.h"

namespace hr::cpu {

struct Int8Shape {
  int64_t m = 0, n = 0, k = 0;
  bool a_signed = false, b_signed = false;
  int64_t ldc = 0;  // the distance between rows of C; 0: n
};

// The kernels take A as unsigned and B as signed numbers. The other kind is shifted by 128 where it
// is read, and so are the zero points that they are given.
inline int32_t ShiftedZeroOfA(int32_t zero, bool a_signed) { return a_signed ? zero + 128 : zero; }
inline int32_t ShiftedZeroOfB(int32_t zero, bool b_signed) { return b_signed ? zero : zero - 128; }

enum class Int8Output : uint8_t { kInt32, kFloat, kInt8, kUint8 };

// A parameter has a number for each row, or one for each column: at most one of the two is set (of
// factors and scales exactly one, where the output needs them). Those of columns can be read up to
// a multiple of kInt8Padding columns.
inline constexpr int64_t kInt8Padding = 32;
struct Int8Epilogue {
  Int8Output output = Int8Output::kInt32;
  const int32_t* row_zero = nullptr;     // ShiftedZeroOfA of a_zero; null: 0
  const int32_t* column_zero = nullptr;  // ShiftedZeroOfB of b_zero; null: 0
  const int32_t* row_bias = nullptr;
  const int32_t* column_bias = nullptr;
  // kInt8, kUint8: y = clamp(round half to even(sum * factor + shift) + zero, low, high), in
  // float64.
  const double* row_factor = nullptr;
  const double* column_factor = nullptr;
  const double* row_shift = nullptr;  // null: 0
  const double* column_shift = nullptr;
  double zero = 0, low = 0, high = 0;
  // kFloat: y = clamp(sum * scale + offset), each operation rounded to float32. A NaN stays.
  const float* row_scale = nullptr;
  const float* column_scale = nullptr;
  const float* row_offset = nullptr;  // null: 0
  const float* column_offset = nullptr;
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
};

// B in the order in which the kernels read it. The layout depends on the CPU: it is for memory, not
// for files. `packed` is aligned as int32.
size_t PackedInt8Bytes(int64_t n, int64_t k);
// `b`: [k][ldb], or [n][ldb] if it is transposed.
void PackInt8(const Lease& threads, const Int8Shape& shape, bool transposed, const void* b,
              int64_t ldb, void* packed, int slices);

size_t Int8GemmScratchBytes(const Int8Shape& shape);
// `a`: [m][k] without gaps; `c`: [m][ldc] of the type that the epilogue says.
void Int8Gemm(const Lease& threads, const Int8Shape& shape, const void* a, const void* packed,
              void* c, const Int8Epilogue& epilogue, int slices, void* scratch);

}  // namespace hr::cpu
