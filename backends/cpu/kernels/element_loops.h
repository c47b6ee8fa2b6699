// The tables behind ElementLoopFor.
#pragma once

#include "backends/cpu/kernels/element_op.h"

namespace hr::cpu {

struct ElementLoops {
  ElementLoop loop[ops::kElementOps];
};

const ElementLoops& IntegerLoops(ElementType type);

}  // namespace hr::cpu
