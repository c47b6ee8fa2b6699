// Patches of an image as columns of a matrix, and back. Row k of the matrix is a tap (channel, row
// and column of the kernel, as weights are ordered), column p an output pixel of `pixels`.
#pragma once

#include "backends/cpu/kernels/conv_shape.h"

namespace hr::cpu {

// Rows [taps) of the columns of `pixels`; x is the group's first channel. What lies in the padding
// is `padding`.
template <typename T>
void Im2Col(const ConvShape& shape, const T* x, Range taps, Range pixels, T* columns,
            T padding = 0);

// Adds the columns to the pixels they came from. Taps of different channels may go in parallel.
template <typename T>
void Col2Im(const ConvShape& shape, const T* columns, Range taps, Range pixels, T* x);

}  // namespace hr::cpu
