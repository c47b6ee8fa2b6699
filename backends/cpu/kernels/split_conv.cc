#include "backends/cpu/kernels/split_conv.h"

#include <algorithm>
#include <utility>

#include "runtime/base/errors.h"

namespace hr::cpu {
namespace {

constexpr int64_t kKeptWeights = 768 << 10;  // of the second-level cache
constexpr int64_t kSomeWeights = 256 << 10;  // of a panel that tiles use one after the other
constexpr int64_t kFlagBytes = 64;           // behind a panel: whether it is special

// Whether all of them stay in the second-level cache.
bool KeepsWeights(const ConvShape& s) { return 6 * s.oc * s.Taps() <= kKeptWeights; }

FrameLimits LimitsOf(int64_t channels, bool keeps_weights) {
  return {.planes = 3 * CeilDiv(channels, kSplitTerms),
          .channels = kSplitTerms,
          .bytes = keeps_weights ? 768 << 10 : 1 << 20,
          .places = keeps_weights ? 128 : 256,
          .cut = true};
}

char* Behind(void* memory, size_t bytes) { return static_cast<char*>(memory) + bytes; }

// Pixels of an image of float32.
class SplitPixels final : public PixelCopy {
 public:
  SplitPixels(const SplitKernels& unit, const float* image, int64_t channels, int64_t plane)
      : unit_(unit), image_(image), channels_(channels), plane_(plane) {}

  void Copy(int64_t pixel, int64_t count, int64_t step, uint16_t* to) override {
    marks_.Add(unit_.split_pixels({.from = image_ + pixel * channels_,
                                   .stride = step * channels_,
                                   .count = count,
                                   .channels = channels_,
                                   .to = to,
                                   .plane = plane_}));
  }
  const SplitMarks& marks() const { return marks_; }

 private:
  const SplitKernels& unit_;
  const float* const image_;
  const int64_t channels_, plane_;
  SplitMarks marks_;
};

}  // namespace

bool SplitConvTakes(const ConvShape& s) { return s.groups == 1 && !s.HasDepth(); }

double SplitConvCost(const ConvShape& shape, ImagePass pass, bool packed) {
  // Of a product of the unit; of a number that is split, and of one that is made, with what that
  // waits for memory beside the unit; of a weight that is read from memory, and of one that is
  // ordered and split.
  constexpr double kProduct = 0.5, kSource = 10, kResult = 40, kRead = 36, kOrder = 40;
  const ConvShape s = InOneImage(shape);
  const bool forward = pass == ImagePass::kForward;
  const int64_t in = forward ? s.ic : s.oc, out = forward ? s.oc : s.ic;
  const ConvWindows windows(s, pass, LimitsOf(in, KeepsWeights(s)), 1);
  const ConvFrame& frame = windows.frame();
  if (frame.count() == 0) return 0;
  const int64_t places = frame.count() * RoundUp(frame.PlacesOf(frame.At(0)), kSplitSide);
  const int64_t weights = s.KernelSize() * RoundUp(in, kSplitTerms) * RoundUp(out, kSplitWidth);
  const int64_t x = s.n * s.InputPlane(), y = s.n * s.OutputPlane();
  return kProduct * static_cast<double>(places) * static_cast<double>(weights) +
         kSource * static_cast<double>(in * (forward ? x : y)) +
         kResult * static_cast<double>(out * (forward ? y : x)) +
         (packed ? kRead : kOrder) * static_cast<double>(weights);
}

SplitConv::SplitConv(const SplitKernels& unit, const ConvShape& shape, ImagePass pass, bool packed,
                     int slices)
    : unit_(unit),
      s_(InOneImage(shape)),
      pass_(pass),
      packed_(packed),
      slices_(slices),
      in_(pass == ImagePass::kForward ? s_.ic : s_.oc),
      out_(pass == ImagePass::kForward ? s_.oc : s_.ic),
      keeps_weights_(KeepsWeights(s_)),
      windows_(s_, pass, LimitsOf(in_, keeps_weights_), slices) {
  for (const ConvWindows::Phase& phase : windows_.phases()) {
    const ConvSpans& spans = phase.spans;
    taps_.emplace_back();
    for (size_t i = 0; i < spans.taps.size(); ++i) {
      const size_t joined = spans.taps.size() / spans.offsets.size();
      const int64_t offset =
          spans.offsets[i / joined] + static_cast<int64_t>(i % joined) * kSplitTerms;
      taps_.back().push_back({offset, spans.taps[i] * kSplitStepBytes});
    }
  }
  for (int64_t tap = 0; tap < s_.KernelSize(); ++tap) all_taps_.push_back(tap);
  panel_bytes_ = blocks() * s_.KernelSize() * kSplitStepBytes + kFlagBytes;
  unit_parts_ = static_cast<int>(std::clamp<int64_t>(windows_.frame().count(), 1, slices));
  panel_parts_ = static_cast<int>(std::clamp<int64_t>(slices / unit_parts_, 1, panels()));
}

// ---- Weights ----

std::string SplitConv::packed_format() const { return Cat("split ", WeightsText(s_, pass_)); }

// A panel of float32: for each tap and each channel that is read, those that are made.
size_t SplitConv::PanelRowsBytes() const {
  if (s_.KernelSize() == 1) return 0;
  return static_cast<size_t>(s_.KernelSize() * in_ * kSplitWidth) * sizeof(float);
}

size_t SplitConv::pack_scratch_bytes() const {
  return static_cast<size_t>(slices_) * PanelRowsBytes();
}

void SplitConv::Pack(const Lease& threads, const float* w, float* packed, void* scratch) const {
  const int tasks = static_cast<int>(std::clamp<int64_t>(panels(), 1, slices_));
  threads.ParallelFor(tasks, [&](int task) {
    auto* const rows =
        reinterpret_cast<float*>(Behind(scratch, static_cast<size_t>(task) * PanelRowsBytes()));
    const Range part = PartOf(panels(), tasks, task);
    for (int64_t panel = part.begin; panel < part.end; ++panel) {
      PackPanel(w, panel, Behind(packed, static_cast<size_t>(panel * panel_bytes_)), rows);
    }
  });
}

void SplitConv::PackPanel(const float* w, int64_t panel, char* to, float* rows) const {
  const bool forward = pass_ == ImagePass::kForward;
  const int64_t lane = forward ? s_.Taps() : s_.KernelSize();
  const int64_t channel = forward ? s_.KernelSize() : s_.Taps();
  const float* const from = w + panel * kSplitWidth * lane;
  SplitMarks marks;
  if (s_.KernelSize() == 1) {
    marks = unit_.split_b({.from = from,
                           .stride = forward ? lane : channel,
                           .along_terms = forward,
                           .count = Lanes(panel),
                           .k = in_},
                          to);
  } else {
    kernels_.pack({.lanes = Lanes(panel),
                   .channels = in_,
                   .width = kSplitWidth,
                   .lane = lane,
                   .channel = channel,
                   .taps = &all_taps_},
                  from, rows);
    marks = SplitPanel(rows, to);
  }
  to[panel_bytes_ - kFlagBytes] = static_cast<char>(marks.ToByte());
}

// All taps of some channels lie together.
SplitMarks SplitConv::SplitPanel(const float* rows, char* to) const {
  SplitMarks marks;
  for (int64_t channel = 0; channel < in_; channel += kSplitTerms) {
    for (const int64_t tap : all_taps_) {
      marks.Add(unit_.split_b({.from = rows + (tap * in_ + channel) * kSplitWidth,
                               .stride = kSplitWidth,
                               .along_terms = false,
                               .count = kSplitWidth,
                               .k = std::min(kSplitTerms, in_ - channel)},
                              to));
      to += kSplitStepBytes;
    }
  }
  return marks;
}

// ---- Images ----

struct SplitConv::Task {
  const ConvImageMemory<float>& memory;
  const char* weights;
  Range panels;
  uint16_t* frame;
  float* sums;       // of the tiles of a panel
  SplitMarks marks;  // of what the frame has
  int64_t configured = 0;
};

// Tiles have the same number of rows: the last one overlaps another.
struct SplitConv::Tiles {
  Tiles(const ConvFrame::Unit& of, size_t at, int64_t number)
      : unit(of), phase(at), places(number), rows(CeilDiv(number, CeilDiv(number, kSplitWidth))) {}

  int64_t count() const { return CeilDiv(places, rows); }
  int64_t First(int64_t tile) const { return std::min(tile * rows, places - rows); }

  const ConvFrame::Unit unit;
  const size_t phase;
  const int64_t places, rows;
};

size_t SplitConv::SumsBytes() const {
  const ConvFrame& frame = windows_.frame();
  const int64_t tiles =
      keeps_weights_ || frame.count() == 0 ? 1 : CeilDiv(frame.PlacesOf(frame.At(0)), kSplitWidth);
  return static_cast<size_t>(tiles * kSplitWidth * kSplitWidth) * sizeof(float);
}

size_t SplitConv::TaskBytes() const { return RoundToLine(windows_.frame().bytes()) + SumsBytes(); }

size_t SplitConv::scratch_bytes() const {
  const size_t tasks = static_cast<size_t>(unit_parts_ * panel_parts_) * TaskBytes();
  return packed_ ? tasks : RoundToLine(packed_bytes()) + std::max(tasks, pack_scratch_bytes());
}

void SplitConv::Run(const Lease& threads, const ConvImageMemory<float>& memory,
                    void* scratch) const {
  const ConvFrame& frame = windows_.frame();
  if (frame.count() == 0) return;
  const void* weights = memory.weights;
  if (!packed_) {
    weights = scratch;
    scratch = Behind(scratch, RoundToLine(packed_bytes()));
    Pack(threads, memory.weights, static_cast<float*>(const_cast<void*>(weights)), scratch);
  }
  threads.ParallelFor(unit_parts_ * panel_parts_, [&](int index) {
    char* const own = Behind(scratch, static_cast<size_t>(index) * TaskBytes());
    Task task{.memory = memory,
              .weights = static_cast<const char*>(weights),
              .panels = PartOf(panels(), panel_parts_, index % panel_parts_),
              .frame = reinterpret_cast<uint16_t*>(own + SumsBytes()),
              .sums = reinterpret_cast<float*>(own)};
    RunUnits(task, PartOf(frame.count(), unit_parts_, index / panel_parts_));
    unit_.release();
  });
}

void SplitConv::RunUnits(Task& task, Range units) const {
  const ConvFrame& frame = windows_.frame();
  for (int64_t index = units.begin; index < units.end; ++index) {
    const ConvFrame::Unit unit = frame.At(index);
    SplitPixels image(unit_, task.memory.image, in_, frame.plane_elements());
    frame.Gather(unit, image, task.frame);
    task.marks = image.marks();
    for (size_t phase = 0; phase < taps_.size(); ++phase) {
      const Tiles tiles(unit, phase, frame.PlacesOf(unit));
      if (keeps_weights_) {
        RunInOrder(task, tiles);
      } else {
        RunByPanels(task, tiles);
      }
    }
  }
}

// Results are written in order if the weights stay in the cache anyway.
void SplitConv::RunInOrder(Task& task, const Tiles& tiles) const {
  for (int64_t tile = 0; tile < tiles.count(); ++tile) {
    for (int64_t panel = task.panels.begin; panel < task.panels.end; ++panel) {
      Multiply(task, tiles, tile, panel, {0, blocks()}, task.sums);
      Finish(task, tiles, tile, panel, task.sums);
    }
  }
}

// Else some of a panel's weights are used by all tiles.
void SplitConv::RunByPanels(Task& task, const Tiles& tiles) const {
  const int64_t bytes = s_.KernelSize() * kSplitStepBytes;  // of all taps of some channels
  const int64_t some = CeilDiv(blocks(), CeilDiv(blocks() * bytes, kSomeWeights));
  const auto sums = [&](int64_t tile) { return task.sums + tile * kSplitWidth * kSplitWidth; };
  for (int64_t panel = task.panels.begin; panel < task.panels.end; ++panel) {
    for (int64_t block = 0; block < blocks(); block += some) {
      const Range part{block, std::min(blocks(), block + some)};
      for (int64_t tile = 0; tile < tiles.count(); ++tile) {
        Multiply(task, tiles, tile, panel, part, sums(tile));
      }
    }
    for (int64_t tile = 0; tile < tiles.count(); ++tile) {
      Finish(task, tiles, tile, panel, sums(tile));
    }
  }
}

// Adds up what some channels give to a tile.
void SplitConv::Multiply(Task& task, const Tiles& tiles, int64_t tile, int64_t panel,
                         Range channels, float* sums) const {
  const ConvFrame& frame = windows_.frame();
  const char* const weights = task.weights + panel * panel_bytes_;
  const int64_t bytes = s_.KernelSize() * kSplitStepBytes;
  const SplitTapsCall call{.rows = tiles.rows,
                           .blocks = channels.size(),
                           .taps = taps_[tiles.phase],
                           .a = task.frame + tiles.First(tile) * frame.pitch() +
                                3 * channels.begin * frame.plane_elements(),
                           .pixel = frame.pitch(),
                           .plane = frame.plane_elements(),
                           .b = weights + channels.begin * bytes,
                           .b_block = bytes,
                           .tile = sums,
                           .add = channels.begin > 0};
  if (NeedVectors(task.marks,
                  SplitMarks::FromByte(static_cast<uint8_t>(weights[panel_bytes_ - kFlagBytes])))) {
    unit_.plain_taps(call);
  } else {
    if (tiles.rows != task.configured) unit_.configure(task.configured = tiles.rows);
    unit_.taps(call);
  }
}

void SplitConv::Finish(const Task& task, const Tiles& tiles, int64_t tile, int64_t panel,
                       const float* sums) const {
  const ConvImageMemory<float>& memory = task.memory;
  const int64_t channel = panel * kSplitWidth, columns = Lanes(panel), first = tiles.First(tile);
  const Range places{tile * tiles.rows, first + tiles.rows};
  windows_.ForOutputs(
      tiles.unit, windows_.phases()[tiles.phase], places,
      [&](int64_t pixel, int64_t count, int64_t place) {
        ConvEpilogue<float> epilogue = memory.epilogue;
        MoveTo(&epilogue, channel, pixel * out_);
        kernels_.finish(epilogue, count, columns, sums + (place - first) * kSplitWidth, kSplitWidth,
                        memory.result + pixel * out_ + channel, windows_.step() * out_);
      });
}

}  // namespace hr::cpu
