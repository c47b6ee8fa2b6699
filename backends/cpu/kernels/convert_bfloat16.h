// Conversions between float and bfloat16, bit for bit those of runtime/base/half.h.
#pragma once

#include "backends/cpu/kernels/convert.h"

namespace hr::cpu {

ConvertLoop Bfloat16ToFloats();
ConvertLoop FloatsToBfloat16();

}  // namespace hr::cpu
