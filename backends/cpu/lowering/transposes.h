// Transposes that only name the axes of an image anew.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::cpu {

// Makes a Transpose between a channels-last convolution and an image of which the program keeps the
// channels last (those of TensorFlow) a view
//
//   lowered.Relabel (x) → y {from, to}: 1 if it is channels-last, else plain
//
// if the elements lie in memory as they should. fuse_conv.h has marked the convolutions.
void RelabelTransposes(lowering::Region& region);

}  // namespace hr::cpu
