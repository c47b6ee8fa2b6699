// Conversions between element types, with C++'s and NumPy's meaning: floats to integers cut towards
// zero (what does not fit becomes the nearest number that does, NaN becomes 0), integers to
// narrower ones keep their low bits, anything but 0 is true, floats round to nearest even.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/element_op.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// Reads `count` elements of any dtype as elements of `type`, and the other way round. The arrays do
// not overlap, unless both have the same type.
using ConvertLoop = void (*)(const void* from, void* to, int64_t count);
ConvertLoop LoaderFor(DType from, ElementType to);
ConvertLoop StorerFor(ElementType from, DType to);

// The dtype that needs no conversion.
DType DTypeOfElement(ElementType type);

// to[i] = from[i], both contiguous, over `slices`.
void Cast(const Lease& threads, DType from_dtype, const void* from, DType to_dtype, void* to,
          int64_t count, int slices);

}  // namespace hr::cpu
