// The gradient of the weights of split_conv.h's convolutions: for each tap of the kernel, the
// product of dy, transposed, and the pixels of x that the tap reads, over places of some images at
// a time (conv_frame.h). Where places are no outputs, dy is zero. The pixels lie along the places,
// so that a tap reads the same columns of B as another, some places further on. Where images are so
// small that many places are no outputs, each tap has columns of its own, without them.
//
// Threads share places (then their sums are added in order) and channels. Accuracy, special numbers
// and memory are as there.
#pragma once

#include "backends/cpu/kernels/conv_channels_last_kernels.h"
#include "backends/cpu/kernels/split_weights_plan.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// What it costs, for shapes of SplitConvTakes: multiply-adds of vectors in the same time.
double SplitConvWeightsCost(const ConvShape& shape);

class SplitConvWeights {
 public:
  SplitConvWeights(const SplitKernels& unit, const ConvShape& shape, int slices);

  size_t scratch_bytes() const;
  // All of dw is written: [oc][ic][kernel].
  void Run(const Lease& threads, const float* x, const float* dy, float* dw, void* scratch) const;

 private:
  struct Task;

  // Sums of a block by a panel: those of each tap, a row for each channel of dy.
  int64_t SumsOfPair() const { return s_.KernelSize() * kSplitWidth * kSplitWidth; }
  int64_t PairOf(int64_t block, int64_t panel) const { return block * plan_.panels() + panel; }
  int64_t Sums() const { return plan_.panels() * plan_.blocks() * SumsOfPair(); }
  int64_t Rows(int64_t block) const { return std::min(kSplitWidth, s_.oc - block * kSplitWidth); }
  size_t TaskBytes() const;

  Task TaskOf(int index, char* sums, char* own) const;
  void AddUnit(Task& task, int64_t index) const;
  void AddColumns(Task& task, const ConvFrame::Unit& unit, const WeightTaps& group, bool add,
                  Range blocks, Range panels) const;
  void AddTaps(Task& task, const WeightTaps& group, SplitTileCall call, float* sums) const;
  void AddSpecial(Task& task, const ConvFrame::Unit& unit, const WeightTaps& group, int64_t panel,
                  SplitTileCall call, float* sums) const;
  void ListImage(const Task& task, const ConvFrame::Unit& unit, int64_t row, int64_t column,
                 bool outputs, std::span<const float*> to) const;
  void ListGradient(const Task& task, const ConvFrame::Unit& unit,
                    std::span<const float*> to) const;
  void AddParts(const Lease& threads, float* sums, float* dw) const;
  void WriteAll(const Task& task, Range blocks, Range panels) const;
  void Write(const float* sums, int64_t block, int64_t panel, float* dw) const;

  const SplitKernels& unit_;
  const ConvChannelsLastKernels<float>& kernels_ = KernelsForConvChannelsLast<float>();
  const ConvShape s_;
  const int slices_;
  const SplitWeightsPlan plan_;
  std::vector<int64_t> all_taps_;
};

}  // namespace hr::cpu
