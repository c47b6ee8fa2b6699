// What becomes of the bytes of images.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/column_source.h"
#include "runtime/data/query.h"

namespace hr::data {

// The keys `normalize` and `raw`.
struct PixelOptions {
  std::vector<float> mean, deviation;  // one, or one for each channel; empty: 0 and 1
  bool raw = false;                    // uint8, as it is

  // The value of each byte, as Column::map has them; empty if `raw`. INVALID_ARGUMENT if `mean` has
  // another number of channels.
  Result<std::vector<float>> Map(int64_t channels) const;
};
Result<PixelOptions> ReadPixelOptions(Query& query);

}  // namespace hr::data
