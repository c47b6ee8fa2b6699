#include "runtime/train/histogram.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"

namespace hr::train {
namespace {

struct Extent {
  double least = INFINITY;
  double most = -INFINITY;
  double count = 0;
};

template <typename T>
Extent ExtentOf(std::span<const T> values) {
  Extent extent;
  for (T item : values) {
    double value = static_cast<double>(item);
    if (!std::isfinite(value)) continue;
    extent.least = std::min(extent.least, value);
    extent.most = std::max(extent.most, value);
    ++extent.count;
  }
  return extent;
}

template <typename T>
std::vector<HistogramBucket> Fill(std::span<const T> values, int count) {
  std::vector<HistogramBucket> buckets(static_cast<size_t>(count));
  Extent extent = ExtentOf(values);
  if (extent.count == 0) return buckets;
  // Halved, because the distance of the largest numbers overflows.
  double half_width = (extent.most / 2 - extent.least / 2) / count;
  for (int i = 0; i < count; ++i) {
    buckets[i].left = extent.least + 2 * (half_width * i);
    buckets[i].right = i + 1 == count ? extent.most : extent.least + 2 * (half_width * (i + 1));
  }
  if (half_width == 0) {
    for (HistogramBucket& bucket : buckets) bucket.left = bucket.right = extent.least;
    buckets.back().count = extent.count;
    return buckets;
  }
  for (T item : values) {
    double value = static_cast<double>(item);
    if (!std::isfinite(value)) continue;
    double place = std::floor((value / 2 - extent.least / 2) / half_width);
    ++buckets[static_cast<size_t>(std::min(place, count - 1.0))].count;
  }
  return buckets;
}

}  // namespace

Result<std::vector<HistogramBucket>> MakeHistogram(const Tensor& tensor, int buckets) {
  if (buckets < 1 || !tensor.defined() || !tensor.contiguous()) {
    return InvalidArgument("a histogram needs a contiguous tensor and at least 1 bucket");
  }
  switch (tensor.dtype()) {
    case DType::kFloat32: return Fill<float>(tensor.span<float>(), buckets);
    case DType::kFloat64: return Fill<double>(tensor.span<double>(), buckets);
    case DType::kInt64: return Fill<int64_t>(tensor.span<int64_t>(), buckets);
    case DType::kInt32: return Fill<int32_t>(tensor.span<int32_t>(), buckets);
    case DType::kUint8: return Fill<uint8_t>(tensor.span<uint8_t>(), buckets);
    default:
      return InvalidArgument(
          "expected float32, float64, int64, int32 or uint8 for a histogram, got ",
          tensor.TypeText());
  }
}

}  // namespace hr::train
