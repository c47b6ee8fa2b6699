// Convolutions of bfloat16 and their gradients, with the processor's instructions for products of
// it (bfloat16_gemm.h says how numbers are rounded). Sums are kept in float32; what is made of them
// is rounded once, or stays float32. Any strides, dilations, pads and groups, one to three axes;
// each image is plain or channels-last.
//
// The images of the whole convolution are neither converted nor unfolded: some at a time are copied
// with their padding (conv_frame.h), where windows are rows of matrices.
//
// Results depend on the shape, on `slices` and on the processor, never on how many threads the
// lease has. Scratch is aligned to a cache line; nothing is allocated in Run, and several may run
// at once.
#pragma once

#include <string>

#include "backends/cpu/kernels/bfloat16_kernels.h"
#include "backends/cpu/kernels/conv_windows.h"

namespace hr::cpu {

struct Bfloat16ConvLayouts {
  bool source = false, result = false;  // channels-last
};

inline constexpr int64_t kBfloat16FrameBytes = 512 << 10;  // leaves room in L2 for weights

// One group of an image of bfloat16.
class Bfloat16Pixels final : public PixelCopy {
 public:
  Bfloat16Pixels(const Bfloat16Kernels& kernels, const ConvFrame& frame, const ConvShape& shape,
                 ImagePass pass, bool channels_last, const uint16_t* image, int64_t group);

  void Copy(int64_t pixel, int64_t count, int64_t step, uint16_t* to) override;
  // Returns the unit's numbers: `memory`, of Bytes(), which was written, or the image itself.
  static size_t Bytes(const ConvFrame& frame, const ConvShape& shape, bool channels_last);
  const uint16_t* Gather(const ConvFrame::Unit& unit, uint16_t* memory);

 private:
  const Bfloat16Kernels& kernels_;
  const ConvFrame& frame_;
  const bool channels_last_, in_place_;
  const uint16_t* const image_;
  const int64_t all_channels_, plane_, first_;  // the first channel
};

// y of x and w, or the gradient of x of that of y and w: `source` is the image that is read.
class Bfloat16Conv {
 public:
  // `packed`: Run gets weights that Pack wrote.
  Bfloat16Conv(const Bfloat16Kernels& kernels, const ConvShape& shape, ImagePass pass,
               Bfloat16ConvLayouts layouts, bool packed, int slices);

  size_t packed_bytes() const;
  // Names the order of packed weights.
  std::string packed_format() const;
  size_t pack_scratch_bytes() const;
  // w is plain: [oc][ic / groups][kernel].
  void Pack(const Lease& threads, const uint16_t* w, uint16_t* packed, void* scratch) const;

  size_t scratch_bytes() const;
  // The epilogue's bias has an element for each channel, its residual the layout of the result,
  // which must be channels-last.
  void Run(const Lease& threads, const uint16_t* source, const uint16_t* w, void* result,
           const Bfloat16Epilogue& epilogue, void* scratch) const;

 private:
  struct Task;

  int64_t panels() const { return CeilDiv(channels_, kBfloat16Width); }
  size_t FrameBytes() const;
  void PackPanel(const uint16_t* w, int64_t group, int64_t panel, uint16_t* to,
                 uint16_t* rows) const;
  void RunUnit(const Task& task, int64_t unit) const;
  void RunPanel(const Task& task, const ConvFrame::Unit& unit, size_t phase, int64_t group,
                int64_t panel, const uint16_t* numbers) const;
  void Write(const Task& task, int64_t pixel, int64_t count, int64_t channel, int64_t columns,
             const float* tile) const;
  void WritePlain(const Task& task, int64_t pixel, int64_t count, int64_t channel, int64_t columns,
                  const float* tile) const;

  const Bfloat16Kernels& kernels_;
  const ConvShape s_;
  const ImagePass pass_;
  const Bfloat16ConvLayouts layouts_;
  const bool packed_;
  const int slices_;
  const ConvWindows windows_;
  const ConvFrame& frame_ = windows_.frame();
  int64_t channels_ = 0, all_channels_ = 0;  // of the result: of a group, and of all
  std::vector<int64_t> panels_of_phases_;    // where their parts of a panel begin
  int64_t panel_elements_ = 0;
  int unit_parts_ = 1, panel_parts_ = 1;
};

// dw of x and the gradient of y. Each thread sums over some images or bands of rows, and the sums
// are added in order.
class Bfloat16ConvWeights {
 public:
  // `layouts.result` is that of the gradient of y. `narrow`: dw is of bfloat16.
  Bfloat16ConvWeights(const Bfloat16Kernels& kernels, const ConvShape& shape,
                      Bfloat16ConvLayouts layouts, bool narrow, int slices);

  size_t scratch_bytes() const;
  void Run(const Lease& threads, const uint16_t* x, const uint16_t* dy, void* dw,
           void* scratch) const;

 private:
  struct Task;

  int64_t SumsOfFilter() const {
    return static_cast<int64_t>(spans_.offsets.size()) * sums_of_span_;
  }
  int64_t Sums() const { return s_.oc * SumsOfFilter(); }
  int64_t Pitch() const;
  size_t TaskBytes() const;
  void AddUnit(const Task& task, int64_t unit) const;
  void ListPlaces(const ConvFrame::Unit& unit, int32_t* places) const;
  void GatherGradient(const uint16_t* dy, const ConvFrame::Unit& unit, int64_t filter,
                      int64_t count, uint16_t* rows) const;
  void AddPanel(const Task& task, int64_t filter, int64_t places, int64_t column) const;
  void WriteFilter(const float* sums, int64_t filter, void* dw) const;

  const Bfloat16Kernels& kernels_;
  const ConvShape s_;
  const Bfloat16ConvLayouts layouts_;
  const bool narrow_;
  const int slices_;
  const ConvFrame frame_;
  const ConvSpans spans_;
  const int64_t sums_of_span_;  // with gaps up to whole panels
  int64_t most_places_ = 0;     // outputs of a unit
  int unit_parts_ = 1, filter_parts_ = 1;
};

}  // namespace hr::cpu
