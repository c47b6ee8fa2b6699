// Conversions between float and 8-bit integers, which chains of quantized numbers live on.
#pragma once

#include "backends/cpu/kernels/convert.h"

namespace hr::cpu {

// Returns the loop from int8 or uint8 to float.
ConvertLoop BytesToFloats(bool is_signed);
// Returns the loop back, which rounds and clamps as convert.h says.
ConvertLoop FloatsToBytes(bool is_signed);

}  // namespace hr::cpu
