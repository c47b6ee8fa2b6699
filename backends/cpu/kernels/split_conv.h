// Convolutions of float32 and their gradients on a matrix unit that multiplies bfloat16
// (split_kernels.h says how, and what becomes of special numbers). Channels-last images without
// groups and depth; any strides, dilations and pads.
//
// Some images at a time are split and copied with their padding (conv_frame.h), where windows are
// rows of matrices; what reads a pixel more than once finds it there in the second-level cache.
//
// Results depend on the shape and on `slices`, never on how many threads the lease has. Scratch is
// aligned to a cache line; nothing is allocated in Run, and several may run at once.
#pragma once

#include <string>

#include "backends/cpu/kernels/conv_channels_last_kernels.h"
#include "backends/cpu/kernels/conv_windows.h"
#include "backends/cpu/kernels/split_kernels.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

bool SplitConvTakes(const ConvShape& shape);
// What a pass costs: multiply-adds of vectors in the same time. `packed`: weights are packed once.
double SplitConvCost(const ConvShape& shape, ImagePass pass, bool packed);

// y of x and w, or the gradient of x of that of y and w.
class SplitConv {
 public:
  // `packed`: Run gets weights that Pack wrote.
  SplitConv(const SplitKernels& unit, const ConvShape& shape, ImagePass pass, bool packed,
            int slices);

  size_t packed_bytes() const { return static_cast<size_t>(panels() * panel_bytes_); }
  // Names the order of packed weights.
  std::string packed_format() const;
  size_t pack_scratch_bytes() const;
  // w is plain: [oc][ic][kernel].
  void Pack(const Lease& threads, const float* w, float* packed, void* scratch) const;

  size_t scratch_bytes() const;
  void Run(const Lease& threads, const ConvImageMemory<float>& memory, void* scratch) const;

 private:
  struct Task;
  struct Tiles;

  int64_t panels() const { return CeilDiv(out_, kSplitWidth); }
  int64_t Lanes(int64_t panel) const { return std::min(kSplitWidth, out_ - panel * kSplitWidth); }
  int64_t blocks() const { return CeilDiv(in_, kSplitTerms); }
  size_t PanelRowsBytes() const;
  void PackPanel(const float* w, int64_t panel, char* to, float* rows) const;
  SplitMarks SplitPanel(const float* rows, char* to) const;
  size_t SumsBytes() const;
  size_t TaskBytes() const;
  void RunUnits(Task& task, Range units) const;
  void RunInOrder(Task& task, const Tiles& tiles) const;
  void RunByPanels(Task& task, const Tiles& tiles) const;
  void Multiply(Task& task, const Tiles& tiles, int64_t tile, int64_t panel, Range channels,
                float* sums) const;
  void Finish(const Task& task, const Tiles& tiles, int64_t tile, int64_t panel,
              const float* sums) const;

  const SplitKernels& unit_;
  const ConvChannelsLastKernels<float>& kernels_ = KernelsForConvChannelsLast<float>();
  const ConvShape s_;
  const ImagePass pass_;
  const bool packed_;
  const int slices_;
  const int64_t in_, out_;    // channels of the image that is read, and of the result
  const bool keeps_weights_;  // all of them, in the second-level cache
  const ConvWindows windows_;
  std::vector<std::vector<SplitTap>> taps_;  // of the windows' phases
  std::vector<int64_t> all_taps_;
  int64_t panel_bytes_ = 0;
  int unit_parts_ = 1, panel_parts_ = 1;
};

}  // namespace hr::cpu
