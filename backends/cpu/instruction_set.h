// Which of the compiled copies of the kernels this processor runs.
#pragma once

#include <string_view>

namespace hr::cpu {

// "AVX-512", "AVX2", "NEON", …; "scalar" where there are no vectors.
std::string_view InstructionSet();

// Has this process do without AVX-512, to measure what machines without it do: for developers.
// Before the first kernel runs.
void DisableAvx512();

// Has it do without the processor's matrix unit (AMX), likewise.
void DisableMatrixUnit();

}  // namespace hr::cpu
