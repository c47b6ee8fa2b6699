// Which numbers there are, roughly, of as many as come.
#pragma once

#include <span>
#include <vector>

#include "runtime/transform/quantize.h"

namespace hr::train {

class ValueHistogram {
 public:
  // Counts finite numbers.
  void Add(std::span<const float> numbers);

  transform::ValueRange range() const { return range_; }  // of all, 0 included
  // The range that holds `percentile` percent of the numbers, with as many below as above it, to
  // the width of a bin.
  transform::ValueRange RangeOf(double percentile) const;

 private:
  static constexpr size_t kBins = 4096;
  // Makes bins wider, by twos, until they reach `most`.
  void Reach(double most);
  // The number below which there are `count` of all.
  double Below(double count) const;

  transform::ValueRange range_;
  double bound_ = 0;  // bins divide [-bound, bound]
  std::vector<double> bins_ = std::vector<double>(kBins);
  double total_ = 0;
};

}  // namespace hr::train
