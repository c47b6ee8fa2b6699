// Images as convolutions on numbers of bfloat16 read them: some images, or a band of rows of one,
// copied to where they stay in the second-level cache, channels-last and with their padding:
//
//   [phase of depth][phase of rows][image][depth][row][column][channel of a group]
//
// Images of float32 are several such planes: three parts of some channels, then those of the next
// ones (split_kernels.h). Rows whose positions
// have the same remainder by the stride lie together (a phase), so that the windows of all outputs
// lie at the same distance from each other. A place is the number of an output among
// [image][depth][row][column], where these are as many as a phase has: its window begins at
// place * pitch(). Places beyond the last column, row or depth are no outputs. Padding behind a row
// is the padding before the next one, so that there are few of them; so it is with images.
#pragma once

#include <array>
#include <vector>

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
  // Positions of padding at the end that the padding at the begin may serve for.
  int64_t Shared() const;
};

// Writes pixels of images to frames: `count` of them, of which the first has this number among the
// pixels of all images, and the next ones follow `step` pixels apart. Each has the frame's
// channels().
class PixelCopy {
 public:
  virtual ~PixelCopy() = default;
  virtual void Copy(int64_t pixel, int64_t count, int64_t step, uint16_t* to) = 0;
};

// How large a frame is.
struct FrameLimits {
  int64_t planes = 1, channels = 0;  // of a plane; 0: those of a group, and perhaps one of padding
  int64_t bytes = 0;                 // of a unit, unless a row of an image has more
  int64_t places = 0;                // of a unit, about, if images are small
  bool cut = false;                  // so are large ones, if nothing is copied twice then
};

class ConvFrame {
 public:
  // Images that the frame has at once with all rows, or rows of one image.
  struct Unit {
    Range images, rows;
  };

  // Of x for ImagePass::kForward, of the gradient of y for kBackwardData.
  ConvFrame(const ConvShape& shape, ImagePass pass, const FrameLimits& limits, int slices);

  int64_t count() const { return units_; }
  Unit At(int64_t index) const;
  // Those up to the last output.
  int64_t PlacesOf(const Unit& unit) const;
  size_t bytes() const {
    return static_cast<size_t>(limits_.planes * plane_elements()) * sizeof(uint16_t);
  }
  // From a plane to the next one.
  int64_t plane_elements() const;

  // Writes the unit to `memory`, of bytes().
  void Gather(const Unit& unit, PixelCopy& copy, uint16_t* memory) const;

  // The taps along depth (0), rows (1) or columns (2) of outputs of a phase, ascending by what they
  // read. A forward pass has phase 0 alone, the gradient of x as many as the stride.
  std::vector<FrameTap> Taps(size_t axis, int64_t phase) const;
  // What a combination of taps reads, from the begin of the window.
  int64_t OffsetOf(const FrameTap& depth, const FrameTap& row, const FrameTap& column) const;

  // Whether the pixels of a unit lie in the image as they would lie in the frame, if it is
  // channels-last with as many channels.
  bool IsImage() const;
  // The first one's number among those of all images.
  int64_t FirstPixel(const Unit& unit) const;

  int64_t given() const { return given_; }        // channels of a group
  int64_t channels() const { return channels_; }  // of a plane
  int64_t pitch() const { return pitch_; }
  const FrameAxis& axis(size_t axis) const { return axes_[axis]; }
  // The places of a phase.
  int64_t depths() const { return axes_[0].size(); }
  int64_t rows() const { return rows_ + axes_[1].reach - shared_rows_; }
  int64_t columns() const { return axes_[2].size() - shared_columns_; }

 private:
  FrameAxis MakeAxis(size_t axis) const;
  void Cut(int slices);
  int64_t RowElements() const { return stored_ * channels_; }
  int64_t TailElements() const;
  int64_t PhaseElements() const;
  void GatherImage(const Unit& unit, int64_t image, int64_t of_depth, int64_t of_rows,
                   PixelCopy& copy, uint16_t* to) const;
  void GatherRows(int64_t pixel, Range rows, int64_t step, PixelCopy& copy, uint16_t* to) const;
  void GatherRow(int64_t pixel, PixelCopy& copy, uint16_t* to) const;
  void Zero(uint16_t* from, const uint16_t* to) const;

  const ConvShape s_;
  const ImagePass pass_;
  const FrameLimits limits_;
  std::array<FrameAxis, 3> axes_;
  int64_t given_ = 0, channels_ = 0, pitch_ = 0;
  int64_t stored_ = 0;                            // columns of a row
  int64_t step_ = 1, first_ = 0;                  // stored column j is first_ + j * step_
  int64_t shared_rows_ = 0, shared_columns_ = 0;  // padding behind that is also padding before
  int64_t images_ = 1, rows_ = 1;                 // of a unit
  int64_t units_ = 0;
};

}  // namespace hr::cpu
