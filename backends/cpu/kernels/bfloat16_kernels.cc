#include "backends/cpu/kernels/bfloat16_kernels.h"

#include <hwy/targets.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/kernels/matrix_unit.h"

#if defined(__x86_64__)

#include "backends/cpu/kernels/transpose_lanes.h"

#if defined(__GNUC__) && !defined(__clang__)  // whose headers begin with what they call undefined
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Highway has these instructions for no set of its own that this build compiles.
#define HR_BFLOAT16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define HR_BFLOAT16_INLINE HR_BFLOAT16 __attribute__((always_inline)) inline

namespace hr::cpu {
namespace {

constexpr int kLanes = 16;
// Accumulators are rows x 2 vectors and must leave registers for what is multiplied.
constexpr int kRows = 12;
// Panels are read in the order in which they lie (gemm_kernels.h).
constexpr int64_t kBytesAhead = 8192;

HR_BFLOAT16_INLINE __mmask16 FirstLanes(int64_t count) {
  return count >= kLanes ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1 << count) - 1);
}
HR_BFLOAT16_INLINE __mmask32 FirstNumbers(int64_t count) {
  return count >= 32 ? ~__mmask32{0} : count <= 0 ? 0 : (__mmask32{1} << count) - 1;
}

// ---- Products ----

// A pair of a row of A in all lanes.
HR_BFLOAT16_INLINE __m512bh Pair(const uint16_t* from) {
  uint32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(pair)));
}

HR_BFLOAT16_INLINE __m512bh LoadPairs(const uint16_t* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}

// Adds the last term of an odd k. Apart from the others, as what is rare.
HR_BFLOAT16 __attribute__((noinline)) void AddLast(const Bfloat16TileCall& call, int rows) {
  const uint16_t* const b = call.panel + (call.k - 1) * kBfloat16Width;
  for (int i = 0; i < rows; ++i) {
    const uint16_t pair[2] = {call.a[i * call.lda + call.k - 1], 0};
    for (int j = 0; j < kBfloat16Width; j += kLanes) {
      float* const sum = call.tile + i * kBfloat16Width + j;
      _mm512_storeu_ps(sum,
                       _mm512_dpbf16_ps(_mm512_loadu_ps(sum), Pair(pair), LoadPairs(b + 2 * j)));
    }
  }
}

template <int kTileRows>
HR_BFLOAT16 void Tile(const Bfloat16TileCall& call) {
  __m512 sums[kTileRows][2];
#pragma GCC unroll 12
  for (int i = 0; i < kTileRows; ++i) sums[i][0] = sums[i][1] = _mm512_setzero_ps();
  const uint16_t* b = call.panel;
  for (const int64_t span : call.spans) {
    const uint16_t* a = call.a + span;
    for (int64_t pairs = call.k / 2; pairs > 0; --pairs, a += 2, b += 2 * kBfloat16Width) {
      _mm_prefetch(reinterpret_cast<const char*>(b) + kBytesAhead, _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(b + kBfloat16Width) + kBytesAhead, _MM_HINT_T0);
      const __m512bh left = LoadPairs(b), right = LoadPairs(b + kBfloat16Width);
#pragma GCC unroll 12
      for (int i = 0; i < kTileRows; ++i) {
        const __m512bh row = Pair(a + i * call.lda);
        sums[i][0] = _mm512_dpbf16_ps(sums[i][0], row, left);
        sums[i][1] = _mm512_dpbf16_ps(sums[i][1], row, right);
      }
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < kTileRows; ++i) {
    _mm512_storeu_ps(call.tile + i * kBfloat16Width, sums[i][0]);
    _mm512_storeu_ps(call.tile + i * kBfloat16Width + kLanes, sums[i][1]);
  }
  if (call.k % 2 != 0) AddLast(call, kTileRows);
}

// ---- What is made of sums ----

HR_BFLOAT16_INLINE __m512 Residual(const Bfloat16Epilogue& e, int64_t at, __mmask16 there) {
  if (!e.narrow_residual) {
    return _mm512_maskz_loadu_ps(there, static_cast<const float*>(e.residual) + at);
  }
  const __m256i bits =
      _mm256_maskz_loadu_epi16(there, static_cast<const uint16_t*>(e.residual) + at);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

HR_BFLOAT16 void Finish(const Bfloat16FinishCall& call) {
  const Bfloat16Epilogue& e = call.epilogue;
  const __m512 alpha = _mm512_set1_ps(e.alpha), beta = _mm512_set1_ps(e.beta);
  for (int64_t i = 0; i < call.rows; ++i) {
    for (int64_t j = 0; j < call.columns; j += kLanes) {
      const __mmask16 there = FirstLanes(call.columns - j);
      __m512 y = _mm512_mul_ps(alpha, _mm512_loadu_ps(call.tile + i * kBfloat16Width + j));
      if (e.bias != nullptr) {
        const float* const at = e.bias + i * e.bias_row + j * e.bias_column;
        y = _mm512_fmadd_ps(
            beta, e.bias_column != 0 ? _mm512_maskz_loadu_ps(there, at) : _mm512_set1_ps(*at), y);
      }
      if (e.residual != nullptr) y = _mm512_add_ps(y, Residual(e, i * e.ldr + j, there));
      // The second operand is what comes out for a NaN.
      if (e.activation == Activation::kRelu) y = _mm512_max_ps(_mm512_setzero_ps(), y);
      const int64_t to = i * call.ldc + j;
      if (e.narrow) {
        _mm256_mask_storeu_epi16(static_cast<uint16_t*>(call.c) + to, there,
                                 reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(y)));
      } else {
        _mm512_mask_storeu_ps(static_cast<float*>(call.c) + to, there, y);
      }
    }
  }
}

// ---- Packing ----

// `place(l)` is the distance of row l of B.
template <typename Place>
HR_BFLOAT16_INLINE void PackRows(const uint16_t* b, int64_t count, int64_t k, uint16_t* panel,
                                 const Place& place) {
  alignas(64) uint16_t order[64];
  for (int i = 0; i < 64; ++i) order[i] = static_cast<uint16_t>(i / 2 + i % 2 * 32);
  const __m512i low = _mm512_load_si512(order), high = _mm512_load_si512(order + 32);
  const __mmask32 there = FirstNumbers(count);
  for (int64_t l = 0; l < k; l += 2, panel += 2 * kBfloat16Width) {
    const __m512i even = _mm512_maskz_loadu_epi16(there, b + place(l));
    const __m512i odd =
        l + 1 < k ? _mm512_maskz_loadu_epi16(there, b + place(l + 1)) : _mm512_setzero_si512();
    _mm512_storeu_si512(panel, _mm512_permutex2var_epi16(even, low, odd));
    _mm512_storeu_si512(panel + kBfloat16Width, _mm512_permutex2var_epi16(even, high, odd));
  }
}

HR_BFLOAT16 void Pack(const uint16_t* b, int64_t ldb, int64_t count, int64_t k, uint16_t* panel) {
  PackRows(b, count, k, panel, [ldb](int64_t l) { return l * ldb; });
}

HR_BFLOAT16 void PackPlaces(const uint16_t* from, std::span<const int32_t> places, int64_t count,
                            uint16_t* panel) {
  PackRows(from, count, static_cast<int64_t>(places.size()), panel,
           [places](int64_t l) { return int64_t{places[static_cast<size_t>(l)]}; });
}

HR_BFLOAT16 void PackTransposed(const uint16_t* b, int64_t ldb, int64_t count, int64_t k,
                                uint16_t* panel) {
  for (int64_t l = 0; l < k; l += 2 * kLanes) {
    const __mmask32 there = FirstNumbers(k - l);
    const int64_t pairs = std::min<int64_t>(kLanes, (k - l + 1) / 2);
    for (int64_t j = 0; j < kBfloat16Width; j += kLanes) {
      __m512i rows[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        rows[i] = j + i < count ? _mm512_maskz_loadu_epi16(there, b + (j + i) * ldb + l)
                                : _mm512_setzero_si512();
      }
      TransposeLanes(rows);
      uint16_t* const to = panel + l * kBfloat16Width + 2 * j;
      for (int64_t p = 0; p < pairs; ++p) {
        _mm512_storeu_si512(to + p * 2 * kBfloat16Width, rows[p]);
      }
    }
  }
}

// Two rows of 16 numbers, number by number.
HR_BFLOAT16_INLINE __m512i Interleaved(__m256i even, __m256i odd) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}

// Pairs of A's rows are lanes.
HR_BFLOAT16 void Transpose(const uint16_t* a, int64_t lda, int64_t count, int64_t k, uint16_t* to,
                           int64_t ldto) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 there = FirstLanes(count - i);
    const int64_t lanes = std::min<int64_t>(kLanes, count - i);
    for (int64_t l = 0; l < k; l += 2 * kLanes) {
      __m512i pairs[kLanes];
      for (int p = 0; p < kLanes; ++p) {
        const int64_t row = l + 2 * p;
        const uint16_t* const at = a + row * lda + i;
        pairs[p] = Interleaved(_mm256_maskz_loadu_epi16(row < k ? there : 0, at),
                               _mm256_maskz_loadu_epi16(row + 1 < k ? there : 0, at + lda));
      }
      TransposeLanes(pairs);
      const __mmask32 kept = FirstNumbers(k - l);
      for (int64_t m = 0; m < lanes; ++m) {
        _mm512_mask_storeu_epi16(to + (i + m) * ldto + l, kept, pairs[m]);
      }
    }
  }
}

template <int... kIndex>
Bfloat16Kernels MakeKernels(std::integer_sequence<int, kIndex...>) {
  Bfloat16Kernels kernels;
  kernels.rows = kRows;
  ((kernels.tile[kIndex] = Tile<kIndex + 1>), ...);
  kernels.finish = Finish;
  kernels.pack = Pack;
  kernels.pack_places = PackPlaces;
  kernels.pack_transposed = PackTransposed;
  kernels.transpose = Transpose;
  return kernels;
}

}  // namespace

const Bfloat16Kernels* VectorsForBfloat16() {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  static const Bfloat16Kernels kernels = MakeKernels(std::make_integer_sequence<int, kRows>());
  // A process can be told to do without AVX-512.
  return has && (hwy::SupportedTargets() & HWY_AVX3) != 0 ? &kernels : nullptr;
}

namespace {

// Intel's processors start a VDPBF16PS every other cycle, and two multiply-adds of float32 in each:
// these are twice as fast (0.58 ns for 32 products and 0.145 ns for 16 on a Sapphire Rapids).
bool MultipliesFloatsFaster() { return __builtin_cpu_is("intel"); }

}  // namespace

}  // namespace hr::cpu

#else

namespace hr::cpu {

const Bfloat16Kernels* VectorsForBfloat16() { return nullptr; }

namespace {

bool MultipliesFloatsFaster() { return true; }

}  // namespace

}  // namespace hr::cpu

#endif

namespace hr::cpu {

const Bfloat16Kernels* KernelsForBfloat16() {
  const Bfloat16Kernels* const vectors = VectorsForBfloat16();
  if (vectors == nullptr) return nullptr;
  if (!HasBfloat16Unit()) return MultipliesFloatsFaster() ? nullptr : vectors;
  static const Bfloat16Kernels tiles = WithUnitTiles(*vectors);
  return &tiles;
}

}  // namespace hr::cpu
