#include "backends/cpu/kernels/conv_frame.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace hr::cpu {
namespace {

struct AxisOfConv {
  int64_t in, out, kernel, stride, dilation, pad;
};

AxisOfConv AxisOf(const ConvShape& s, size_t axis) {
  switch (axis) {
    case 0: return {s.id, s.od, s.kd, s.sd, s.dd, s.pad_front};
    case 1: return {s.ih, s.oh, s.kh, s.sh, s.dh, s.pad_top};
    default: return {s.iw, s.ow, s.kw, s.sw, s.dw, s.pad_left};
  }
}

int64_t FloorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// The taps of one phase, with shifts that may be below zero.
std::vector<FrameTap> UnshiftedTaps(const AxisOfConv& a, ImagePass pass, int64_t phase) {
  std::vector<FrameTap> taps;
  for (int64_t tap = 0; tap < a.kernel; ++tap) {
    if (pass == ImagePass::kForward) {
      taps.push_back({tap, tap * a.dilation % a.stride, tap * a.dilation / a.stride});
    } else {
      const int64_t position = phase + a.pad - tap * a.dilation;
      const int64_t shift = FloorDiv(position, a.stride);
      if (shift * a.stride == position) taps.push_back({tap, 0, shift});
    }
  }
  return taps;
}

// Calls visit for each tap of each phase that has an output.
template <typename Visit>
void ForTaps(const AxisOfConv& a, ImagePass pass, const Visit& visit) {
  const int64_t phases = pass == ImagePass::kForward ? 1 : std::min(a.stride, a.in);
  for (int64_t phase = 0; phase < phases; ++phase) {
    for (const FrameTap& tap : UnshiftedTaps(a, pass, phase)) visit(tap);
  }
}

}  // namespace

int64_t FrameAxis::SlotOf(int64_t phase) const {
  return std::find(phases.begin(), phases.end(), phase) - phases.begin();
}

Range FrameAxis::Inside(int64_t first, int64_t step, int64_t count) const {
  const int64_t begin = first >= 0 ? 0 : CeilDiv(-first, step);
  const int64_t end = in > first ? CeilDiv(in - first, step) : 0;
  return {std::min(begin, count), std::clamp(end, std::min(begin, count), count)};
}

int64_t FrameAxis::Shared() const {
  if (phases != std::vector<int64_t>{0} || stride != 1) return 0;
  const Range inside = Inside(-before, 1, size());
  return std::min({inside.begin, size() - inside.end, reach});
}

ConvFrame::ConvFrame(const ConvShape& shape, ImagePass pass, const FrameLimits& limits, int slices)
    : s_(shape), pass_(pass), limits_(limits) {
  const bool forward = pass == ImagePass::kForward;
  for (size_t axis = 0; axis < axes_.size(); ++axis) axes_[axis] = MakeAxis(axis);
  given_ = forward ? s_.GroupIn() : s_.GroupOut();
  channels_ = limits.channels > 0 ? limits.channels : RoundUp(given_, 2);
  const FrameAxis& columns = axes_[2];
  // Where taps read several phases, the columns of all lie among each other.
  const bool one_phase = columns.phases.size() <= 1;
  shared_columns_ = columns.Shared();
  step_ = one_phase ? columns.stride : 1;
  first_ = (one_phase && !columns.phases.empty() ? columns.phases[0] : 0) - columns.before;
  stored_ = this->columns() * (one_phase ? 1 : columns.stride);
  pitch_ = channels_ * (one_phase ? 1 : columns.stride);
  Cut(slices);
}

FrameAxis ConvFrame::MakeAxis(size_t axis) const {
  const AxisOfConv a = AxisOf(s_, axis);
  FrameAxis out;
  int64_t least = std::numeric_limits<int64_t>::max(), most = std::numeric_limits<int64_t>::min();
  ForTaps(a, pass_, [&](const FrameTap& tap) {
    least = std::min(least, tap.shift), most = std::max(most, tap.shift);
    out.phases.push_back(tap.phase);
  });
  std::sort(out.phases.begin(), out.phases.end());
  out.phases.erase(std::unique(out.phases.begin(), out.phases.end()), out.phases.end());
  if (out.phases.empty()) least = most = 0;
  if (pass_ == ImagePass::kForward) {
    out.in = a.in, out.out = a.out, out.stride = a.stride, out.before = a.pad, out.reach = most;
  } else {
    out.in = a.out, out.out = CeilDiv(a.in, a.stride), out.before = -least;
    out.reach = most - least;
  }
  return out;
}

// Bands of images that are too large, or fewer than threads; else as many images as are enough.
void ConvFrame::Cut(int slices) {
  const int64_t height = axes_[1].out, n = s_.n, places = limits_.places;
  rows_ = height;
  const int64_t outputs = axes_[0].out * height * axes_[2].out;
  if (n == 0 || outputs == 0) return;
  const auto bytes = std::max<int64_t>(1, static_cast<int64_t>(this->bytes()));
  const int64_t shared = n >= slices ? 1 : std::min(CeilDiv(slices, n), CeilDiv(outputs, places));
  int64_t bands = std::max(CeilDiv(bytes, limits_.bytes), shared);
  if (limits_.cut && axes_[1].reach == 0) bands = std::max(bands, outputs / places);
  // Threads get as many of them.
  if (bands > 1) bands = RoundUp(bands, slices / std::gcd(n, static_cast<int64_t>(slices)));
  bands = std::min(bands, height);
  rows_ = CeilDiv(height, bands);
  if (rows_ == height) {
    const int64_t most = std::min(CeilDiv(n, slices), std::max<int64_t>(1, limits_.bytes / bytes));
    images_ = std::min(CeilDiv(places, outputs), most);
    shared_rows_ = axes_[1].Shared();
  }
  units_ = CeilDiv(n, images_) * CeilDiv(height, rows_);
}

// Zeros behind the last row.
int64_t ConvFrame::TailElements() const {
  return shared_rows_ * RowElements() + shared_columns_ * channels_;
}

int64_t ConvFrame::PhaseElements() const {
  return images_ * depths() * rows() * RowElements() + TailElements();
}

int64_t ConvFrame::plane_elements() const {
  const auto phases = static_cast<int64_t>(axes_[0].phases.size() * axes_[1].phases.size());
  const int64_t elements = phases * PhaseElements();
  if (limits_.planes == 1) return elements;
  // Planes do not fall on the same lines of a cache.
  constexpr int64_t kLine = 64 / sizeof(uint16_t);
  return (CeilDiv(elements, kLine) | 1) * kLine;
}

bool ConvFrame::IsImage() const {
  return std::all_of(axes_.begin(), axes_.end(), [](const FrameAxis& a) {
    return a.phases == std::vector<int64_t>{0} && a.stride == 1 && a.reach == 0 && a.before == 0 &&
           a.in == a.out;
  });
}

int64_t ConvFrame::FirstPixel(const Unit& unit) const {
  return (unit.images.begin * axes_[0].in * axes_[1].in + unit.rows.begin) * axes_[2].in;
}

ConvFrame::Unit ConvFrame::At(int64_t index) const {
  const int64_t height = axes_[1].out, bands = CeilDiv(height, rows_);
  const int64_t image = index / bands * images_, row = index % bands * rows_;
  return {{image, std::min(s_.n, image + images_)}, {row, std::min(height, row + rows_)}};
}

int64_t ConvFrame::PlacesOf(const Unit& unit) const {
  const int64_t depth = (unit.images.size() - 1) * depths() + axes_[0].out - 1;
  return (depth * rows() + unit.rows.size() - 1) * columns() + axes_[2].out;
}

std::vector<FrameTap> ConvFrame::Taps(size_t axis, int64_t phase) const {
  std::vector<FrameTap> taps = UnshiftedTaps(AxisOf(s_, axis), pass_, phase);
  if (pass_ == ImagePass::kBackwardData) {
    for (FrameTap& tap : taps) tap.shift += axes_[axis].before;
  }
  const int64_t stride = axes_[axis].stride;
  std::sort(taps.begin(), taps.end(), [stride](const FrameTap& a, const FrameTap& b) {
    return a.shift * stride + a.phase < b.shift * stride + b.phase;
  });
  return taps;
}

int64_t ConvFrame::OffsetOf(const FrameTap& depth, const FrameTap& row,
                            const FrameTap& column) const {
  const auto slots = static_cast<int64_t>(axes_[1].phases.size());
  const int64_t slot = axes_[0].SlotOf(depth.phase) * slots + axes_[1].SlotOf(row.phase);
  const int64_t line = depth.shift * rows() + row.shift;
  const int64_t among = axes_[2].phases.size() > 1 ? column.phase * channels_ : 0;
  return slot * PhaseElements() + line * RowElements() + column.shift * pitch_ + among;
}

void ConvFrame::Gather(const Unit& unit, PixelCopy& copy, uint16_t* memory) const {
  for (const int64_t of_depth : axes_[0].phases) {
    for (const int64_t of_rows : axes_[1].phases) {
      uint16_t* to = memory;
      for (int64_t image = unit.images.begin; image < unit.images.end; ++image) {
        GatherImage(unit, image, of_depth, of_rows, copy, to);
        to += depths() * rows() * RowElements();
      }
      Zero(to, to + TailElements());
      memory += PhaseElements();
    }
  }
}

void ConvFrame::GatherImage(const Unit& unit, int64_t image, int64_t of_depth, int64_t of_rows,
                            PixelCopy& copy, uint16_t* to) const {
  const FrameAxis &d = axes_[0], &h = axes_[1];
  const int64_t top = unit.rows.begin * h.stride + of_rows - h.before;
  const int64_t count = std::min(unit.rows.size() + h.reach, rows());
  for (int64_t i = 0; i < depths(); ++i, to += rows() * RowElements()) {
    const int64_t depth = i * d.stride + of_depth - d.before;
    const bool exists = depth >= 0 && depth < d.in;
    const Range inside = exists ? h.Inside(top, h.stride, count) : Range{0, 0};
    Zero(to, to + inside.begin * RowElements());
    Zero(to + inside.end * RowElements(), to + rows() * RowElements());
    if (inside.size() == 0) continue;
    const int64_t row = (image * d.in + depth) * h.in + top + inside.begin * h.stride;
    GatherRows(row * axes_[2].in, inside, h.stride * axes_[2].in, copy, to);
  }
}

// Rows `step` pixels apart, of which the first begins at `pixel`.
void ConvFrame::GatherRows(int64_t pixel, Range rows, int64_t step, PixelCopy& copy,
                           uint16_t* to) const {
  const int64_t width = axes_[2].in;
  to += rows.begin * RowElements();
  if (first_ == 0 && step_ == 1 && stored_ == width && step == width) {
    return copy.Copy(pixel, rows.size() * width, 1, to);
  }
  for (int64_t i = 0; i < rows.size(); ++i) {
    GatherRow(pixel + i * step, copy, to + i * RowElements());
  }
}

void ConvFrame::GatherRow(int64_t pixel, PixelCopy& copy, uint16_t* to) const {
  const Range inside = axes_[2].Inside(first_, step_, stored_);
  Zero(to, to + inside.begin * channels_);
  Zero(to + inside.end * channels_, to + RowElements());
  if (inside.size() == 0) return;
  copy.Copy(pixel + first_ + inside.begin * step_, inside.size(), step_,
            to + inside.begin * channels_);
}

void ConvFrame::Zero(uint16_t* from, const uint16_t* to) const {
  const int64_t plane = plane_elements();
  for (int64_t i = 0; i < limits_.planes && from != to; ++i) {
    std::fill_n(from + i * plane, to - from, uint16_t{0});
  }
}

}  // namespace hr::cpu
