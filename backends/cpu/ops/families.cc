#include "backends/cpu/ops/families.h"

#include <array>

#include "backends/cpu/ops/ml.h"

namespace hr::cpu {

std::span<const KernelFamily> KernelFamilies() {
  static const std::array families = {
#ifndef HEADRACE_WITHOUT_ML
      KernelFamily{MlFamily(), true},
#endif
      KernelFamily{AttentionFamily(), true},
      KernelFamily{Bfloat16ConvFamily()},
      KernelFamily{Bfloat16Family()},
      KernelFamily{ConvChainFamily(), true},
      KernelFamily{ConvFamily(), true},
      KernelFamily{DeterminantFamily(), true},
      KernelFamily{FourierFamily(), true},
      KernelFamily{GemmFamily(), true},
      KernelFamily{GenerateFamily()},
      KernelFamily{IndexingFamily()},
      KernelFamily{LinearAttentionFamily(), true},
      KernelFamily{MovementFamily()},
      KernelFamily{NGramFamily()},
      KernelFamily{NormalizationFamily(), true},
      KernelFamily{OptimizerFamily()},
      KernelFamily{PadFamily()},
      KernelFamily{PoolFamily(), true},
      KernelFamily{QuantizeFamily()},
      KernelFamily{QuantizedConvFamily()},
      KernelFamily{QuantizedMatMulFamily()},
      KernelFamily{RandomFamily(), true},
      KernelFamily{RecurrentFamily(), true},
      KernelFamily{ReduceFamily(), true},
      KernelFamily{RegionFamily(), true},
      KernelFamily{ResizeFamily(), true},
      KernelFamily{ScanFamily(), true},
      KernelFamily{SelectionFamily()},
      KernelFamily{SequenceFamily()},
      KernelFamily{SoftmaxFamily(), true},
      KernelFamily{StateFamily()},
      KernelFamily{UnfoldFamily(), true},
      KernelFamily{ViewFamily()}};
  return families;
}

}  // namespace hr::cpu
