#include "backends/cpu/kernel_table.h"

#include "backends/cpu/ops/families.h"

namespace hr::cpu {

const KernelEntry* FindKernel(std::string_view domain, std::string_view name) {
  for (std::span<const KernelEntry> family : KernelFamilies()) {
    for (const KernelEntry& entry : family) {
      if (entry.name == name && entry.domain == domain) return &entry;
    }
  }
  return nullptr;
}

}  // namespace hr::cpu
