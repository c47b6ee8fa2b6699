// Counts of n-grams in rows of numbers (ONNX's TfIdfVectorizer).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/executor.h"

namespace hr::cpu {

// The n-grams of one length, in ascending order.
struct NGrams {
  int64_t length = 1;
  std::vector<int64_t> grams;    // [count, length]
  std::vector<int64_t> columns;  // of the result, from 0 to below NGramPool::columns
};

enum class NGramScore : uint8_t { kCount, kWeightIfAny, kWeightTimesCount };

struct NGramPool {
  std::vector<NGrams> lengths;
  int64_t columns = 0;
  int64_t most_skips = 0;  // n-grams whose numbers are up to this many others apart, all alike
  NGramScore score = NGramScore::kCount;
  std::vector<float> weights;  // of the columns; empty: all 1
};

// x [rows, length] → y [rows, pool.columns]. int32 and int64.
template <typename T>
void CountNGrams(const Lease& threads, const NGramPool& pool, int64_t rows, int64_t length,
                 const T* x, float* y, int slices);

}  // namespace hr::cpu
