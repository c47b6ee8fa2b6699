// Depthwise convolution (a group for each channel) of plain NCHW images, forward and both
// gradients: vector lanes are columns. Some rows of a channel at a time are copied with their
// padding into the first-level cache, and all taps read them there, so that memory is read once and
// nothing is reordered.
//
// float and double. Weights are in ONNX's layout [c][1][kh][kw]. Results depend on the shape and on
// `slices` (the planned number of threads), never on how many threads the lease has. Nothing is
// allocated by a run; scratch is aligned to 64 bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "backends/cpu/kernels/conv_phases.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// The rows of a channel that the pixels of a pass read, as they are copied: each of them in as many
// parts as a step between pixels has columns, so that neighbouring pixels read neighbours.
class PlainRows {
 public:
  // `lanes`: of a vector, whole ones of which are read.
  PlainRows(const std::vector<ConvPhase>& phases, int64_t lanes, size_t element);

  int64_t plane() const { return down_.source * across_.source; }  // of what is copied
  int64_t row() const { return across_.step * part_; }             // elements
  int64_t step() const { return down_.step; }                      // rows between pixels
  int64_t elements() const { return Reads(chunk_) * row(); }
  // The rows of the result (of each phase) that are made at a time.
  int64_t chunk() const { return chunk_; }
  int64_t chunks() const { return CeilDiv(down_.size, chunk_); }
  Range Chunk(int64_t i) const { return {i * chunk_, std::min(down_.size, (i + 1) * chunk_)}; }
  // Where pixel 0 finds a tap of a phase.
  int64_t OffsetOf(int64_t down, int64_t across) const;

  // The padding beside rows, which stays.
  template <typename T>
  void Clear(T* to) const {
    std::fill_n(to, elements(), T{0});
  }
  // Copies what some rows of the result read, and asks for what lies `ahead` of it.
  template <typename T>
  void Copy(const T* plane, Range rows, int64_t ahead, T* to) const;

 private:
  int64_t Reads(int64_t rows) const { return rows > 0 ? (rows - 1) * down_.step + reach_ : 0; }

  GatherAxis down_, across_;                  // of the phase with the most pixels
  int64_t first_row_ = 0, first_column_ = 0;  // that pixel 0 reads
  int64_t reach_ = 0, columns_ = 0;           // rows that a pixel reads; columns that a row does
  int64_t part_ = 0, chunk_ = 1;
};

// What happens to a finished pixel of a channel. A NaN stays.
template <typename T>
struct PlainEnd {
  T bias{0};
  bool relu = false;
};

// One pass that makes an image. Immutable.
template <typename T>
class DepthwisePlain {
 public:
  DepthwisePlain(const ConvShape& shape, ImagePass pass, int slices);

  size_t scratch_bytes() const { return static_cast<size_t>(slices_ * elements()) * sizeof(T); }
  // `bias` ([c]) may be null.
  void Run(const Lease& threads, const T* image, const T* weights, const T* bias, bool relu,
           T* result, void* scratch) const;

 private:
  struct Phase : ConvPhase {
    std::vector<int64_t> offsets;  // of its taps
  };
  int64_t elements() const;
  void RunRows(Range rows, T* own, const T* weights, const PlainEnd<T>& end, T* result) const;

  const ConvShape s_;
  const int slices_;
  const PlainRows rows_;
  std::vector<Phase> phases_;
  int64_t step_ = 1;  // columns between the pixels of a phase
  int64_t part_ = 0;  // elements of a row of a phase
};

// The gradient of the weights. Immutable.
template <typename T>
class DepthwisePlainWeights {
 public:
  DepthwisePlainWeights(const ConvShape& shape, int slices);

  size_t scratch_bytes() const;
  // All of dw is written.
  void Run(const Lease& threads, const T* x, const T* dy, T* dw, void* scratch) const;

 private:
  int64_t elements() const;
  void SumChannel(int64_t channel, Range images, const T* x, const T* dy, T* own, T* dw) const;

  const ConvShape s_;
  const int slices_;
  const int64_t parts_;  // of the images, with sums of their own, if there are few channels
  const PlainRows rows_;
  const std::vector<int64_t> offsets_;
};

}  // namespace hr::cpu
