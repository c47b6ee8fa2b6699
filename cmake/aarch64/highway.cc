// What we call of libhwy, which Debian has as a shared library only. One instruction set is
// compiled for 64-bit Arm, NEON, and every such processor has it: there is nothing to find out.
#include <hwy/targets.h>

namespace hwy {
namespace {
int64_t pretended;
}

int64_t SupportedTargets() { return pretended != 0 ? pretended : HWY_STATIC_TARGET; }

void SetSupportedTargetsForTest(int64_t targets) { pretended = targets; }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
