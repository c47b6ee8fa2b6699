#include "backends/cpu/ops/families.h"

#include <array>

namespace hr::cpu {

std::span<const std::span<const KernelEntry>> KernelFamilies() {
  static const std::array families = {
      ConvKernels(), GemmKernels(),   GenerateKernels(), IndexingKernels(), MovementKernels(),
      PadKernels(),  ReduceKernels(), ScanKernels(),     SoftmaxKernels(),  ViewKernels()};
  return families;
}

}  // namespace hr::cpu
