#include "backends/cpu/ops/families.h"

#include <array>

namespace hr::cpu {

std::span<const std::span<const KernelEntry>> KernelFamilies() {
  static const std::array families = {
      ConvFamily(),
      GemmFamily(),
      GenerateFamily(),
      IndexingFamily(),
      LinearAttentionFamily(),
      MovementFamily(),
      NormalizationFamily(),
      OptimizerFamily(),
      PadFamily(),
      PoolFamily(),
      RandomFamily(),
      RecurrentFamily(),
      ReduceFamily(),
      ScanFamily(),
      SequenceFamily(),
      SoftmaxFamily(),
      StateFamily(),
      ViewFamily(),
  };
  return families;
}

}  // namespace hr::cpu
