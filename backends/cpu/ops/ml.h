// The kernels that ai.onnx.ml's models, and n-grams, ask for.
#pragma once

#include <span>

#include "backends/cpu/kernel_table.h"

namespace hr::cpu {

KernelPart MlFamily();     // ml.cc
KernelPart NGramFamily();  // ngrams.cc

}  // namespace hr::cpu
