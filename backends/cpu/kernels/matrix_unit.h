// Tiles of products on the matrix unit of x86-64 processors (AMX; Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 1, chapter 18), which adds 64 products of 8-bit numbers, or
// 32 of bfloat16, to each of 16 x 16 sums at once.
#pragma once

#include "backends/cpu/kernels/bfloat16_kernels.h"
#include "backends/cpu/kernels/int8_kernels.h"

namespace hr::cpu {

// Return whether this process may use the unit for such products: processor and operating system
// have it, and the process got the permission to use its registers, which is asked for when one of
// them is first called.
bool HasInt8Unit();
bool HasBfloat16Unit();

// Return `vectors`, which must be those of AVX-512, with the tiles that the unit computes sooner.
Int8Kernels WithUnitTiles(const Int8Kernels& vectors);
Bfloat16Kernels WithUnitTiles(const Bfloat16Kernels& vectors);

}  // namespace hr::cpu
