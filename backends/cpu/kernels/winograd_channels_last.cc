#include "backends/cpu/kernels/winograd_channels_last.h"

#include <algorithm>

#include "backends/cpu/kernels/conv_channels_last_kernels.h"
#include "runtime/base/strings.h"

namespace hr::cpu {
namespace {

constexpr int64_t kBlockBytes = 288 << 10;     // of frequencies: they stay in L2
constexpr int64_t kBlockTiles = 12;            // at least: a tile of products
constexpr int64_t kGroupLanes = 64;            // their products stay in L2, too
constexpr int64_t kUnit = kBatchBlock<float>;  // channels that the transforms take at once

// Rows that lie whole kilobytes apart fall on the same few lines of the cache.
int64_t RowStride(int64_t channels) { return channels % 256 == 0 ? channels + kUnit : channels; }

}  // namespace

void TransformChannelsLast(const WinogradGrid& grid, WinogradSide side, Range rows, int64_t first,
                           const float* image, float* line, const WinogradPlanes& to) {
  const ConvShape& s = grid.s;
  const WinogradKernels& kernels = KernelsForWinograd();
  const WinogradRowKernels& transforms = kernels.RowOf(s.kw, grid.tiling);
  const bool input = side == WinogradSide::kInput;
  const int64_t channels = input ? s.ic : s.oc;
  const int64_t plane = channels * (input ? s.InputPlane() : s.OutputPlane());
  const Range inside = input ? grid.inside : Range{0, s.ow};
  const WinogradTiles tiles{grid.columns, grid.column_outputs, to.plane, channels, to.row};
  std::fill_n(line, (input ? grid.x_columns : grid.y_columns) * channels, 0.0F);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float* const from = image + row / grid.rows * plane;
    float* at = to.data + (row - first) * grid.columns * to.row;
    for (int i = 0; i < grid.row_axis.tile; ++i, at += grid.column_axis.tile * to.plane) {
      const WinogradRows sum =
          input ? grid.InputRows(from, row % grid.rows, i, channels)
                : grid.OutputRows(from, 0, s.oh, s.ow, row % grid.rows, i, channels);
      kernels.combine(sum, inside.size() * channels / kUnit, line + inside.begin * channels);
      (input ? transforms.input : transforms.output_gradient)(tiles, line, at);
    }
  }
}

WinogradChannelsLast::WinogradChannelsLast(const ConvShape& shape, ImagePass pass,
                                           const WinogradMethod& method, int slices)
    : s_(AsForward(shape, pass)),
      pass_(pass),
      packed_(method.packed),
      slices_(slices),
      grid_(s_, method.tiling),
      rows_(s_.n * grid_.rows),
      row_(RowStride(s_.ic)),
      width_(2 * gemm_.lanes),
      lanes_(std::min(kGroupLanes, s_.oc)),
      chain_(WinogradChain(grid_.row_axis, grid_.column_axis, s_.ic)),
      packs_blocks_(!packed_ && Tiles(rows_) <= s_.oc) {
  const auto bytes = static_cast<int64_t>(sizeof(float)) * FrequencyElements(1);
  const int64_t least = CeilDiv(kBlockTiles, grid_.columns), whole = std::max(width_, kUnit);
  block_rows_ = std::min(rows_, std::max(least, kBlockBytes / bytes));
  cuts_tiles_ = !packs_blocks_ && rows_ >= block_rows_ * slices_;
  if (packs_blocks_) {
    lanes_ = std::min(s_.oc, whole);
    block_rows_ = CeilDiv(rows_, CeilDiv(static_cast<int64_t>(slices_), CeilDiv(s_.oc, lanes_)));
  } else if (!cuts_tiles_) {
    lanes_ = std::min(lanes_, RoundUp(CeilDiv(s_.oc, slices_), whole));
  }
  shares_pixels_ = !cuts_tiles_ && (bytes * rows_ > kBlockBytes || groups() < slices_);
}

// Of one thread.
int64_t WinogradChannelsLast::MemoryElements() const {
  const int64_t filters = packs_blocks_ ? frequencies() * PanelStride(chain_, width_) : 0;
  return grid_.x_columns * s_.ic + filters +
         lanes_ *
             (frequencies() * Tiles(block_rows_) + (grid_.row_axis.tile + 1) * grid_.y_columns);
}

WinogradChannelsLast::Memory WinogradChannelsLast::MemoryAt(float* at) const {
  float* const products = at + grid_.x_columns * s_.ic;
  float* const lines = products + frequencies() * Tiles(block_rows_) * lanes_;
  return {at, products, lines, lines + lanes_ * (grid_.row_axis.tile + 1) * grid_.y_columns};
}

int64_t WinogradChannelsLast::ScratchElements() const {
  const int64_t own = slices_ * MemoryElements();
  return own +
         (shares_pixels_ ? FrequencyElements(rows_) : slices_ * FrequencyElements(block_rows_));
}

size_t WinogradChannelsLast::scratch_bytes() const {
  return (packed_ || packs_blocks_ ? 0 : packed_bytes()) +
         static_cast<size_t>(ScratchElements()) * sizeof(float);
}

size_t WinogradChannelsLast::packed_bytes() const {
  const int64_t panels = CeilDiv(s_.oc, width_);
  return static_cast<size_t>(panels * frequencies() * PanelStride(s_.ic, width_)) * sizeof(float);
}

std::string WinogradChannelsLast::packed_format() const {
  return Cat("winograd ", WeightsText(s_, pass_), " tiles of ", grid_.row_axis.tile, " by ",
             width_);
}

// [panel][frequency][channel][lane]; the last panel may be narrower.
float* WinogradChannelsLast::PackedAt(float* packed, int64_t panel, int64_t frequency) const {
  return packed + panel * frequencies() * PanelStride(s_.ic, width_) +
         frequency * PanelStride(s_.ic, Columns(panel));
}

// Transforms some vectors of the filters of some channels of a panel.
void WinogradChannelsLast::PackFilters(const float* weights, int64_t panel, Range channels,
                                       Range vectors, float* to) const {
  const bool forward = pass_ == ImagePass::kForward;
  const int64_t taps = s_.KernelSize(), columns = Columns(panel);
  // Of the plain tensor, from a channel and a lane to the next one.
  const int64_t channel = forward ? taps : s_.oc * taps, lane = forward ? s_.ic * taps : taps;
  kernels_.filters({.w = weights + channels.begin * channel + panel * width_ * lane,
                    .columns = columns,
                    .w_a = channel,
                    .w_b = lane,
                    .count = channels.size() * columns,
                    .kernel_rows = s_.kh,
                    .kernel_columns = s_.kw,
                    .tiling = grid_.tiling,
                    .turned = !forward,
                    .to = to,
                    .plane = PanelStride(channels.size(), columns),
                    .begin = vectors.begin * kUnit,
                    .end = vectors.end * kUnit});
}

void WinogradChannelsLast::Pack(const Lease& threads, const float* weights, float* packed) const {
  const int64_t panels = CeilDiv(s_.oc, width_), parts = CeilDiv(slices_, panels) * panels;
  threads.ParallelFor(slices_, [&](int slice) {
    const Range own = PartOf(parts, slices_, slice);
    for (int64_t part = own.begin; part < own.end; ++part) {
      const int64_t panel = part % panels, vectors = s_.ic * Columns(panel) / kUnit;
      PackFilters(weights, panel, {0, s_.ic}, PartOf(vectors, parts / panels, part / panels),
                  PackedAt(packed, panel, 0));
    }
  });
}

// A frequency of tiles times some channels of a panel's filters.
void WinogradChannelsLast::Multiply(int64_t tiles, Range channels, int64_t columns,
                                    const float* pixels, const float* filters,
                                    float* products) const {
  const int64_t cuts = CeilDiv(tiles, gemm_.rows);
  const auto& kernels = gemm_.tile[0][columns > gemm_.lanes ? 1 : 0];
  for (int64_t cut = 0; cut < cuts; ++cut) {
    const Range part = PartOf(tiles, cuts, cut);
    kernels[part.size() - 1]({.k = channels.size(),
                              .a = pixels + part.begin * row_ + channels.begin,
                              .a_stride = row_,
                              .b = filters,
                              .ldb = columns,
                              .b_ahead = kBytesAhead / static_cast<int64_t>(sizeof(float)),
                              .columns = columns,
                              .c = products + part.begin * lanes_,
                              .ldc = lanes_,
                              .accumulate = channels.begin > 0});
  }
}

// All frequencies of rows of tiles times those of a panel.
void WinogradChannelsLast::MultiplyPacked(Range rows, int64_t panel, const float* pixels,
                                          int64_t plane, const float* weights,
                                          float* products) const {
  const int64_t tiles = Tiles(rows.size()), columns = Columns(panel);
  for (int64_t f = 0; f < frequencies(); ++f) {
    const float* const of_panel = PackedAt(const_cast<float*>(weights), panel, f);
    for (int64_t c = 0; c < s_.ic; c += chain_) {
      Multiply(tiles, {c, std::min(s_.ic, c + chain_)}, columns, pixels + f * plane,
               of_panel + c * columns, products + f * tiles * lanes_);
    }
  }
}

// The same, with weights as they are given.
void WinogradChannelsLast::MultiplyPacking(Range rows, int64_t panel, const float* pixels,
                                           int64_t plane, const float* weights, float* products,
                                           float* filters) const {
  const int64_t tiles = Tiles(rows.size()), columns = Columns(panel);
  for (int64_t c = 0; c < s_.ic; c += chain_) {
    const Range channels{c, std::min(s_.ic, c + chain_)};
    PackFilters(weights, panel, channels, {0, CeilDiv(channels.size() * columns, kUnit)}, filters);
    for (int64_t f = 0; f < frequencies(); ++f) {
      Multiply(tiles, channels, columns, pixels + f * plane,
               filters + f * PanelStride(channels.size(), columns), products + f * tiles * lanes_);
    }
  }
}

// Products become pixels of some channels.
void WinogradChannelsLast::Finish(Range rows, Range lanes, const ConvImageMemory<float>& memory,
                                  const Memory& own) const {
  const int64_t plane = Tiles(rows.size()) * lanes_;
  const int64_t channels = lanes.size(), line = grid_.y_columns * channels;
  const WinogradTiles tiles{grid_.columns, grid_.column_outputs, plane, channels, lanes_};
  float* const finished = own.lines + grid_.row_axis.tile * line;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float* from = own.products + Tiles(row - rows.begin) * lanes_;
    for (int i = 0; i < grid_.row_axis.tile; ++i, from += grid_.column_axis.tile * plane) {
      kernels_.RowOf(s_.kw, grid_.tiling).output(tiles, from, own.lines + i * line);
    }
    const int64_t first = row % grid_.rows * grid_.row_outputs;
    const int64_t count = std::min(grid_.row_outputs, s_.oh - first);
    for (int64_t r = 0; r < count; ++r) {
      WinogradRows sum;
      for (int i = 0; i < grid_.row_axis.tile; ++i) {
        sum.Add(own.lines + i * line, grid_.row_axis.Output(i, r, grid_.row_outputs));
      }
      kernels_.combine(sum, s_.ow * channels / kUnit, finished);
      const int64_t at = ((row / grid_.rows * s_.oh + first + r) * s_.ow) * s_.oc;
      ConvEpilogue<float> epilogue = memory.epilogue;
      MoveTo(&epilogue, lanes.begin, at);
      KernelsForConvChannelsLast<float>().finish(epilogue, s_.ow, channels, finished, channels,
                                                 memory.result + at + lanes.begin, s_.oc);
    }
  }
}

// `groups`: of channels of the result.
void WinogradChannelsLast::MultiplyBlocks(Range rows, Range groups, const float* pixels,
                                          int64_t first, int64_t plane,
                                          const ConvImageMemory<float>& memory,
                                          const Memory& own) const {
  for (int64_t group = groups.begin; group < groups.end; ++group) {
    const Range lanes{group * lanes_, std::min(s_.oc, (group + 1) * lanes_)};
    for (int64_t lane = lanes.begin; lane < lanes.end; lane += width_) {
      const float* const from = pixels + Tiles(rows.begin - first) * row_;
      float* const products = own.products + lane - lanes.begin;
      if (packs_blocks_)
        MultiplyPacking(rows, lane / width_, from, plane, memory.weights, products, own.filters);
      else
        MultiplyPacked(rows, lane / width_, from, plane, memory.weights, products);
    }
    Finish(rows, lanes, memory, own);
  }
}

void WinogradChannelsLast::RunAlone(const Lease& threads, const ConvImageMemory<float>& memory,
                                    float* scratch) const {
  const int64_t each = MemoryElements() + FrequencyElements(block_rows_);
  threads.ParallelFor(slices_, [&](int slice) {
    const Memory own = MemoryAt(scratch + slice * each);
    float* const pixels = scratch + slice * each + MemoryElements();
    const Range part = cuts_tiles_ ? PartOf(rows_, slices_, slice) : Range{0, rows_};
    const Range lanes = cuts_tiles_ ? Range{0, groups()} : PartOf(groups(), slices_, slice);
    const int64_t blocks = CeilDiv(part.size(), block_rows_);
    for (int64_t block = 0; block < blocks; ++block) {
      const Range cut = PartOf(part.size(), blocks, block);
      const Range rows{part.begin + cut.begin, part.begin + cut.end};
      const int64_t plane = Tiles(rows.size()) * row_;
      TransformChannelsLast(grid_, WinogradSide::kInput, rows, rows.begin, memory.image, own.line,
                            {pixels, row_, plane});
      MultiplyBlocks(rows, lanes, pixels, rows.begin, plane, memory, own);
    }
  });
}

void WinogradChannelsLast::RunTogether(const Lease& threads, const ConvImageMemory<float>& memory,
                                       float* scratch) const {
  float* const pixels = scratch + slices_ * MemoryElements();
  const int64_t plane = Tiles(rows_) * row_;
  threads.ParallelFor(slices_, [&](int slice) {
    TransformChannelsLast(grid_, WinogradSide::kInput, PartOf(rows_, slices_, slice), 0,
                          memory.image, MemoryAt(scratch + slice * MemoryElements()).line,
                          {pixels, row_, plane});
  });
  // Of the products of all rows with a group of channels: as many parts as all threads need, those
  // of a group one after the other.
  const int64_t least = CeilDiv(static_cast<int64_t>(slices_), groups());
  const int64_t cuts = std::min(rows_, std::max(CeilDiv(rows_, block_rows_), least));
  threads.ParallelFor(slices_, [&](int slice) {
    const Memory own = MemoryAt(scratch + slice * MemoryElements());
    const Range parts = PartOf(groups() * cuts, slices_, slice);
    for (int64_t part = parts.begin; part < parts.end; ++part) {
      const int64_t group = part / cuts;
      MultiplyBlocks(PartOf(rows_, cuts, part % cuts), {group, group + 1}, pixels, 0, plane, memory,
                     own);
    }
  });
}

void WinogradChannelsLast::Run(const Lease& threads, const ConvImageMemory<float>& given,
                               void* scratch) const {
  if (rows_ == 0) return;
  auto* memory = static_cast<float*>(scratch);
  ConvImageMemory<float> with = given;
  if (!packed_ && !packs_blocks_) {
    Pack(threads, given.weights, memory);
    with.weights = memory;
    memory += packed_bytes() / sizeof(float);
  }
  shares_pixels_ ? RunTogether(threads, with, memory) : RunAlone(threads, with, memory);
}

}  // namespace hr::cpu
