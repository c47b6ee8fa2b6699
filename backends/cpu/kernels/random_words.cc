#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/random_words.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/random.h"
#include "backends/cpu/kernels/vector_value-inl.h"
#include "runtime/ops/functors/philox.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// A vector of words as the U of philox.inc.
using WordTag = hn::ScalableTag<uint32_t>;
struct WordValue {
  hn::Vec<WordTag> v;
};
constexpr int64_t kWordLanes = static_cast<int64_t>(HWY_LANES(uint32_t));

inline WordValue operator^(WordValue a, WordValue b) { return {hn::Xor(a.v, b.v)}; }
inline WordValue operator>>(WordValue a, int bits) { return {hn::ShiftRightSame(a.v, bits)}; }
template <class U>
U SplatWord(uint32_t word) {
  return {hn::Set(WordTag(), word)};
}
template <class V>
V WordToFloat(WordValue word) {  // below 2^31
  const hn::RebindToSigned<WordTag> d;
  return {hn::ConvertTo(Tag<float>(), hn::BitCast(d, word.v))};
}
inline WordValue MulHighLow(WordValue a, uint32_t b, WordValue* high) {
  const WordTag d;
  const auto factor = hn::Set(d, b);
  const auto even = hn::MulEven(a.v, factor);
  const auto odd = hn::MulEven(hn::Reverse2(d, a.v), factor);
  high->v = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  return {hn::Mul(a.v, factor)};
}

#endif
#include "runtime/ops/functors/philox.inc"

void FillWords(const RandomStream& stream, uint64_t first, int64_t blocks, uint32_t* words) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const WordTag d;
  for (; i + kWordLanes <= blocks; i += kWordLanes) {
    const auto low = static_cast<uint32_t>(first + static_cast<uint64_t>(i));
    if (low > UINT32_MAX - kWordLanes) break;  // the lanes would not share the high word
    const auto counter = stream.Counter(first + static_cast<uint64_t>(i));
    PhiloxWords<WordValue> c;
    for (int k = 0; k < 4; ++k) c.word[k] = SplatWord<WordValue>(counter.word[k]);
    c.word[0].v = hn::Iota(d, counter.word[0]);
    c = Philox(c, stream.key(0), stream.key(1));
    hn::StoreInterleaved4(c.word[0].v, c.word[1].v, c.word[2].v, c.word[3].v, d, words + 4 * i);
  }
#endif
  for (; i < blocks; ++i) {
    const auto random = stream.Block(first + static_cast<uint64_t>(i));
    for (int k = 0; k < 4; ++k) words[4 * i + k] = random.word[k];
  }
}

void FillNormals(const float* uniform, int64_t count, float* normals) {
  const Tag<float> d;
  using V = VectorValue<float>;
  for (int64_t i = 0; i < count; i += 2 * kLanes<float>) {
    V radius, angle, first, second;
    hn::LoadInterleaved2(d, uniform + i, radius.v, angle.v);
    NormalsOf(radius + Splat<V>(0x1p-24), angle, &first, &second);
    hn::StoreInterleaved2(first.v, second.v, d, normals + i);
  }
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
HWY_EXPORT(FillWords);
HWY_EXPORT(FillNormals);

void RandomWords(const RandomStream& stream, uint64_t first, int64_t blocks, uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(FillWords)(stream, first, blocks, words);
}

void RandomNormals(const float* uniform, int64_t count, float* normals) {
  HWY_DYNAMIC_DISPATCH(FillNormals)(uniform, count, normals);
}

}  // namespace hr::cpu
#endif
