// The families of built-in operators, one function a file. A new family adds one line here and one
// in builtin.cc.
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::ops {

std::span<const OpDef> ElementwiseOps();   // elementwise.cc
std::span<const OpDef> StateOps();         // state.cc
// (widened family by family)

// All of them, in no particular order.
std::span<const std::span<const OpDef>> BuiltinFamilies();

}  // namespace hr::ops
