#include "runtime/ops/builtin.h"

#include <array>

namespace hr::ops {

std::span<const std::span<const OpDef>> BuiltinFamilies() {
  static const std::array families = {ElementwiseOps(), StateOps()};
  return families;
}

}  // namespace hr::ops
