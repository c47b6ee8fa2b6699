#include "backends/cpu/kernels/winograd_channels_last.h"

#include <algorithm>

#include "backends/cpu/kernels/conv_channels_last_kernels.h"
#include "backends/cpu/kernels/winograd.h"
#include "runtime/base/strings.h"

namespace hr::cpu {
namespace {

constexpr int64_t kBlockBytes = 288 << 10;     // of frequencies: they stay in L2
constexpr int64_t kBlockTiles = 12;            // at least: a tile of products
constexpr int64_t kGroupLanes = 64;            // their products stay in L2, too
constexpr int64_t kUnit = kBatchBlock<float>;  // channels that the transforms take at once
constexpr double kRead = 5;                    // multiply-adds while a weight comes from memory

// Rows that lie whole kilobytes apart fall on the same few lines of the cache.
int64_t RowStride(int64_t channels) { return channels % 256 == 0 ? channels + kUnit : channels; }

// The gradient of an image is a convolution of the result's gradient with turned kernels.
ConvShape AsForward(ConvShape s, ImagePass pass) {
  if (pass == ImagePass::kForward) return s;
  std::swap(s.ic, s.oc);
  std::swap(s.ih, s.oh);
  std::swap(s.iw, s.ow);
  s.pad_top = s.kh - 1 - s.pad_top;
  s.pad_left = s.kw - 1 - s.pad_left;
  return s;
}

}  // namespace

double WinogradChannelsLastCost(const ConvShape& shape, ImagePass pass, bool packed) {
  constexpr double kTransform = 7;  // of a frequency of a channel
  constexpr double kFilter = 10;    // of a frequency of a weight
  const ConvShape s = AsForward(shape, pass);
  const WinogradGrid grid(s);
  const auto weights = static_cast<double>(s.ic * s.oc);
  const auto frequencies = static_cast<double>(grid.row_axis.tile * grid.column_axis.tile);
  const auto tiles = static_cast<double>(s.n * grid.rows * grid.columns);
  return frequencies * (tiles * (weights + kTransform * static_cast<double>(s.ic + s.oc)) +
                        weights * (packed ? kRead : kRead + kFilter));
}

bool WinogradChannelsLastPays(const ConvShape& shape, ImagePass pass, bool packed) {
  if (!WinogradChannelsLast::Takes(shape)) return false;
  constexpr double kOrder = 18;  // of a weight
  const ConvShape s = AsForward(shape, pass);
  const auto pixels = static_cast<double>(s.n * s.OutputPlane());
  const double direct =
      static_cast<double>(s.oc * s.Taps()) * (pixels + (packed ? kRead : kRead + kOrder));
  return WinogradChannelsLastCost(shape, pass, packed) < 0.9 * direct;
}

bool WinogradChannelsLast::Takes(const ConvShape& s) {
  return !s.HasDepth() && WinogradIsAccurate(s) && s.ic % kUnit == 0 && s.oc % kUnit == 0 &&
         s.pad_top >= 0 && s.pad_left >= 0 && s.pad_top < s.kh && s.pad_left < s.kw;
}

void TransformChannelsLast(const WinogradGrid& grid, WinogradSide side, Range rows, int64_t first,
                           const float* image, float* line, const WinogradPlanes& to) {
  const ConvShape& s = grid.s;
  const WinogradKernels& kernels = KernelsForWinograd();
  const WinogradRowKernels& transforms = kernels.row[s.kw];
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

WinogradChannelsLast::WinogradChannelsLast(const ConvShape& shape, ImagePass pass, bool packed,
                                           int slices)
    : s_(AsForward(shape, pass)),
      pass_(pass),
      packed_(packed),
      slices_(slices),
      grid_(s_),
      rows_(s_.n * grid_.rows),
      row_(RowStride(s_.ic)),
      width_(2 * gemm_.lanes),
      lanes_(std::min(kGroupLanes, s_.oc)) {
  const auto bytes = static_cast<int64_t>(sizeof(float)) * FrequencyElements(1);
  const int64_t least = CeilDiv(kBlockTiles, grid_.columns);
  block_rows_ = std::min(rows_, std::max(least, kBlockBytes / bytes));
  cuts_tiles_ = rows_ >= block_rows_ * slices_;
  if (!cuts_tiles_) {
    lanes_ = std::min(lanes_, RoundUp(CeilDiv(s_.oc, slices_), std::max(width_, kUnit)));
  }
}

// Of one thread.
int64_t WinogradChannelsLast::MemoryElements() const {
  return grid_.x_columns * s_.ic + lanes_ * (frequencies() * Tiles(block_rows_) +
                                             (grid_.row_axis.tile + 1) * grid_.y_columns);
}

WinogradChannelsLast::Memory WinogradChannelsLast::MemoryAt(float* at) const {
  float* const products = at + grid_.x_columns * s_.ic;
  return {at, products, products + frequencies() * Tiles(block_rows_) * lanes_};
}

int64_t WinogradChannelsLast::ScratchElements() const {
  const int64_t own = slices_ * MemoryElements();
  return own + (cuts_tiles_ ? slices_ * FrequencyElements(block_rows_) : FrequencyElements(rows_));
}

size_t WinogradChannelsLast::scratch_bytes() const {
  return (packed_ ? 0 : packed_bytes()) + static_cast<size_t>(ScratchElements()) * sizeof(float);
}

size_t WinogradChannelsLast::packed_bytes() const {
  const int64_t panels = CeilDiv(s_.oc, width_);
  return static_cast<size_t>(panels * frequencies() * PanelStride(width_)) * sizeof(float);
}

std::string WinogradChannelsLast::packed_format() const {
  return Cat("winograd ", pass_ == ImagePass::kForward ? "forward " : "backward ", s_.kh, " ",
             s_.kw, " by ", width_);
}

// [panel][frequency][channel][lane]; the last panel may be narrower.
float* WinogradChannelsLast::PackedAt(float* packed, int64_t panel, int64_t frequency) const {
  return packed + panel * frequencies() * PanelStride(width_) +
         frequency * PanelStride(Columns(panel));
}

void WinogradChannelsLast::Pack(const Lease& threads, const float* weights, float* packed) const {
  const bool forward = pass_ == ImagePass::kForward;
  const int64_t taps = s_.KernelSize(), panels = CeilDiv(s_.oc, width_);
  // Of the plain tensor, from a channel and a lane to the next one.
  const int64_t channel = forward ? taps : s_.oc * taps, lane = forward ? s_.ic * taps : taps;
  const int64_t parts = CeilDiv(slices_, panels) * panels;
  threads.ParallelFor(slices_, [&](int slice) {
    const Range own = PartOf(parts, slices_, slice);
    for (int64_t part = own.begin; part < own.end; ++part) {
      const int64_t panel = part % panels, columns = Columns(panel);
      const Range vectors = PartOf(s_.ic * columns / kUnit, parts / panels, part / panels);
      kernels_.filters({.w = weights + panel * width_ * lane,
                        .columns = columns,
                        .w_a = channel,
                        .w_b = lane,
                        .count = s_.ic * columns,
                        .kernel_rows = s_.kh,
                        .kernel_columns = s_.kw,
                        .turned = !forward,
                        .to = PackedAt(packed, panel, 0),
                        .plane = PanelStride(columns),
                        .begin = vectors.begin * kUnit,
                        .end = vectors.end * kUnit});
    }
  });
}

// All frequencies of rows of tiles times those of a panel.
void WinogradChannelsLast::Multiply(Range rows, int64_t panel, const float* pixels, int64_t plane,
                                    const float* weights, float* products) const {
  const int64_t tiles = Tiles(rows.size()), columns = Columns(panel);
  const int64_t chain = WinogradChain(grid_.row_axis, grid_.column_axis, s_.ic);
  const int64_t cuts = CeilDiv(tiles, gemm_.rows);
  const auto& kernels = gemm_.tile[0][columns > gemm_.lanes ? 1 : 0];
  for (int64_t f = 0; f < frequencies(); ++f) {
    const float* const of_panel = PackedAt(const_cast<float*>(weights), panel, f);
    for (int64_t c = 0; c < s_.ic; c += chain) {
      for (int64_t cut = 0; cut < cuts; ++cut) {
        const Range part = PartOf(tiles, cuts, cut);
        kernels[part.size() - 1]({.k = std::min(chain, s_.ic - c),
                                  .a = pixels + f * plane + part.begin * row_ + c,
                                  .a_stride = row_,
                                  .b = of_panel + c * columns,
                                  .ldb = columns,
                                  .b_ahead = kBytesAhead / static_cast<int64_t>(sizeof(float)),
                                  .columns = columns,
                                  .c = products + (f * tiles + part.begin) * lanes_,
                                  .ldc = lanes_,
                                  .accumulate = c > 0});
      }
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
      kernels_.row[s_.kw].output(tiles, from, own.lines + i * line);
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
      Multiply(rows, lane / width_, pixels + Tiles(rows.begin - first) * row_, plane,
               memory.weights, own.products + lane - lanes.begin);
    }
    Finish(rows, lanes, memory, own);
  }
}

void WinogradChannelsLast::RunTiles(const Lease& threads, const ConvImageMemory<float>& memory,
                                    float* scratch) const {
  const int64_t each = MemoryElements() + FrequencyElements(block_rows_);
  const Range groups{0, CeilDiv(s_.oc, lanes_)};
  threads.ParallelFor(slices_, [&](int slice) {
    const Memory own = MemoryAt(scratch + slice * each);
    float* const pixels = scratch + slice * each + MemoryElements();
    const Range part = PartOf(rows_, slices_, slice);
    const int64_t blocks = CeilDiv(part.size(), block_rows_);
    for (int64_t block = 0; block < blocks; ++block) {
      const Range cut = PartOf(part.size(), blocks, block);
      const Range rows{part.begin + cut.begin, part.begin + cut.end};
      const int64_t plane = Tiles(rows.size()) * row_;
      TransformChannelsLast(grid_, WinogradSide::kInput, rows, rows.begin, memory.image, own.line,
                            {pixels, row_, plane});
      MultiplyBlocks(rows, groups, pixels, rows.begin, plane, memory, own);
    }
  });
}

void WinogradChannelsLast::RunPanels(const Lease& threads, const ConvImageMemory<float>& memory,
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
  const int64_t groups = CeilDiv(s_.oc, lanes_);
  const int64_t cuts = std::min(
      rows_, std::max(CeilDiv(rows_, block_rows_), CeilDiv(static_cast<int64_t>(slices_), groups)));
  threads.ParallelFor(slices_, [&](int slice) {
    const Memory own = MemoryAt(scratch + slice * MemoryElements());
    const Range parts = PartOf(groups * cuts, slices_, slice);
    for (int64_t part = parts.begin; part < parts.end; ++part) {
      const int64_t group = part / cuts;
      MultiplyBlocks(PartOf(rows_, cuts, part % cuts), {group, group + 1}, pixels, 0, plane, memory,
                     own);
    }
  });
}

void WinogradChannelsLast::Run(const Lease& threads, const ConvImageMemory<float>& given,
                               void* scratch) const {
  auto* memory = static_cast<float*>(scratch);
  ConvImageMemory<float> with = given;
  if (!packed_) {
    Pack(threads, given.weights, memory);
    with.weights = memory;
    memory += packed_bytes() / sizeof(float);
  }
  cuts_tiles_ ? RunTiles(threads, with, memory) : RunPanels(threads, with, memory);
}

}  // namespace hr::cpu
