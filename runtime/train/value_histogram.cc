#include "runtime/train/value_histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hr::train {
namespace {

double SumOf(std::span<const double> counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

}  // namespace

void ValueHistogram::Add(std::span<const float> numbers) {
  for (const float x : numbers) {
    range_ = {std::min<double>(range_.low, x), std::max<double>(range_.high, x)};
  }
  Reach(std::max(-range_.low, range_.high));
  for (const float x : numbers) {
    ++bins_[BinOf(x)];
    zeros_ += x == 0;
  }
  total_ += static_cast<double>(numbers.size());
}

size_t ValueHistogram::BinOf(double number) const {
  const double place = (number + bound_) * (static_cast<double>(kBins) / (2 * bound_));
  return std::min(static_cast<size_t>(place), kBins - 1);
}

double ValueHistogram::BeginOf(size_t bin) const {
  return -bound_ + 2 * bound_ * static_cast<double>(bin) / static_cast<double>(kBins);
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
  for (size_t i = 0; i < kBins; ++i) {
    if (count <= bins_[i] && bins_[i] > 0) {
      return BeginOf(i) + (BeginOf(1) - BeginOf(0)) * count / bins_[i];
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

// With each step's numbers spread over those of its bins that have any, as rounding leaves them.
double ValueHistogram::Divergence(std::span<const double> bins, const Bins& kept) const {
  constexpr size_t kSteps = 255;
  constexpr double kNone = 1e-4;  // numbers, where there are none but those from outside
  const auto own = bins.subspan(kept.begin, kept.end - kept.begin);
  const double below = SumOf(bins.first(kept.begin)), inside = SumOf(own),
               above = SumOf(bins.subspan(kept.end));
  if (inside == 0) return INFINITY;
  double out = 0;
  for (size_t step = 0; step < kSteps; ++step) {
    const size_t begin = step * own.size() / kSteps, end = (step + 1) * own.size() / kSteps;
    const auto of_step = own.subspan(begin, end - begin);
    const auto filled = std::ranges::count_if(of_step, [](double count) { return count > 0; });
    const double even = SumOf(of_step) / static_cast<double>(std::max<std::ptrdiff_t>(1, filled));
    for (size_t i = begin; i < end; ++i) {
      const double real = own[i] + (i == 0 ? below : 0) + (i + 1 == own.size() ? above : 0);
      const double rounded = own[i] > 0 ? even : kNone;
      if (real > 0) out += real * std::log(real / rounded);
    }
  }
  const double all = below + inside + above;
  return out / all + std::log(inside / all);
}

transform::ValueRange ValueHistogram::RangeOfLeastDivergence() const {
  constexpr size_t kMiddle = kBins / 2, kFewest = 128;  // bins of half a range
  // Zeros are exact in every range.
  std::vector<double> bins = bins_;
  bins[kMiddle] -= zeros_;
  if (total_ == zeros_) return range_;
  const Bins all{BinOf(range_.low), BinOf(range_.high) + 1};
  Bins best = all;
  double least = Divergence(bins, all);
  for (size_t half = kMiddle; half-- > kFewest;) {
    const Bins kept{std::max(all.begin, kMiddle - half), std::min(all.end, kMiddle + half)};
    if (kept.begin == all.begin && kept.end == all.end) continue;
    const double divergence = Divergence(bins, kept);
    if (divergence < least) least = divergence, best = kept;
  }
  return {best.begin == all.begin ? range_.low : BeginOf(best.begin),
          best.end == all.end ? range_.high : BeginOf(best.end)};
}

}  // namespace hr::train
