// By how much convolutions take longer on a machine than the model of conv_cost.h says: a table
// that is measured once (`headrace roof --costs`), so that the same table always gives the same
// plans.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace hr::cpu {

// Factors of the model's figures, by method.
struct ConvCosts {
  double direct = 1, direct_1x1 = 1, winograd = 1;  // batch-blocked
  double channels_last = 1, depthwise = 1;
  double portable = 1, onednn = 1;  // plain
  double copies = 1;                // between layouts
};

// Reads a table: lines of a name and a value, of which the last is a checksum. FAILED_PRECONDITION
// if it was measured on a machine with other instructions than `machine` says, DATA_LOSS if it is
// damaged.
Result<ConvCosts> ReadConvCosts(const std::string& path, std::string_view machine);

}  // namespace hr::cpu
