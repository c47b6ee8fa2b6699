// What a fused node applies to each element of its result.
#pragma once

#include <cstdint>

namespace hr::lowering {

// Values of the attribute "activation".
enum class Activation : uint8_t { kNone, kRelu };

}  // namespace hr::lowering
