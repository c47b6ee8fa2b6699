// How convolutions of channels-last images are cut into blocks: what conv_channels_last.cc and
// conv_channels_last_weights.cc share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/conv_phases.h"
#include "backends/cpu/kernels/gemm_kernels.h"

namespace hr::cpu {

inline constexpr int64_t kBlockDepth =
    576;  // rows of a weight panel's block: it stays in L1 and L2
inline constexpr int64_t kBlockBytes = 384 << 10;  // of gathered pixels: they stay in L2
inline constexpr int64_t kAlignment = 64;

template <typename T>
int64_t Aligned(int64_t elements) {
  return RoundUp(elements, kAlignment / static_cast<int64_t>(sizeof(T)));
}

// Rows at such distances fall on the same few lines of the cache.
template <typename T>
bool Conflicts(int64_t stride) {
  return stride * static_cast<int64_t>(sizeof(T)) % 1024 == 0;
}

// The distance of gathered rows.
template <typename T>
int64_t RowStride(int64_t depth) {
  const int64_t stride = Aligned<T>(depth);
  return Conflicts<T>(stride) ? stride + kAlignment / static_cast<int64_t>(sizeof(T)) : stride;
}

// Channels that are summed over at a time: as many as fill a block, in equal blocks.
inline int64_t BlockChannels(int64_t channels, int64_t taps) {
  const int64_t most = std::max<int64_t>(16, kBlockDepth / taps / 16 * 16);
  const int64_t blocks = CeilDiv(channels, most);
  return std::min(channels, RoundUp(CeilDiv(channels, blocks), 16));
}

template <typename T>
int64_t BlockPixels(int64_t depth, int64_t unit) {
  const int64_t pixels =
      kBlockBytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(1, depth);
  return std::max(2 * unit, pixels / unit * unit);
}

// Whether the matrix is the image itself.
template <typename T>
bool IsInPlace(const Gather& g) {
  const auto single = [](const GatherAxis& axis) {
    return axis.taps.size() == 1 && axis.taps[0] == 0 && axis.step == 1 && axis.size == axis.source;
  };
  return single(g.rows) && single(g.columns) && !Conflicts<T>(g.pixel);
}

// Tiles of nearly equal height: body(first row, rows).
template <typename Body>
void ForTiles(int64_t rows, int64_t most, Body&& body) {
  const int64_t tiles = CeilDiv(rows, most);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const Range part = PartOf(rows, tiles, tile);
    body(part.begin, part.size());
  }
}

// Ranges of at most `step`: body(range).
template <typename Body>
void ForBlocks(Range range, int64_t step, Body&& body) {
  for (int64_t at = range.begin; at < range.end; at += step) {
    body(Range{at, std::min(range.end, at + step)});
  }
}

// Taps that the pixels of parts read; few pixels take as long as those of a higher tile.
inline int64_t TapsRead(const std::vector<ConvPart>& parts, int64_t images) {
  constexpr int64_t kLeastPixels = 8;
  int64_t taps = 0;
  for (const ConvPart& part : parts) {
    taps +=
        std::max(part.phase.pixels(images), kLeastPixels) * part.rows.size() * part.columns.size();
  }
  return taps;
}

// All of a phase as one part.
inline std::vector<ConvPart> WholeOf(const ConvPhase& phase) {
  const auto rows = static_cast<int64_t>(phase.gather.rows.taps.size());
  const auto columns = static_cast<int64_t>(phase.gather.columns.taps.size());
  return {{phase, {0, rows}, {0, columns}}};
}

// Whether so much of what would be multiplied is padding that the pixels that read it are worth
// products of their own.
inline bool LeavesOutPadding(int64_t channels, int64_t taps, int64_t all_taps) {
  constexpr int64_t kLeastChannels = 16;
  return channels >= kLeastChannels && 10 * taps < 9 * all_taps;
}

template <typename T>
int64_t PanelWidth(const GemmKernels<T>& gemm, int64_t channels) {
  return channels <= gemm.lanes ? gemm.lanes : 2 * gemm.lanes;
}

template <typename T>
typename GemmKernels<T>::TileKernel KernelOf(const GemmKernels<T>& gemm, bool rows_contiguous,
                                             int64_t columns, int64_t rows) {
  return gemm.tile[rows_contiguous][columns > gemm.lanes ? 1 : 0][rows - 1];
}

}  // namespace hr::cpu
