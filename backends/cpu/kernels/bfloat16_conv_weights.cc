#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/kernels/bfloat16_conv.h"
#include "runtime/base/half.h"

namespace hr::cpu {
namespace {

// Places of a unit: the terms of a sum that stays in registers.
constexpr int64_t kPlaces = 512;

size_t BytesOf(int64_t count, size_t element) {
  return RoundToLine(static_cast<size_t>(count) * element);
}

}  // namespace

Bfloat16ConvWeights::Bfloat16ConvWeights(const Bfloat16Kernels& kernels, const ConvShape& shape,
                                         Bfloat16ConvLayouts layouts, bool narrow, int slices)
    : kernels_(kernels),
      s_(FlattenedIfPointwise(shape)),
      layouts_(layouts),
      narrow_(narrow),
      slices_(slices),
      frame_(s_, ImagePass::kForward, {.bytes = kBfloat16FrameBytes, .places = kPlaces}, slices),
      spans_(SpansOf(frame_, s_, {0, 0, 0})),
      sums_of_span_(RoundUp(spans_.k, kBfloat16Width)) {
  if (frame_.count() > 0) {
    const ConvFrame::Unit unit = frame_.At(0);
    most_places_ = unit.images.size() * s_.od * unit.rows.size() * s_.ow;
  }
  unit_parts_ = static_cast<int>(std::clamp<int64_t>(frame_.count(), 1, slices));
  filter_parts_ = static_cast<int>(
      std::clamp<int64_t>(slices / unit_parts_, 1, CeilDiv(s_.GroupOut(), kernels.rows)));
}

// A thread's memory: its sums, the frame, rows of the gradient, a panel of the image.
struct Bfloat16ConvWeights::Task {
  const uint16_t *x, *dy;
  Range filters;  // of each group
  float* sums;
  uint16_t *frame, *rows, *panel;
  int32_t* places;
};

int64_t Bfloat16ConvWeights::Pitch() const { return RoundUp(most_places_, 32); }

size_t Bfloat16ConvWeights::TaskBytes() const {
  return Bfloat16Pixels::Bytes(frame_, s_, layouts_.source) +
         BytesOf(s_.GroupOut() * Pitch(), sizeof(uint16_t)) +
         BytesOf(Pitch() * kBfloat16Width, sizeof(uint16_t)) +
         BytesOf(most_places_, sizeof(int32_t));
}

size_t Bfloat16ConvWeights::scratch_bytes() const {
  return static_cast<size_t>(unit_parts_) * BytesOf(Sums(), sizeof(float)) +
         static_cast<size_t>(unit_parts_ * filter_parts_) * TaskBytes();
}

void Bfloat16ConvWeights::Run(const Lease& threads, const uint16_t* x, const uint16_t* dy, void* dw,
                              void* scratch) const {
  char* const sums = static_cast<char*>(scratch);
  const size_t stride = BytesOf(Sums(), sizeof(float));
  char* const memory = sums + static_cast<size_t>(unit_parts_) * stride;
  threads.ParallelFor(unit_parts_ * filter_parts_, [&](int index) {
    const int part = index / filter_parts_;
    char* at = memory + static_cast<size_t>(index) * TaskBytes();
    const auto take = [&at](size_t bytes) { return std::exchange(at, at + bytes); };
    const Task task{
        .x = x,
        .dy = dy,
        .filters = PartOf(s_.GroupOut(), filter_parts_, index % filter_parts_),
        .sums = reinterpret_cast<float*>(sums + static_cast<size_t>(part) * stride),
        .frame =
            reinterpret_cast<uint16_t*>(take(Bfloat16Pixels::Bytes(frame_, s_, layouts_.source))),
        .rows = reinterpret_cast<uint16_t*>(take(BytesOf(s_.GroupOut() * Pitch(), 2))),
        .panel = reinterpret_cast<uint16_t*>(take(BytesOf(Pitch() * kBfloat16Width, 2))),
        .places = reinterpret_cast<int32_t*>(at)};
    for (int64_t group = 0; group < s_.groups; ++group) {
      const int64_t first = group * s_.GroupOut() + task.filters.begin;
      std::fill_n(task.sums + first * SumsOfFilter(), task.filters.size() * SumsOfFilter(), 0.F);
    }
    const Range units = PartOf(frame_.count(), unit_parts_, part);
    for (int64_t unit = units.begin; unit < units.end; ++unit) AddUnit(task, unit);
    kernels_.release();
  });
  const int tasks = static_cast<int>(std::clamp<int64_t>(s_.oc, 1, slices_));
  threads.ParallelFor(tasks, [&](int task) {
    const Range filters = PartOf(s_.oc, tasks, task);
    auto* const first = reinterpret_cast<float*>(sums);
    const int64_t count = SumsOfFilter();
    for (int64_t filter = filters.begin; filter < filters.end; ++filter) {
      float* const to = first + filter * count;
      for (int part = 1; part < unit_parts_; ++part) {
        const float* const from = to + static_cast<int64_t>(stride / sizeof(float)) * part;
        for (int64_t i = 0; i < count; ++i) to[i] += from[i];
      }
      WriteFilter(to, filter, dw);
    }
  });
}

void Bfloat16ConvWeights::AddUnit(const Task& task, int64_t index) const {
  const ConvFrame::Unit unit = frame_.At(index);
  ListPlaces(unit, task.places);
  const int64_t places = unit.images.size() * s_.od * unit.rows.size() * s_.ow;
  for (int64_t group = 0; group < s_.groups; ++group) {
    Bfloat16Pixels image(kernels_, frame_, s_, ImagePass::kForward, layouts_.source, task.x, group);
    const uint16_t* const numbers = image.Gather(unit, task.frame);
    const int64_t filter = group * s_.GroupOut() + task.filters.begin;
    GatherGradient(task.dy, unit, filter, task.filters.size(), task.rows);
    for (size_t i = 0; i < spans_.offsets.size(); ++i) {
      for (int64_t column = 0; column < spans_.k; column += kBfloat16Width) {
        const int64_t columns = std::min<int64_t>(kBfloat16Width, spans_.k - column);
        kernels_.pack_places(numbers + spans_.offsets[i] + column,
                             {task.places, static_cast<size_t>(places)}, columns, task.panel);
        AddPanel(task, filter, places, static_cast<int64_t>(i) * sums_of_span_ + column);
      }
    }
  }
}

// Where the windows of the unit's outputs begin.
void Bfloat16ConvWeights::ListPlaces(const ConvFrame::Unit& unit, int32_t* places) const {
  for (int64_t n = 0; n < unit.images.size(); ++n) {
    for (int64_t d = 0; d < s_.od; ++d) {
      for (int64_t h = 0; h < unit.rows.size(); ++h) {
        const int64_t row = (n * frame_.depths() + d) * frame_.rows() + h;
        for (int64_t w = 0; w < s_.ow; ++w) {
          *places++ = static_cast<int32_t>((row * frame_.columns() + w) * frame_.pitch());
        }
      }
    }
  }
}

// Writes rows [filter][output of the unit].
void Bfloat16ConvWeights::GatherGradient(const uint16_t* dy, const ConvFrame::Unit& unit,
                                         int64_t filter, int64_t count, uint16_t* rows) const {
  const int64_t plane = s_.oh * s_.ow, band = unit.rows.size() * s_.ow;
  for (int64_t n = unit.images.begin; n < unit.images.end; ++n) {
    for (int64_t d = 0; d < s_.od; ++d, rows += band) {
      const int64_t pixel = d * plane + unit.rows.begin * s_.ow;
      if (layouts_.result) {
        const uint16_t* const from = dy + (n * s_.od * plane + pixel) * s_.oc + filter;
        kernels_.transpose(from, s_.oc, count, band, rows, Pitch());
        continue;
      }
      const uint16_t* const from = dy + (n * s_.oc + filter) * s_.od * plane + pixel;
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(rows + i * Pitch(), from + i * s_.od * plane,
                    static_cast<size_t>(band) * sizeof(uint16_t));
      }
    }
  }
}

void Bfloat16ConvWeights::AddPanel(const Task& task, int64_t filter, int64_t places,
                                   int64_t column) const {
  alignas(64) float tile[kMaxBfloat16Rows * kBfloat16Width];
  const int64_t count = task.filters.size(), tiles = CeilDiv(count, kernels_.rows);
  for (int64_t i = 0; i < tiles; ++i) {
    const Range part = PartOf(count, tiles, i);
    kernels_.tile[part.size() - 1]({.rows = static_cast<int>(part.size()),
                                    .k = places,
                                    .a = task.rows + part.begin * Pitch(),
                                    .lda = Pitch(),
                                    .panel = task.panel,
                                    .tile = tile});
    for (int64_t row = part.begin; row < part.end; ++row) {
      float* const sums = task.sums + (filter + row) * SumsOfFilter() + column;
      const float* const from = tile + (row - part.begin) * kBfloat16Width;
      for (int64_t j = 0; j < kBfloat16Width; ++j) sums[j] += from[j];
    }
  }
}

void Bfloat16ConvWeights::WriteFilter(const float* sums, int64_t filter, void* dw) const {
  const int64_t kernel = s_.KernelSize(), channels = s_.GroupIn(), stored = frame_.channels();
  const int64_t taps_of_span = spans_.k / stored;
  for (size_t i = 0; i < spans_.taps.size(); ++i) {
    const auto tap = static_cast<int64_t>(i);
    const float* const from =
        sums + tap / taps_of_span * sums_of_span_ + tap % taps_of_span * stored;
    const int64_t to = filter * channels * kernel + spans_.taps[i];
    if (narrow_) {
      auto* const narrow = static_cast<uint16_t*>(dw) + to;
      for (int64_t c = 0; c < channels; ++c) narrow[c * kernel] = FloatToBfloat16(from[c]);
    } else {
      auto* const wide = static_cast<float*>(dw) + to;
      for (int64_t c = 0; c < channels; ++c) wide[c * kernel] = from[c];
    }
  }
}

}  // namespace hr::cpu
