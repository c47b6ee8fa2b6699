#include "backends/cpu/kernels/bfloat16_frame.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace hr::cpu {
namespace {

// Leaves room in the second-level cache for weights.
constexpr int64_t kFrameBytes = 512 << 10;

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

Bfloat16Frame::Bfloat16Frame(const ConvShape& shape, ImagePass pass, bool channels_last,
                             int64_t places, int slices)
    : s_(shape), pass_(pass), channels_last_(channels_last) {
  const bool forward = pass == ImagePass::kForward;
  for (size_t axis = 0; axis < axes_.size(); ++axis) axes_[axis] = MakeAxis(axis);
  all_channels_ = forward ? s_.ic : s_.oc;
  given_ = all_channels_ / s_.groups;
  channels_ = RoundUp(given_, 2);
  pixel_ = channels_last ? all_channels_ : 1;
  const FrameAxis& columns = axes_[2];
  // Where taps read several phases, the columns of all lie among each other.
  const bool one_phase = columns.phases.size() <= 1;
  step_ = one_phase ? columns.stride : 1;
  first_ = (one_phase && !columns.phases.empty() ? columns.phases[0] : 0) - columns.before;
  stored_ = columns.size() * (one_phase ? 1 : columns.stride);
  pitch_ = channels_ * (one_phase ? 1 : columns.stride);
  Cut(places, slices);
  is_image_ = IsImage();
}

FrameAxis Bfloat16Frame::MakeAxis(size_t axis) const {
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
void Bfloat16Frame::Cut(int64_t places, int slices) {
  const int64_t height = axes_[1].out, n = s_.n;
  rows_ = height;
  const int64_t outputs = axes_[0].out * height * axes_[2].out;
  if (n == 0 || outputs == 0) return;
  const int64_t bytes = std::max<int64_t>(1, Elements() * 2);
  const int64_t fit = CeilDiv(bytes, kFrameBytes);
  const int64_t shared = n >= slices ? 1 : std::min(CeilDiv(slices, n), CeilDiv(outputs, places));
  const int64_t bands = std::min(std::max(fit, shared), height);
  rows_ = CeilDiv(height, bands);
  if (bands == 1) {
    const int64_t most = std::min(CeilDiv(n, slices), std::max<int64_t>(1, kFrameBytes / bytes));
    images_ = std::min(CeilDiv(places, outputs), most);
  }
  units_ = CeilDiv(n, images_) * CeilDiv(height, rows_);
}

int64_t Bfloat16Frame::Elements() const {
  return static_cast<int64_t>(axes_[0].phases.size() * axes_[1].phases.size()) * PhaseElements();
}

bool Bfloat16Frame::IsImage() const {
  return channels_last_ && s_.groups == 1 && channels_ == given_ &&
         std::all_of(axes_.begin(), axes_.end(), [](const FrameAxis& a) {
           return a.phases == std::vector<int64_t>{0} && a.stride == 1 && a.reach == 0 &&
                  a.before == 0 && a.in == a.out;
         });
}

Bfloat16Frame::Unit Bfloat16Frame::At(int64_t index) const {
  const int64_t height = axes_[1].out, bands = CeilDiv(height, rows_);
  const int64_t image = index / bands * images_, row = index % bands * rows_;
  return {{image, std::min(s_.n, image + images_)}, {row, std::min(height, row + rows_)}};
}

int64_t Bfloat16Frame::PlacesOf(const Unit& unit) const {
  const int64_t depth = (unit.images.size() - 1) * depths() + axes_[0].out - 1;
  return (depth * rows() + unit.rows.size() - 1) * columns() + axes_[2].out;
}

std::vector<FrameTap> Bfloat16Frame::Taps(size_t axis, int64_t phase) const {
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

int64_t Bfloat16Frame::OffsetOf(const FrameTap& depth, const FrameTap& row,
                                const FrameTap& column) const {
  const auto slots = static_cast<int64_t>(axes_[1].phases.size());
  const int64_t slot = axes_[0].SlotOf(depth.phase) * slots + axes_[1].SlotOf(row.phase);
  const int64_t line = depth.shift * rows() + row.shift;
  const int64_t among = axes_[2].phases.size() > 1 ? column.phase * channels_ : 0;
  return slot * PhaseElements() + line * RowElements() + column.shift * pitch_ + among;
}

const uint16_t* Bfloat16Frame::Gather(const Bfloat16Kernels& kernels, const uint16_t* x,
                                      const Unit& unit, int64_t group, uint16_t* memory) const {
  const FrameAxis &d = axes_[0], &h = axes_[1];
  const int64_t plane = d.in * h.in * axes_[2].in, line = axes_[2].in * pixel_;
  const int64_t first = group * given_ * (channels_last_ ? 1 : plane);
  if (is_image_) return x + unit.images.begin * plane * pixel_ + unit.rows.begin * line;
  uint16_t* phase = memory;
  for (const int64_t of_depth : d.phases) {
    for (const int64_t of_rows : h.phases) {
      for (int64_t image = unit.images.begin; image < unit.images.end; ++image) {
        for (int64_t i = 0; i < depths(); ++i) {
          const int64_t depth = i * d.stride + of_depth - d.before;
          const int64_t at = (image - unit.images.begin) * depths() + i;
          const int64_t top = unit.rows.begin * h.stride + of_rows - h.before;
          const int64_t count = unit.rows.size() + h.reach;
          const bool exists = depth >= 0 && depth < d.in;
          const Range inside = exists ? h.Inside(top, h.stride, count) : Range{0, 0};
          uint16_t* const to = phase + at * rows() * RowElements();
          std::fill_n(to, inside.begin * RowElements(), uint16_t{0});
          std::fill(to + inside.end * RowElements(), to + count * RowElements(), uint16_t{0});
          if (inside.size() == 0) continue;
          const int64_t row = depth * h.in + top + inside.begin * h.stride;
          GatherRows(kernels, x + image * all_channels_ * plane + first + row * line, inside,
                     h.stride * line, to);
        }
      }
      phase += PhaseElements();
    }
  }
  return memory;
}

// `x`: the first of the rows, which lie `step` apart.
void Bfloat16Frame::GatherRows(const Bfloat16Kernels& kernels, const uint16_t* x, Range rows,
                               int64_t step, uint16_t* to) const {
  const int64_t width = axes_[2].in;
  if (first_ == 0 && step_ == 1 && stored_ == width && step == width * pixel_) {
    return CopyPixels(kernels, x, rows.size() * width, to + rows.begin * RowElements());
  }
  for (int64_t row = rows.begin; row < rows.end; ++row, x += step) {
    GatherRow(kernels, x, to + row * RowElements());
  }
}

void Bfloat16Frame::GatherRow(const Bfloat16Kernels& kernels, const uint16_t* row,
                              uint16_t* to) const {
  const Range inside = axes_[2].Inside(first_, step_, stored_);
  std::fill_n(to, inside.begin * channels_, uint16_t{0});
  std::fill(to + inside.end * channels_, to + RowElements(), uint16_t{0});
  CopyPixels(kernels, row + (first_ + inside.begin * step_) * pixel_, inside.size(),
             to + inside.begin * channels_);
}

void Bfloat16Frame::CopyPixels(const Bfloat16Kernels& kernels, const uint16_t* from, int64_t count,
                               uint16_t* to) const {
  const auto given = static_cast<size_t>(given_);
  if (channels_last_ && step_ == 1 && given_ == all_channels_ && channels_ == given_) {
    std::memcpy(to, from, static_cast<size_t>(count) * given * 2);
    return;
  }
  const int64_t plane = axes_[0].in * axes_[1].in * axes_[2].in;
  if (!channels_last_ && step_ == 1) kernels.transpose(from, plane, count, given_, to, channels_);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t* const pixel = to + i * channels_;
    if (channels_last_) {
      std::memcpy(pixel, from + i * step_ * pixel_, given * 2);
    } else if (step_ != 1) {
      for (int64_t c = 0; c < given_; ++c) pixel[c] = from[c * plane + i * step_];
    }
    if (channels_ != given_) pixel[given_] = 0;
  }
}

}  // namespace hr::cpu
