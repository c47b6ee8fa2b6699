// Pooling of one row of one channel, batch-blocked, and the small loops around convolution.
// Included once per instruction set.
#if defined(HEADRACE_POOL_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_POOL_ROWS_INL_H_
#undef HEADRACE_POOL_ROWS_INL_H_
#else
#define HEADRACE_POOL_ROWS_INL_H_
#endif

#include <limits>

#include "backends/cpu/kernels/conv_tiles-inl.h"
#include "backends/cpu/kernels/tap_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
using IndexTag = hn::RebindToUnsigned<BlockTag<T>>;

// Bytes of an argmax map as numbers as wide as T.
HWY_INLINE hn::Vec<IndexTag<float>> LoadIndices(hn::RebindToUnsigned<BlockTag<float>> d,
                                                const uint8_t* from) {
  return hn::PromoteTo(d, hn::Load(hn::Rebind<uint8_t, decltype(d)>(), from));
}
HWY_INLINE hn::Vec<IndexTag<double>> LoadIndices(hn::RebindToUnsigned<BlockTag<double>> d,
                                                 const uint8_t* from) {
  const hn::Rebind<uint32_t, decltype(d)> d32;
  return hn::PromoteTo(d, hn::PromoteTo(d32, hn::Load(hn::Rebind<uint8_t, decltype(d)>(), from)));
}

template <typename T>
HWY_INLINE hn::Vec<IndexTag<T>> SetIndex(int64_t index) {
  return hn::Set(IndexTag<T>(), static_cast<hn::TFromD<IndexTag<T>>>(index));
}

// kRows and kTaps are the window's where the compiler is to know them, else 0. A vector store might
// overwrite what a reference points at, so calls are taken by value.
template <typename T, int kRows, int kTaps>
HWY_INLINE void MaxPoolVector(const PoolCall<T> call, const T* x, int64_t at) {
  const BlockTag<T> d;
  const IndexTag<T> di;
  const int64_t rows = kRows != 0 ? kRows : call.rows, taps = kTaps != 0 ? kTaps : call.taps;
  auto best = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto index = hn::Set(di, kNoGradient);
  if (rows > 0 && taps > 0) {
    best = hn::Load(d, x);
    index = SetIndex<T>(call.index);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t s = 0; s < taps; ++s) {
      const auto value = hn::Load(d, x + r * call.x_row + s * call.x_tap);
      const auto better = IsNewMaximum(value, best);
      best = hn::IfThenElse(better, value, best);
      index = hn::IfThenElse(hn::RebindMask(di, better),
                             SetIndex<T>(call.index + r * call.index_row + s), index);
    }
  }
  if (call.relu) {
    index = hn::IfThenElse(hn::RebindMask(di, hn::Le(best, hn::Zero(d))), hn::Set(di, kNoGradient),
                           index);
    best = Relu(best);
  }
  hn::Store(best, d, call.y + at);
  if (call.argmax != nullptr) {
    const hn::Rebind<uint8_t, BlockTag<T>> d8;
    hn::Store(hn::TruncateTo(d8, index), d8, call.argmax + at);
  }
}

template <typename T, int kRows, int kTaps>
HWY_INLINE void MaxPoolRow(const PoolCall<T> call) {
  for (int64_t j = 0; j < call.columns; ++j) {
    for (int64_t part = 0; part < kBatchBlock<T>; part += kLanes<T>) {
      MaxPoolVector<T, kRows, kTaps>(call, call.x + j * call.x_column + part,
                                     j * kBatchBlock<T> + part);
    }
  }
}

template <typename T>
HWY_ATTR void MaxPool(const PoolCall<T>& call) {
  if (call.rows == 2 && call.taps == 2) return MaxPoolRow<T, 2, 2>(call);
  MaxPoolRow<T, 0, 0>(call);
}

template <typename T>
HWY_ATTR void MaxPoolBackward(const PoolCall<T>& given, T* dx) {
  const PoolCall<T> call = given;
  const BlockTag<T> d;
  const IndexTag<T> di;
  for (int64_t j = 0; j < call.columns; ++j) {
    for (int64_t part = 0; part < kBatchBlock<T>; part += kLanes<T>) {
      const auto dy = hn::Load(d, call.y + j * kBatchBlock<T> + part);
      const auto index = LoadIndices(di, call.argmax + j * kBatchBlock<T> + part);
      for (int64_t r = 0; r < call.rows; ++r) {
        for (int64_t s = 0; s < call.taps; ++s) {
          const auto here = hn::Set(
              di, static_cast<hn::TFromD<IndexTag<T>>>(call.index + r * call.index_row + s));
          T* to = dx + j * call.x_column + r * call.x_row + s * call.x_tap + part;
          const auto taken = hn::IfThenElseZero(hn::RebindMask(d, hn::Eq(index, here)), dy);
          hn::Store(hn::Add(hn::Load(d, to), taken), d, to);
        }
      }
    }
  }
}

template <typename T, bool kFewTaps>
HWY_INLINE void AveragePoolRow(const PoolCall<T> call) {
  const BlockTag<T> d;
  for (int64_t j = 0; j < call.columns; ++j) {
    for (int64_t part = 0; part < kBatchBlock<T>; part += kLanes<T>) {
      const T* const from = call.x + j * call.x_column + part;
      const auto load = [&](int64_t r, int64_t s) HWY_ATTR {
        return hn::Load(d, from + r * call.x_row + s * call.x_tap);
      };
      const auto sum = kFewTaps ? SumOfPart(d, call.rows, call.taps, load)
                                : SumOfTaps(d, call.rows, call.taps, load);
      hn::Store(hn::Mul(sum, hn::Set(d, call.scale)), d, call.y + j * kBatchBlock<T> + part);
    }
  }
}

template <typename T>
HWY_ATTR void AveragePool(const PoolCall<T>& call) {
  if (call.rows * call.taps <= kTapsOfPart) return AveragePoolRow<T, true>(call);
  AveragePoolRow<T, false>(call);
}

template <typename T>
HWY_ATTR void AveragePoolBackward(const PoolCall<T>& given, T* dx) {
  const PoolCall<T> call = given;
  const BlockTag<T> d;
  for (int64_t j = 0; j < call.columns; ++j) {
    for (int64_t part = 0; part < kBatchBlock<T>; part += kLanes<T>) {
      const auto dy =
          hn::Mul(hn::Load(d, call.y + j * kBatchBlock<T> + part), hn::Set(d, call.scale));
      for (int64_t r = 0; r < call.rows; ++r) {
        for (int64_t s = 0; s < call.taps; ++s) {
          T* to = dx + j * call.x_column + r * call.x_row + s * call.x_tap + part;
          hn::Store(hn::Add(hn::Load(d, to), dy), d, to);
        }
      }
    }
  }
}

template <typename T, int kRows, int kColumns>
HWY_INLINE void ExpandRow(const ExpandCall<T> call, int64_t part) {
  const BlockTag<T> d;
  const IndexTag<T> di;
  const int64_t rows = kRows != 0 ? kRows : call.window_rows;
  const int64_t columns = kColumns != 0 ? kColumns : call.window_columns;
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < call.columns; ++j) {
    const int64_t at = j * kBatchBlock<T> + part;
    T* const to = call.to + j * columns * kBatchBlock<T> + part;
    auto dy = hn::Load(d, call.dy + at);
    if (call.argmax == nullptr) {
      dy = hn::IfThenElseZero(hn::Gt(hn::Load(d, call.y + at), hn::Zero(d)), dy);
      hn::Store(dy, d, to);
    } else {
      const auto index = LoadIndices(di, call.argmax + at);
      const auto none = hn::Eq(index, hn::Set(di, kNoGradient));
      dy = hn::IfThenZeroElse(hn::RebindMask(d, none), dy);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t s = 0; s < columns; ++s) {
          const auto here = hn::Eq(index, SetIndex<T>(r * columns + s));
          hn::Store(hn::IfThenElseZero(hn::RebindMask(d, here), dy), d,
                    to + r * call.to_row + s * kBatchBlock<T>);
        }
      }
    }
    sum = hn::Add(sum, dy);
  }
  if (call.sums == nullptr) return;
  hn::Store(hn::Add(hn::Load(d, call.sums + part), sum), d, call.sums + part);
}

template <typename T>
HWY_ATTR void Expand(const ExpandCall<T>& call) {
  for (int64_t part = 0; part < kBatchBlock<T>; part += kLanes<T>) {
    if (call.window_rows == 2 && call.window_columns == 2) {
      ExpandRow<T, 2, 2>(call, part);
    } else {
      ExpandRow<T, 0, 0>(call, part);
    }
  }
}

template <typename T>
HWY_ATTR void SumLanes(const T* from, int64_t count, T* to) {
  const BlockTag<T> d;
  for (int64_t i = 0; i < count; ++i, from += kBatchBlock<T>) {
    auto sum = hn::Load(d, from);
    for (int64_t part = kLanes<T>; part < kBatchBlock<T>; part += kLanes<T>) {
      sum = hn::Add(sum, hn::Load(d, from + part));
    }
    to[i] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

template <typename T>
HWY_ATTR void SumPixels(const T* from, int64_t pixels, T* sums) {
  const BlockTag<T> d;
  for (int64_t part = 0; part < kBatchBlock<T>; part += kLanes<T>) {
    auto sum = hn::Load(d, sums + part);
    for (int64_t i = 0; i < pixels; ++i) {
      sum = hn::Add(sum, hn::Load(d, from + i * kBatchBlock<T> + part));
    }
    hn::Store(sum, d, sums + part);
  }
}

}  // namespace
}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
