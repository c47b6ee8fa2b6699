#include "backends/cpu/kernels/split_kernels.h"

#include <algorithm>
#include <bit>

#include "backends/cpu/kernels/matrix_unit.h"

#if defined(__x86_64__) && defined(__linux__)

#include "backends/cpu/kernels/matrix_registers.h"
#include "backends/cpu/kernels/transpose_lanes.h"

#if defined(__GNUC__) && !defined(__clang__)  // whose headers begin with what they call undefined
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define HR_SPLIT __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define HR_SPLIT_INLINE HR_SPLIT __attribute__((always_inline)) inline
#define HR_AMX __attribute__((target("amx-tile,amx-bf16")))

namespace hr::cpu {
namespace {

constexpr int kParts = 3;
constexpr int64_t kRegister = 1024;

// ---- Splitting ----

HR_SPLIT_INLINE __mmask16 FirstLanes(int64_t count) {
  return count >= 16 ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1 << count) - 1);
}

// What the upper halves of lanes become: the parts of a number.
struct Parts {
  __m512 part[kParts];
};

// A number's nearest with eight bits, in the upper half.
HR_SPLIT_INLINE __m512 Rounded(__m512 x) {
  const __m512i bits = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
  return _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32(~0xffff)));
}

// Parts of numbers that are not special. `sum` becomes NaN if one is: infinite, no number, or so
// large that rounding makes it infinite.
struct Plain {
  HR_SPLIT_INLINE Plain() : sum(_mm512_setzero_ps()) {}
  HR_SPLIT_INLINE Parts operator()(__m512 x) {
    Parts out;
    out.part[0] = Rounded(x);
    const __m512 rest = _mm512_sub_ps(x, out.part[0]);
    out.part[1] = Rounded(rest);
    out.part[2] = _mm512_sub_ps(rest, out.part[1]);
    sum = _mm512_add_ps(sum, out.part[2]);
    return out;
  }
  HR_SPLIT_INLINE bool special() const { return _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q) != 0; }

  __m512 sum;
};

// Parts of any numbers. Large ones are cut, not rounded, and what is not finite has no parts beside
// the first.
struct Careful {
  HR_SPLIT_INLINE Parts operator()(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    const __mmask16 large = _mm512_cmpge_epu32_mask(size, _mm512_set1_epi32(0x7f7f8000));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __mmask16 endless = _mm512_cmpeq_epu32_mask(size, _mm512_set1_epi32(0x7f800000));
    infinite |= endless;
    const __m512i upper = _mm512_and_si512(bits, _mm512_set1_epi32(~0xffff));
    const __m512i cut = _mm512_mask_or_epi32(upper, nan, upper, _mm512_set1_epi32(0x400000));
    Parts out;
    out.part[0] = _mm512_mask_mov_ps(Rounded(x), large, _mm512_castsi512_ps(cut));
    const auto finite = static_cast<__mmask16>(~(nan | endless));
    const __m512 rest = _mm512_maskz_sub_ps(finite, x, out.part[0]);
    out.part[1] = Rounded(rest);
    out.part[2] = _mm512_sub_ps(rest, out.part[1]);
    return out;
  }

  __mmask16 infinite = 0;
};

HR_SPLIT_INLINE void TransposeRegister(char* reg) {
  __m512i rows[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) rows[i] = _mm512_load_si512(reg + i * kTileBytes);
  TransposeLanes(rows);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_store_si512(reg + i * kTileBytes, rows[i]);
}

// A register's row of each part: the pairs of even and odd lanes' upper halves.
HR_SPLIT_INLINE void StorePairs(const Parts& even, const Parts& odd, char* to) {
#pragma GCC unroll 3
  for (int part = 0; part < kParts; ++part) {
    const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(even.part[part]), 16);
    _mm512_store_si512(
        to + part * 2 * kRegister,
        _mm512_mask_blend_epi16(0xaaaaaaaa, low, _mm512_castps_si512(odd.part[part])));
  }
}

// Two vectors of terms that follow each other, in order.
HR_SPLIT_INLINE void StoreRun(const Parts& first, const Parts& second, __m512i order, char* to) {
#pragma GCC unroll 3
  for (int part = 0; part < kParts; ++part) {
    _mm512_store_si512(to + part * 2 * kRegister,
                       _mm512_permutex2var_epi16(_mm512_castps_si512(first.part[part]), order,
                                                 _mm512_castps_si512(second.part[part])));
  }
}

HR_SPLIT_INLINE void ZeroRow(char* to) {
#pragma GCC unroll 3
  for (int part = 0; part < kParts; ++part) {
    _mm512_store_si512(to + part * 2 * kRegister, _mm512_setzero_si512());
  }
}

HR_SPLIT_INLINE void Fetch(const float* from) {
  _mm_prefetch(reinterpret_cast<const char*>(from), _MM_HINT_T0);
}

// Rows lie in other pages each, which processors fetch only when told.
constexpr int64_t kRowsAhead = 32;
constexpr int64_t kTermsAhead = 2 * kSplitTerms;

// The registers of a step whose rows are those of the source, with 16 pairs of terms each, from
// term `l` on.
template <typename Split>
HR_SPLIT_INLINE void StepAlongTerms(const SplitSource& s, int64_t l, Split& split, char* to) {
  alignas(64) uint16_t order[32];
  for (int i = 0; i < 32; ++i) order[i] = static_cast<uint16_t>(2 * i + 1);
  const __m512i odd_halves = _mm512_load_si512(order);
  const __mmask16 low = FirstLanes(s.k - l), high = FirstLanes(s.k - l - 16);
  for (int64_t row = 0; row < kSplitWidth; ++row) {
    char* const registers = to + row / kSplitSide * kRegister + row % kSplitSide * kTileBytes;
    if (row >= s.count) {
      ZeroRow(registers);
      continue;
    }
    const float* const from = s.from + row * s.stride + l;
    Fetch(from + kTermsAhead), Fetch(from + kTermsAhead + kSplitSide);
    const Parts first = split(_mm512_maskz_loadu_ps(low, from));
    const Parts second = split(_mm512_maskz_loadu_ps(high, from + 16));
    StoreRun(first, second, odd_halves, registers);
  }
}

// Those whose rows are pairs of terms, with 16 rows of the source's other axis each.
template <typename Split>
HR_SPLIT_INLINE void StepAcrossTerms(const SplitSource& s, int64_t l, Split& split, char* to) {
  const int64_t ahead = kRowsAhead * s.stride;
  const __mmask16 left = FirstLanes(s.count), right = FirstLanes(s.count - kSplitSide);
  for (int64_t pair = 0; pair < kSplitTerms / 2; ++pair, to += kTileBytes) {
    const int64_t term = l + 2 * pair;
    const float* const even = s.from + term * s.stride;
    const float* const odd = even + s.stride;
    const bool has_even = term < s.k, has_odd = term + 1 < s.k;
    Fetch(even + ahead), Fetch(even + ahead + kSplitSide);
    Fetch(odd + ahead), Fetch(odd + ahead + kSplitSide);
    StorePairs(split(_mm512_maskz_loadu_ps(has_even ? left : 0, even)),
               split(_mm512_maskz_loadu_ps(has_odd ? left : 0, odd)), to);
    StorePairs(split(_mm512_maskz_loadu_ps(has_even ? right : 0, even + kSplitSide)),
               split(_mm512_maskz_loadu_ps(has_odd ? right : 0, odd + kSplitSide)), to + kRegister);
  }
}

template <bool kAlongTerms>
HR_SPLIT bool StepCarefully(const SplitSource& s, int64_t l, char* to) {
  Careful split;
  if constexpr (kAlongTerms) {
    StepAlongTerms(s, l, split, to);
  } else {
    StepAcrossTerms(s, l, split, to);
  }
  return split.infinite != 0;
}

// Returns whether there is an infinity.
template <bool kAlongTerms, bool kTransposed>
HR_SPLIT_INLINE bool SplitStep(const SplitSource& s, int64_t l, char* to) {
  bool infinite = false;
  Plain split;
  if constexpr (kAlongTerms) {
    StepAlongTerms(s, l, split, to);
  } else {
    StepAcrossTerms(s, l, split, to);
  }
  if (split.special()) infinite = StepCarefully<kAlongTerms>(s, l, to);
  if constexpr (!kTransposed) return infinite;
  for (int64_t i = 0; i < 2 * kParts; ++i) TransposeRegister(to + i * kRegister);
  return infinite;
}

// Reads in the order in which the source lies in memory.
template <bool kAlongTerms, bool kTransposed>
HR_SPLIT uint64_t Split(const SplitSource& s, char* to) {
  uint64_t infinite = 0;
  const int64_t blocks = s.blocks(), bytes = SplitBlockBytes(s.k);
  const auto step = [&](int64_t block, int64_t l) HR_SPLIT {
    char* const at = to + block * bytes + l / kSplitTerms * kSplitStepBytes;
    if (SplitStep<kAlongTerms, kTransposed>(s.Block(block), l, at))
      infinite |= uint64_t{1} << block;
  };
  if constexpr (kAlongTerms) {
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t l = 0; l < s.k; l += kSplitTerms) step(block, l);
    }
  } else {
    for (int64_t l = 0; l < s.k; l += kSplitTerms) {
      for (int64_t block = 0; block < blocks; ++block) step(block, l);
    }
  }
  return infinite;
}

uint64_t SplitA(const SplitSource& s, char* to) {
  return s.along_terms ? Split<true, false>(s, to) : Split<false, true>(s, to);
}

uint64_t SplitB(const SplitSource& s, char* to) {
  return s.along_terms ? Split<true, true>(s, to) : Split<false, false>(s, to);
}

template <typename Split>
HR_SPLIT_INLINE void ForPixels(const SplitPixelsCall& c, Split& split) {
  alignas(64) uint16_t halves[32];
  for (int i = 0; i < 32; ++i) halves[i] = static_cast<uint16_t>(2 * i + 1);
  const __m512i order = _mm512_load_si512(halves);
  for (int64_t i = 0; i < c.count; ++i) {
    const float* const from = c.from + i * c.stride;
    uint16_t* to = c.to + i * kSplitTerms;
    for (int64_t channel = 0; channel < c.channels; channel += kSplitTerms) {
      const int64_t left = c.channels - channel;
      const Parts first = split(_mm512_maskz_loadu_ps(FirstLanes(left), from + channel));
      const Parts second =
          split(_mm512_maskz_loadu_ps(FirstLanes(left - kSplitSide), from + channel + kSplitSide));
#pragma GCC unroll 3
      for (int p = 0; p < kParts; ++p, to += c.plane) {
        _mm512_store_si512(to, _mm512_permutex2var_epi16(_mm512_castps_si512(first.part[p]), order,
                                                         _mm512_castps_si512(second.part[p])));
      }
    }
  }
}

HR_SPLIT bool PixelsCarefully(const SplitPixelsCall& call) {
  Careful split;
  ForPixels(call, split);
  return split.infinite != 0;
}

HR_SPLIT bool SplitPixels(const SplitPixelsCall& call) {
  Plain split;
  ForPixels(call, split);
  return split.special() && PixelsCarefully(call);
}

// ---- Products ----

// Where the registers of A lie: in a block, or among pixels.
struct RowsOfBlock {
  static constexpr int64_t part = 2 * kRegister, lower = kRegister, row = kTileBytes;
};
struct RowsOfPixels {
  int64_t part, lower, row;
};

#define HR_LOAD_A(part_)                           \
  _tile_loadd(4, a + (part_)*rows.part, rows.row); \
  if constexpr (kTwo) _tile_loadd(5, a + (part_)*rows.part + rows.lower, rows.row);
#define HR_LOAD_B(part)                                 \
  _tile_loadd(6, b + (part)*2 * kRegister, kTileBytes); \
  _tile_loadd(7, b + (part)*2 * kRegister + kRegister, kTileBytes);
#define HR_ADD_PRODUCTS      \
  _tile_dpbf16ps(0, 4, 6);   \
  _tile_dpbf16ps(1, 4, 7);   \
  if constexpr (kTwo) {      \
    _tile_dpbf16ps(2, 5, 6); \
    _tile_dpbf16ps(3, 5, 7); \
  }

// The parts are multiplied in an order in which most stay in their registers.
template <bool kTwo, typename Rows>
HR_AMX inline void AddStep(const Rows& rows, const char* a, const char* b) {
  HR_LOAD_A(0)
  HR_LOAD_B(2)
  HR_ADD_PRODUCTS
  HR_LOAD_B(1)
  HR_ADD_PRODUCTS
  HR_LOAD_A(1)
  HR_ADD_PRODUCTS
  HR_LOAD_B(0)
  HR_ADD_PRODUCTS
  HR_LOAD_A(2)
  HR_ADD_PRODUCTS
  HR_LOAD_A(0)
  HR_ADD_PRODUCTS
}

// Once more than five steps are on their way, the unit stands still for some thousand cycles when
// sums are stored; so some are stored on the way, where their tile will be. (A Sapphire Rapids,
// 8 steps with everything in L1: 1.43 -> 1.14 us.)
constexpr int64_t kStepsUntilStore = 4;

template <bool kTwo>
HR_AMX void AddSteps(const SplitTileCall& call) {
  const char *a = call.a, *b = call.b;
  int64_t steps = (call.k + kSplitTerms - 1) / kSplitTerms;
  const int64_t stride = call.stride * static_cast<int64_t>(sizeof(float));
  for (;;) {
    for (int64_t i = std::min(steps, kStepsUntilStore); i > 0; --i) {
      AddStep<kTwo>(RowsOfBlock(), a, b);
      a += kSplitStepBytes, b += kSplitStepBytes;
    }
    steps -= kStepsUntilStore;
    if (steps <= 0) return;
    _tile_stored(0, call.tile, stride);
  }
}

template <bool kTwo>
HR_AMX inline void ZeroSums() {
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kTwo) {
    _tile_zero(2);
    _tile_zero(3);
  }
}

template <bool kTwo>
HR_AMX inline void LoadSums(const float* tile, int64_t stride) {  // in bytes
  _tile_loadd(0, tile, stride);
  _tile_loadd(1, tile + kSplitSide, stride);
  if constexpr (kTwo) {
    const float* const below = tile + kSplitSide * stride / static_cast<int64_t>(sizeof(float));
    _tile_loadd(2, below, stride);
    _tile_loadd(3, below + kSplitSide, stride);
  }
}

template <bool kTwo>
HR_AMX inline void StoreSums(float* tile, int64_t stride) {  // in bytes
  _tile_stored(0, tile, stride);
  _tile_stored(1, tile + kSplitSide, stride);
  if constexpr (kTwo) {
    float* const below = tile + kSplitSide * stride / static_cast<int64_t>(sizeof(float));
    _tile_stored(2, below, stride);
    _tile_stored(3, below + kSplitSide, stride);
  }
}

template <bool kTwo>
HR_AMX void TileOf(const SplitTileCall& call) {
  const int64_t stride = call.stride * static_cast<int64_t>(sizeof(float));
  if (call.add) {
    LoadSums<kTwo>(call.tile, stride);
  } else {
    ZeroSums<kTwo>();
  }
  AddSteps<kTwo>(call);
  StoreSums<kTwo>(call.tile, stride);
}

template <bool kTwo>
HR_AMX void TileOfTaps(const SplitTapsCall& call) {
  constexpr int64_t kStride = kSplitWidth * 4, kNumber = 2;
  const int64_t row = call.pixel * kNumber, plane = call.plane * kNumber;
  const RowsOfPixels rows{plane, kSplitSide * row, row};
  if (call.add) {
    LoadSums<kTwo>(call.tile, kStride);
  } else {
    ZeroSums<kTwo>();
  }
  const char* a = reinterpret_cast<const char*>(call.a);
  const char* b = call.b;
  int64_t until_store = kStepsUntilStore;
  for (int64_t block = 0; block < call.blocks; ++block, a += kParts * plane, b += call.b_block) {
    for (const SplitTap& tap : call.taps) {
      if (until_store-- == 0) {
        _tile_stored(0, call.tile, kStride);
        until_store = kStepsUntilStore - 1;
      }
      AddStep<kTwo>(rows, a + tap.a * kNumber, b + tap.b);
    }
  }
  StoreSums<kTwo>(call.tile, kStride);
}

void Taps(const SplitTapsCall& call) {
  (call.rows > kSplitSide ? TileOfTaps<true> : TileOfTaps<false>)(call);
}

// A number of A, whose parts are that far from each other.
inline float Whole(const uint16_t* from, int64_t part) {
  const auto of = [from, part](int64_t i) {
    return std::bit_cast<float>(static_cast<uint32_t>(from[i * part]) << 16);
  };
  return of(0) + (of(1) + of(2));
}

// The numbers of B in the lower or upper halves of lanes.
template <bool kUpper>
HR_SPLIT_INLINE __m512 Wholes(const char* from) {
  __m512 parts[kParts];
#pragma GCC unroll 3
  for (int part = 0; part < kParts; ++part) {
    const __m512i pairs = _mm512_load_si512(from + part * 2 * kRegister);
    parts[part] = _mm512_castsi512_ps(kUpper ? _mm512_and_si512(pairs, _mm512_set1_epi32(~0xffff))
                                             : _mm512_slli_epi32(pairs, 16));
  }
  return _mm512_add_ps(parts[0], _mm512_add_ps(parts[1], parts[2]));
}

// Infinity times the zero that a number's lower part may be would be no number.
HR_SPLIT void PlainTaps(const SplitTapsCall& call) {
  for (int64_t i = 0; i < 2 * call.rows; ++i) {
    const uint16_t* a = call.a + i / 2 * call.pixel;
    const char* b = call.b + i % 2 * kRegister;
    float* const sums = call.tile + i * kSplitSide;
    __m512 sum = call.add ? _mm512_loadu_ps(sums) : _mm512_setzero_ps();
    for (int64_t block = 0; block < call.blocks; ++block) {
      for (const SplitTap& tap : call.taps) {
        const uint16_t* pair = a + tap.a;
        const char* row = b + tap.b;
        for (int64_t l = 0; l < kSplitTerms; l += 2, pair += 2, row += kTileBytes) {
          sum = _mm512_fmadd_ps(_mm512_set1_ps(Whole(pair, call.plane)), Wholes<false>(row), sum);
          sum =
              _mm512_fmadd_ps(_mm512_set1_ps(Whole(pair + 1, call.plane)), Wholes<true>(row), sum);
        }
      }
      a += kParts * call.plane, b += call.b_block;
    }
    _mm512_storeu_ps(sums, sum);
  }
}

HR_AMX void Configure(int64_t rows) {
  const int64_t upper = std::min(rows, kSplitSide);
  UnitShapes(static_cast<int>(upper), static_cast<int>(rows - upper), kSplitSide).Load();
}

HR_AMX void Release() { _tile_release(); }

void Tile(const SplitTileCall& call) {
  (call.rows > kSplitSide ? TileOf<true> : TileOf<false>)(call);
}

}  // namespace

const SplitKernels* KernelsForSplit() {
  static const SplitKernels kernels{SplitA, SplitB, SplitPixels, Configure,
                                    Tile,   Taps,   PlainTaps,   Release};
  static const bool has = HasBfloat16Unit() && __builtin_cpu_supports("avx512bw");
  return has ? &kernels : nullptr;
}

}  // namespace hr::cpu

#else

namespace hr::cpu {

const SplitKernels* KernelsForSplit() { return nullptr; }

}  // namespace hr::cpu

#endif
