// Tiles of products of 8-bit numbers on the matrix unit of x86-64 processors (AMX; Intel 64 and
// IA-32 Architectures Software Developer's Manual, volume 1, chapter 18), which adds 64 products to
// each of 16 x 16 sums at once.
#pragma once

#include "backends/cpu/kernels/int8_kernels.h"

namespace hr::cpu {

// Returns whether this process may use the unit for 8-bit products: processor and operating system
// have it, and the process got the permission to use its registers, which is asked for when this is
// first called.
bool HasInt8Amx();

// Returns `vectors`, which must be those of AVX-512, with the tiles that the unit computes sooner.
Int8Kernels WithAmxTiles(const Int8Kernels& vectors);

}  // namespace hr::cpu
