// What a fused node applies to each element of its result.
#pragma once

#include <cstdint>

namespace hr::lowering {

// Values of the attribute "activation".
// kGelu is that of erf, not of tanh.
enum class Activation : uint8_t { kNone, kRelu, kGelu };

}  // namespace hr::lowering
