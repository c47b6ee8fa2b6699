#include "backends/cpu/kernels/conv_phases.h"

#include <utility>

namespace hr::cpu {
namespace {

// The taps of y's pixels in x.
GatherAxis ForwardAxis(int64_t size, int64_t stride, int64_t source, int64_t kernel,
                       int64_t dilation, int64_t pad) {
  GatherAxis axis{.size = size, .step = stride, .source = source};
  for (int64_t k = 0; k < kernel; ++k) axis.taps.push_back(k * dilation - pad);
  return axis;
}

ConvPhase Forward(const ConvShape& s) {
  ConvPhase phase{.height = s.oh, .width = s.ow};
  phase.gather = {.rows = ForwardAxis(s.oh, s.sh, s.ih, s.kh, s.dh, s.pad_top),
                  .columns = ForwardAxis(s.ow, s.sw, s.iw, s.kw, s.dw, s.pad_left),
                  .pixel = s.ic};
  for (int64_t t = 0; t < s.KernelSize(); ++t) phase.taps.push_back(t);
  return phase;
}

// The taps in y of x's pixels `first`, `first` + stride, …; `used` gets which taps of the kernel
// these are.
GatherAxis BackwardAxis(int64_t first, int64_t size, int64_t stride, int64_t source, int64_t kernel,
                        int64_t dilation, int64_t pad, std::vector<int64_t>* used) {
  GatherAxis axis{.size = CeilDiv(size - first, stride), .step = 1, .source = source};
  for (int64_t k = 0; k < kernel; ++k) {
    const int64_t distance = first + pad - k * dilation;
    if (distance % stride != 0) continue;
    axis.taps.push_back(distance / stride);
    used->push_back(k);
  }
  return axis;
}

ConvPhase Backward(const ConvShape& s, int64_t row, int64_t column) {
  std::vector<int64_t> rows, columns;
  ConvPhase phase{.row = row,
                  .column = column,
                  .row_step = s.sh,
                  .column_step = s.sw,
                  .height = s.ih,
                  .width = s.iw};
  phase.gather = {
      .rows = BackwardAxis(row, s.ih, s.sh, s.oh, s.kh, s.dh, s.pad_top, &rows),
      .columns = BackwardAxis(column, s.iw, s.sw, s.ow, s.kw, s.dw, s.pad_left, &columns),
      .pixel = s.oc};
  for (const int64_t r : rows) {
    for (const int64_t c : columns) phase.taps.push_back(r * s.kw + c);
  }
  return phase;
}

}  // namespace

std::vector<ConvPhase> PhasesOf(const ConvShape& s, ImagePass pass) {
  if (pass == ImagePass::kForward) return {Forward(s)};
  std::vector<ConvPhase> phases;
  for (int64_t row = 0; row < std::min(s.sh, s.ih); ++row) {
    for (int64_t column = 0; column < std::min(s.sw, s.iw); ++column) {
      phases.push_back(Backward(s, row, column));
    }
  }
  return phases;
}

Range TapsInside(const GatherAxis& axis, int64_t i) {
  const auto inside = [&](int64_t t) {
    const int64_t at = i * axis.step + axis.taps[static_cast<size_t>(t)];
    return at >= 0 && at < axis.source;
  };
  Range taps{0, static_cast<int64_t>(axis.taps.size())};
  while (taps.begin < taps.end && !inside(taps.begin)) ++taps.begin;
  while (taps.begin < taps.end && !inside(taps.end - 1)) --taps.end;
  return taps;
}

std::vector<TapRun> TapRunsOf(const GatherAxis& axis) {
  std::vector<TapRun> runs;
  for (int64_t i = 0; i < axis.size; ++i) {
    const Range taps = TapsInside(axis, i);
    const bool same =
        !runs.empty() && runs.back().taps.begin == taps.begin && runs.back().taps.end == taps.end;
    if (same) {
      runs.back().positions.end = i + 1;
    } else {
      runs.push_back({{i, i + 1}, taps});
    }
  }
  return runs;
}

std::vector<ConvPart> PartsOf(const ConvPhase& phase) {
  const auto cut = [](const GatherAxis& axis, const TapRun& run) {
    GatherAxis out{.size = run.positions.size(), .step = axis.step, .source = axis.source};
    for (int64_t t = run.taps.begin; t < run.taps.end; ++t) {
      out.taps.push_back(axis.taps[static_cast<size_t>(t)] + run.positions.begin * axis.step);
    }
    return out;
  };
  std::vector<ConvPart> parts;
  for (const TapRun& rows : TapRunsOf(phase.gather.rows)) {
    for (const TapRun& columns : TapRunsOf(phase.gather.columns)) {
      ConvPart part{phase, rows.taps, columns.taps};
      part.phase.gather.rows = cut(phase.gather.rows, rows);
      part.phase.gather.columns = cut(phase.gather.columns, columns);
      part.phase.row += rows.positions.begin * phase.row_step;
      part.phase.column += columns.positions.begin * phase.column_step;
      part.phase.taps.clear();
      for (int64_t r = rows.taps.begin; r < rows.taps.end; ++r) {
        for (int64_t c = columns.taps.begin; c < columns.taps.end; ++c) {
          const auto width = static_cast<int64_t>(phase.gather.columns.taps.size());
          part.phase.taps.push_back(phase.taps[static_cast<size_t>(r * width + c)]);
        }
      }
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace hr::cpu
