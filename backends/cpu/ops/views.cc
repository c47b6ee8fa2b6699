// Operators whose output is the input's memory under another shape.
#include "backends/cpu/ops/families.h"

namespace hr::cpu {
namespace {

constexpr KernelEntry kViewsKernels[] = {
    {"", "Identity", nullptr, true},
    {"", "Reshape", nullptr},
    {"", "Flatten", nullptr},
    {"", "Squeeze", nullptr},
    {"", "Unsqueeze", nullptr},
    {"", "BitCast", nullptr},
    {"headrace.grad", "ReshapeLike", nullptr},
    {lowering::kLowered, "Relabel", nullptr},
};

}  // namespace

KernelPart ViewFamily() { return ChosenKernels<kViewsKernels>(); }

}  // namespace hr::cpu
