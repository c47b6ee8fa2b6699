// Convolution of channels-last images, [n][h][w][c]: forward and both gradients. Method: products
// of matrices whose rows are pixels and whose vector lanes are channels of the result, with the
// inputs of some pixels gathered into a matrix that stays in the cache (Georganas et al., "Anatomy
// of High-Performance Deep Learning Convolutions on SIMD Architectures", 2018, has the
// alternatives). The rows of a product go on from one image to the next, so small images waste
// nothing.
//
// float and double. Weights are in ONNX's layout [oc][ic / groups][kh][kw]. Results depend on the
// shape and on `slices` (the planned number of threads), never on how many threads the lease has.
// Nothing is allocated by a run. Memory is aligned to 64 bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/cpu/kernels/conv_channels_last_kernels.h"
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/gemm_kernels.h"

namespace hr::cpu {

// One pass that makes an image. Immutable.
template <typename T>
class ConvChannelsLast {
 public:
  // `packed`: the weights come from Pack.
  ConvChannelsLast(const ConvShape& shape, ImagePass pass, bool packed, int slices);

  size_t scratch_bytes() const;
  void Run(const Lease& threads, const ConvImageMemory<T>& memory, void* scratch) const;

  size_t packed_bytes() const;
  // Equal if the weights that another one has packed serve as well.
  std::string packed_format() const;
  void Pack(const Lease& threads, const T* weights, T* packed) const;

 private:
  struct Phase : ConvPhase {
    int64_t packed = 0;           // where its weights begin
    std::vector<ConvPart> parts;  // that leave out the padding; or all of it
  };
  struct Cell {
    Range units, panels;
  };

  void ChooseBlocks();
  // Pixels of a phase are cut into images if its parts are pixels here and there.
  int64_t Units(const Phase& phase) const { return by_images_ ? s_.n : phase.pixels(s_.n); }
  Range PixelsOf(const ConvPhase& phase, Range units) const {
    const int64_t each = by_images_ ? phase.gather.plane() : 1;
    return {units.begin * each, units.end * each};
  }
  int64_t PackedElements(const Phase& phase) const;
  int64_t ScratchElements() const;
  WeightPanel PanelOf(const Phase& phase, int64_t panel, Range channels) const;
  int64_t Lanes(int64_t panel) const;
  const T* PlainWeights(const T* weights, int64_t panel, Range channels) const;
  T* PanelAt(const Phase& phase, T* packed, int64_t panel, Range channels) const;
  void PackPhase(const Lease& threads, const Phase& phase, const T* weights, T* packed) const;
  void ClearUntouched(const Lease& threads, T* result) const;
  void RunCell(const Phase& phase, const ConvImageMemory<T>& memory, const Cell& cell,
               const T* packed, T* scratch) const;
  void RunBlock(const Phase& phase, const ConvImageMemory<T>& memory, Range units, Range panels,
                const T* packed, T* scratch) const;
  void MultiplyDense(const Phase& phase, const ConvImageMemory<T>& memory, Range pixels,
                     Range panels, Range channels, const T* packed, T* gathered,
                     T* panel_memory) const;
  void MultiplyParts(const Phase& phase, const ConvImageMemory<T>& memory, Range units,
                     Range panels, Range channels, const T* packed, T* gathered, T* panel_memory,
                     T* block) const;
  const T* Weights(const Phase& phase, const T* plain, const T* packed, int64_t panel,
                   Range channels, T* panel_memory) const;
  // A matrix of pixels, of which some are multiplied by a panel.
  struct Matrix {
    const T* at;
    int64_t row, pixels;
  };
  void Multiply(const Phase& phase, const ConvPart& part, int64_t channels, const Matrix& matrix,
                const T* weights, int64_t panel, bool first, const ConvEpilogue<T>* end, T* to,
                int64_t stride, const T* next) const;
  void Scatter(const Phase& phase, const ConvImageMemory<T>& memory, Range units, Range panels,
               const T* block) const;
  // Whether products are written where the pixels of the result lie. There are none without taps.
  bool IsDense() const { return phases_.size() == 1 && !by_images_ && !phases_[0].taps.empty(); }
  // The first lane of a panel among the channels of a pixel of the result.
  int64_t LaneOf(int64_t panel) const { return panel % panels_ * width_ + panel / panels_ * out_; }
  // Of a pixel of the result.
  int64_t Channels() const { return pass_ == ImagePass::kForward ? s_.oc : s_.ic; }

  const GemmKernels<T>& gemm_ = KernelsForGemm<T>();
  const ConvChannelsLastKernels<T>& kernels_ = KernelsForConvChannelsLast<T>();
  const ConvShape s_;
  const ImagePass pass_;
  const bool packed_;
  const int slices_;
  int64_t in_, out_;            // channels of a group that it sums over, and that it makes
  int64_t width_;               // lanes of a panel
  int64_t panels_;              // of a group
  int64_t block_channels_ = 0;  // summed over at a time
  int64_t block_pixels_ = 0;
  int cut_pixels_ = 1, cut_panels_ = 1;
  bool pack_first_ = false, by_images_ = false, by_strips_ = false;
  std::vector<Phase> phases_;
};

// The gradient of the weights. Immutable.
template <typename T>
class ConvChannelsLastWeights {
 public:
  ConvChannelsLastWeights(const ConvShape& shape, int slices);

  size_t scratch_bytes() const;
  // All of dw is written.
  void Run(const Lease& threads, const T* x, const T* dy, T* dw, void* scratch) const;

 private:
  // Some channels of a group of x, and some panels of the group's dy.
  struct Task {
    int64_t group;
    Range channels, panels;
  };
  // Memory of a thread.
  struct Memory {
    T *gathered, *columns, *sums;
  };

  void RunTask(const Task& task, const T* x, const T* dy, T* dw, const Memory& memory) const;
  void AddPart(const Task& task, const ConvPart& part, Range pixels, const T* x, const T* dy,
               const Memory& memory) const;
  void PackGradient(const ConvPart& part, Range pixels, const T* dy, int64_t lanes,
                    T* columns) const;
  int64_t Lanes(int64_t panel) const { return std::min(width_, s_.GroupOut() - panel * width_); }
  int64_t ScratchElements() const;

  const GemmKernels<T>& gemm_ = KernelsForGemm<T>();
  const ConvChannelsLastKernels<T>& kernels_ = KernelsForConvChannelsLast<T>();
  const ConvShape s_;
  const int slices_;
  const ConvPhase phase_;
  std::vector<ConvPart> parts_;  // that leave out the padding; or all of it
  bool by_images_ = false;       // pixels are cut into images then
  int64_t width_, panels_;
  int64_t block_channels_ = 0, block_pixels_ = 0;
  int64_t channel_blocks_ = 1;
  int panel_parts_ = 1;
};

}  // namespace hr::cpu
