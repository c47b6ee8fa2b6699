// Images of bfloat16 as convolutions read them: some images, or a band of rows of one, copied to
// where they stay in the second-level cache, channels-last and with their padding:
//
//   [phase of depth][phase of rows][image][depth][row][column][channel of a group]
//
// Rows whose positions have the same remainder by the stride lie together (a phase), so that the
// windows of all outputs lie at the same distance from each other. A place is the number of an
// output among [image][depth][row][column], where these are as many as a phase has: its window
// begins at place * pitch(). Places beyond the last column, row or depth are no outputs.
#pragma once

#include <array>
#include <vector>

#include "backends/cpu/kernels/bfloat16_kernels.h"
#include "backends/cpu/kernels/conv_phases.h"

namespace hr::cpu {

// Parts of scratch begin where a cache line does.
constexpr size_t RoundToLine(size_t bytes) { return (bytes + 63) / 64 * 64; }

// A tap of a kernel along one axis reads position (output + shift) * stride + phase - before.
struct FrameTap {
  int64_t index, phase, shift;
};

struct FrameAxis {
  int64_t in = 0, out = 0, stride = 1;
  int64_t before = 0;           // positions of padding; below zero: those that are left out
  int64_t reach = 0;            // the largest shift
  std::vector<int64_t> phases;  // that taps read, ascending

  int64_t size() const { return out + reach; }
  int64_t SlotOf(int64_t phase) const;
  // The positions from `first` on, by number, that lie inside.
  Range Inside(int64_t first, int64_t step, int64_t count) const;
};

class Bfloat16Frame {
 public:
  // Images that the frame has at once with all rows, or rows of one image.
  struct Unit {
    Range images, rows;
  };

  // Of x for ImagePass::kForward, of the gradient of y for kBackwardData; plain or channels-last.
  // A unit has about `places` if images are small.
  Bfloat16Frame(const ConvShape& shape, ImagePass pass, bool channels_last, int64_t places,
                int slices);

  int64_t count() const { return units_; }
  Unit At(int64_t index) const;
  // Those up to the last output.
  int64_t PlacesOf(const Unit& unit) const;
  size_t bytes() const { return is_image_ ? 0 : static_cast<size_t>(Elements()) * 2; }

  // Returns the unit's numbers: `memory`, of bytes(), which was written, or the image itself.
  const uint16_t* Gather(const Bfloat16Kernels& kernels, const uint16_t* x, const Unit& unit,
                         int64_t group, uint16_t* memory) const;

  // The taps along depth (0), rows (1) or columns (2) of outputs of a phase, ascending by what they
  // read. A forward pass has phase 0 alone, the gradient of x as many as the stride.
  std::vector<FrameTap> Taps(size_t axis, int64_t phase) const;
  // What a combination of taps reads, from the begin of the window.
  int64_t OffsetOf(const FrameTap& depth, const FrameTap& row, const FrameTap& column) const;

  int64_t channels() const { return channels_; }  // of a group; even, the last may be padding
  int64_t pitch() const { return pitch_; }
  const FrameAxis& axis(size_t axis) const { return axes_[axis]; }
  // The places of a phase.
  int64_t depths() const { return axes_[0].size(); }
  int64_t rows() const { return rows_ + axes_[1].reach; }
  int64_t columns() const { return axes_[2].size(); }

 private:
  FrameAxis MakeAxis(size_t axis) const;
  void Cut(int64_t places, int slices);
  int64_t RowElements() const { return stored_ * channels_; }
  int64_t PhaseElements() const { return images_ * depths() * rows() * RowElements(); }
  int64_t Elements() const;
  bool IsImage() const;
  void GatherRows(const Bfloat16Kernels& kernels, const uint16_t* x, Range rows, int64_t step,
                  uint16_t* to) const;
  void GatherRow(const Bfloat16Kernels& kernels, const uint16_t* row, uint16_t* to) const;
  void CopyPixels(const Bfloat16Kernels& kernels, const uint16_t* from, int64_t count,
                  uint16_t* to) const;

  const ConvShape s_;
  const ImagePass pass_;
  const bool channels_last_;
  std::array<FrameAxis, 3> axes_;
  int64_t all_channels_ = 0, given_ = 0;  // of the image; of a group, without padding
  int64_t channels_ = 0, pitch_ = 0;
  int64_t stored_ = 0;             // columns of a row
  int64_t step_ = 1, first_ = 0;   // stored column j is column first_ + j * step_ of the image
  int64_t pixel_ = 0;              // elements from a pixel of the image to the next
  int64_t images_ = 1, rows_ = 1;  // of a unit
  int64_t units_ = 0;
  bool is_image_ = false;
};

}  // namespace hr::cpu
