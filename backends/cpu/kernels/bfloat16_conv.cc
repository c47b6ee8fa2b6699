#include "backends/cpu/kernels/bfloat16_conv.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"

namespace hr::cpu {
namespace {

// Places of a unit: so many that a panel of weights, which comes from memory, is used often.
constexpr int64_t kPlaces = 256;

char* Behind(void* memory, size_t bytes) { return static_cast<char*>(memory) + bytes; }

}  // namespace

ConvShape FlattenedIfPointwise(const ConvShape& shape) {
  const bool pointwise = shape.KernelSize() == 1 && shape.sd == 1 && shape.sh == 1 &&
                         shape.sw == 1 && shape.pad_front == 0 && shape.pad_top == 0 &&
                         shape.pad_left == 0 && shape.od == shape.id && shape.oh == shape.ih &&
                         shape.ow == shape.iw;
  if (!pointwise) return shape;
  ConvShape flat;
  flat.n = shape.n, flat.ic = shape.ic, flat.oc = shape.oc, flat.groups = shape.groups;
  flat.ih = flat.oh = shape.InputPlane();
  return flat;
}

Bfloat16Spans SpansOf(const Bfloat16Frame& frame, const ConvShape& shape,
                      const std::array<int64_t, 3>& phase) {
  const std::vector<FrameTap> depths = frame.Taps(0, phase[0]), rows = frame.Taps(1, phase[1]),
                              columns = frame.Taps(2, phase[2]);
  const auto offset = [&](const FrameTap& column) {
    return columns.empty() ? 0 : frame.OffsetOf({0, 0, 0}, {0, 0, 0}, column);
  };
  bool neighbours = true;
  for (size_t i = 1; i < columns.size(); ++i) {
    neighbours = neighbours && offset(columns[i]) - offset(columns[i - 1]) == frame.channels();
  }
  const int64_t joined = neighbours ? static_cast<int64_t>(columns.size()) : 1;
  Bfloat16Spans out{.k = joined * frame.channels()};
  for (const FrameTap& d : depths) {
    for (const FrameTap& r : rows) {
      for (size_t i = 0; i < columns.size(); ++i) {
        if (!neighbours || i == 0) out.offsets.push_back(frame.OffsetOf(d, r, columns[i]));
        out.taps.push_back((d.index * shape.kh + r.index) * shape.kw + columns[i].index);
      }
    }
  }
  return out;
}

Bfloat16Conv::Bfloat16Conv(const Bfloat16Kernels& kernels, const ConvShape& shape, ImagePass pass,
                           Bfloat16ConvLayouts layouts, bool packed, int slices)
    : kernels_(kernels),
      s_(FlattenedIfPointwise(shape)),
      pass_(pass),
      layouts_(layouts),
      packed_(packed),
      slices_(slices),
      frame_(s_, pass, layouts.source, kPlaces, slices) {
  const bool forward = pass == ImagePass::kForward;
  all_channels_ = forward ? s_.oc : s_.ic;
  channels_ = all_channels_ / s_.groups;
  sizes_ = forward ? std::array{s_.od, s_.oh, s_.ow} : std::array{s_.id, s_.ih, s_.iw};
  steps_ = forward ? std::array<int64_t, 3>{1, 1, 1} : std::array{s_.sd, s_.sh, s_.sw};
  for (int64_t d = 0; d < std::min(steps_[0], sizes_[0]); ++d) {
    for (int64_t h = 0; h < std::min(steps_[1], sizes_[1]); ++h) {
      for (int64_t w = 0; w < std::min(steps_[2], sizes_[2]); ++w) AddPhase({d, h, w});
    }
  }
  unit_parts_ = static_cast<int>(std::clamp<int64_t>(frame_.count(), 1, slices));
  panel_parts_ = static_cast<int>(std::clamp<int64_t>(slices / unit_parts_, 1, panels()));
}

void Bfloat16Conv::AddPhase(const std::array<int64_t, 3>& first) {
  Phase phase{.first = first, .panel = panel_elements_};
  for (size_t i = 0; i < first.size(); ++i) {
    phase.count[i] = CeilDiv(sizes_[i] - first[i], steps_[i]);
  }
  Bfloat16Spans spans = SpansOf(frame_, s_, first);
  phase.spans = std::move(spans.offsets);
  phase.taps = std::move(spans.taps);
  phase.k = spans.k;
  panel_elements_ += static_cast<int64_t>(phase.taps.size()) * frame_.channels() * kBfloat16Width;
  phases_.push_back(std::move(phase));
}

// ---- Weights ----

size_t Bfloat16Conv::packed_bytes() const {
  return static_cast<size_t>(s_.groups * panels() * panel_elements_) * sizeof(uint16_t);
}

// Taps stand in the order in which an image is read, which depends on phases.
std::string Bfloat16Conv::packed_format() const {
  std::string out = Cat("bfloat16 filters of ", all_channels_, "/", s_.groups);
  for (const Phase& phase : phases_) {
    out += " taps";
    for (const int64_t tap : phase.taps) out += Cat(" ", tap);
  }
  return out;
}

namespace {

size_t RowsBytes(int64_t kernel, int64_t channels) {
  return RoundToLine(static_cast<size_t>(kBfloat16Width * kernel * channels) * sizeof(uint16_t));
}

}  // namespace

size_t Bfloat16Conv::pack_scratch_bytes() const {
  return static_cast<size_t>(slices_) * RowsBytes(s_.KernelSize(), frame_.channels());
}

void Bfloat16Conv::Pack(const Lease& threads, const uint16_t* w, uint16_t* packed,
                        void* scratch) const {
  const int64_t count = s_.groups * panels();
  const int tasks = static_cast<int>(std::clamp<int64_t>(count, 1, slices_));
  threads.ParallelFor(tasks, [&](int task) {
    auto* const rows = reinterpret_cast<uint16_t*>(
        Behind(scratch, static_cast<size_t>(task) * RowsBytes(s_.KernelSize(), frame_.channels())));
    const Range part = PartOf(count, tasks, task);
    for (int64_t i = part.begin; i < part.end; ++i) {
      PackPanel(w, i / panels(), i % panels(), packed + i * panel_elements_, rows);
    }
  });
}

// By way of `rows` [channel of the result][tap][channel of the source].
void Bfloat16Conv::PackPanel(const uint16_t* w, int64_t group, int64_t panel, uint16_t* to,
                             uint16_t* rows) const {
  const bool forward = pass_ == ImagePass::kForward;
  const int64_t kernel = s_.KernelSize(), filter = s_.GroupIn() * kernel;
  const int64_t sources = forward ? s_.GroupIn() : s_.GroupOut(), channels = frame_.channels();
  const int64_t first = panel * kBfloat16Width;
  const int64_t count = std::min<int64_t>(kBfloat16Width, channels_ - first);
  const int64_t row = kernel * channels;
  const uint16_t* const from =
      w + group * s_.GroupOut() * filter + first * (forward ? filter : kernel);
  if (channels != sources) std::fill_n(rows, count * row, uint16_t{0});
  for (int64_t j = 0; j < count; ++j) {
    kernels_.transpose(from + j * (forward ? filter : kernel), forward ? kernel : filter, kernel,
                       sources, rows + j * row, channels);
  }
  for (const Phase& phase : phases_) {
    uint16_t* panel_of_tap = to + phase.panel;
    for (const int64_t tap : phase.taps) {
      kernels_.pack_transposed(rows + tap * channels, row, count, channels, panel_of_tap);
      panel_of_tap += channels * kBfloat16Width;
    }
  }
}

// ---- Images ----

struct Bfloat16Conv::Task {
  const uint16_t* source;
  const uint16_t* weights;  // packed
  char* result;
  const Bfloat16Epilogue& epilogue;
  Range panels;
  uint16_t* frame;
};

size_t Bfloat16Conv::FrameBytes() const { return RoundToLine(frame_.bytes()); }

size_t Bfloat16Conv::scratch_bytes() const {
  const size_t frames = static_cast<size_t>(unit_parts_ * panel_parts_) * FrameBytes();
  return packed_ ? frames : RoundToLine(packed_bytes()) + std::max(frames, pack_scratch_bytes());
}

void Bfloat16Conv::Run(const Lease& threads, const uint16_t* source, const uint16_t* w,
                       void* result, const Bfloat16Epilogue& epilogue, void* scratch) const {
  if (frame_.count() == 0) return;
  const uint16_t* weights = w;
  if (!packed_) {
    auto* const packed = static_cast<uint16_t*>(scratch);
    scratch = Behind(scratch, RoundToLine(packed_bytes()));
    Pack(threads, w, packed, scratch);
    weights = packed;
  }
  threads.ParallelFor(unit_parts_ * panel_parts_, [&](int index) {
    const Task task{.source = source,
                    .weights = weights,
                    .result = static_cast<char*>(result),
                    .epilogue = epilogue,
                    .panels = PartOf(panels(), panel_parts_, index % panel_parts_),
                    .frame = reinterpret_cast<uint16_t*>(
                        Behind(scratch, static_cast<size_t>(index) * FrameBytes()))};
    const Range part = PartOf(frame_.count(), unit_parts_, index / panel_parts_);
    for (int64_t unit = part.begin; unit < part.end; ++unit) RunUnit(task, unit);
  });
}

void Bfloat16Conv::RunUnit(const Task& task, int64_t index) const {
  const Bfloat16Frame::Unit unit = frame_.At(index);
  for (int64_t group = 0; group < s_.groups; ++group) {
    const uint16_t* const numbers = frame_.Gather(kernels_, task.source, unit, group, task.frame);
    for (const Phase& phase : phases_) {
      for (int64_t panel = task.panels.begin; panel < task.panels.end; ++panel) {
        RunPanel(task, unit, phase, group, panel, numbers);
      }
    }
  }
}

void Bfloat16Conv::RunPanel(const Task& task, const Bfloat16Frame::Unit& unit, const Phase& phase,
                            int64_t group, int64_t panel, const uint16_t* numbers) const {
  alignas(64) float tile[kMaxBfloat16Rows * kBfloat16Width];
  const int64_t first = panel * kBfloat16Width;
  const uint16_t* const weights =
      task.weights + (group * panels() + panel) * panel_elements_ + phase.panel;
  const int64_t places = frame_.PlacesOf(unit), tiles = CeilDiv(places, kernels_.rows);
  for (int64_t i = 0; i < tiles; ++i) {
    const Range part = PartOf(places, tiles, i);
    kernels_.tile[part.size() - 1]({.rows = static_cast<int>(part.size()),
                                    .k = phase.k,
                                    .a = numbers + part.begin * frame_.pitch(),
                                    .lda = frame_.pitch(),
                                    .panel = weights,
                                    .tile = tile,
                                    .spans = phase.spans});
    Finish(task, unit, phase, group * channels_ + first,
           std::min<int64_t>(kBfloat16Width, channels_ - first), part, tile);
  }
}

// Writes the outputs among the places, as many at a time as lie one behind the other.
void Bfloat16Conv::Finish(const Task& task, const Bfloat16Frame::Unit& unit, const Phase& phase,
                          int64_t channel, int64_t columns, Range places, const float* tile) const {
  const int64_t width = frame_.columns(), height = frame_.rows(), depth = frame_.depths();
  const int64_t rows = std::min(unit.rows.size(), phase.count[1] - unit.rows.begin);
  const bool whole_rows = width == sizes_[2] && steps_[2] == 1 && steps_[1] == 1;
  for (int64_t place = places.begin; place < places.end;) {
    const int64_t w = place % width, h = place / width % height;
    const int64_t d = place / (width * height) % depth, n = place / (width * height * depth);
    const int64_t left = (whole_rows ? height - h : 1) * width - w;
    if (d < phase.count[0] && h < rows && w < phase.count[2]) {
      const int64_t outputs = whole_rows ? (rows - h) * width - w : phase.count[2] - w;
      const int64_t count = std::min(outputs, places.end - place);
      const int64_t plane = (unit.images.begin + n) * sizes_[0] + d * steps_[0] + phase.first[0];
      const int64_t row = plane * sizes_[1] + (unit.rows.begin + h) * steps_[1] + phase.first[1];
      Write(task, row * sizes_[2] + w * steps_[2] + phase.first[2], count, channel, columns,
            tile + (place - places.begin) * kBfloat16Width);
    }
    place += left;
  }
}

// `pixel` counts those of all images.
void Bfloat16Conv::Write(const Task& task, int64_t pixel, int64_t count, int64_t channel,
                         int64_t columns, const float* tile) const {
  if (!layouts_.result) return WritePlain(task, pixel, count, channel, columns, tile);
  const Bfloat16Epilogue& e = task.epilogue;
  const int64_t at = pixel * all_channels_ + channel;
  Bfloat16FinishCall call{.rows = count,
                          .columns = columns,
                          .tile = tile,
                          .c = task.result + at * (e.narrow ? 2 : 4),
                          .ldc = steps_[2] * all_channels_,
                          .epilogue = e};
  if (e.bias != nullptr) call.epilogue.bias += channel;
  if (e.residual != nullptr) {
    call.epilogue.residual =
        static_cast<const char*>(e.residual) + at * (e.narrow_residual ? 2 : 4);
    call.epilogue.ldr = call.ldc;
  }
  kernels_.finish(call);
}

void Bfloat16Conv::WritePlain(const Task& task, int64_t pixel, int64_t count, int64_t channel,
                              int64_t columns, const float* tile) const {
  alignas(64) char finished[kMaxBfloat16Rows * kBfloat16Width * sizeof(float)];
  Bfloat16FinishCall call{.rows = count,
                          .columns = columns,
                          .tile = tile,
                          .c = finished,
                          .ldc = kBfloat16Width,
                          .epilogue = task.epilogue};
  if (call.epilogue.bias != nullptr) call.epilogue.bias += channel;
  kernels_.finish(call);
  const int64_t plane = sizes_[0] * sizes_[1] * sizes_[2], step = steps_[2];
  const int64_t at = (pixel / plane * all_channels_ + channel) * plane + pixel % plane;
  const auto copy = [&](auto* to, const auto* from) {
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t i = 0; i < count; ++i) to[c * plane + i * step] = from[i * kBfloat16Width + c];
    }
  };
  if (!task.epilogue.narrow) {
    copy(reinterpret_cast<float*>(task.result) + at, reinterpret_cast<const float*>(finished));
    return;
  }
  auto* const to = reinterpret_cast<uint16_t*>(task.result) + at;
  const auto* const from = reinterpret_cast<const uint16_t*>(finished);
  if (step != 1) return copy(to, from);
  kernels_.transpose(from, kBfloat16Width, columns, count, to, plane);
}

}  // namespace hr::cpu
