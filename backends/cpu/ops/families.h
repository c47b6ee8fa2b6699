// The CPU's kernels by family, one function a file. A new family adds one line here and one in
// families.cc.
#pragma once

#include <span>

#include "backends/cpu/kernel_table.h"

namespace hr::cpu {

KernelPart AttentionFamily();        // attention.cc
KernelPart Bfloat16ConvFamily();     // bfloat16_conv.cc
KernelPart Bfloat16Family();         // bfloat16_products.cc
KernelPart ConvChainFamily();        // conv_chain.cc
KernelPart ConvFamily();             // conv.cc
KernelPart DeterminantFamily();      // determinant.cc
KernelPart FourierFamily();          // fourier.cc
KernelPart GemmFamily();             // gemm.cc
KernelPart GenerateFamily();         // generate.cc
KernelPart IndexingFamily();         // indexing.cc
KernelPart LinearAttentionFamily();  // linear_attention.cc
KernelPart MovementFamily();         // movement.cc
KernelPart NormalizationFamily();    // normalization.cc
KernelPart OptimizerFamily();        // optimizer.cc
KernelPart PadFamily();              // pad.cc
KernelPart PoolFamily();             // pool.cc
KernelPart QuantizeFamily();         // quantize_linear.cc
KernelPart QuantizedConvFamily();    // quantized_conv.cc
KernelPart QuantizedMatMulFamily();  // quantized_matmul.cc
KernelPart RandomFamily();           // random.cc
KernelPart RecurrentFamily();        // recurrent.cc
KernelPart ReduceFamily();           // reduce.cc
KernelPart RegionFamily();           // regions.cc
KernelPart ResizeFamily();           // resize.cc
KernelPart ScanFamily();             // scan.cc
KernelPart SelectionFamily();        // selection.cc
KernelPart SequenceFamily();         // sequence.cc
KernelPart SoftmaxFamily();          // softmax.cc
KernelPart StateFamily();            // state.cc
KernelPart UnfoldFamily();           // unfold.cc
KernelPart ViewFamily();             // views.cc

struct KernelFamily {
  KernelPart kernels;
  // Numbers of 8 and 16 bits are computed in float32, which holds them all.
  bool wide_only = false;
};
std::span<const KernelFamily> KernelFamilies();

// Returns the kernel of an element-wise operator, or of a chain of them; null for others. These
// have a table of their own: runtime/ops/element_op.h. (elementwise.cc)
const KernelEntry* FindElementwiseKernel(const graph::Operator& op);

}  // namespace hr::cpu
