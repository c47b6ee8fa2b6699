#include "backends/cpu/kernels/int8_kernels.h"

#include <cstring>
#include <utility>

#include "backends/cpu/kernels/matrix_unit.h"

// Sums of four products in one instruction (AVX-512 VNNI) are this file's alone.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/int8_kernels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Highway 1.0.3 asks for these processors' AVX-512 VNNI, but names its AVX cousin to the compiler.
#if HWY_TARGET == HWY_AVX3_DL
#undef HWY_TARGET_STR
#define HWY_TARGET_STR                                            \
  HWY_TARGET_STR_AVX3                                             \
  ",vpclmulqdq,avx512vbmi,avx512vbmi2,vaes,avxvnni,avx512bitalg," \
  "avx512vpopcntdq,avx512vnni"
#endif

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<int32_t>;
using V32 = hn::Vec<D32>;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(int32_t));
constexpr int64_t kWidth = 2 * kLanes;

// Accumulators are rows x 2 vectors and must leave registers for what is multiplied.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kRows = 12;
#else
constexpr int kRows = 4;
#endif

// Four products of an unsigned by a signed byte are added to each lane.
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_AVX3_DL

// As pairs of 16-bit numbers: no sum of two products leaves 32 bits, as it could leave 16.
using D16 = hn::ScalableTag<int16_t>;
using V16 = hn::Vec<D16>;
struct Signed {
  V16 even, odd;
  explicit Signed(V32 v) : odd(hn::ShiftRight<8>(hn::BitCast(D16(), v))) {
    even = hn::ShiftRight<8>(hn::ShiftLeft<8>(hn::BitCast(D16(), v)));
  }
};
struct Unsigned {
  V16 even, odd;
  explicit Unsigned(V32 v) {
    const hn::ScalableTag<uint16_t> du;
    odd = hn::BitCast(D16(), hn::ShiftRight<8>(hn::BitCast(du, v)));
    even = hn::And(hn::BitCast(D16(), v), hn::Set(D16(), 0xff));
  }
};
HWY_INLINE V32 AddQuads(V32 sum, const Unsigned& a, const Signed& b) {
  V32 unused = hn::Zero(D32());
  sum = hn::ReorderWidenMulAccumulate(D32(), a.even, b.even, sum, unused);
  return hn::ReorderWidenMulAccumulate(D32(), a.odd, b.odd, sum, unused);
}

#else

struct Signed {
  V32 bytes;
  explicit Signed(V32 v) : bytes(v) {}
};
struct Unsigned {
  V32 bytes;
  explicit Unsigned(V32 v) : bytes(v) {}
};

#if HWY_TARGET == HWY_AVX3_DL
HWY_INLINE V32 AddQuads(V32 sum, const Unsigned& a, const Signed& b) {
  return V32{_mm512_dpbusd_epi32(sum.raw, a.bytes.raw, b.bytes.raw)};
}
#else
// One byte of each lane after the other.
template <int kByte>
HWY_INLINE V32 AddByte(V32 sum, V32 a, V32 b) {
  const hn::ScalableTag<uint32_t> du;
  const V32 x = hn::And(hn::BitCast(D32(), hn::ShiftRight<8 * kByte>(hn::BitCast(du, a))),
                        hn::Set(D32(), 0xff));
  const V32 y = hn::ShiftRight<24>(hn::ShiftLeft<24 - 8 * kByte>(b));
  return hn::Add(sum, hn::Mul(x, y));
}
HWY_INLINE V32 AddQuads(V32 sum, const Unsigned& a, const Signed& b) {
  sum = AddByte<0>(sum, a.bytes, b.bytes);
  sum = AddByte<1>(sum, a.bytes, b.bytes);
  sum = AddByte<2>(sum, a.bytes, b.bytes);
  return AddByte<3>(sum, a.bytes, b.bytes);
}
#endif

#endif

constexpr uint32_t kSignBits = 0x80808080;

// Four numbers of a row of A in all lanes, encoded.
template <bool kSigned>
HWY_INLINE Unsigned Quad(uint32_t bytes) {
  const hn::ScalableTag<uint32_t> du;
  const auto all = hn::Set(du, bytes);
  if constexpr (!kSigned) return Unsigned(hn::BitCast(D32(), all));
  return Unsigned(hn::BitCast(D32(), hn::Xor(all, hn::Set(du, kSignBits))));
}

HWY_INLINE uint32_t LoadQuad(const uint8_t* from, size_t count = kQuad) {
  uint32_t quad = 0;
  std::memcpy(&quad, from, count);
  return quad;
}

// Panels are read in the order in which they lie: memory is quick enough for thin products this far
// ahead (gemm_cell.h).
constexpr int64_t kBytesAhead = 8192;

// Adds the terms that are no whole quad. Apart from the others: gcc would keep all sums in memory.
template <bool kSigned>
HWY_NOINLINE void AddRest(const Int8TileCall& call, int rows) {
  const int64_t k = call.k - call.k % kQuad;
  const auto* b = reinterpret_cast<const int32_t*>(call.panel) + k / kQuad * kWidth;
  for (int i = 0; i < rows; ++i) {
    const uint8_t* a = call.a + i * call.lda + k;
    const Unsigned row = Quad<kSigned>(LoadQuad(a, static_cast<size_t>(call.k - k)));
    for (int64_t j = 0; j < kWidth; j += kLanes) {
      int32_t* const sum = call.tile + i * kWidth + j;
      const Signed columns(hn::LoadU(D32(), b + j));
      hn::StoreU(AddQuads(hn::LoadU(D32(), sum), row, columns), D32(), sum);
    }
  }
}

template <bool kSigned, int kTileRows>
void Tile(const Int8TileCall& call) {
  V32 sums[kTileRows][2];
#pragma GCC unroll 12
  for (int i = 0; i < kTileRows; ++i) sums[i][0] = sums[i][1] = hn::Zero(D32());
  const auto* b = reinterpret_cast<const int32_t*>(call.panel);
  const uint8_t* a = call.a;
  for (int64_t k = call.k / kQuad; k > 0; --k) {
    hwy::Prefetch(b + kBytesAhead / 4);
    hwy::Prefetch(b + kLanes + kBytesAhead / 4);
    const Signed left(hn::LoadU(D32(), b)), right(hn::LoadU(D32(), b + kLanes));
#pragma GCC unroll 12
    for (int i = 0; i < kTileRows; ++i) {
      const Unsigned row = Quad<kSigned>(LoadQuad(a + i * call.lda));
      sums[i][0] = AddQuads(sums[i][0], row, left);
      sums[i][1] = AddQuads(sums[i][1], row, right);
    }
    a += kQuad;
    b += kWidth;
  }
#pragma GCC unroll 12
  for (int i = 0; i < kTileRows; ++i) {
    hn::StoreU(sums[i][0], D32(), call.tile + i * kWidth);
    hn::StoreU(sums[i][1], D32(), call.tile + i * kWidth + kLanes);
  }
  if (call.k % kQuad != 0) AddRest<kSigned>(call, kTileRows);
}

// ---- What is made of sums ----

template <typename T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> Parameter(const T* row, const T* column, int64_t i,
                                                 int64_t j) {
  const hn::ScalableTag<T> d;
  return row != nullptr ? hn::Set(d, row[i]) : hn::LoadU(d, column + j);
}

HWY_INLINE V32 Centred(const Int8FinishCall& call, int64_t i, int64_t j) {
  const Int8Epilogue& e = call.epilogue;
  V32 sum = hn::LoadU(D32(), call.tile + i * kWidth + j);
  if (e.row_zero != nullptr) {
    const V32 zero = hn::Set(D32(), e.row_zero[i]);
    sum = hn::Sub(sum, hn::Mul(zero, hn::LoadU(D32(), call.column_sums + j)));
  }
  if (e.column_zero != nullptr) {
    const V32 term = hn::Set(D32(), call.row_terms[i]);
    sum = hn::Add(sum, hn::Mul(term, hn::LoadU(D32(), e.column_zero + j)));
  }
  if (e.row_bias == nullptr && e.column_bias == nullptr) return sum;
  return hn::Add(sum, Parameter(e.row_bias, e.column_bias, i, j));
}

HWY_INLINE hn::Vec<hn::ScalableTag<float>> Scaled(const Int8Epilogue& e, V32 sum, int64_t i,
                                                  int64_t j) {
  const hn::ScalableTag<float> d;
  auto y = hn::Mul(hn::ConvertTo(d, sum), Parameter(e.row_scale, e.column_scale, i, j));
  if (e.row_offset != nullptr || e.column_offset != nullptr) {
    y = hn::Add(y, Parameter(e.row_offset, e.column_offset, i, j));
  }
  // A NaN stays: comparisons are false for it.
  const auto least = hn::Set(d, e.least), most = hn::Set(d, e.most);
  y = hn::IfThenElse(hn::Lt(y, least), least, y);
  return hn::IfThenElse(hn::Gt(y, most), most, y);
}

// As many sums as a vector of doubles has, quantized.
template <class DSums>
HWY_INLINE hn::Vec<DSums> Requantized(const Int8Epilogue& e, hn::Vec<DSums> sum, int64_t i,
                                      int64_t j) {
  const hn::ScalableTag<double> d;
  const auto factor = Parameter(e.row_factor, e.column_factor, i, j);
  auto y = hn::Mul(hn::PromoteTo(d, sum), factor);
  if (e.row_shift != nullptr || e.column_shift != nullptr) {
    y = hn::Add(y, Parameter(e.row_shift, e.column_shift, i, j));
  }
  y = hn::Add(hn::Round(y), hn::Set(d, e.zero));
  return hn::DemoteTo(DSums(), hn::Min(hn::Max(y, hn::Set(d, e.low)), hn::Set(d, e.high)));
}

HWY_INLINE V32 RequantizedAll(const Int8Epilogue& e, V32 sum, int64_t i, int64_t j) {
#if HWY_TARGET == HWY_SCALAR
  return Requantized<D32>(e, sum, i, j);
#else
  using DHalf = hn::Half<D32>;
  const auto low = Requantized<DHalf>(e, hn::LowerHalf(DHalf(), sum), i, j);
  const auto high = Requantized<DHalf>(e, hn::UpperHalf(DHalf(), sum), i, j + kLanes / 2);
  return hn::Combine(D32(), high, low);
#endif
}

// Calls store(i, j, to) for each vector of C; what does not fit into a row goes through memory.
template <typename T, typename Store>
HWY_INLINE void ForTile(const Int8FinishCall& call, const Store& store) {
  HWY_ALIGN T rest[kLanes];
  for (int64_t i = 0; i < call.rows; ++i) {
    T* const row = static_cast<T*>(call.c) + i * call.ldc;
    int64_t j = 0;
    for (; j + kLanes <= call.columns; j += kLanes) store(i, j, row + j);
    if (j == call.columns) continue;
    store(i, j, rest);
    std::memcpy(row + j, rest, static_cast<size_t>(call.columns - j) * sizeof(T));
  }
}

template <typename T>
void FinishRequantized(const Int8FinishCall& call) {
  const hn::Rebind<T, D32> narrow;
  ForTile<T>(call, [&](int64_t i, int64_t j, T* to) HWY_ATTR {
    const V32 y = RequantizedAll(call.epilogue, Centred(call, i, j), i, j);
    hn::StoreU(hn::DemoteTo(narrow, y), narrow, to);
  });
}

void Finish(const Int8FinishCall& call) {
  switch (call.epilogue.output) {
    case Int8Output::kInt32:
      return ForTile<int32_t>(call, [&](int64_t i, int64_t j, int32_t* to)
                                        HWY_ATTR { hn::StoreU(Centred(call, i, j), D32(), to); });
    case Int8Output::kFloat:
      return ForTile<float>(call, [&](int64_t i, int64_t j, float* to) HWY_ATTR {
        hn::StoreU(Scaled(call.epilogue, Centred(call, i, j), i, j), hn::ScalableTag<float>(), to);
      });
    case Int8Output::kInt8: return FinishRequantized<int8_t>(call);
    case Int8Output::kUint8: return FinishRequantized<uint8_t>(call);
  }
}

// ---- Packing ----

// Adds the columns' quads to the sums at the panel's front.
void SumColumns(int64_t quads, int32_t* panel) {
  const Unsigned ones(hn::Set(D32(), 0x01010101));
  for (int64_t j = 0; j < kWidth; j += kLanes) {
    V32 sum = hn::Zero(D32());
    const int32_t* from = panel + kWidth + j;
    for (int64_t q = 0; q < quads; ++q, from += kWidth) {
      sum = AddQuads(sum, ones, Signed(hn::LoadU(D32(), from)));
    }
    hn::StoreU(sum, D32(), panel + j);
  }
}

// The bits that change where numbers are encoded, for the first `k` of a quad.
uint32_t FlippedBits(int64_t k, bool b_signed) {
  if (b_signed) return 0;
  return k >= kQuad ? kSignBits : kSignBits >> (8 * (kQuad - k));
}

void Pack(const uint8_t* b, int64_t ldb, int64_t count, int64_t k, bool b_signed, int32_t* panel) {
  using D8 = hn::CappedTag<uint8_t, kWidth>;
  const D8 d;
  constexpr int64_t kStep = static_cast<int64_t>(HWY_MIN(HWY_LANES(uint8_t), kWidth));
  const auto flip = hn::Set(d, b_signed ? 0 : 0x80);
  const int64_t quads = (k + kQuad - 1) / kQuad;
  HWY_ALIGN uint8_t rest[4][kMaxInt8Width] = {};
  auto* to = reinterpret_cast<uint8_t*>(panel + kWidth);
  for (int64_t q = 0; q < quads; ++q, to += kWidth * kQuad) {
    const uint8_t* rows[4];
    const bool whole = count == kWidth && (q + 1) * kQuad <= k;
    for (int64_t l = 0; l < kQuad; ++l) {
      const bool exists = q * kQuad + l < k;
      rows[l] = exists ? b + (q * kQuad + l) * ldb : nullptr;
      if (whole) continue;
      // Zero, once it is encoded, where there is nothing.
      std::memset(rest[l], b_signed ? 0 : 0x80, kWidth);
      if (exists) std::memcpy(rest[l], rows[l], static_cast<size_t>(count));
      rows[l] = rest[l];
    }
    for (int64_t j = 0; j < kWidth; j += kStep) {
      const auto load = [&](int l) HWY_ATTR { return hn::Xor(hn::LoadU(d, rows[l] + j), flip); };
      hn::StoreInterleaved4(load(0), load(1), load(2), load(3), d, to + j * kQuad);
    }
  }
  SumColumns(quads, panel);
}

void PackTransposed(const uint8_t* b, int64_t ldb, int64_t count, int64_t k, bool b_signed,
                    int32_t* panel) {
  const int64_t quads = (k + kQuad - 1) / kQuad;
  for (int64_t q = 0; q < quads; ++q) {
    const int64_t terms = k - q * kQuad < kQuad ? k - q * kQuad : kQuad;
    const uint32_t flip = FlippedBits(terms, b_signed);
    int32_t* to = panel + (q + 1) * kWidth;
    for (int64_t j = 0; j < kWidth; ++j) {
      const uint8_t* from = b + j * ldb + q * kQuad;
      to[j] =
          j < count ? static_cast<int32_t>(LoadQuad(from, static_cast<size_t>(terms)) ^ flip) : 0;
    }
  }
  SumColumns(quads, panel);
}

int32_t RowSum(const uint8_t* a, int64_t k, bool a_signed) {
  int64_t l = 0;
  int32_t total = 0;
#if HWY_TARGET != HWY_SCALAR
  const Signed ones(hn::Set(D32(), 0x01010101));
  const V32 flip = hn::Set(D32(), a_signed ? static_cast<int32_t>(kSignBits) : 0);
  V32 sum = hn::Zero(D32());
  const hn::Repartition<uint8_t, D32> bytes;
  for (; l + kLanes * kQuad <= k; l += kLanes * kQuad) {
    const V32 quads = hn::BitCast(D32(), hn::LoadU(bytes, a + l));
    sum = AddQuads(sum, Unsigned(hn::Xor(quads, flip)), ones);
  }
  total = hn::GetLane(hn::SumOfLanes(D32(), sum));
#endif
  for (; l < k; ++l) total += a_signed ? a[l] ^ 0x80 : a[l];
  return total;
}

template <int... kIndex>
constexpr void FillTiles(Int8Kernels& kernels, std::integer_sequence<int, kIndex...>) {
  ((kernels.tile[0][kIndex] = Tile<false, kIndex + 1>), ...);
  ((kernels.tile[1][kIndex] = Tile<true, kIndex + 1>), ...);
}

constexpr Int8Kernels MakeKernels() {
  Int8Kernels kernels;
  kernels.width = static_cast<int>(kWidth);
  kernels.rows = kRows;
  kernels.vnni = HWY_TARGET == HWY_AVX3_DL;
  FillTiles(kernels, std::make_integer_sequence<int, kRows>());
  kernels.finish = Finish;
  kernels.pack = Pack;
  kernels.pack_transposed = PackTransposed;
  kernels.row_sum = RowSum;
  return kernels;
}

}  // namespace

const Int8Kernels& Kernels() {
  static constexpr Int8Kernels kernels = MakeKernels();
  return kernels;
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {

HWY_EXPORT(Kernels);

const Int8Kernels& KernelsForInt8() {
  const Int8Kernels& vectors = HWY_DYNAMIC_DISPATCH(Kernels)();
  if (vectors.vnni && HasInt8Unit()) {
    static const Int8Kernels tiles = WithUnitTiles(vectors);
    return tiles;
  }
  return vectors;
}

}  // namespace hr::cpu
#endif
