// Random numbers from counters (Philox4x32-10): number i of a stream depends on the seed, the step,
// the stream and i alone, so results are the same however the work is cut, and on every machine.
#pragma once

#include <cstdint>

#include "runtime/base/executor.h"
#include "runtime/ops/functors/random_stream.h"

namespace hr::cpu {

using functors::RandomStream;

// Writes the 4 * blocks words of the blocks [first, first + blocks).
void RandomWords(const RandomStream& stream, uint64_t first, int64_t blocks, uint32_t* words);

// Turns pairs of uniform numbers in [0, 1) with 24 bits into pairs of standard normals. `count` is
// a multiple of 128.
void RandomNormals(const float* uniform, int64_t count, float* normals);

// The elements [first, first + count) of a stream.
struct RandomRange {
  RandomStream stream;
  uint64_t first;
  int64_t count;
};

int RandomRanges(int64_t count, int slices);

// low + (high - low) u, with u in [0, 1). float and double.
template <typename T>
void RandomUniform(const Lease& threads, const RandomRange& drawn, double low, double high, T* y,
                   int ranges);
template <typename T>
void RandomNormal(const Lease& threads, const RandomRange& drawn, double mean, double scale, T* y,
                  int ranges);

// y = `one` with probability p[i], else 0. U is an unsigned integer as large as an element of y.
template <typename T, typename U>
void Bernoulli(const Lease& threads, const RandomRange& drawn, const T* p, U one, U* y, int ranges);

// Keeps an element with probability 1 - ratio, multiplied by `scale`; else 0. `mask` (may be null)
// says which were kept. y may be x.
template <typename T>
void Dropout(const Lease& threads, const RandomRange& drawn, double ratio, double scale, const T* x,
             T* y, bool* mask, int ranges);
// dx = dy * scale where the mask is set, else 0.
template <typename T>
void DropoutGrad(const Lease& threads, int64_t count, double scale, const T* dy, const bool* mask,
                 T* dx, int ranges);

// `samples` classes for each list of `classes` logarithms of weights, of which there are as many as
// the drawn elements need. `sums` has room for `classes` numbers. Index is int32_t or int64_t.
template <typename T, typename Index>
void Multinomial(const RandomRange& drawn, int64_t classes, int64_t samples, const T* log_weights,
                 double* sums, Index* y);

}  // namespace hr::cpu
