#include "backends/cpu/ops/families.h"

#include <array>

namespace hr::cpu {

std::span<const std::span<const KernelEntry>> KernelFamilies() {
  static const std::array families = {
      ConvKernels(),     GemmKernels(),          GenerateKernels(),  IndexingKernels(),
      MovementKernels(), NormalizationKernels(), OptimizerKernels(), PadKernels(),
      PoolKernels(),     RandomKernels(),        ReduceKernels(),    ScanKernels(),
      SoftmaxKernels(),  StateKernels(),         ViewKernels(),
  };
  return families;
}

}  // namespace hr::cpu
