// Convolution of channels-last images in groups of channels, forward and both gradients. The rows
// of an image that some rows of the result read are copied with their padding, the channels of a
// group by themselves, and tiles of neighbouring pixels are multiplied by the weights from there: a
// group has so few products that a matrix of all its taps would take as long to write as to
// multiply. Vector lanes are channels of the result: those of one group or, where that would leave
// too many of them empty, those of several groups, of which each then has terms of its own.
//
// float and double. Weights are in ONNX's layout [oc][ic / groups][kh][kw]. Results depend on the
// shape and on `slices` (the planned number of threads), never on how many threads the lease has.
// Nothing is allocated by a run. Memory is aligned to 64 bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "backends/cpu/kernels/conv_channels_last_kernels.h"
#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/grouped_kernels.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// Whether lanes of groups that make `out` channels each are channels of several groups: where this
// leaves so many fewer of them empty that it makes up for the time it takes, about that of two
// taps.
inline bool SpreadsLanes(int64_t groups, int64_t out, int64_t taps, int64_t vector) {
  return RoundUp(groups * out, vector) * (taps + 2) < groups * RoundUp(out, vector) * taps;
}

// Whether these kernels run a pass of which a group makes `out` channels. Else
// conv_channels_last.h does, which multiplies a matrix of all taps by several panels of weights, or
// the image itself where there is one tap.
inline bool RunsGrouped(const ConvShape& s, int64_t out, int64_t vector) {
  if (s.groups == 1 || s.HasDepth()) return false;
  return SpreadsLanes(s.groups, out, s.KernelSize(), vector) ||
         (out <= 2 * vector && s.KernelSize() > 1);
}

// Which channels of the result the lanes are. Those of a block read the same terms of an image.
template <typename T>
class GroupedLanes {
 public:
  // `in`, `out`: channels of a group that are summed over, and that are made.
  GroupedLanes(int64_t groups, int64_t in, int64_t out, int64_t taps);

  bool spread() const { return spread_; }
  int64_t width() const { return width_; }
  int64_t blocks() const { return blocks_; }
  int64_t panels() const { return panels_; }  // of a block
  // The first channel of a panel, and how many it has.
  int64_t Channel(int64_t block, int64_t panel) const {
    return block * block_channels() + panel * width_;
  }
  int64_t Count(int64_t block, int64_t panel) const {
    return std::min(
        {width_, block_channels() - panel * width_, groups_ * out_ - Channel(block, panel)});
  }
  int64_t GroupOf(int64_t channel) const { return channel / out_; }
  // Elements of a prepared term.
  int64_t term() const { return spread_ ? width_ : 1; }
  // Makes some terms of neighbouring pixels, which lie `pixel` elements apart.
  void Prepare(int64_t block, Range terms, const T* image, int64_t pixel, int64_t pixels,
               T* to) const;

 private:
  int64_t block_channels() const { return spread_ ? width_ : out_; }

  const GroupedKernels<T>& kernels_ = KernelsForGrouped<T>();
  const GemmKernels<T>& gemm_ = KernelsForGemm<T>();
  int64_t groups_, in_, out_;
  bool spread_;
  int64_t width_, blocks_, panels_;
  std::vector<LaneSource<T>> sources_;  // [block][term][lane]
};

// Pixels of a result, and the rows of an image that they read, as they are prepared.
struct GroupedPhase : ConvPhase {
  // `term`: elements of a prepared term, of which a pixel has `terms`.
  GroupedPhase(ConvPhase phase, int64_t terms, int64_t term);

  // Rows of the image that `rows` of the result read.
  Range Reads(Range rows) const;
  int64_t Elements(int64_t rows) const { return Reads({0, rows}).size() * row; }

  int64_t first_row = 0, first_column = 0;  // that the first pixel reads
  int64_t reach = 0, columns = 0;           // rows that a pixel reads; columns that a row does
  int64_t pixel = 0, row = 0;               // elements
  std::vector<int64_t> lines;  // where those of a pixel's taps begin that are neighbours
  int64_t line_taps = 0;       // of each of them
};

// One pass that makes an image. Immutable.
template <typename T>
class GroupedChannelsLast {
 public:
  // `packed`: the weights come from Pack.
  GroupedChannelsLast(const ConvShape& shape, ImagePass pass, bool packed, int slices);

  size_t scratch_bytes() const;
  void Run(const Lease& threads, const ConvImageMemory<T>& memory, void* scratch) const;

  size_t packed_bytes() const;
  // Equal if the weights that another one has packed serve as well.
  std::string packed_format() const;
  // For each phase: [panel][tap][term][lane].
  void Pack(const Lease& threads, const T* weights, T* packed) const;

 private:
  int64_t PanelElements(const GroupedPhase& phase) const;
  void PackPanel(const GroupedPhase& phase, int64_t channel, int64_t lanes, const T* weights,
                 T* to) const;
  int64_t Channels() const { return pass_ == ImagePass::kForward ? s_.oc : s_.ic; }
  void RunRows(const GroupedPhase& phase, const ConvImageMemory<T>& memory, const T* weights,
               int64_t n, int64_t block, Range rows, T* prepared) const;
  void RunRow(const GroupedPhase& phase, const ConvImageMemory<T>& memory, const T* weights,
              int64_t channel, int64_t lanes, int64_t row, const T* x) const;

  const GroupedKernels<T>& kernels_ = KernelsForGrouped<T>();
  const ConvShape s_;
  const ImagePass pass_;
  const bool packed_;
  const int slices_;
  const int64_t in_;
  const GroupedLanes<T> lanes_;
  std::vector<GroupedPhase> phases_;
  std::vector<int64_t> chunk_rows_;  // of the phases
  int64_t prepared_ = 0;             // elements of a thread
};

// The gradient of the weights. Immutable.
template <typename T>
class GroupedChannelsLastWeights {
 public:
  GroupedChannelsLastWeights(const ConvShape& shape, int slices);

  size_t scratch_bytes() const;
  // All of dw is written.
  void Run(const Lease& threads, const T* x, const T* dy, T* dw, void* scratch) const;

 private:
  // Some terms of a block's pixels.
  struct Part {
    GroupedPhase phase;
    Range terms;
    std::vector<TermRun> runs;  // of spread ones
    int64_t most_of_run, chunk_rows;
  };

  void CutLines(Part* part) const;
  int64_t PanelElements(const Part& part) const {
    return s_.KernelSize() * part.terms.size() * lanes_.width();
  }
  void RunTask(int64_t block, const Part& part, const T* x, const T* dy, T* dw, T* scratch) const;
  template <typename Body>
  void ForSums(int64_t rows, const Body& body) const;
  void AddPixels(const Part& part, int64_t rows, int64_t columns, int64_t lanes, const T* x,
                 const T* dy, T* sums) const;

  const GroupedKernels<T>& kernels_ = KernelsForGrouped<T>();
  const ConvShape s_;
  const int slices_;
  const GroupedLanes<T> lanes_;
  std::vector<Part> parts_;
  int64_t prepared_ = 0, sums_ = 0;  // elements of a thread
};

}  // namespace hr::cpu
