// HR_UNROLL, before a loop of few known rounds: unrolls it, so that an array that it indexes can
// lie in registers.
#pragma once

#include <hwy/detect_compiler_arch.h>

#if HWY_COMPILER_CLANG
#define HR_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HR_UNROLL _Pragma("GCC unroll 32")
#endif
