// Weights of bytes that a file widens by a Cast and a Mul.
#pragma once

#include "runtime/graph/graph.h"
#include "runtime/ops/op_def.h"

namespace hr::transform {

// Makes Mul(Cast(weights), scale) a DequantizeLinear, which computes the same bits: of constants,
// to float32, with one scale or one for each index of an axis. Those who widen weights when they
// use them, or take rows before these are widened, look for that operator. Casts that nobody else
// takes are left without users.
void NameDequantizations(const ops::OpRegistry& registry, graph::Module& module);

}  // namespace hr::transform
