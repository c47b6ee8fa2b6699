#include "backends/cpu/kernels/grouped_channels_last.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/kernels/conv_channels_last_blocks.h"
#include "backends/cpu/kernels/sum_parts.h"
#include "runtime/base/strings.h"

namespace hr::cpu {
namespace {

constexpr int64_t kPreparedBytes = 128 << 10;  // of rows: they stay in L2

// The smallest tile for what is left, or the largest one.
template <size_t kTiles>
int TileFor(const int64_t (&tiles)[kTiles], int64_t left) {
  int tile = 0;
  while (tile + 1 < static_cast<int>(kTiles) && tiles[tile + 1] >= left) ++tile;
  return tile;
}

// Rows of the result at a time: as many as have their rows of the image in the cache, but so few
// that there is work for all slices.
int64_t ChunkRows(const GroupedPhase& phase, size_t element, int64_t units, int slices) {
  const int64_t all = phase.gather.rows.size;
  int64_t rows = CeilDiv(all, CeilDiv(slices, std::max<int64_t>(1, units)));
  while (rows > 1 && phase.Elements(rows) * static_cast<int64_t>(element) > kPreparedBytes) {
    rows = CeilDiv(rows, 2);
  }
  return std::max<int64_t>(1, rows);
}

// Copies the rows of image n that `rows` of the result read.
template <typename T>
void PrepareRows(const GroupedLanes<T>& lanes, const GroupedPhase& phase, const T* image, int64_t n,
                 int64_t block, Range terms, Range rows, T* to) {
  const Gather& g = phase.gather;
  const int64_t from = std::clamp<int64_t>(-phase.first_column, 0, phase.columns);
  const int64_t end =
      std::clamp<int64_t>(g.columns.source - phase.first_column, from, phase.columns);
  const Range reads = phase.Reads(rows);
  for (int64_t y = reads.begin; y < reads.end; ++y, to += phase.row) {
    if ((y - reads.begin) % g.rows.step >= phase.reach) continue;  // no tap reads it
    if (y < 0 || y >= g.rows.source) {
      std::fill_n(to, phase.row, T{0});
      continue;
    }
    const int64_t first = (n * g.rows.source + y) * g.columns.source + phase.first_column + from;
    std::fill_n(to, from * phase.pixel, T{0});
    lanes.Prepare(block, terms, image + first * g.pixel, g.pixel, end - from,
                  to + from * phase.pixel);
    std::fill_n(to + end * phase.pixel, (phase.columns - end) * phase.pixel, T{0});
  }
}

int64_t MostTaps(const std::vector<ConvPhase>& phases) {
  size_t most = 1;
  for (const ConvPhase& phase : phases) most = std::max(most, phase.taps.size());
  return static_cast<int64_t>(most);
}

}  // namespace

// ---- Lanes ----

template <typename T>
GroupedLanes<T>::GroupedLanes(int64_t groups, int64_t in, int64_t out, int64_t taps)
    : groups_(groups), in_(in), out_(out) {
  const int64_t vector = kernels_.lanes;
  spread_ = SpreadsLanes(groups, out, taps, vector);
  width_ = spread_ ? vector : PanelWidth(gemm_, out);
  blocks_ = spread_ ? CeilDiv(groups * out, vector) : groups;
  panels_ = spread_ ? 1 : CeilDiv(out, width_);
  for (int64_t block = 0; spread_ && block < blocks_; ++block) {
    const int64_t first = GroupOf(Channel(block, 0));
    for (int64_t term = 0; term < in; ++term) {
      for (int64_t l = 0; l < vector; ++l) {
        const int64_t group = GroupOf(std::min(Channel(block, 0) + l, groups * out - 1));
        sources_.push_back(static_cast<LaneSource<T>>((group - first) * in + term));
      }
    }
  }
}

template <typename T>
void GroupedLanes<T>::Prepare(int64_t block, Range terms, const T* image, int64_t pixel,
                              int64_t pixels, T* to) const {
  if (!spread_) {
    gemm_.pack_rows(image + block * in_ + terms.begin, pixel, terms.size(), pixels, to,
                    terms.size());
    return;
  }
  const int64_t channel = Channel(block, 0), first = GroupOf(channel);
  const int64_t last = GroupOf(channel + Count(block, 0) - 1);
  const LaneSource<T>* const sources = sources_.data() + block * in_ * width_;
  kernels_.spread((last + 1 - first) * in_, sources + terms.begin * width_,
                  sources + terms.end * width_, image + first * in_, pixel, pixels, to);
}

template class GroupedLanes<float>;
template class GroupedLanes<double>;

// ---- Pixels ----

GroupedPhase::GroupedPhase(ConvPhase phase, int64_t terms, int64_t term)
    : ConvPhase(std::move(phase)), pixel(terms * term) {
  const std::vector<int64_t>&down = gather.rows.taps, &across = gather.columns.taps;
  if (down.empty() || across.empty()) return;
  const auto [top, bottom] = std::minmax_element(down.begin(), down.end());
  const auto [left, right] = std::minmax_element(across.begin(), across.end());
  first_row = *top, first_column = *left;
  reach = *bottom - *top + 1;
  columns = (gather.columns.size - 1) * gather.columns.step + *right - *left + 1;
  row = columns * pixel;
  const bool joined = across.size() > 1 && across[1] == across[0] + 1;
  line_taps = joined ? static_cast<int64_t>(across.size()) : 1;
  for (const int64_t r : down) {
    for (size_t c = 0; c < across.size(); c += static_cast<size_t>(line_taps)) {
      lines.push_back((r - first_row) * row + (across[c] - first_column) * pixel);
    }
  }
}

Range GroupedPhase::Reads(Range rows) const {
  if (reach == 0 || rows.size() <= 0) return {0, 0};
  const int64_t step = gather.rows.step;
  return {rows.begin * step + first_row, (rows.end - 1) * step + first_row + reach};
}

// ---- Passes that make an image ----

template <typename T>
GroupedChannelsLast<T>::GroupedChannelsLast(const ConvShape& shape, ImagePass pass, bool packed,
                                            int slices)
    : s_(shape),
      pass_(pass),
      packed_(packed),
      slices_(slices),
      in_(pass == ImagePass::kForward ? s_.GroupIn() : s_.GroupOut()),
      lanes_(s_.groups, in_, pass == ImagePass::kForward ? s_.GroupOut() : s_.GroupIn(),
             MostTaps(PhasesOf(s_, pass))) {
  for (ConvPhase& phase : PhasesOf(s_, pass)) {
    phases_.emplace_back(std::move(phase), in_, lanes_.term());
  }
  for (const GroupedPhase& phase : phases_) {
    const int64_t rows = ChunkRows(phase, sizeof(T), s_.n * lanes_.blocks(), slices_);
    chunk_rows_.push_back(rows);
    // What a tile reads for pixels that are none lies behind.
    const int64_t behind = kernels_.tile[0][0] * phase.gather.columns.step * phase.pixel;
    prepared_ = std::max(prepared_, Aligned<T>(phase.Elements(rows) + behind));
  }
}

template <typename T>
int64_t GroupedChannelsLast<T>::PanelElements(const GroupedPhase& phase) const {
  return static_cast<int64_t>(phase.taps.size()) * in_ * lanes_.width();
}

template <typename T>
size_t GroupedChannelsLast<T>::packed_bytes() const {
  int64_t elements = 0;
  for (const GroupedPhase& phase : phases_) elements += PanelElements(phase);
  return static_cast<size_t>(elements * lanes_.blocks() * lanes_.panels()) * sizeof(T);
}

template <typename T>
std::string GroupedChannelsLast<T>::packed_format() const {
  std::string out = Cat("grouped ", WeightsText(s_, pass_), lanes_.spread() ? " spread" : "");
  for (const GroupedPhase& phase : phases_) {
    out += ';';
    for (const int64_t tap : phase.taps) out += Cat(' ', tap);
  }
  return out;
}

template <typename T>
void GroupedChannelsLast<T>::PackPanel(const GroupedPhase& phase, int64_t channel, int64_t lanes,
                                       const T* weights, T* to) const {
  const bool forward = pass_ == ImagePass::kForward;
  const WeightPanel panel{.lanes = lanes,
                          .channels = in_,
                          .width = lanes_.width(),
                          .lane = forward ? s_.Taps() : s_.KernelSize(),
                          .channel = forward ? s_.KernelSize() : s_.Taps(),
                          .taps = &phase.taps};
  if (phase.taps.empty()) return;
  const int64_t group = lanes_.GroupOf(channel);
  // Where the weights of lane l begin.
  const auto lane = [&](int64_t l) {
    if (forward) return (channel + l) * s_.Taps();
    const int64_t of = lanes_.GroupOf(channel + l);
    return of * s_.GroupOut() * s_.Taps() + (channel + l - of * s_.GroupIn()) * s_.KernelSize();
  };
  if (forward || lanes_.GroupOf(channel + lanes - 1) == group) {
    KernelsForConvChannelsLast<T>().pack(panel, weights + lane(0), to);
    return;
  }
  std::fill_n(to, PanelElements(phase), T{0});
  for (const int64_t tap : phase.taps) {
    for (int64_t c = 0; c < in_; ++c, to += panel.width) {
      for (int64_t l = 0; l < lanes; ++l) to[l] = weights[lane(l) + c * panel.channel + tap];
    }
  }
}

template <typename T>
void GroupedChannelsLast<T>::Pack(const Lease& threads, const T* weights, T* packed) const {
  const int64_t panels = lanes_.blocks() * lanes_.panels();
  threads.ParallelFor(slices_, [&](int slice) {
    const Range part = PartOf(panels, slices_, slice);
    T* to = packed;
    for (const GroupedPhase& phase : phases_) {
      for (int64_t i = part.begin; i < part.end; ++i) {
        const int64_t block = i / lanes_.panels(), panel = i % lanes_.panels();
        PackPanel(phase, lanes_.Channel(block, panel), lanes_.Count(block, panel), weights,
                  to + i * PanelElements(phase));
      }
      to += panels * PanelElements(phase);
    }
  });
}

template <typename T>
size_t GroupedChannelsLast<T>::scratch_bytes() const {
  return (packed_ ? 0 : RoundUp(packed_bytes(), kAlignment)) +
         static_cast<size_t>(slices_ * prepared_) * sizeof(T);
}

template <typename T>
void GroupedChannelsLast<T>::Run(const Lease& threads, const ConvImageMemory<T>& memory,
                                 void* scratch) const {
  T* prepared = static_cast<T*>(scratch);
  const T* weights = memory.weights;
  if (!packed_) {
    Pack(threads, memory.weights, prepared);
    weights = prepared;
    prepared += RoundUp(packed_bytes(), kAlignment) / sizeof(T);
  }
  for (size_t i = 0; i < phases_.size(); ++i) {
    const GroupedPhase& phase = phases_[i];
    const int64_t height = phase.gather.rows.size, blocks = lanes_.blocks();
    const int64_t chunks = CeilDiv(height, chunk_rows_[i]);
    threads.ParallelFor(slices_, [&](int slice) {
      const Range units = PartOf(s_.n * chunks * blocks, slices_, slice);
      for (int64_t unit = units.begin; unit < units.end; ++unit) {
        RunRows(phase, memory, weights, unit / blocks / chunks, unit % blocks,
                PartOf(height, chunks, unit / blocks % chunks), prepared + slice * prepared_);
      }
    });
    weights += blocks * lanes_.panels() * PanelElements(phase);
  }
}

// Some rows of image n.
template <typename T>
void GroupedChannelsLast<T>::RunRows(const GroupedPhase& phase, const ConvImageMemory<T>& memory,
                                     const T* weights, int64_t n, int64_t block, Range rows,
                                     T* prepared) const {
  PrepareRows(lanes_, phase, memory.image, n, block, {0, in_}, rows, prepared);
  for (int64_t panel = 0; panel < lanes_.panels(); ++panel) {
    const T* const w = weights + (block * lanes_.panels() + panel) * PanelElements(phase);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      RunRow(phase, memory, w, lanes_.Channel(block, panel), lanes_.Count(block, panel),
             n * phase.gather.rows.size + row,
             prepared + (row - rows.begin) * phase.gather.rows.step * phase.row);
    }
  }
}

template <typename T>
void GroupedChannelsLast<T>::RunRow(const GroupedPhase& phase, const ConvImageMemory<T>& memory,
                                    const T* weights, int64_t channel, int64_t lanes, int64_t row,
                                    const T* x) const {
  const int vectors = lanes > kernels_.lanes ? 1 : 0;
  const GatherAxis& columns = phase.gather.columns;
  GroupedCall<T> call{.lanes = lanes,
                      .lines = &phase.lines,
                      .terms = phase.line_taps * in_,
                      .x_pixel = columns.step * phase.pixel,
                      .y_pixel = phase.column_step * Channels(),
                      .weights = weights,
                      .width = lanes_.width()};
  for (int64_t column = 0; column < columns.size; column += call.pixels) {
    const int tile = TileFor(kernels_.tile[vectors], columns.size - column);
    call.pixels = std::min(columns.size - column, kernels_.tile[vectors][tile]);
    const auto kernel = lanes_.spread() ? kernels_.sum_spread[tile] : kernels_.sum[vectors][tile];
    const int64_t at = phase.ResultPixel(row * columns.size + column) * Channels();
    ConvEpilogue<T> epilogue = memory.epilogue;
    MoveTo(&epilogue, channel, at);
    kernel(call, x + column * call.x_pixel, epilogue, memory.result + at + channel);
  }
}

template class GroupedChannelsLast<float>;
template class GroupedChannelsLast<double>;

// ---- The gradient of the weights ----

template <typename T>
GroupedChannelsLastWeights<T>::GroupedChannelsLastWeights(const ConvShape& shape, int slices)
    : s_(shape), slices_(slices), lanes_(s_.groups, s_.GroupIn(), s_.GroupOut(), s_.KernelSize()) {
  const int64_t blocks = std::max<int64_t>(1, lanes_.blocks());
  const int64_t parts = std::max<int64_t>(1, std::min(CeilDiv(slices, blocks), s_.GroupIn()));
  const ConvPhase phase = PhasesOf(s_, ImagePass::kForward)[0];
  for (int64_t i = 0; i < parts; ++i) {
    const Range terms = PartOf(s_.GroupIn(), parts, i);
    Part part{GroupedPhase(phase, terms.size(), lanes_.term()), terms, {}, 1, 1};
    part.chunk_rows = ChunkRows(part.phase, sizeof(T), 1, 1);
    if (lanes_.spread()) CutLines(&part);
    const int64_t behind = kernels_.tile[0][0] * lanes_.term();
    prepared_ = std::max(prepared_, Aligned<T>(part.phase.Elements(part.chunk_rows) + behind));
    sums_ = std::max(sums_, lanes_.panels() * PanelElements(part));
    parts_.push_back(std::move(part));
  }
}

// Cuts the lines of a pixel into runs, whose number is one that the kernel takes.
template <typename T>
void GroupedChannelsLastWeights<T>::CutLines(Part* part) const {
  constexpr int64_t kRuns = GroupedKernels<T>::kRuns;
  const int64_t line = part->phase.line_taps * part->terms.size();
  const int64_t cuts = CeilDiv(line, GroupedKernels<T>::kMostOfRun);
  part->most_of_run = CeilDiv(line, cuts);
  for (size_t i = 0; i < part->phase.lines.size(); ++i) {
    for (int64_t cut = 0; cut < cuts; ++cut) {
      const Range run = PartOf(line, cuts, cut);
      part->runs.push_back({part->phase.lines[i] + run.begin * lanes_.term(),
                            static_cast<int64_t>(i) * line + run.begin, run.size()});
    }
  }
  while (part->runs.size() % kRuns != 0) part->runs.push_back({});
}

template <typename T>
size_t GroupedChannelsLastWeights<T>::scratch_bytes() const {
  return static_cast<size_t>(slices_ * (prepared_ + sums_)) * sizeof(T);
}

template <typename T>
void GroupedChannelsLastWeights<T>::Run(const Lease& threads, const T* x, const T* dy, T* dw,
                                        void* scratch) const {
  const auto parts = static_cast<int64_t>(parts_.size());
  threads.ParallelFor(slices_, [&](int slice) {
    T* const own = static_cast<T*>(scratch) + slice * (prepared_ + sums_);
    const Range tasks = PartOf(lanes_.blocks() * parts, slices_, slice);
    for (int64_t task = tasks.begin; task < tasks.end; ++task) {
      RunTask(task / parts, parts_[static_cast<size_t>(task % parts)], x, dy, dw, own);
    }
  });
}

template <typename T>
void GroupedChannelsLastWeights<T>::RunTask(int64_t block, const Part& part, const T* x,
                                            const T* dy, T* dw, T* scratch) const {
  T* const sums = scratch + prepared_;
  std::fill_n(sums, lanes_.panels() * PanelElements(part), T{0});
  for (int64_t n = 0; n < s_.n; ++n) {
    ForBlocks({0, s_.oh}, part.chunk_rows, [&](Range rows) {
      PrepareRows(lanes_, part.phase, x, n, block, part.terms, rows, scratch);
      ForSums(rows.size(), [&](Range part_rows, Range columns) {
        const int64_t pixel = (n * s_.oh + rows.begin + part_rows.begin) * s_.ow + columns.begin;
        const GatherAxis &down = part.phase.gather.rows, &across = part.phase.gather.columns;
        const T* const from = scratch + part_rows.begin * down.step * part.phase.row +
                              columns.begin * across.step * part.phase.pixel;
        for (int64_t panel = 0; panel < lanes_.panels(); ++panel) {
          AddPixels(part, part_rows.size(), columns.size(), lanes_.Count(block, panel), from,
                    dy + pixel * s_.oc + lanes_.Channel(block, panel),
                    sums + panel * PanelElements(part));
        }
      });
    });
  }
  for (int64_t panel = 0; panel < lanes_.panels(); ++panel) {
    KernelsForConvChannelsLast<T>().unpack(
        {.lanes = lanes_.Count(block, panel),
         .channels = part.terms.size(),
         .width = lanes_.width(),
         .lane = s_.Taps(),
         .channel = s_.KernelSize(),
         .taps = &part.phase.taps},
        sums + panel * PanelElements(part),
        dw + lanes_.Channel(block, panel) * s_.Taps() + part.terms.begin * s_.KernelSize());
  }
}

// Cuts rows into parts whose pixels are summed one after the other.
template <typename T>
template <typename Body>
void GroupedChannelsLastWeights<T>::ForSums(int64_t rows, const Body& body) const {
  const int64_t height = std::max<int64_t>(1, kMostTermsOfPart / s_.ow);
  ForBlocks({0, rows}, height, [&](Range part) {
    ForBlocks({0, s_.ow}, kMostTermsOfPart, [&](Range columns) { body(part, columns); });
  });
}

// Adds what some pixels of an image give to the weights of a panel.
template <typename T>
void GroupedChannelsLastWeights<T>::AddPixels(const Part& part, int64_t rows, int64_t columns,
                                              int64_t lanes, const T* x, const T* dy,
                                              T* sums) const {
  const Gather& g = part.phase.gather;
  const GroupedWeightsCall call{.rows = rows,
                                .columns = columns,
                                .x_row = g.rows.step * part.phase.row,
                                .x_column = g.columns.step * part.phase.pixel,
                                .dy_row = s_.ow * s_.oc,
                                .dy_column = s_.oc,
                                .lanes = lanes,
                                .width = lanes_.width()};
  if (lanes_.spread()) {
    for (size_t i = 0; i < part.runs.size(); i += GroupedKernels<T>::kRuns) {
      kernels_.add_spread_weights[part.most_of_run - 1](call, x, dy, &part.runs[i], sums);
    }
    return;
  }
  const int vectors = lanes > kernels_.lanes ? 1 : 0;
  const auto& tiles = kernels_.tile[vectors];
  const int64_t line = part.phase.line_taps * part.terms.size();
  for (const int64_t at : part.phase.lines) {
    for (int64_t i = 0; i < line;) {
      const int tile = TileFor(tiles, line - i);
      const int64_t count = std::min(line - i, tiles[tile]);
      kernels_.add_weights[vectors][tile](call, x + at + i, dy, count, sums);
      i += count, sums += count * lanes_.width();
    }
  }
}

template class GroupedChannelsLastWeights<float>;
template class GroupedChannelsLastWeights<double>;

}  // namespace hr::cpu
