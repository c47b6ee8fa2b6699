#include "backends/cpu/ops/families.h"

#include <array>

namespace hr::cpu {

std::span<const std::span<const KernelEntry>> KernelFamilies() {
  static const std::array families = {ConvKernels(), GemmKernels(), ReduceKernels(),
                                      SoftmaxKernels(), ViewKernels()};
  return families;
}

}  // namespace hr::cpu
