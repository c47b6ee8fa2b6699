// Multiplications of bfloat16 by the matrix unit of a processor (AMX).
#pragma once

namespace headrace::tool {

// Whether this process may use one.
bool HasMatrixUnit();
// Runs so many times 4 x 16 x 16 x 32 multiply-adds on this thread, in registers, of numbers that
// differ (of zeros the unit takes fewer watts, and runs faster).
void MultiplyOnMatrixUnit(long rounds);
inline constexpr double kMatrixUnitOperations = 2.0 * 4 * 16 * 16 * 32;  // of a round

}  // namespace headrace::tool
