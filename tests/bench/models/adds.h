// Chains of Add on four floats.
#pragma once

#include "side.h"

// A call that runs y = x + x + … + x (`length` nodes, each by itself: fusion is off), bound.
const char* adds_call(int length, hr_call** out);
