#include "backends/cpu/kernels/winograd_channels_last_weights.h"

#include <algorithm>

namespace hr::cpu {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;  // of frequencies, for each thread: they stay in L3

// Planes and sums of frequencies are not whole kilobytes apart, on the same few lines of L1.
int64_t Stride(int64_t elements) {
  return elements % 256 == 0 ? elements + kBatchBlock<float> : elements;
}

}  // namespace

WinogradChannelsLastWeights::WinogradChannelsLastWeights(const ConvShape& shape,
                                                         WinogradTiling tiling, int slices)
    : s_(shape), slices_(slices), grid_(s_, tiling), rows_(s_.n * grid_.rows) {
  const auto bytes =
      static_cast<int64_t>(sizeof(float)) * frequencies() * Tiles(1) * (s_.ic + s_.oc);
  const int64_t most =
      std::clamp<int64_t>(slices * kBlockBytes / bytes, std::min<int64_t>(slices, rows_), rows_);
  block_rows_ = CeilDiv(rows_, CeilDiv(rows_, most));  // blocks of one size
}

int64_t WinogradChannelsLastWeights::FrequencyElements(int64_t channels) const {
  return frequencies() * Stride(Tiles(block_rows_) * Stride(channels));
}

// A row of pixels of x or dy.
int64_t WinogradChannelsLastWeights::LineElements() const {
  return std::max(grid_.x_columns * s_.ic, grid_.y_columns * s_.oc);
}

size_t WinogradChannelsLastWeights::scratch_bytes() const {
  const int64_t own = slices_ * std::max(LineElements(), FinishElements());
  const int64_t sums = frequencies() * Stride(s_.ic * s_.oc);
  return static_cast<size_t>(own + sums + FrequencyElements(s_.ic) + FrequencyElements(s_.oc)) *
         sizeof(float);
}

// sums [channel of x][channel of dy] of one frequency, over some tiles, for some of the Cuts() of
// the channels of x; `first`: nothing is there.
void WinogradChannelsLastWeights::Multiply(int64_t frequency, Range cuts, int64_t tiles, bool first,
                                           const WinogradPlanes& x, const WinogradPlanes& dy,
                                           float* sums) const {
  const int64_t width = 2 * gemm_.lanes;
  for (int64_t lane = 0; lane < s_.oc; lane += width) {
    const int64_t columns = std::min<int64_t>(width, s_.oc - lane);
    const auto& kernels = gemm_.tile[1][columns > gemm_.lanes ? 1 : 0];
    for (int64_t cut = cuts.begin; cut < cuts.end; ++cut) {
      const Range part = PartOf(s_.ic, Cuts(), cut);
      kernels[part.size() - 1]({.k = tiles,
                                .a = x.data + frequency * x.plane + part.begin,
                                .a_stride = x.row,
                                .b = dy.data + frequency * dy.plane + lane,
                                .ldb = dy.row,
                                .columns = columns,
                                .c = sums + part.begin * s_.oc + lane,
                                .ldc = s_.oc,
                                .accumulate = !first});
    }
  }
}

// The sums of some channels of x become gradients of taps.
void WinogradChannelsLastWeights::Finish(Range channels, const float* sums, float* taps,
                                         float* dw) const {
  const int64_t plane = Stride(s_.ic * s_.oc), size = s_.KernelSize();
  for (int64_t c = channels.begin; c < channels.end; ++c) {
    std::fill_n(taps, FinishElements(), 0.0F);
    for (int i = 0; i < grid_.row_axis.tile; ++i) {
      const float* const from = sums + i * grid_.column_axis.tile * plane + c * s_.oc;
      kernels_.filter_gradient({i, from, plane, s_.oc, s_.kh, s_.kw, taps, grid_.tiling});
    }
    for (int64_t o = 0; o < s_.oc; ++o) {
      float* const to = dw + (o * s_.ic + c) * size;
      for (int64_t tap = 0; tap < size; ++tap) to[tap] = taps[tap * s_.oc + o];
    }
  }
}

void WinogradChannelsLastWeights::Run(const Lease& threads, const float* x, const float* dy,
                                      float* dw, void* scratch) const {
  float* const own = static_cast<float*>(scratch);
  const int64_t each = std::max(LineElements(), FinishElements());
  float* const sums = own + slices_ * each;
  const int64_t plane = Stride(s_.ic * s_.oc);
  float* const of_x = sums + frequencies() * plane;
  float* const of_dy = of_x + FrequencyElements(s_.ic);
  for (int64_t first = 0; first < rows_; first += block_rows_) {
    const int64_t rows = std::min(block_rows_, rows_ - first);
    const auto frequencies_of = [&](float* at, int64_t channels) {
      return WinogradPlanes{at, Stride(channels), Stride(Tiles(rows) * Stride(channels))};
    };
    const WinogradPlanes pixels = frequencies_of(of_x, s_.ic),
                         gradient = frequencies_of(of_dy, s_.oc);
    threads.ParallelFor(slices_, [&](int slice) {
      const Range cut = PartOf(rows, slices_, slice), part{first + cut.begin, first + cut.end};
      float* const line = own + slice * each;
      TransformChannelsLast(grid_, WinogradSide::kInput, part, first, x, line, pixels);
      TransformChannelsLast(grid_, WinogradSide::kOutputGradient, part, first, dy, line, gradient);
    });
    threads.ParallelFor(slices_, [&](int slice) {
      const int64_t cuts = Cuts();
      const Range part = PartOf(frequencies() * cuts, slices_, slice);
      for (int64_t at = part.begin, end = at; at < part.end; at = end) {
        const int64_t f = at / cuts;
        end = std::min(part.end, (f + 1) * cuts);
        Multiply(f, {at - f * cuts, end - f * cuts}, Tiles(rows), first == 0, pixels, gradient,
                 sums + f * plane);
      }
    });
  }
  threads.ParallelFor(slices_, [&](int slice) {
    Finish(PartOf(s_.ic, slices_, slice), sums, own + slice * each, dw);
  });
}

}  // namespace hr::cpu
