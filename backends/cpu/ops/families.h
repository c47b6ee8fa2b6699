// The CPU's kernels by family, one function a file. A new family adds one line here and one in
// families.cc.
#pragma once

#include <span>

#include "backends/cpu/kernel_table.h"

namespace hr::cpu {

std::span<const KernelEntry> AttentionFamily();        // attention.cc
std::span<const KernelEntry> Bfloat16Family();         // bfloat16_products.cc
std::span<const KernelEntry> ConvFamily();             // conv.cc
std::span<const KernelEntry> DeterminantFamily();      // determinant.cc
std::span<const KernelEntry> FourierFamily();          // fourier.cc
std::span<const KernelEntry> GemmFamily();             // gemm.cc
std::span<const KernelEntry> GenerateFamily();         // generate.cc
std::span<const KernelEntry> IndexingFamily();         // indexing.cc
std::span<const KernelEntry> LinearAttentionFamily();  // linear_attention.cc
std::span<const KernelEntry> MovementFamily();         // movement.cc
std::span<const KernelEntry> NormalizationFamily();    // normalization.cc
std::span<const KernelEntry> OptimizerFamily();        // optimizer.cc
std::span<const KernelEntry> PadFamily();              // pad.cc
std::span<const KernelEntry> PoolFamily();             // pool.cc
std::span<const KernelEntry> QuantizeFamily();         // quantize_linear.cc
std::span<const KernelEntry> QuantizedConvFamily();    // quantized_conv.cc
std::span<const KernelEntry> QuantizedMatMulFamily();  // quantized_matmul.cc
std::span<const KernelEntry> RandomFamily();           // random.cc
std::span<const KernelEntry> RecurrentFamily();        // recurrent.cc
std::span<const KernelEntry> ReduceFamily();           // reduce.cc
std::span<const KernelEntry> RegionFamily();           // regions.cc
std::span<const KernelEntry> ResizeFamily();           // resize.cc
std::span<const KernelEntry> ScanFamily();             // scan.cc
std::span<const KernelEntry> SelectionFamily();        // selection.cc
std::span<const KernelEntry> SequenceFamily();         // sequence.cc
std::span<const KernelEntry> SoftmaxFamily();          // softmax.cc
std::span<const KernelEntry> StateFamily();            // state.cc
std::span<const KernelEntry> UnfoldFamily();           // unfold.cc
std::span<const KernelEntry> ViewFamily();             // views.cc

struct KernelFamily {
  std::span<const KernelEntry> kernels;
  // Numbers of 8 and 16 bits are computed in float32, which holds them all.
  bool wide_only = false;
};
std::span<const KernelFamily> KernelFamilies();

// Returns the kernel of an element-wise operator, or of a chain of them; null for others. These
// have a table of their own: runtime/ops/element_op.h. (elementwise.cc)
const KernelEntry* FindElementwiseKernel(const graph::Operator& op);

}  // namespace hr::cpu
