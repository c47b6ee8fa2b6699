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

Bfloat16Conv::Bfloat16Conv(const Bfloat16Kernels& kernels, const ConvShape& shape, ImagePass pass,
                           Bfloat16ConvLayouts layouts, bool packed, int slices)
    : kernels_(kernels),
      s_(FlattenedIfPointwise(shape)),
      pass_(pass),
      layouts_(layouts),
      packed_(packed),
      slices_(slices),
      windows_(s_, pass, {.bytes = kBfloat16FrameBytes, .places = kPlaces}, slices) {
  all_channels_ = pass == ImagePass::kForward ? s_.oc : s_.ic;
  channels_ = all_channels_ / s_.groups;
  for (const ConvWindows::Phase& phase : windows_.phases()) {
    panels_of_phases_.push_back(panel_elements_);
    const auto taps = static_cast<int64_t>(phase.spans.taps.size());
    panel_elements_ += taps * frame_.channels() * kBfloat16Width;
  }
  unit_parts_ = static_cast<int>(std::clamp<int64_t>(frame_.count(), 1, slices));
  panel_parts_ = static_cast<int>(std::clamp<int64_t>(slices / unit_parts_, 1, panels()));
}

// ---- Weights ----

size_t Bfloat16Conv::packed_bytes() const {
  return static_cast<size_t>(s_.groups * panels() * panel_elements_) * sizeof(uint16_t);
}

// Taps stand in the order in which an image is read, which depends on phases.
std::string Bfloat16Conv::packed_format() const {
  std::string out = Cat("bfloat16 ", WeightsText(s_, pass_));
  for (const ConvWindows::Phase& phase : windows_.phases()) {
    out += " taps";
    for (const int64_t tap : phase.spans.taps) out += Cat(" ", tap);
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
  for (const ConvWindows::Phase& phase : windows_.phases()) {
    for (const int64_t tap : phase.spans.taps) {
      kernels_.pack_transposed(rows + tap * channels, row, count, channels, to);
      to += channels * kBfloat16Width;
    }
  }
}

// ---- Images ----

Bfloat16Pixels::Bfloat16Pixels(const Bfloat16Kernels& kernels, const ConvFrame& frame,
                               const ConvShape& shape, ImagePass pass, bool channels_last,
                               const uint16_t* image, int64_t group)
    : kernels_(kernels),
      frame_(frame),
      channels_last_(channels_last),
      in_place_(Bytes(frame, shape, channels_last) == 0),
      image_(image),
      all_channels_(frame.given() * shape.groups),
      plane_(pass == ImagePass::kForward ? shape.InputPlane() : shape.OutputPlane()),
      first_(group * frame.given()) {}

size_t Bfloat16Pixels::Bytes(const ConvFrame& frame, const ConvShape& shape, bool channels_last) {
  const bool in_place =
      channels_last && shape.groups == 1 && frame.channels() == frame.given() && frame.IsImage();
  return in_place ? 0 : RoundToLine(frame.bytes());
}

const uint16_t* Bfloat16Pixels::Gather(const ConvFrame::Unit& unit, uint16_t* memory) {
  if (in_place_) return image_ + frame_.FirstPixel(unit) * all_channels_;
  frame_.Gather(unit, *this, memory);
  return memory;
}

void Bfloat16Pixels::Copy(int64_t pixel, int64_t count, int64_t step, uint16_t* to) {
  const int64_t given = frame_.given(), channels = frame_.channels();
  const auto bytes = static_cast<size_t>(given) * sizeof(uint16_t);
  if (channels_last_) {
    const uint16_t* const from = image_ + pixel * all_channels_ + first_;
    if (step == 1 && given == all_channels_ && channels == given) {
      std::memcpy(to, from, static_cast<size_t>(count) * bytes);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * channels, from + i * step * all_channels_, bytes);
    }
  } else {
    const uint16_t* const from =
        image_ + (pixel / plane_ * all_channels_ + first_) * plane_ + pixel % plane_;
    if (step == 1) kernels_.transpose(from, plane_, count, given, to, channels);
    for (int64_t i = 0; step != 1 && i < count; ++i) {
      for (int64_t c = 0; c < given; ++c) to[i * channels + c] = from[c * plane_ + i * step];
    }
  }
  if (channels == given) return;
  for (int64_t i = 0; i < count; ++i) to[i * channels + given] = 0;
}

struct Bfloat16Conv::Task {
  const uint16_t* source;
  const uint16_t* weights;  // packed
  char* result;
  const Bfloat16Epilogue& epilogue;
  Range panels;
  uint16_t* frame;
};

size_t Bfloat16Conv::FrameBytes() const {
  return Bfloat16Pixels::Bytes(frame_, s_, layouts_.source);
}

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
    kernels_.release();
  });
}

void Bfloat16Conv::RunUnit(const Task& task, int64_t index) const {
  const ConvFrame::Unit unit = frame_.At(index);
  for (int64_t group = 0; group < s_.groups; ++group) {
    Bfloat16Pixels image(kernels_, frame_, s_, pass_, layouts_.source, task.source, group);
    const uint16_t* const numbers = image.Gather(unit, task.frame);
    for (size_t phase = 0; phase < panels_of_phases_.size(); ++phase) {
      for (int64_t panel = task.panels.begin; panel < task.panels.end; ++panel) {
        RunPanel(task, unit, phase, group, panel, numbers);
      }
    }
  }
}

void Bfloat16Conv::RunPanel(const Task& task, const ConvFrame::Unit& unit, size_t index,
                            int64_t group, int64_t panel, const uint16_t* numbers) const {
  alignas(64) float tile[kMaxBfloat16Rows * kBfloat16Width];
  const ConvWindows::Phase& phase = windows_.phases()[index];
  const int64_t first = panel * kBfloat16Width, channel = group * channels_ + first;
  const int64_t columns = std::min<int64_t>(kBfloat16Width, channels_ - first);
  const uint16_t* const weights =
      task.weights + (group * panels() + panel) * panel_elements_ + panels_of_phases_[index];
  const int64_t places = frame_.PlacesOf(unit), tiles = CeilDiv(places, kernels_.rows);
  for (int64_t i = 0; i < tiles; ++i) {
    const Range part = PartOf(places, tiles, i);
    kernels_.tile[part.size() - 1]({.rows = static_cast<int>(part.size()),
                                    .k = phase.spans.k,
                                    .a = numbers + part.begin * frame_.pitch(),
                                    .lda = frame_.pitch(),
                                    .panel = weights,
                                    .tile = tile,
                                    .spans = phase.spans.offsets});
    windows_.ForOutputs(unit, phase, part, [&](int64_t pixel, int64_t count, int64_t place) {
      Write(task, pixel, count, channel, columns, tile + (place - part.begin) * kBfloat16Width);
    });
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
                          .ldc = windows_.step() * all_channels_,
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
  const int64_t plane = windows_.plane(), step = windows_.step();
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
