// The CPU's kernels by family, one function a file. A new family adds one line here and one in
// families.cc.
#pragma once

#include <span>

#include "backends/cpu/kernel_table.h"

namespace hr::cpu {

std::span<const KernelEntry> ConvKernels();           // conv.cc
std::span<const KernelEntry> GemmKernels();           // gemm.cc
std::span<const KernelEntry> GenerateKernels();       // generate.cc
std::span<const KernelEntry> IndexingKernels();       // indexing.cc
std::span<const KernelEntry> MovementKernels();       // movement.cc
std::span<const KernelEntry> NormalizationKernels();  // normalization.cc
std::span<const KernelEntry> OptimizerKernels();      // optimizer.cc
std::span<const KernelEntry> PadKernels();            // pad.cc
std::span<const KernelEntry> PoolKernels();           // pool.cc
std::span<const KernelEntry> RandomKernels();         // random.cc
std::span<const KernelEntry> ReduceKernels();         // reduce.cc
std::span<const KernelEntry> ScanKernels();           // scan.cc
std::span<const KernelEntry> SoftmaxKernels();        // softmax.cc
std::span<const KernelEntry> StateKernels();          // state.cc
std::span<const KernelEntry> ViewKernels();           // views.cc

std::span<const std::span<const KernelEntry>> KernelFamilies();

// Returns the kernel of an element-wise operator, or of a chain of them; null for others. These
// have a table of their own: runtime/ops/element_op.h. (elementwise.cc)
const KernelEntry* FindElementwiseKernel(const graph::Operator& op);

}  // namespace hr::cpu
