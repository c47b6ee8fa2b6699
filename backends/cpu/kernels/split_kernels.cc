#include "backends/cpu/kernels/split_kernels.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/gemm_kernels.h"
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

// Marks rows or columns by the largest of their numbers.
class Marker {
 public:
  HR_SPLIT_INLINE Marker() : most_(_mm512_setzero_ps()) {}
  // Of one row, whatever the lane.
  HR_SPLIT_INLINE void AddRow(__m512 largest) {
    if (_mm512_cmp_ps_mask(largest, _mm512_setzero_ps(), _CMP_NEQ_UQ) == 0) return;
    most_ = Larger(most_, largest);
    marks_.small |= AtLeast(largest, kSplitSmall) == 0 ? 1 : 0;
    marks_.special |= AtLeast(largest, kSplitLeast) == 0 ? 1 : 0;
  }
  // Of a row in each lane.
  HR_SPLIT_INLINE void AddRows(__m512 largest) {
    most_ = Larger(most_, largest);
    const __mmask16 there = _mm512_cmp_ps_mask(largest, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    marks_.small |= (there & ~AtLeast(largest, kSplitSmall)) != 0 ? 1 : 0;
    marks_.special |= (there & ~AtLeast(largest, kSplitLeast)) != 0 ? 1 : 0;
  }
  HR_SPLIT_INLINE SplitMarks marks() const {
    SplitMarks out = marks_;
    out.special |= AtLeast(most_, kSplitMost) != 0 ? 1 : 0;
    return out;
  }

  // The larger magnitudes; of a NaN and a number the number's.
  HR_SPLIT_INLINE static __m512 Larger(__m512 a, __m512 b) { return _mm512_range_ps(a, b, 0x0b); }

 private:
  HR_SPLIT_INLINE static __mmask16 AtLeast(__m512 x, float least) {
    return _mm512_cmp_ps_mask(x, _mm512_set1_ps(least), _CMP_GE_OQ);
  }

  __m512 most_;
  SplitMarks marks_;
};

// The largest magnitudes of a block's rows or columns: a vector for each row if their terms lie
// together, else two vectors with a lane for each.
using Largest = float (*)[kSplitSide];

// Parts of any numbers. Large ones are cut, not rounded, and what is not finite has no parts beside
// the first.
struct Careful {
  HR_SPLIT_INLINE Parts operator()(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    const __mmask16 large = _mm512_cmpge_epu32_mask(size, _mm512_set1_epi32(0x7f7f8000));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __mmask16 endless = _mm512_cmpeq_epu32_mask(size, _mm512_set1_epi32(0x7f800000));
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
};

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
HR_SPLIT_INLINE void StepAlongTerms(const SplitSource& s, int64_t l, Split& split, Largest largest,
                                    char* to) {
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
    const __m512 x = _mm512_maskz_loadu_ps(low, from);
    const __m512 y = _mm512_maskz_loadu_ps(high, from + kSplitSide);
    const __m512 most = Marker::Larger(_mm512_load_ps(largest[row]), x);
    _mm512_store_ps(largest[row], Marker::Larger(most, y));
    const Parts first = split(x), second = split(y);
    StoreRun(first, second, odd_halves, registers);
  }
}

// Terms `stride` numbers apart, or wherever a list says.
struct EvenTerms {
  HR_SPLIT_INLINE const float* At(int64_t term) const { return from + term * stride; }
  HR_SPLIT_INLINE const float* Ahead(int64_t term) const { return At(term + kRowsAhead); }
  EvenTerms Block(int64_t index) const {
    EvenTerms out = *this;
    out.from += index * kSplitWidth, out.count -= index * kSplitWidth;
    return out;
  }

  const float* from;
  int64_t stride, count, k;
};
struct ListedTerms {
  HR_SPLIT_INLINE const float* At(int64_t term) const { return terms[term] + first; }
  HR_SPLIT_INLINE const float* Ahead(int64_t term) const {
    return At(std::min(term + kRowsAhead, k - 1));
  }
  ListedTerms Block(int64_t index) const {
    return {terms, first + index * kSplitWidth, count - index * kSplitWidth, k};
  }

  const float* const* terms;
  int64_t first, count, k;
};

// Those whose rows are pairs of terms, with 16 rows of the source's other axis each.
template <typename Terms, typename Split>
HR_SPLIT_INLINE void StepAcrossTerms(const Terms& s, int64_t l, Split& split, Largest largest,
                                     char* to) {
  const __mmask16 there[] = {FirstLanes(s.count), FirstLanes(s.count - kSplitSide)};
  __m512 most[] = {_mm512_load_ps(largest[0]), _mm512_load_ps(largest[1])};
  for (int64_t term = l; term < l + kSplitTerms; term += 2, to += kTileBytes) {
    const bool has_even = term < s.k, has_odd = term + 1 < s.k;
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const int64_t lane = half * kSplitSide;
      Fetch(s.Ahead(term) + lane), Fetch(s.Ahead(term + 1) + lane);
      const __m512 x = _mm512_maskz_loadu_ps(has_even ? there[half] : 0, s.At(term) + lane);
      const __m512 y = _mm512_maskz_loadu_ps(has_odd ? there[half] : 0, s.At(term + 1) + lane);
      most[half] = Marker::Larger(Marker::Larger(most[half], x), y);
      StorePairs(split(x), split(y), to + half * kRegister);
    }
  }
  _mm512_store_ps(largest[0], most[0]);
  _mm512_store_ps(largest[1], most[1]);
}

// A step of rows that lie together, and one of terms.
template <typename Split>
HR_SPLIT_INLINE void StepBy(const SplitSource& s, int64_t l, Split& split, Largest largest,
                            char* to) {
  StepAlongTerms(s, l, split, largest, to);
}
template <typename Terms, typename Split>
HR_SPLIT_INLINE void StepBy(const Terms& s, int64_t l, Split& split, Largest largest, char* to) {
  StepAcrossTerms(s, l, split, largest, to);
}

template <typename Source>
HR_SPLIT __attribute__((noinline)) void StepCarefully(Source s, int64_t l, Largest largest,
                                                      char* to) {
  Careful split;
  StepBy(s, l, split, largest, to);
}

template <bool kTransposed, typename Source>
HR_SPLIT_INLINE void SplitStep(const Source& s, int64_t l, Largest largest, char* to) {
  Plain split;
  StepBy(s, l, split, largest, to);
  if (split.special()) StepCarefully(s, l, largest, to);
  if constexpr (kTransposed) {
    for (int64_t i = 0; i < 2 * kParts; ++i, to += kRegister) {
      TransposeLanes(to, kTileBytes, to, kTileBytes);
    }
  }
}

// All terms of a block, as they lie in memory.
template <bool kTransposed>
HR_SPLIT SplitMarks SplitAlong(const SplitSource& s, char* to) {
  SplitMarks marks;
  for (int64_t block = 0; block < s.blocks(); ++block) {
    const SplitSource rows = s.Block(block);
    alignas(64) float largest[kSplitWidth][kSplitSide] = {};
    for (int64_t l = 0; l < s.k; l += kSplitTerms, to += kSplitStepBytes) {
      SplitStep<kTransposed>(rows, l, largest, to);
    }
    Marker marker;
    for (const auto& row : largest) marker.AddRow(_mm512_load_ps(row));
    marks.AddBlock(block, marker.marks());
  }
  return marks;
}

// Some terms of all blocks, as they lie in memory. `step(terms of a block, first term, block,
// largest numbers)` writes them.
template <typename Terms, typename Step>
HR_SPLIT_INLINE SplitMarks SplitAcross(const Terms& s, const Step& step) {
  SplitMarks marks;
  const int64_t blocks = CeilDiv(s.count, kSplitWidth);
  alignas(64) float largest[kMostSplitBlocks][2][kSplitSide];
  std::memset(largest, 0, static_cast<size_t>(blocks) * sizeof(largest[0]));
  for (int64_t l = 0; l < s.k; l += kSplitTerms) {
    for (int64_t block = 0; block < blocks; ++block) step(s.Block(block), l, block, largest[block]);
  }
  for (int64_t block = 0; block < blocks; ++block) {
    Marker marker;
    for (const auto& half : largest[block]) marker.AddRows(_mm512_load_ps(half));
    marks.AddBlock(block, marker.marks());
  }
  return marks;
}

template <bool kTransposed, typename Terms>
HR_SPLIT SplitMarks BlocksAcross(const Terms& s, char* to) {
  const int64_t bytes = SplitBlockBytes(s.k);
  const auto step = [&](const Terms& block, int64_t l, int64_t index, Largest largest) HR_SPLIT {
    char* const at = to + index * bytes + l / kSplitTerms * kSplitStepBytes;
    SplitStep<kTransposed>(block, l, largest, at);
  };
  return SplitAcross(s, step);
}

EvenTerms Across(const SplitSource& s) { return {s.from, s.stride, s.count, s.k}; }

SplitMarks SplitA(const SplitSource& s, char* to) {
  return s.along_terms ? SplitAlong<false>(s, to) : BlocksAcross<true>(Across(s), to);
}

SplitMarks SplitB(const SplitSource& s, char* to) {
  return s.along_terms ? SplitAlong<true>(s, to) : BlocksAcross<false>(Across(s), to);
}

ListedTerms Listed(const SplitTermsCall& c) {
  return {c.terms.data(), c.first, c.count, static_cast<int64_t>(c.terms.size())};
}

SplitMarks SplitTerms(const SplitTermsCall& call) {
  return BlocksAcross<true>(Listed(call), call.to);
}

HR_SPLIT_INLINE void StorePair(const Parts& even, const Parts& odd, char* to, int64_t part) {
#pragma GCC unroll 3
  for (int p = 0; p < kParts; ++p, to += part) {
    const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(even.part[p]), 16);
    _mm512_store_si512(to,
                       _mm512_mask_blend_epi16(0xaaaaaaaa, low, _mm512_castps_si512(odd.part[p])));
  }
}

// The pairs of kSplitTerms terms in half of a block, also those of each even one with the odd one
// before it.
template <bool kOdd, typename Split>
HR_SPLIT_INLINE void PairsOf(const ListedTerms& s, int64_t l, int half, const SplitPairs& pairs,
                             Split& split, float* largest, char* to) {
  const int64_t lane = half * kSplitSide, part = pairs.columns.part;
  const __mmask16 there = FirstLanes(s.count - lane);
  __m512 most = _mm512_load_ps(largest);
  to += half * pairs.columns.half;
  Parts before = split(_mm512_maskz_loadu_ps(there, s.At(std::max<int64_t>(l - 1, 0)) + lane));
  for (int64_t term = l; term < l + kSplitTerms; term += 2) {
    Fetch(s.Ahead(term) + lane), Fetch(s.Ahead(term + 1) + lane);
    const __m512 x = _mm512_maskz_loadu_ps(there, s.At(term) + lane);
    const __m512 y = _mm512_maskz_loadu_ps(there, s.At(term + 1) + lane);
    most = Marker::Larger(Marker::Larger(most, x), y);
    const Parts even = split(x), odd = split(y);
    StorePair(even, odd, to + pairs.At(term), part);
    if (kOdd && term > 0) StorePair(before, even, to + pairs.At(term - 1), part);
    before = odd;
  }
  _mm512_store_ps(largest, most);
}

template <bool kOdd>
HR_SPLIT __attribute__((noinline)) void PairsCarefully(ListedTerms s, int64_t l, int half,
                                                       const SplitPairs& pairs, float* largest,
                                                       char* to) {
  Careful split;
  PairsOf<kOdd>(s, l, half, pairs, split, largest, to);
}

template <bool kOdd>
HR_SPLIT SplitMarks AllPairs(const SplitTermsCall& call, const SplitPairs& pairs) {
  uint64_t careful = 0;
  const auto step = [&](const ListedTerms& block, int64_t l, int64_t index, Largest largest)
                        HR_SPLIT {
                          char* const to = call.to + index * pairs.block();
                          for (int half = 0; half < 2; ++half) {
                            Plain split;
                            PairsOf<kOdd>(block, l, half, pairs, split, largest[half], to);
                            if (!split.special()) continue;
                            PairsCarefully<kOdd>(block, l, half, pairs, largest[half], to);
                            careful |= uint64_t{1} << index;
                          }
                        };
  SplitMarks marks = SplitAcross(Listed(call), step);
  marks.special |= careful;
  return marks;
}

SplitMarks SplitPairsOf(const SplitTermsCall& call, const SplitPairs& pairs) {
  return pairs.odd ? AllPairs<true>(call, pairs) : AllPairs<false>(call, pairs);
}

template <typename Split>
HR_SPLIT_INLINE SplitMarks ForPixels(const SplitPixelsCall& c, Split& split) {
  alignas(64) uint16_t halves[32];
  for (int i = 0; i < 32; ++i) halves[i] = static_cast<uint16_t>(2 * i + 1);
  const __m512i order = _mm512_load_si512(halves);
  Marker marker;
  for (int64_t i = 0; i < c.count; ++i) {
    const float* const from = c.from + i * c.stride;
    uint16_t* to = c.to + i * kSplitTerms;
    __m512 largest = _mm512_setzero_ps();
    for (int64_t channel = 0; channel < c.channels; channel += kSplitTerms) {
      const int64_t left = c.channels - channel;
      const __m512 x = _mm512_maskz_loadu_ps(FirstLanes(left), from + channel);
      const __m512 y =
          _mm512_maskz_loadu_ps(FirstLanes(left - kSplitSide), from + channel + kSplitSide);
      largest = Marker::Larger(Marker::Larger(largest, x), y);
      const Parts first = split(x), second = split(y);
#pragma GCC unroll 3
      for (int p = 0; p < kParts; ++p, to += c.plane) {
        _mm512_store_si512(to, _mm512_permutex2var_epi16(_mm512_castps_si512(first.part[p]), order,
                                                         _mm512_castps_si512(second.part[p])));
      }
    }
    marker.AddRow(largest);
  }
  return marker.marks();
}

HR_SPLIT void PixelsCarefully(const SplitPixelsCall& call) {
  Careful split;
  ForPixels(call, split);
}

HR_SPLIT SplitMarks SplitPixels(const SplitPixelsCall& call) {
  Plain split;
  const SplitMarks marks = ForPixels(call, split);
  if (split.special()) PixelsCarefully(call);
  return marks;
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
#define HR_LOAD_B(part_)                                \
  _tile_loadd(6, b + (part_)*columns.part, kTileBytes); \
  _tile_loadd(7, b + (part_)*columns.part + columns.half, kTileBytes);
#define HR_ADD_PRODUCTS      \
  _tile_dpbf16ps(0, 4, 6);   \
  _tile_dpbf16ps(1, 4, 7);   \
  if constexpr (kTwo) {      \
    _tile_dpbf16ps(2, 5, 6); \
    _tile_dpbf16ps(3, 5, 7); \
  }

// The parts are multiplied in an order in which most stay in their registers.
template <bool kTwo, typename Rows>
HR_AMX inline void AddStep(const Rows& rows, const SplitColumnBytes& columns, const char* a,
                           const char* b) {
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

HR_SPLIT void AddSums(const float* from, int64_t rows, float* tile, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i, from += kSplitWidth, tile += stride) {
#pragma GCC unroll 2
    for (int j = 0; j < kSplitWidth; j += kSplitSide) {
      _mm512_storeu_ps(tile + j,
                       _mm512_add_ps(_mm512_loadu_ps(tile + j), _mm512_load_ps(from + j)));
    }
  }
}

// A tile of sums. Those of so many terms are made by themselves before they are added to others, or
// rounding would add up over a long chain.
constexpr int64_t kStepsOfSum = 12;

template <bool kTwo>
class TileSums {
 public:
  HR_AMX inline TileSums(int64_t rows, float* tile, int64_t stride, bool add)
      : rows_(rows), tile_(tile), stride_(stride), add_(add) {
    ZeroSums<kTwo>();
  }

  template <typename Rows>
  HR_AMX inline void Add(const Rows& rows, const SplitColumnBytes& columns, const char* a,
                         const char* b) {
    if (steps_ == kStepsOfSum) {
      Write();
      ZeroSums<kTwo>();
      steps_ = 0;
    } else if (steps_ % kStepsUntilStore == 0 && steps_ != 0) {
      _tile_stored(0, Place(), Stride());
    }
    AddStep<kTwo>(rows, columns, a, b);
    ++steps_;
  }

  // Behind the last step.
  HR_AMX inline void Write() {
    StoreSums<kTwo>(Place(), Stride());
    if (add_) AddSums(sums_, rows_, tile_, stride_);
    add_ = true;
  }

 private:
  float* Place() { return add_ ? sums_ : tile_; }
  int64_t Stride() const {  // in bytes
    return (add_ ? kSplitWidth : stride_) * static_cast<int64_t>(sizeof(float));
  }

  const int64_t rows_;
  float* const tile_;
  const int64_t stride_;
  bool add_;
  int64_t steps_ = 0;
  alignas(64) float sums_[kSplitWidth * kSplitWidth];
};

template <bool kTwo>
HR_AMX void TileOf(const SplitTileCall& call) {
  const SplitColumnBytes columns = call.b_bytes;
  TileSums<kTwo> sums(call.rows, call.tile, call.stride, call.add);
  const char *a = call.a, *b = call.b;
  for (int64_t l = 0; l < call.k; l += kSplitTerms) {
    sums.Add(RowsOfBlock(), columns, a, b);
    a += kSplitStepBytes, b += columns.step;
  }
  sums.Write();
}

template <bool kTwo>
HR_AMX void TileOfTaps(const SplitTapsCall& call) {
  constexpr int64_t kNumber = 2;
  const int64_t row = call.pixel * kNumber, plane = call.plane * kNumber;
  const RowsOfPixels rows{plane, kSplitSide * row, row};
  TileSums<kTwo> sums(call.rows, call.tile, kSplitWidth, call.add);
  const char* a = reinterpret_cast<const char*>(call.a);
  const char* b = call.b;
  for (int64_t block = 0; block < call.blocks; ++block, a += kParts * plane, b += call.b_block) {
    for (const SplitTap& tap : call.taps) sums.Add(rows, {}, a + tap.a * kNumber, b + tap.b);
  }
  sums.Write();
}

void Taps(const SplitTapsCall& call) {
  (call.rows > kSplitSide ? TileOfTaps<true> : TileOfTaps<false>)(call);
}

// The numbers in the lower or upper halves of lanes, of which parts are so many bytes apart.
template <bool kUpper>
HR_SPLIT_INLINE __m512 Wholes(const char* from, int64_t part_bytes) {
  __m512 parts[kParts];
#pragma GCC unroll 3
  for (int part = 0; part < kParts; ++part) {
    const __m512i pairs = _mm512_loadu_si512(from + part * part_bytes);
    parts[part] = _mm512_castsi512_ps(kUpper ? _mm512_and_si512(pairs, _mm512_set1_epi32(~0xffff))
                                             : _mm512_slli_epi32(pairs, 16));
  }
  return _mm512_add_ps(parts[0], _mm512_add_ps(parts[1], parts[2]));
}

// Some rows of a tile by vectors.
class PlainRows {
 public:
  static constexpr int kMost = 8;

  HR_SPLIT_INLINE PlainRows() {
#pragma GCC unroll 8
    for (auto& row : sums_) row[0] = row[1] = _mm512_setzero_ps();
  }

  // `row(i)`: where row i of A begins; `part`: the distance of its parts in bytes.
  template <typename Row>
  HR_SPLIT_INLINE void Add(const Row& row, int64_t part, const SplitColumnBytes& columns,
                           const char* b) {
    alignas(64) float terms[kMost][2][kSplitSide];
    for (int i = 0; i < kMost; ++i) {
      _mm512_store_ps(terms[i][0], Wholes<false>(row(i), part));
      _mm512_store_ps(terms[i][1], Wholes<true>(row(i), part));
    }
    for (int pair = 0; pair < kSplitSide; ++pair, b += kTileBytes) {
      AddTerm<false>(terms, pair, columns, b);
      AddTerm<true>(terms, pair, columns, b);
    }
  }

  HR_SPLIT_INLINE void Write(int64_t rows, float* tile, int64_t stride, bool add) const {
    for (int64_t i = 0; i < rows; ++i, tile += stride) {
      for (int half = 0; half < 2; ++half) {
        float* const to = tile + half * kSplitSide;
        const __m512 before = add ? _mm512_loadu_ps(to) : _mm512_setzero_ps();
        _mm512_storeu_ps(to, _mm512_add_ps(before, sums_[i][half]));
      }
    }
  }

 private:
  template <bool kOdd>
  HR_SPLIT_INLINE void AddTerm(const float (&terms)[kMost][2][kSplitSide], int pair,
                               const SplitColumnBytes& columns, const char* b) {
    const __m512 left = Wholes<kOdd>(b, columns.part);
    const __m512 right = Wholes<kOdd>(b + columns.half, columns.part);
#pragma GCC unroll 8
    for (int i = 0; i < kMost; ++i) {
      const __m512 a = _mm512_set1_ps(terms[i][kOdd ? 1 : 0][pair]);
      sums_[i][0] = _mm512_fmadd_ps(a, left, sums_[i][0]);
      sums_[i][1] = _mm512_fmadd_ps(a, right, sums_[i][1]);
    }
  }

  __m512 sums_[kMost][2];
};

HR_SPLIT void PlainTaps(const SplitTapsCall& call) {
  for (int64_t first = 0; first < call.rows; first += PlainRows::kMost) {
    PlainRows rows;
    for (int64_t block = 0; block < call.blocks; ++block) {
      const uint16_t* const a = call.a + block * kParts * call.plane;
      for (const SplitTap& tap : call.taps) {
        const auto row = [&](int64_t i) {
          const int64_t at = std::min(first + i, call.rows - 1);
          return reinterpret_cast<const char*>(a + at * call.pixel + tap.a);
        };
        rows.Add(row, call.plane * 2, {}, call.b + block * call.b_block + tap.b);
      }
    }
    rows.Write(std::min<int64_t>(PlainRows::kMost, call.rows - first),
               call.tile + first * kSplitWidth, kSplitWidth, call.add);
  }
}

HR_SPLIT void PlainTile(const SplitTileCall& call) {
  for (int64_t first = 0; first < call.rows; first += PlainRows::kMost) {
    PlainRows rows;
    for (int64_t step = 0; step * kSplitTerms < call.k; ++step) {
      const auto row = [&](int64_t i) {
        return call.a + step * kSplitStepBytes + (first + i) * kTileBytes;
      };
      rows.Add(row, 2 * kRegister, call.b_bytes, call.b + step * call.b_bytes.step);
    }
    rows.Write(std::min<int64_t>(PlainRows::kMost, call.rows - first),
               call.tile + first * call.stride, call.stride, call.add);
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
  static const SplitKernels kernels{SplitA,      SplitB,    SplitTerms, SplitPairsOf,
                                    SplitPixels, Configure, Tile,       Taps,
                                    PlainTile,   PlainTaps, Release};
  static const bool has = HasBfloat16Unit() && __builtin_cpu_supports("avx512bw");
  return has ? &kernels : nullptr;
}

}  // namespace hr::cpu

#else

namespace hr::cpu {

const SplitKernels* KernelsForSplit() { return nullptr; }

}  // namespace hr::cpu

#endif

namespace hr::cpu {

const SplitKernels* SplitKernelsInUse() {
  return KernelsForGemm<float>().lanes == kSplitSide ? KernelsForSplit() : nullptr;
}

}  // namespace hr::cpu
