// The register tiles of batch-blocked convolution. Included once per instruction set. Every tile
// keeps its sums in registers while it walks over channels and taps; an instruction set whose
// vectors are shorter than 64 bytes walks once per part of the block.
#if defined(HEADRACE_CONV_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_CONV_TILES_INL_H_
#undef HEADRACE_CONV_TILES_INL_H_
#else
#define HEADRACE_CONV_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/kernels/conv_kernels.h"
#include "backends/cpu/kernels/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
// Of one source file: another may use the same names.
namespace {

// The vector of (a part of) a block. Arrays of vectors need a size known to the compiler.
template <typename T>
using BlockTag = hn::CappedTag<T, kBatchBlock<T>>;
template <typename T>
inline constexpr int64_t kLanes = hn::MaxLanes(BlockTag<T>());

// Keeps NaN, which Max does not in every instruction set.
template <class V>
HWY_INLINE V Relu(V value) {
  const V zero = hn::Zero(hn::DFromV<V>());
  return hn::IfThenElse(hn::Lt(value, zero), zero, value);
}

template <typename T, int kOutputs, int kColumns>
HWY_ATTR void ForwardTile(const ForwardCall<T>& call, const T* x, T* y) {
  const BlockTag<T> d;
  using V = hn::Vec<BlockTag<T>>;
  V sums[kOutputs][kColumns];
  HR_UNROLL for (int o = 0; o < kOutputs; ++o) {
    const V bias = call.bias != nullptr ? hn::Set(d, call.bias[o]) : hn::Zero(d);
    HR_UNROLL for (int j = 0; j < kColumns; ++j) sums[o][j] = bias;
  }
  const int64_t x_column = call.x_column, x_tap = call.x_tap, w_output = call.w_output;
  const int64_t taps = call.taps;
  for (int64_t c = 0; c < call.channels; ++c) {
    for (int64_t r = 0; r < call.rows; ++r) {
      const T* from = x + c * call.x_channel + r * call.x_row;
      const T* w = call.w + c * call.w_channel + r * call.w_row;
      for (int64_t s = 0; s < taps; ++s, from += x_tap, ++w) {
        V in[kColumns];
        HR_UNROLL for (int j = 0; j < kColumns; ++j) in[j] = hn::Load(d, from + j * x_column);
        HR_UNROLL for (int o = 0; o < kOutputs; ++o) {
          const V weight = hn::Set(d, w[o * w_output]);
          HR_UNROLL for (int j = 0; j < kColumns; ++j) {
            sums[o][j] = hn::MulAdd(in[j], weight, sums[o][j]);
          }
        }
      }
    }
  }
  if (call.add) {
    HR_UNROLL for (int o = 0; o < kOutputs; ++o) {
      HR_UNROLL for (int j = 0; j < kColumns; ++j) {
        const T* const from = y + o * call.y_output + j * kBatchBlock<T>;
        sums[o][j] = hn::Add(hn::Load(d, from), sums[o][j]);
      }
    }
  }
  HR_UNROLL for (int o = 0; o < kOutputs; ++o) {
    HR_UNROLL for (int j = 0; j < kColumns; ++j) {
      const V sum = call.relu ? Relu(sums[o][j]) : sums[o][j];
      hn::Store(sum, d, y + o * call.y_output + j * kBatchBlock<T>);
    }
  }
}

template <typename T, int kOutputs, int kColumns>
HWY_ATTR void Forward(const ForwardCall<T>& call) {
  for (int64_t j = 0; j < call.columns; j += kColumns) {
    for (int64_t part = 0; part < kBatchBlock<T>; part += kLanes<T>) {
      ForwardTile<T, kOutputs, kColumns>(call, call.x + j * call.x_column + part,
                                         call.y + j * kBatchBlock<T> + part);
    }
  }
}

template <typename T, int kTaps, int kChannels, int kColumns>
HWY_ATTR void DataTile(const DataCall<T>& call, const T* dy, T* dx) {
  const BlockTag<T> d;
  using V = hn::Vec<BlockTag<T>>;
  constexpr int kSpan = kColumns + kTaps - 1;
  V sums[kChannels][kSpan];
  HR_UNROLL for (int c = 0; c < kChannels; ++c) {
    HR_UNROLL for (int j = 0; j < kSpan; ++j) sums[c][j] = hn::Zero(d);
  }
  const int64_t w_channel = call.w_channel;
  for (int64_t o = 0; o < call.outputs; ++o) {
    const T* from = dy + o * call.dy_output;
    const T* w = call.w + o * call.w_output;
    for (int64_t r = 0; r < call.rows; ++r, from += call.dy_row, w += call.w_row) {
      V in[kColumns];
      HR_UNROLL for (int j = 0; j < kColumns; ++j) in[j] = hn::Load(d, from + j * kBatchBlock<T>);
      HR_UNROLL for (int c = 0; c < kChannels; ++c) {
        HR_UNROLL for (int s = 0; s < kTaps; ++s) {
          const V weight = hn::Set(d, w[c * w_channel + s]);
          HR_UNROLL for (int j = 0; j < kColumns; ++j) {
            sums[c][j + s] = hn::MulAdd(in[j], weight, sums[c][j + s]);
          }
        }
      }
    }
  }
  HR_UNROLL for (int c = 0; c < kChannels; ++c) {
    HR_UNROLL for (int j = 0; j < kSpan; ++j) {
      T* const to = dx + c * call.dx_channel + j * call.dx_column;
      hn::Store(hn::Add(hn::Load(d, to), sums[c][j]), d, to);
    }
  }
}

template <typename T, int kTaps, int kChannels, int kColumns>
HWY_ATTR void Data(const DataCall<T>& call) {
  for (int64_t part = 0; part < kBatchBlock<T>; part += kLanes<T>) {
    DataTile<T, kTaps, kChannels, kColumns>(call, call.dy + part, call.dx + part);
  }
}

template <typename T, int kOutputs, int kTaps>
HWY_ATTR void WeightsTile(const WeightsCall<T>& call, int64_t part) {
  const BlockTag<T> d;
  using V = hn::Vec<BlockTag<T>>;
  V sums[kOutputs][kTaps];
  HR_UNROLL for (int o = 0; o < kOutputs; ++o) {
    HR_UNROLL for (int k = 0; k < kTaps; ++k) sums[o][k] = hn::Zero(d);
  }
  const int64_t x_column = call.x_column, dy_output = call.dy_output, columns = call.columns;
  for (int64_t r = 0; r < call.rows; ++r) {
    const T* dy = call.dy + r * call.dy_row + part;
    const T* x[kTaps];
    HR_UNROLL for (int k = 0; k < kTaps; ++k) x[k] = call.x + call.taps[k] + r * call.x_row + part;
    for (int64_t j = 0; j < columns; ++j, dy += kBatchBlock<T>) {
      V in[kTaps];
      HR_UNROLL for (int k = 0; k < kTaps; ++k) in[k] = hn::Load(d, x[k] + j * x_column);
      HR_UNROLL for (int o = 0; o < kOutputs; ++o) {
        const V gradient = hn::Load(d, dy + o * dy_output);
        HR_UNROLL for (int k = 0; k < kTaps; ++k) {
          sums[o][k] = hn::MulAdd(in[k], gradient, sums[o][k]);
        }
      }
    }
  }
  HR_UNROLL for (int o = 0; o < kOutputs; ++o) {
    HR_UNROLL for (int k = 0; k < kTaps; ++k) {
      T* const to = call.sums + o * call.sums_output + k * kBatchBlock<T> + part;
      hn::Store(hn::Add(hn::Load(d, to), sums[o][k]), d, to);
    }
  }
}

template <typename T, int kOutputs, int kTaps>
HWY_ATTR void Weights(const WeightsCall<T>& call) {
  for (int64_t part = 0; part < kBatchBlock<T>; part += kLanes<T>) {
    WeightsTile<T, kOutputs, kTaps>(call, part);
  }
}

}  // namespace
}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
