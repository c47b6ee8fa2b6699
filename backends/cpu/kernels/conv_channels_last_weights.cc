#include <algorithm>

#include "backends/cpu/kernels/conv_channels_last.h"
#include "backends/cpu/kernels/conv_channels_last_blocks.h"

namespace hr::cpu {

template <typename T>
ConvChannelsLastWeights<T>::ConvChannelsLastWeights(const ConvShape& shape, int slices)
    : s_(shape),
      slices_(slices),
      phase_(PhasesOf(shape, ImagePass::kForward)[0]),
      parts_(PartsOf(phase_)) {
  const int64_t in = s_.GroupIn();
  by_images_ = LeavesOutPadding(in, TapsRead(parts_, s_.n), TapsRead(WholeOf(phase_), s_.n));
  if (!by_images_) parts_ = WholeOf(phase_);
  width_ = PanelWidth(gemm_, s_.GroupOut());
  panels_ = CeilDiv(s_.GroupOut(), width_);
  block_channels_ = BlockChannels(in, s_.KernelSize());
  channel_blocks_ = CeilDiv(in, block_channels_);
  const int64_t units = s_.groups * channel_blocks_;
  if (units < slices_) {
    panel_parts_ = static_cast<int>(std::min<int64_t>(panels_, CeilDiv(slices_, units)));
    // Fewer channels at a time if panels are not enough, but rows that are worth their gathering.
    const int64_t least = RoundUp(CeilDiv(32, s_.KernelSize()), 8);
    const int64_t blocks = CeilDiv(slices_, s_.groups * panel_parts_);
    const int64_t channels = std::max(least, RoundUp(CeilDiv(in, blocks), 8));
    block_channels_ = std::min(block_channels_, channels);
    channel_blocks_ = CeilDiv(in, block_channels_);
  } else if (units % slices_ != 0 && s_.groups == 1 && block_channels_ >= 32) {
    block_channels_ = std::max<int64_t>(16, RoundUp(CeilDiv(in, RoundUp(units, slices_)), 8));
    channel_blocks_ = CeilDiv(in, block_channels_);
  }
  block_pixels_ = BlockPixels<T>(s_.KernelSize() * block_channels_, 16);
  const int64_t plane = s_.OutputPlane();
  if (by_images_) block_pixels_ = std::max<int64_t>(1, block_pixels_ / plane) * plane;
}

// Of one thread.
template <typename T>
int64_t ConvChannelsLastWeights<T>::ScratchElements() const {
  const int64_t depth = s_.KernelSize() * block_channels_;
  const int64_t panels = CeilDiv(panels_, panel_parts_);
  return Aligned<T>(block_pixels_ * RowStride<T>(depth)) + Aligned<T>(block_pixels_ * width_) +
         Aligned<T>(depth * panels * width_);
}

template <typename T>
size_t ConvChannelsLastWeights<T>::scratch_bytes() const {
  return static_cast<size_t>(slices_) * static_cast<size_t>(ScratchElements()) * sizeof(T);
}

template <typename T>
void ConvChannelsLastWeights<T>::Run(const Lease& threads, const T* x, const T* dy, T* dw,
                                     void* scratch) const {
  const int64_t tasks = s_.groups * channel_blocks_ * panel_parts_;
  threads.ParallelFor(slices_, [&](int slice) {
    T* const gathered = static_cast<T*>(scratch) + slice * ScratchElements();
    T* const columns =
        gathered + Aligned<T>(block_pixels_ * RowStride<T>(s_.KernelSize() * block_channels_));
    const Memory memory{gathered, columns, columns + Aligned<T>(block_pixels_ * width_)};
    const Range own = PartOf(tasks, slices_, slice);
    for (int64_t task = own.begin; task < own.end; ++task) {
      const int64_t first = task / panel_parts_ % channel_blocks_ * block_channels_;
      RunTask({.group = task / panel_parts_ / channel_blocks_,
               .channels = {first, std::min(s_.GroupIn(), first + block_channels_)},
               .panels = PartOf(panels_, panel_parts_, task % panel_parts_)},
              x, dy, dw, memory);
    }
  });
}

template <typename T>
void ConvChannelsLastWeights<T>::RunTask(const Task& task, const T* x, const T* dy, T* dw,
                                         const Memory& memory) const {
  const int64_t depth = s_.KernelSize() * task.channels.size();
  // No part has all taps.
  if (by_images_) std::fill_n(memory.sums, task.panels.size() * depth * width_, T{0});
  const int64_t each = by_images_ ? s_.OutputPlane() : 1;
  ForBlocks({0, s_.n * s_.OutputPlane() / each}, block_pixels_ / each, [&](Range units) {
    for (const ConvPart& part : parts_) {
      const int64_t plane = by_images_ ? part.phase.gather.plane() : 1;
      const Range pixels{units.begin * plane, units.end * plane};
      if (!part.phase.taps.empty()) AddPart(task, part, pixels, x, dy, memory);
    }
  });
  for (int64_t panel = task.panels.begin; panel < task.panels.end; ++panel) {
    const int64_t oc = task.group * s_.GroupOut() + panel * width_;
    kernels_.unpack({.lanes = Lanes(panel),
                     .channels = task.channels.size(),
                     .width = width_,
                     .lane = s_.Taps(),
                     .channel = s_.KernelSize(),
                     .taps = &phase_.taps},
                    memory.sums + (panel - task.panels.begin) * depth * width_,
                    dw + oc * s_.Taps() + task.channels.begin * s_.KernelSize());
  }
}

// Adds what some pixels of a part give to the sums of its taps.
template <typename T>
void ConvChannelsLastWeights<T>::AddPart(const Task& task, const ConvPart& part, Range pixels,
                                         const T* x, const T* dy, const Memory& memory) const {
  const int64_t channels = task.channels.size(), depth = s_.KernelSize() * channels;
  const int64_t first = task.group * s_.GroupIn();
  const Range source{first + task.channels.begin, first + task.channels.end};
  const T* matrix = x + pixels.begin * s_.ic + source.begin;
  int64_t row = s_.ic;
  if (by_images_ || !IsInPlace<T>(phase_.gather)) {
    row = RowStride<T>(static_cast<int64_t>(part.phase.taps.size()) * channels);
    kernels_.gather(part.phase.gather, x, pixels, source, memory.gathered, row);
    matrix = memory.gathered;
  }
  // Rows of the kernel whose taps are neighbours are one matrix.
  const int64_t line = part.columns.size() * channels;
  const int64_t lines = part.columns.size() == s_.kw ? 1 : part.rows.size();
  const int64_t height = lines == 1 ? part.rows.size() * line : line;
  for (int64_t panel = task.panels.begin; panel < task.panels.end; ++panel) {
    PackGradient(part, pixels, dy + task.group * s_.GroupOut() + panel * width_, Lanes(panel),
                 memory.columns);
    T* const sums = memory.sums + (panel - task.panels.begin) * depth * width_;
    for (int64_t l = 0; l < lines; ++l) {
      T* const to = sums + ((part.rows.begin + l) * s_.kw + part.columns.begin) * channels * width_;
      ForTiles(height, gemm_.rows, [&](int64_t at, int64_t rows) {
        KernelOf(gemm_, true, Lanes(panel), rows)({.k = pixels.size(),
                                                   .a = matrix + l * line + at,
                                                   .a_stride = row,
                                                   .b = memory.columns,
                                                   .ldb = width_,
                                                   .columns = Lanes(panel),
                                                   .c = to + at * width_,
                                                   .ldc = width_,
                                                   .accumulate = by_images_ || pixels.begin != 0});
      });
    }
  }
}

// The gradients of a part's pixels, one behind the other; `dy` is the first lane of pixel 0.
template <typename T>
void ConvChannelsLastWeights<T>::PackGradient(const ConvPart& part, Range pixels, const T* dy,
                                              int64_t lanes, T* columns) const {
  const int64_t run = by_images_ ? part.phase.gather.columns.size : pixels.size();
  for (int64_t i = pixels.begin; i < pixels.end; i += run, columns += run * width_) {
    gemm_.pack_rows(dy + part.phase.ResultPixel(i) * s_.oc, s_.oc, lanes, run, columns, width_);
  }
}

template class ConvChannelsLastWeights<float>;
template class ConvChannelsLastWeights<double>;

}  // namespace hr::cpu
