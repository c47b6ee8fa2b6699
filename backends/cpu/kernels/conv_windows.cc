#include "backends/cpu/kernels/conv_windows.h"

namespace hr::cpu {

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

ConvShape InOneImage(const ConvShape& shape) {
  ConvShape out = FlattenedIfPointwise(shape);
  if (out.KernelSize() != 1 || out.sh != 1 || out.iw != 1 || out.ih != out.oh) return out;
  out.ih = out.oh = out.n * out.ih;
  out.n = std::min<int64_t>(out.n, 1);
  return out;
}

ConvSpans SpansOf(const ConvFrame& frame, const ConvShape& shape,
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
  ConvSpans out{.k = joined * frame.channels()};
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

ConvWindows::ConvWindows(const ConvShape& s, ImagePass pass, const FrameLimits& limits, int slices)
    : frame_(s, pass, limits, slices) {
  const bool forward = pass == ImagePass::kForward;
  sizes_ = forward ? std::array{s.od, s.oh, s.ow} : std::array{s.id, s.ih, s.iw};
  steps_ = forward ? std::array<int64_t, 3>{1, 1, 1} : std::array{s.sd, s.sh, s.sw};
  const auto phases_of = [&](size_t axis) { return std::min(steps_[axis], sizes_[axis]); };
  for (int64_t d = 0; d < phases_of(0); ++d) {
    for (int64_t h = 0; h < phases_of(1); ++h) {
      for (int64_t w = 0; w < phases_of(2); ++w) {
        Phase phase{.first = {d, h, w}, .spans = SpansOf(frame_, s, {d, h, w})};
        for (size_t i = 0; i < sizes_.size(); ++i) {
          phase.count[i] = CeilDiv(sizes_[i] - phase.first[i], steps_[i]);
        }
        phases_.push_back(std::move(phase));
      }
    }
  }
}

}  // namespace hr::cpu
