#include "backends/cpu/ops/families.h"

#include <array>

namespace hr::cpu {

std::span<const KernelFamily> KernelFamilies() {
  static const std::array<KernelFamily, 20> families = {{
      {ConvFamily(), true},      {FourierFamily(), true},
      {GemmFamily(), true},      {GenerateFamily()},
      {IndexingFamily()},        {LinearAttentionFamily(), true},
      {MovementFamily()},        {NormalizationFamily(), true},
      {OptimizerFamily()},       {PadFamily()},
      {PoolFamily(), true},      {RandomFamily()},
      {RecurrentFamily(), true}, {ReduceFamily(), true},
      {ResizeFamily(), true},    {ScanFamily(), true},
      {SequenceFamily()},        {SoftmaxFamily(), true},
      {StateFamily()},           {ViewFamily()},
  }};
  return families;
}

}  // namespace hr::cpu
