#include "backends/cpu/kernels/conv_channels_last.h"

#include <algorithm>

#include "backends/cpu/kernels/conv_channels_last_blocks.h"
#include "runtime/base/strings.h"

namespace hr::cpu {
namespace {

constexpr int64_t kKeptBytes = 512 << 10;  // of weights that stay in L2
constexpr int64_t kStripBytes = 24 << 10;  // of results that are written in order
// Strips of pixels are faster than blocks by a tenth, but the first one waits for the weights to
// come from memory, as long as one or two strips take.
constexpr int64_t kLeastStrips = 16;

template <typename T>
void Fetch(const T* from, int64_t count) {
  constexpr int64_t kLine = kAlignment / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(from + i);
}

}  // namespace

template <typename T>
ConvChannelsLast<T>::ConvChannelsLast(const ConvShape& shape, ImagePass pass, bool packed,
                                      int slices)
    : s_(shape), pass_(pass), packed_(packed), slices_(slices) {
  const bool forward = pass == ImagePass::kForward;
  in_ = forward ? s_.GroupIn() : s_.GroupOut();
  out_ = forward ? s_.GroupOut() : s_.GroupIn();
  width_ = PanelWidth(gemm_, out_);
  panels_ = CeilDiv(out_, width_);
  int64_t at = 0;
  int64_t taps = 0, all_taps = 0;
  for (ConvPhase& phase : PhasesOf(s_, pass)) {
    std::vector<ConvPart> parts = PartsOf(phase);
    taps += TapsRead(parts, s_.n), all_taps += TapsRead(WholeOf(phase), s_.n);
    phases_.push_back({std::move(phase), at, std::move(parts)});
    at += PackedElements(phases_.back());
  }
  by_images_ = LeavesOutPadding(in_, taps, all_taps);
  for (Phase& phase : phases_) {
    if (!by_images_) phase.parts = WholeOf(phase);
  }
  ChooseBlocks();
}

// Cuts pixels and panels into at most `slices` cells: the fewest cycles of the slowest one, in
// which a multiply-add of two vectors takes one, packing a weight takes one, and gathering a vector
// two. What a cell reads may lie in another core's cache, or in memory.
template <typename T>
void ConvChannelsLast<T>::ChooseBlocks() {
  size_t most = 1, taps = 0;  // of a phase, and of all
  for (const Phase& phase : phases_) {
    most = std::max(most, phase.taps.size());
    taps += phase.taps.size();
  }
  block_channels_ = BlockChannels(in_, static_cast<int64_t>(most));
  block_pixels_ = BlockPixels<T>(static_cast<int64_t>(most) * block_channels_, gemm_.rows);
  const int64_t plane = phases_[0].gather.plane();
  if (by_images_) block_pixels_ = std::max<int64_t>(1, block_pixels_ / plane) * plane;
  const int64_t pixels = phases_[0].pixels(s_.n), panels = s_.groups * panels_;
  const double depth = static_cast<double>(taps) * static_cast<double>(in_);
  const bool in_place = IsInPlace<T>(phases_[0].gather);
  constexpr double kMove = 2;  // of a vector
  double best = -1;
  for (int m = 1; m <= (by_images_ ? std::min<int64_t>(slices_, s_.n) : slices_); ++m) {
    const int n = static_cast<int>(std::min<int64_t>(slices_ / m, panels));
    const int64_t rows = CeilDiv(pixels, m), columns = CeilDiv(panels, n);
    const bool first = !packed_ && (m > 1 || rows > block_pixels_);
    const double width = static_cast<double>(width_);
    const double vectors = width / gemm_.lanes;
    double cost = static_cast<double>(RoundUp(rows, gemm_.rows) * columns) * depth * vectors / 2;
    if (!in_place) {
      cost += 2 * static_cast<double>(rows * CeilDiv(columns, panels_)) * depth / gemm_.lanes;
    }
    if (!packed_) {
      const auto packed = static_cast<double>(first ? CeilDiv(panels, slices_) : columns);
      cost += packed * width * depth * (first ? 1.5 : 1);
    }
    const auto image = static_cast<double>(rows * in_);
    cost += kMove * (image + static_cast<double>(columns) * width * depth) / gemm_.lanes;
    if (best >= 0 && cost >= best) continue;
    best = cost;
    cut_pixels_ = m;
    cut_panels_ = n;
    pack_first_ = first;
  }
  const int64_t result =
      std::max<int64_t>(1, CeilDiv(panels, cut_panels_)) * width_ * static_cast<int64_t>(sizeof(T));
  const int64_t weights = result * in_ * static_cast<int64_t>(taps);
  const int64_t strip = std::max<int64_t>(1, kStripBytes / result / gemm_.rows) * gemm_.rows;
  by_strips_ = IsDense() && (packed_ || pack_first_) && weights <= kKeptBytes &&
               pixels / cut_pixels_ >= kLeastStrips * strip;
  if (by_strips_) block_pixels_ = std::min(block_pixels_, strip);
}

template <typename T>
int64_t ConvChannelsLast<T>::PackedElements(const Phase& phase) const {
  return s_.groups * panels_ * static_cast<int64_t>(phase.taps.size()) * in_ * width_;
}

template <typename T>
size_t ConvChannelsLast<T>::packed_bytes() const {
  return static_cast<size_t>(phases_.back().packed + PackedElements(phases_.back())) * sizeof(T);
}

template <typename T>
std::string ConvChannelsLast<T>::packed_format() const {
  std::string out = Cat(WeightsText(s_, pass_), " by ", block_channels_);
  for (const Phase& phase : phases_) {
    out += ';';
    for (const int64_t tap : phase.taps) out += Cat(' ', tap);
  }
  return out;
}

// Of one cell.
template <typename T>
int64_t ConvChannelsLast<T>::ScratchElements() const {
  int64_t matrix = 0, panel = 0;
  for (const Phase& phase : phases_) {
    const int64_t depth = static_cast<int64_t>(phase.taps.size()) * block_channels_;
    matrix = std::max(matrix, block_pixels_ * RowStride<T>(depth));
    panel = std::max(panel, depth * width_);
  }
  if (packed_ || pack_first_) panel = 0;
  const int64_t panels = CeilDiv(s_.groups * panels_, cut_panels_) + 1;
  const int64_t block = IsDense() ? 0 : block_pixels_ * panels * width_;
  return Aligned<T>(matrix) + Aligned<T>(panel) + Aligned<T>(block);
}

template <typename T>
size_t ConvChannelsLast<T>::scratch_bytes() const {
  const auto cells = static_cast<size_t>(cut_pixels_ * cut_panels_);
  return (pack_first_ ? packed_bytes() : 0) +
         cells * static_cast<size_t>(ScratchElements()) * sizeof(T);
}

template <typename T>
int64_t ConvChannelsLast<T>::Lanes(int64_t panel) const {
  return std::min(width_, out_ - panel % panels_ * width_);
}

template <typename T>
WeightPanel ConvChannelsLast<T>::PanelOf(const Phase& phase, int64_t panel, Range channels) const {
  const bool forward = pass_ == ImagePass::kForward;
  return {.lanes = Lanes(panel),
          .channels = channels.size(),
          .width = width_,
          .lane = forward ? s_.Taps() : s_.KernelSize(),
          .channel = forward ? s_.KernelSize() : s_.Taps(),
          .taps = &phase.taps};
}

template <typename T>
const T* ConvChannelsLast<T>::PlainWeights(const T* weights, int64_t panel, Range channels) const {
  const int64_t lane = panel % panels_ * width_, channel = channels.begin;
  const bool forward = pass_ == ImagePass::kForward;
  const int64_t row = panel / panels_ * s_.GroupOut() + (forward ? lane : channel);
  return weights + row * s_.Taps() + (forward ? channel : lane) * s_.KernelSize();
}

template <typename T>
T* ConvChannelsLast<T>::PanelAt(const Phase& phase, T* packed, int64_t panel,
                                Range channels) const {
  const auto taps = static_cast<int64_t>(phase.taps.size());
  return packed + phase.packed + (panel * in_ + channels.begin) * taps * width_;
}

template <typename T>
void ConvChannelsLast<T>::PackPhase(const Lease& threads, const Phase& phase, const T* weights,
                                    T* packed) const {
  if (phase.taps.empty()) return;
  const int64_t blocks = CeilDiv(in_, block_channels_), units = s_.groups * panels_ * blocks;
  threads.ParallelFor(slices_, [&](int slice) {
    const Range part = PartOf(units, slices_, slice);
    for (int64_t unit = part.begin; unit < part.end; ++unit) {
      const int64_t panel = unit / blocks, first = unit % blocks * block_channels_;
      const Range channels{first, std::min(in_, first + block_channels_)};
      kernels_.pack(PanelOf(phase, panel, channels), PlainWeights(weights, panel, channels),
                    PanelAt(phase, packed, panel, channels));
    }
  });
}

template <typename T>
void ConvChannelsLast<T>::Pack(const Lease& threads, const T* weights, T* packed) const {
  for (const Phase& phase : phases_) PackPhase(threads, phase, weights, packed);
}

template <typename T>
void ConvChannelsLast<T>::Run(const Lease& threads, const ConvImageMemory<T>& memory,
                              void* scratch) const {
  T* cells = static_cast<T*>(scratch);
  const T* packed = packed_ ? memory.weights : nullptr;
  if (pack_first_) {
    Pack(threads, memory.weights, cells);
    packed = cells;
    cells += packed_bytes() / sizeof(T);
  }
  ClearUntouched(threads, memory.result);
  for (const Phase& phase : phases_) {
    if (phase.taps.empty()) continue;
    threads.ParallelFor(cut_pixels_ * cut_panels_, [&](int cell) {
      const Cell part{PartOf(Units(phase), cut_pixels_, cell % cut_pixels_),
                      PartOf(s_.groups * panels_, cut_panels_, cell / cut_pixels_)};
      RunCell(phase, memory, part, packed, cells + cell * ScratchElements());
    });
  }
}

// Pixels of phases without taps, of which strides that are larger than the kernel leave many, get
// no gradient. They lie between others, so that all are cleared in one go.
template <typename T>
void ConvChannelsLast<T>::ClearUntouched(const Lease& threads, T* result) const {
  const bool all_have_taps = std::none_of(phases_.begin(), phases_.end(),
                                          [](const Phase& phase) { return phase.taps.empty(); });
  if (all_have_taps) return;
  const int64_t row = phases_[0].width * Channels();
  threads.ParallelFor(slices_, [&](int slice) {
    const Range rows = PartOf(s_.n * phases_[0].height, slices_, slice);
    std::fill_n(result + rows.begin * row, rows.size() * row, T{0});
  });
}

template <typename T>
void ConvChannelsLast<T>::RunCell(const Phase& phase, const ConvImageMemory<T>& memory,
                                  const Cell& cell, const T* packed, T* scratch) const {
  const int64_t each = by_images_ ? phases_[0].gather.plane() : 1;
  ForBlocks(cell.units, block_pixels_ / each, [&](Range units) {
    for (int64_t group = cell.panels.begin / panels_; group * panels_ < cell.panels.end; ++group) {
      const Range panels{std::max(cell.panels.begin, group * panels_),
                         std::min(cell.panels.end, (group + 1) * panels_)};
      RunBlock(phase, memory, units, panels, packed, scratch);
    }
  });
}

// Some pixels of some panels of one group.
template <typename T>
void ConvChannelsLast<T>::RunBlock(const Phase& phase, const ConvImageMemory<T>& memory,
                                   Range units, Range panels, const T* packed, T* scratch) const {
  const auto taps = static_cast<int64_t>(phase.taps.size());
  T* const panel_memory =
      scratch + Aligned<T>(block_pixels_ * RowStride<T>(taps * block_channels_));
  T* const block = panel_memory + (packed ? 0 : Aligned<T>(taps * block_channels_ * width_));
  ForBlocks({0, taps == 0 ? 0 : in_}, block_channels_, [&](Range channels) {
    if (IsDense()) {
      MultiplyDense(phase, memory, units, panels, channels, packed, scratch, panel_memory);
    } else {
      MultiplyParts(phase, memory, units, panels, channels, packed, scratch, panel_memory, block);
    }
  });
  if (!IsDense()) Scatter(phase, memory, units, panels, block);
}

// The weights of a panel: those that were packed, or packed now.
template <typename T>
const T* ConvChannelsLast<T>::Weights(const Phase& phase, const T* plain, const T* packed,
                                      int64_t panel, Range channels, T* panel_memory) const {
  if (packed != nullptr) return PanelAt(phase, const_cast<T*>(packed), panel, channels);
  kernels_.pack(PanelOf(phase, panel, channels), PlainWeights(plain, panel, channels),
                panel_memory);
  return panel_memory;
}

// Adds what some channels give to pixels of the result, and finishes these with the last channels.
template <typename T>
void ConvChannelsLast<T>::MultiplyDense(const Phase& phase, const ConvImageMemory<T>& memory,
                                        Range pixels, Range panels, Range channels, const T* packed,
                                        T* gathered, T* panel_memory) const {
  const int64_t depth = static_cast<int64_t>(phase.taps.size()) * channels.size();
  const int64_t first = panels.begin / panels_ * in_, stride = Channels();
  const Range source{first + channels.begin, first + channels.end};
  const T* matrix = memory.image + pixels.begin * phase.gather.pixel + source.begin;
  int64_t row = phase.gather.pixel;
  if (!IsInPlace<T>(phase.gather)) {
    row = RowStride<T>(depth);
    kernels_.gather(phase.gather, memory.image, pixels, source, gathered, row);
    matrix = gathered;
  }
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const T* const weights = Weights(phase, memory.weights, packed, panel, channels, panel_memory);
    const bool more = !by_strips_ && packed != nullptr && panel + 1 < panels.end;
    const T* const next =
        more ? PanelAt(phase, const_cast<T*>(packed), panel + 1, channels) : nullptr;
    ConvEpilogue<T> epilogue = memory.epilogue;
    MoveTo(&epilogue, LaneOf(panel), pixels.begin * stride);
    const bool finishes = channels.end == in_ && !epilogue.IsNone();
    Multiply(phase, phase.parts[0], channels.size(), {matrix, row, pixels.size()}, weights, panel,
             channels.begin == 0, finishes ? &epilogue : nullptr,
             memory.result + pixels.begin * stride + LaneOf(panel), stride, next);
  }
}

// Adds what some channels give to the pixels of all parts, which lie one part behind the other in
// `block`.
template <typename T>
void ConvChannelsLast<T>::MultiplyParts(const Phase& phase, const ConvImageMemory<T>& memory,
                                        Range units, Range panels, Range channels, const T* packed,
                                        T* gathered, T* panel_memory, T* block) const {
  const int64_t first = panels.begin / panels_ * in_, stride = panels.size() * width_;
  const Range source{first + channels.begin, first + channels.end};
  // Calls body(part, its pixels, the distance of their rows, where the rows and its results begin).
  const auto for_parts = [&](auto&& body) {
    int64_t at = 0, result = 0;
    for (const ConvPart& part : phase.parts) {
      const Range pixels = PixelsOf(part.phase, units);
      const int64_t row =
          RowStride<T>(static_cast<int64_t>(part.phase.taps.size()) * channels.size());
      if (!part.phase.taps.empty()) body(part, pixels, row, at, result);
      at += pixels.size() * row, result += pixels.size() * stride;
    }
  };
  for_parts([&](const ConvPart& part, Range pixels, int64_t row, int64_t at, int64_t) {
    kernels_.gather(part.phase.gather, memory.image, pixels, source, gathered + at, row);
  });
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const T* const weights = Weights(phase, memory.weights, packed, panel, channels, panel_memory);
    for_parts([&](const ConvPart& part, Range pixels, int64_t row, int64_t at, int64_t result) {
      Multiply(phase, part, channels.size(), {gathered + at, row, pixels.size()}, weights, panel,
               channels.begin == 0, nullptr, block + result + (panel - panels.begin) * width_,
               stride, nullptr);
    });
  }
}

// `end`: for the first element of `to`; null: more is done to the result afterwards. `next`: the
// weights that are used next, which come into the caches meanwhile, or null.
template <typename T>
void ConvChannelsLast<T>::Multiply(const Phase& phase, const ConvPart& part, int64_t channels,
                                   const Matrix& matrix, const T* weights, int64_t panel,
                                   bool first, const ConvEpilogue<T>* end, T* to, int64_t stride,
                                   const T* next) const {
  const int64_t columns = Lanes(panel), line = part.columns.size() * channels;
  const auto row_taps = static_cast<int64_t>(phase.gather.columns.taps.size());
  // Rows of the kernel whose taps are neighbours in the panel are one sum.
  const int64_t sums = part.columns.size() == row_taps ? 1 : part.rows.size();
  const int64_t depth = sums == 1 ? part.rows.size() * line : line;
  const T* const b =
      weights + (part.rows.begin * row_taps + part.columns.begin) * channels * width_;
  const bool adds = end != nullptr && end->residual != nullptr;
  // All tiles together fetch a panel.
  const int64_t step = CeilDiv(width_, CeilDiv(matrix.pixels, gemm_.rows));
  ForTiles(matrix.pixels, gemm_.rows, [&](int64_t at, int64_t rows) {
    T* const tile = to + at * stride;
    for (int64_t i = 0; i < rows; ++i) {
      if (first) Fetch(tile + i * stride, columns);
      if (adds) Fetch(end->residual + (at + i) * stride, columns);
    }
    ConvEpilogue<T> epilogue;
    if (end != nullptr) {
      epilogue = *end;
      MoveTo(&epilogue, 0, at * stride);
    }
    for (int64_t sum = 0; sum < sums; ++sum) {
      KernelOf(gemm_, false, columns,
               rows)({.k = depth,
                      .a = matrix.at + at * matrix.row + sum * line,
                      .a_stride = matrix.row,
                      .b = b + sum * row_taps * channels * width_,
                      .ldb = width_,
                      .b_ahead = kBytesAhead / static_cast<int64_t>(sizeof(T)),
                      .ahead = next,
                      .ahead_step = step,
                      .columns = columns,
                      .c = tile,
                      .ldc = stride,
                      .accumulate = !first || sum > 0,
                      .end = end != nullptr && sum + 1 == sums ? &epilogue : nullptr});
      if (next != nullptr) next += depth * step;
    }
  });
}

// Finishes the pixels of a block and puts them where they lie in the result.
template <typename T>
void ConvChannelsLast<T>::Scatter(const Phase& phase, const ConvImageMemory<T>& memory, Range units,
                                  Range panels, const T* block) const {
  const int64_t group = panels.begin / panels_, lane = LaneOf(panels.begin);
  const int64_t columns = std::min((group + 1) * out_, lane + panels.size() * width_) - lane;
  const int64_t stride = panels.size() * width_;
  for (const ConvPart& part : phase.parts) {
    const Range pixels = PixelsOf(part.phase, units);
    const int64_t width = part.phase.gather.columns.size;
    const int64_t step = part.phase.column_step * Channels();  // between pixels of a row
    for (int64_t i = pixels.begin, run = 0; i < pixels.end; i += run, block += run * stride) {
      run = std::min(pixels.end - i, width - i % width);
      const int64_t at = part.phase.ResultPixel(i) * Channels();
      ConvEpilogue<T> epilogue = memory.epilogue;
      MoveTo(&epilogue, lane, at);
      T* const to = memory.result + at + lane;
      if (part.phase.taps.empty()) {
        // Nothing was added up here.
        for (int64_t p = 0; p < run; ++p) std::fill_n(to + p * step, columns, T{0});
        kernels_.finish(epilogue, run, columns, to, step, to, step);
      } else {
        kernels_.finish(epilogue, run, columns, block, stride, to, step);
      }
    }
  }
}

template class ConvChannelsLast<float>;
template class ConvChannelsLast<double>;

}  // namespace hr::cpu
