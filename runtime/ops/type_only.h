// Inputs of which a node uses the type alone.
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::ops {

inline bool UsesTypeOnly(const OpDef& def, size_t input) {
  return input < 16 && (def.type_only_inputs >> input & 1) != 0;
}

}  // namespace hr::ops
