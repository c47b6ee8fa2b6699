// Which numbers there are, roughly, of as many as come.
#pragma once

#include <cstddef>
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
  // The range of which 255 equal steps, with what lies outside put to its ends, keep most of how
  // the numbers other than 0 are distributed: of all symmetric ranges, cut to the numbers that
  // there are, the one with the least divergence (Kullback and Leibler) of the rounded from the
  // real numbers. Migacz, "8-bit inference with TensorRT", 2017.
  transform::ValueRange RangeOfLeastDivergence() const;

 private:
  struct Bins {
    size_t begin = 0, end = 0;
  };
  double Divergence(std::span<const double> bins, const Bins& kept) const;
  static constexpr size_t kBins = 4096;
  // Makes bins wider, by twos, until they reach `most`.
  void Reach(double most);
  // The number below which there are `count` of all.
  double Below(double count) const;
  size_t BinOf(double number) const;
  double BeginOf(size_t bin) const;

  transform::ValueRange range_;
  double bound_ = 0;  // bins divide [-bound, bound]
  std::vector<double> bins_ = std::vector<double>(kBins);
  double total_ = 0, zeros_ = 0;
};

}  // namespace hr::train
