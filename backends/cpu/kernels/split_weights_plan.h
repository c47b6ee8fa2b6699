// How the gradient of a convolution's weights is cut for the matrix unit (split_conv_weights.h).
#pragma once

#include <vector>

#include "backends/cpu/kernels/conv_frame.h"
#include "backends/cpu/kernels/split_kernels.h"

namespace hr::cpu {

// A tap of the kernel: what it reads lies `row` rows and `column` columns behind where the window
// begins, and `offset` places behind what its group begins with.
struct WeightTap {
  int64_t index, row, column, offset;
};

// Taps that share columns of B.
struct WeightTaps {
  int64_t row, column;  // that these begin with
  std::vector<WeightTap> taps;
};

// Threads share places, rows of A (channels of dy) and columns of B (channels of x). `by_taps`:
// each tap has columns of its own, and all places are outputs.
struct SplitWeightsCut {
  int places = 1, rows = 1, panels = 1;
  bool by_taps = false;

  int tasks() const { return places * rows * panels; }
};

class SplitWeightsPlan {
 public:
  SplitWeightsPlan(const ConvShape& shape, const SplitWeightsCut& cut);

  // What the thread that does most needs, as multiply-adds of vectors in the same time.
  double Cost() const;

  const SplitWeightsCut& cut() const { return cut_; }
  const ConvFrame& frame() const { return frame_; }
  const std::vector<WeightTaps>& groups() const { return groups_; }
  // Of a unit: terms of a sum, and those that columns have.
  int64_t terms() const { return terms_; }
  int64_t column_terms() const { return column_terms_; }
  const SplitPairs& pairs() const { return pairs_; }

  int64_t blocks() const { return CeilDiv(s_.oc, kSplitWidth); }  // of rows
  int64_t panels() const { return CeilDiv(s_.ic, kSplitWidth); }  // of columns
  // That are split at once.
  int64_t some_blocks() const { return some_blocks_; }
  int64_t some_panels() const { return some_panels_; }
  size_t a_bytes() const { return static_cast<size_t>(some_blocks_ * SplitBlockBytes(terms_)); }
  size_t b_bytes() const { return static_cast<size_t>(some_panels_ * pairs_.block()); }

 private:
  static std::vector<WeightTaps> GroupsOf(const ConvShape& shape, const ConvFrame& frame,
                                          bool by_taps);

  const ConvShape s_;
  const SplitWeightsCut cut_;
  const ConvFrame frame_;
  const std::vector<WeightTaps> groups_;
  int64_t terms_ = 0, column_terms_ = 0;
  SplitPairs pairs_;
  int64_t some_blocks_ = 1, some_panels_ = 1;
};

// The one of least cost.
SplitWeightsCut SplitWeightsCutFor(const ConvShape& shape, int slices);

}  // namespace hr::cpu
