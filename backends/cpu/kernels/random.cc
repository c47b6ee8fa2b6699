#include "backends/cpu/kernels/random.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/cpu/kernels/ranges.h"
#include "runtime/ops/functors/philox.h"

namespace hr::cpu {

int RandomRanges(int64_t count, int slices) {
  constexpr int64_t kCost = 4;  // against streaming
  return RangeCount(count, kCost, slices);
}

namespace {

// Elements whose words are made together.
constexpr int64_t kChunk = 1024;
// Elements that are made together at the least: their words are whole blocks, and pairs stay whole.
constexpr int64_t kGrain = 4;

// Calls body(words, skip, at, size) for chunks of the range's elements: of element at + i, counted
// from the first of the range, the words are those behind (skip + i) * per_element others. Chunks
// begin where they would in the whole stream.
template <int per_element, typename Body>
void ForChunks(const Lease& threads, const RandomRange& drawn, int ranges, const Body& body) {
  const auto into = static_cast<int64_t>(drawn.first % kChunk);
  const uint64_t origin = drawn.first - static_cast<uint64_t>(into);
  ForRanges(threads, CeilDiv(into + drawn.count, kChunk), ranges,
            [&](int64_t begin, int64_t end, int) {
              for (int64_t chunk = begin; chunk < end; ++chunk) {
                uint32_t words[kChunk * per_element];
                const int64_t from = std::max(chunk * kChunk, into);
                const int64_t size = std::min((chunk + 1) * kChunk, into + drawn.count) - from;
                const int64_t skip = from % kGrain;
                const uint64_t first = origin + static_cast<uint64_t>(from - skip);
                RandomWords(drawn.stream, first * per_element / 4,
                            CeilDiv((skip + size) * per_element, 4), words);
                body(words, skip, from - into, size);
              }
            });
}

template <typename T>
constexpr int kWords = sizeof(T) / 4;

// Uniform in [0, 1), from the words of element i.
template <typename T>
T UniformAt(const uint32_t* words, int64_t i) {
  if constexpr (sizeof(T) == 4) {
    return functors::UniformFrom<T>(words[i]);
  } else {
    return functors::UniformFromTwo<T>(words[2 * i], words[2 * i + 1]);
  }
}

// With the resolution of a word: whether element i happens that has probability p.
bool Happens(const uint32_t* words, int64_t i, double p) {
  return static_cast<double>(words[i]) * 0x1p-32 < p;
}

// The value or 0, without a branch that would be guessed wrong half of the time.
template <typename T>
T Kept(bool kept, T value) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return std::bit_cast<T>(std::bit_cast<Bits>(value) & (Bits(0) - Bits(kept)));
}

// Standard normals from kChunk uniform numbers.
template <typename T>
void NormalsOf(const T* uniform, T* normal) {
  if constexpr (sizeof(T) == 4) {
    RandomNormals(uniform, kChunk, normal);
  } else {
    for (int64_t i = 0; i < kChunk; i += 2) {
      functors::NormalsOf(uniform[i] + T(0x1p-53), uniform[i + 1], normal + i, normal + i + 1);
    }
  }
}

}  // namespace

template <typename T>
void RandomUniform(const Lease& threads, const RandomRange& drawn, double low, double high, T* y,
                   int ranges) {
  const T base = static_cast<T>(low), width = static_cast<T>(high - low);
  ForChunks<kWords<T>>(threads, drawn, ranges,
                       [&](const uint32_t* words, int64_t skip, int64_t at, int64_t size) {
                         T* to = y + at;
                         words += skip * kWords<T>;
                         for (int64_t i = 0; i < size; ++i) {
                           to[i] = base + width * UniformAt<T>(words, i);
                         }
                       });
}

template <typename T>
void RandomNormal(const Lease& threads, const RandomRange& drawn, double mean, double scale, T* y,
                  int ranges) {
  const T center = static_cast<T>(mean), width = static_cast<T>(scale);
  ForChunks<kWords<T>>(threads, drawn, ranges,
                       [&](const uint32_t* words, int64_t skip, int64_t at, int64_t size) {
                         T uniform[kChunk] = {}, normal[kChunk];
                         for (int64_t i = 0; i < RoundUp(skip + size, 2); ++i) {
                           uniform[i] = UniformAt<T>(words, i);
                         }
                         NormalsOf(uniform, normal);
                         for (int64_t i = 0; i < size; ++i) {
                           y[at + i] = center + width * normal[skip + i];
                         }
                       });
}

template <typename T, typename U>
void Bernoulli(const Lease& threads, const RandomRange& drawn, const T* p, U one, U* y,
               int ranges) {
  ForChunks<1>(threads, drawn, ranges,
               [&](const uint32_t* words, int64_t skip, int64_t at, int64_t size) {
                 words += skip;
                 for (int64_t i = 0; i < size; ++i) {
                   const bool happens = Happens(words, i, static_cast<double>(p[at + i]));
                   y[at + i] = happens ? one : U(0);
                 }
               });
}

template <typename T>
void Dropout(const Lease& threads, const RandomRange& drawn, double ratio, double scale, const T* x,
             T* y, bool* mask, int ranges) {
  const T factor = static_cast<T>(scale);
  // Of 2^32 equally likely words this many drop their element.
  const auto dropping = static_cast<uint32_t>(std::min(std::ceil(ratio * 0x1p32), 0x1p32 - 1));
  ForChunks<1>(threads, drawn, ranges,
               [&](const uint32_t* words, int64_t skip, int64_t at, int64_t size) {
                 words += skip;
                 for (int64_t i = 0; i < size; ++i) {
                   y[at + i] = Kept(words[i] >= dropping, x[at + i] * factor);
                 }
                 if (mask == nullptr) return;
                 for (int64_t i = 0; i < size; ++i) mask[at + i] = words[i] >= dropping;
               });
}

template <typename T>
void DropoutGrad(const Lease& threads, int64_t count, double scale, const T* dy, const bool* mask,
                 T* dx, int ranges) {
  const T factor = static_cast<T>(scale);
  ForRanges(threads, count, ranges, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      dx[i] = Kept(mask[i], dy[i] * factor);
    }
  });
}

template <typename T, typename Index>
void Multinomial(const RandomRange& drawn, int64_t classes, int64_t samples, const T* log_weights,
                 double* sums, Index* y) {
  for (int64_t begin = 0; begin < drawn.count; begin += samples, log_weights += classes) {
    const T largest = *std::max_element(log_weights, log_weights + classes);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      sums[c] = sum += std::exp(static_cast<double>(log_weights[c] - largest));
    }
    for (int64_t s = 0; s < samples; ++s) {
      const uint64_t i = drawn.first + static_cast<uint64_t>(begin + s);
      uint32_t words[4];
      RandomWords(drawn.stream, i / 2, 1, words);
      const double at = UniformAt<double>(words, static_cast<int64_t>(i % 2)) * sum;
      const int64_t place = std::upper_bound(sums, sums + classes, at) - sums;
      y[begin + s] = static_cast<Index>(std::min(place, classes - 1));
    }
  }
}

#define HR_INSTANTIATE(T)                                                                        \
  template void RandomUniform(const Lease&, const RandomRange&, double, double, T*, int);        \
  template void RandomNormal(const Lease&, const RandomRange&, double, double, T*, int);         \
  template void Bernoulli(const Lease&, const RandomRange&, const T*, uint8_t, uint8_t*, int);   \
  template void Bernoulli(const Lease&, const RandomRange&, const T*, uint16_t, uint16_t*, int); \
  template void Bernoulli(const Lease&, const RandomRange&, const T*, uint32_t, uint32_t*, int); \
  template void Bernoulli(const Lease&, const RandomRange&, const T*, uint64_t, uint64_t*, int); \
  template void Dropout(const Lease&, const RandomRange&, double, double, const T*, T*, bool*,   \
                        int);                                                                    \
  template void DropoutGrad(const Lease&, int64_t, double, const T*, const bool*, T*, int);      \
  template void Multinomial(const RandomRange&, int64_t, int64_t, const T*, double*, int32_t*);  \
  template void Multinomial(const RandomRange&, int64_t, int64_t, const T*, double*, int64_t*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
