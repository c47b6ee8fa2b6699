#include "backends/cpu/instruction_set.h"

#include <hwy/highway.h>

namespace hr::cpu {

std::string_view InstructionSet() {
  // Highway runs the best of the compiled sets that the processor has: the lowest bit.
  auto usable = hwy::SupportedTargets() & HWY_TARGETS;
  if (usable == 0) return "scalar";
  auto best = usable & ~(usable - 1);
  std::string_view name = hwy::TargetName(best);
  if (name == "AVX3_DL" || name == "AVX3_ZEN4") return "AVX-512 (with VNNI)";
  if (name == "AVX3") return "AVX-512";
  return name;
}

void DisableAvx512() {
#if HWY_ARCH_X86
  hwy::DisableTargets(HWY_AVX2 - 1);  // better sets have lower bits
#endif
}

}  // namespace hr::cpu
