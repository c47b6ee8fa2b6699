#include "backends/cpu/kernel_table.h"

#include "backends/cpu/ops/families.h"

namespace hr::cpu {

const KernelEntry* FindKernel(const graph::Operator& op) {
  for (std::span<const KernelEntry> family : KernelFamilies()) {
    for (const KernelEntry& entry : family) {
      if (entry.name == op.name && entry.domain == op.domain) return &entry;
    }
  }
  return FindElementwiseKernel(op);
}

}  // namespace hr::cpu
