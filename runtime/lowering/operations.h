// How much there is to compute, for profiles.
#pragma once

#include "runtime/lowering/kernel_request.h"

namespace hr::lowering {

// Returns the multiplications and additions of a product, a convolution or a recurrent layer, and
// of their gradients, as their sums say: an algorithm that needs fewer (Winograd's) is so shown as
// a faster one. 0 for all other operators, which are a matter of bytes.
double OperationsOf(const KernelRequest& request);

}  // namespace hr::lowering
