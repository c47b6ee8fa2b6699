#include "runtime/train/value_histogram.h"

#include <algorithm>
#include <cmath>

namespace hr::train {

void ValueHistogram::Add(std::span<const float> numbers) {
  for (const float x : numbers) {
    range_ = {std::min<double>(range_.low, x), std::max<double>(range_.high, x)};
  }
  Reach(std::max(-range_.low, range_.high));
  const double per_unit = static_cast<double>(kBins) / (2 * bound_);
  for (const float x : numbers) {
    const double place = (static_cast<double>(x) + bound_) * per_unit;
    ++bins_[std::min(static_cast<size_t>(place), kBins - 1)];
  }
  total_ += static_cast<double>(numbers.size());
}

void ValueHistogram::Reach(double most) {
  if (bound_ == 0) bound_ = most > 0 ? most : 1;
  while (bound_ < most) {
    std::vector<double> wider(kBins);
    for (size_t i = 0; i < kBins; ++i) wider[kBins / 4 + i / 2] += bins_[i];
    bins_ = std::move(wider);
    bound_ *= 2;
  }
}

double ValueHistogram::Below(double count) const {
  const double width = 2 * bound_ / static_cast<double>(kBins);
  for (size_t i = 0; i < kBins; ++i) {
    if (count <= bins_[i] && bins_[i] > 0) {
      return -bound_ + width * (static_cast<double>(i) + count / bins_[i]);
    }
    count -= bins_[i];
  }
  return bound_;
}

transform::ValueRange ValueHistogram::RangeOf(double percentile) const {
  if (percentile >= 100) return range_;
  const double outside = total_ * (1 - percentile / 100) / 2;
  return {std::clamp(Below(outside), range_.low, 0.0),
          std::clamp(Below(total_ - outside), 0.0, range_.high)};
}

}  // namespace hr::train
