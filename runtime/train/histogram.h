// Histograms as TensorBoard's current plugin draws them (tensorboard/plugins/histogram/summary_v2):
// buckets of equal width between the smallest and the largest value.
#pragma once

#include <vector>

#include "runtime/device/tensor.h"

namespace hr::train {

struct HistogramBucket {
  double left = 0;
  double right = 0;
  double count = 0;
};

inline constexpr int kHistogramBuckets = 30;

// `buckets` of them. If all values are equal, all edges are that value and the last bucket has
// all of them; without values everything is 0. Values that are not finite are left out.
// INVALID_ARGUMENT for strided tensors and types other than float32, float64, int64, int32, uint8.
Result<std::vector<HistogramBucket>> MakeHistogram(const Tensor& tensor,
                                                   int buckets = kHistogramBuckets);

}  // namespace hr::train
