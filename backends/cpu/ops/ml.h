// The kernels that ai.onnx.ml's models, and n-grams, ask for.
#pragma once

#include <span>

#include "backends/cpu/kernel_table.h"

namespace hr::cpu {

std::span<const KernelEntry> MlFamily();     // ml.cc
std::span<const KernelEntry> NGramFamily();  // ngrams.cc

}  // namespace hr::cpu
