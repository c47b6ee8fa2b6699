// Which of the compiled copies of the kernels this processor runs.
#pragma once

#include <string_view>

namespace hr::cpu {

// "AVX-512", "AVX2", "NEON", …; "scalar" where there are no vectors.
std::string_view InstructionSet();

}  // namespace hr::cpu
