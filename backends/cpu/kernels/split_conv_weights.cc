#include "backends/cpu/kernels/split_conv_weights.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/kernels/conv_windows.h"

namespace hr::cpu {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

}  // namespace

double SplitConvWeightsCost(const ConvShape& shape) {
  const ConvShape s = InOneImage(shape);
  return SplitWeightsPlan(s, SplitWeightsCutFor(s, 1)).Cost();
}

SplitConvWeights::SplitConvWeights(const SplitKernels& unit, const ConvShape& shape, int slices)
    : unit_(unit),
      s_(InOneImage(shape)),
      slices_(slices),
      plan_(s_, SplitWeightsCutFor(s_, slices)) {
  for (int64_t tap = 0; tap < s_.KernelSize(); ++tap) all_taps_.push_back(tap);
}

// What a thread has: its blocks of A and B, one of special numbers, and lists of terms.
struct SplitConvWeights::Task {
  const float *x, *dy;
  float* dw;
  Range units, blocks, panels;
  float* sums;
  char *a, *b, *special;
  std::span<const float*> gradient, image;
  const float* zeros;
  SplitMarks a_marks, b_marks;  // of what a and b have
  int64_t configured = 0;
};

size_t SplitConvWeights::TaskBytes() const {
  const auto lists = static_cast<size_t>(plan_.terms() + plan_.column_terms()) * sizeof(float*);
  return plan_.a_bytes() + plan_.b_bytes() + static_cast<size_t>(plan_.pairs().block()) + lists +
         RoundToLine(static_cast<size_t>(std::max(s_.ic, s_.oc) * kFloatBytes));
}

size_t SplitConvWeights::scratch_bytes() const {
  if (plan_.frame().count() == 0) return 0;
  return static_cast<size_t>(plan_.cut().places * Sums() * kFloatBytes) +
         static_cast<size_t>(plan_.cut().tasks()) * TaskBytes();
}

SplitConvWeights::Task SplitConvWeights::TaskOf(int index, char* sums, char* own) const {
  const SplitWeightsCut& cut = plan_.cut();
  const auto take = [&own](size_t bytes) { return std::exchange(own, own + RoundToLine(bytes)); };
  const auto list = [&](int64_t count) {
    char* const at = take(static_cast<size_t>(count) * sizeof(float*));
    return std::span(reinterpret_cast<const float**>(at), static_cast<size_t>(count));
  };
  const int part = index % cut.places, row = index / cut.places % cut.rows;
  Task task{.units = PartOf(plan_.frame().count(), cut.places, part),
            .blocks = PartOf(plan_.blocks(), cut.rows, row),
            .panels = PartOf(plan_.panels(), cut.panels, index / cut.places / cut.rows),
            .sums = reinterpret_cast<float*>(sums) + part * Sums(),
            .a = take(plan_.a_bytes()),
            .b = take(plan_.b_bytes()),
            .special = take(static_cast<size_t>(plan_.pairs().block())),
            .gradient = list(plan_.terms()),
            .image = list(plan_.column_terms())};
  const int64_t channels = std::max(s_.ic, s_.oc);
  auto* const zeros = reinterpret_cast<float*>(own);
  std::fill_n(zeros, channels, 0.F);
  task.zeros = zeros;
  return task;
}

void SplitConvWeights::Run(const Lease& threads, const float* x, const float* dy, float* dw,
                           void* scratch) const {
  if (plan_.frame().count() == 0) {
    std::fill_n(dw, s_.oc * s_.Taps(), 0.F);
    return;
  }
  const SplitWeightsCut& cut = plan_.cut();
  char* const sums = static_cast<char*>(scratch);
  char* const own = sums + cut.places * Sums() * kFloatBytes;
  threads.ParallelFor(cut.tasks(), [&](int index) {
    Task task = TaskOf(index, sums, own + static_cast<size_t>(index) * TaskBytes());
    task.x = x, task.dy = dy, task.dw = dw;
    for (int64_t unit = task.units.begin; unit < task.units.end; ++unit) AddUnit(task, unit);
    unit_.release();
  });
  if (cut.places > 1) AddParts(threads, static_cast<float*>(scratch), dw);
}

// ---- Terms ----

// The pixels of x that places read, some rows and columns behind where their windows begin; zeros
// for padding and, if only `outputs` are wanted, for other places.
void SplitConvWeights::ListImage(const Task& task, const ConvFrame::Unit& unit, int64_t row,
                                 int64_t column, bool outputs, std::span<const float*> to) const {
  const ConvFrame& frame = plan_.frame();
  const auto size = static_cast<int64_t>(to.size());
  std::fill(to.begin(), to.end(), task.zeros);
  const int64_t rows = outputs ? unit.rows.size() : frame.rows();
  const int64_t width = outputs ? s_.ow : frame.columns();
  const int64_t left = column - s_.pad_left;
  const Range inside = frame.axis(2).Inside(left, s_.sw, width);
  for (int64_t n = 0; n < unit.images.size(); ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t y = (unit.rows.begin + i) * s_.sh + row - s_.pad_top;
      const int64_t place = (n * frame.rows() + i) * frame.columns();
      if (y < 0 || y >= s_.ih) continue;
      const int64_t line = ((unit.images.begin + n) * s_.ih + y) * s_.iw + left;
      for (int64_t j = inside.begin; j < std::min(inside.end, size - place); ++j) {
        to[static_cast<size_t>(place + j)] = task.x + (line + j * s_.sw) * s_.ic;
      }
    }
  }
}

void SplitConvWeights::ListGradient(const Task& task, const ConvFrame::Unit& unit,
                                    std::span<const float*> to) const {
  const ConvFrame& frame = plan_.frame();
  std::fill(to.begin(), to.end(), task.zeros);
  for (int64_t n = 0; n < unit.images.size(); ++n) {
    for (int64_t i = 0; i < unit.rows.size(); ++i) {
      const int64_t place = (n * frame.rows() + i) * frame.columns();
      const int64_t line = ((unit.images.begin + n) * s_.oh + unit.rows.begin + i) * s_.ow;
      for (int64_t j = 0; j < s_.ow; ++j) {
        to[static_cast<size_t>(place + j)] = task.dy + (line + j) * s_.oc;
      }
    }
  }
}

// ---- Sums ----

void SplitConvWeights::AddUnit(Task& task, int64_t index) const {
  const ConvFrame::Unit unit = plan_.frame().At(index);
  const bool last = index + 1 == task.units.end;
  const int64_t terms = RoundUp(plan_.frame().PlacesOf(unit), kSplitTerms);
  ListGradient(task, unit, task.gradient);
  for (int64_t b = task.blocks.begin; b < task.blocks.end; b += plan_.some_blocks()) {
    const Range blocks{b, std::min(task.blocks.end, b + plan_.some_blocks())};
    task.a_marks =
        unit_.split_terms({.terms = task.gradient.first(static_cast<size_t>(terms)),
                           .first = b * kSplitWidth,
                           .count = std::min(s_.oc, blocks.end * kSplitWidth) - b * kSplitWidth,
                           .to = task.a});
    for (int64_t p = task.panels.begin; p < task.panels.end; p += plan_.some_panels()) {
      const Range panels{p, std::min(task.panels.end, p + plan_.some_panels())};
      for (const WeightTaps& group : plan_.groups()) {
        AddColumns(task, unit, group, index > task.units.begin, blocks, panels);
      }
      if (last && plan_.cut().places == 1) WriteAll(task, blocks, panels);
    }
  }
}

void SplitConvWeights::AddColumns(Task& task, const ConvFrame::Unit& unit, const WeightTaps& group,
                                  bool add, Range blocks, Range panels) const {
  ListImage(task, unit, group.row, group.column, false, task.image);
  const int64_t first = panels.begin * kSplitWidth;
  task.b_marks = unit_.split_pairs({.terms = task.image,
                                    .first = first,
                                    .count = std::min(s_.ic, panels.end * kSplitWidth) - first,
                                    .to = task.b},
                                   plan_.pairs());
  const int64_t terms = RoundUp(plan_.frame().PlacesOf(unit), kSplitTerms);
  for (int64_t block = blocks.begin; block < blocks.end; ++block) {
    const int64_t of_a = block - blocks.begin;
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const int64_t of_b = panel - panels.begin;
      const SplitTileCall call{.rows = Rows(block),
                               .k = terms,
                               .a = task.a + of_a * SplitBlockBytes(terms),
                               .b = task.b + of_b * plan_.pairs().block(),
                               .b_bytes = plan_.pairs().columns,
                               .stride = kSplitWidth,
                               .add = add};
      float* const sums = task.sums + PairOf(block, panel) * SumsOfPair();
      if (NeedVectors(task.a_marks.At(of_a), task.b_marks.At(of_b))) {
        AddSpecial(task, unit, group, panel, call, sums);
      } else {
        AddTaps(task, group, call, sums);
      }
    }
  }
}

void SplitConvWeights::AddTaps(Task& task, const WeightTaps& group, SplitTileCall call,
                               float* sums) const {
  const char* const columns = call.b;
  if (call.rows != task.configured) unit_.configure(task.configured = call.rows);
  for (const WeightTap& tap : group.taps) {
    call.b = columns + plan_.pairs().At(tap.offset);
    call.tile = sums + tap.index * call.rows * kSplitWidth;
    unit_.tile(call);
  }
}

// Places that are no outputs have zeros in both, which infinities must not meet.
void SplitConvWeights::AddSpecial(Task& task, const ConvFrame::Unit& unit, const WeightTaps& group,
                                  int64_t panel, SplitTileCall call, float* sums) const {
  const std::span<const float*> list = task.image.first(static_cast<size_t>(call.k));
  const int64_t first = panel * kSplitWidth;
  for (const WeightTap& tap : group.taps) {
    ListImage(task, unit, tap.row, tap.column, true, list);
    unit_.split_pairs({.terms = list,
                       .first = first,
                       .count = std::min(kSplitWidth, s_.ic - first),
                       .to = task.special},
                      plan_.pairs());
    call.b = task.special;
    call.tile = sums + tap.index * call.rows * kSplitWidth;
    unit_.plain_tile(call);
  }
}

// ---- Weights ----

void SplitConvWeights::AddParts(const Lease& threads, float* sums, float* dw) const {
  const int64_t pairs = plan_.panels() * plan_.blocks();
  const int tasks = static_cast<int>(std::min<int64_t>(slices_, pairs));
  threads.ParallelFor(tasks, [&](int task) {
    const Range own = PartOf(pairs, tasks, task);
    for (int64_t pair = own.begin; pair < own.end; ++pair) {
      const int64_t count = s_.KernelSize() * Rows(pair / plan_.panels()) * kSplitWidth;
      float* const to = sums + pair * SumsOfPair();
      for (int part = 1; part < plan_.cut().places; ++part) {
        const float* const from = to + part * Sums();
        for (int64_t i = 0; i < count; ++i) to[i] += from[i];
      }
      Write(to, pair / plan_.panels(), pair % plan_.panels(), dw);
    }
  });
}

void SplitConvWeights::WriteAll(const Task& task, Range blocks, Range panels) const {
  for (int64_t block = blocks.begin; block < blocks.end; ++block) {
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      Write(task.sums + PairOf(block, panel) * SumsOfPair(), block, panel, task.dw);
    }
  }
}

void SplitConvWeights::Write(const float* sums, int64_t block, int64_t panel, float* dw) const {
  kernels_.unpack({.lanes = std::min(kSplitWidth, s_.ic - panel * kSplitWidth),
                   .channels = Rows(block),
                   .width = kSplitWidth,
                   .lane = s_.KernelSize(),
                   .channel = s_.Taps(),
                   .taps = &all_taps_},
                  sums, dw + (block * s_.Taps() + panel * s_.KernelSize()) * kSplitWidth);
}

}  // namespace hr::cpu
