#include "backends/cpu/ops/families.h"

#include <array>

namespace hr::cpu {

std::span<const KernelFamily> KernelFamilies() {
  static const std::array<KernelFamily, 16> families = {{
      {ConvFamily(), true},
      {FourierFamily(), true},
      {GemmFamily(), true},
      {GenerateFamily()},
      {IndexingFamily()},
      {MovementFamily()},
      {NormalizationFamily(), true},
      {OptimizerFamily()},
      {PadFamily()},
      {PoolFamily(), true},
      {RandomFamily()},
      {ReduceFamily(), true},
      {ScanFamily(), true},
      {SoftmaxFamily(), true},
      {StateFamily()},
      {ViewFamily()},
  }};
  return families;
}

}  // namespace hr::cpu
