// How likely each of many classes is, if it is known for each pair which of the two is likelier.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/executor.h"

namespace hr::cpu {

int CoupleRanges(int64_t rows, int64_t classes, int slices);
size_t CoupleScratchBytes(int64_t classes, int ranges);

// pairs [rows, classes · (classes − 1) / 2]: how likely i is beside j, for i < j in the order (0,
// 1), (0, 2), …; taken as at least 1e-7 away from 0 and 1 → y [rows, classes].
//
// The second method of Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by
// Pairwise Coupling", JMLR 5 (2004), section 5, as LIBSVM ends it: 100 rounds at most, and none
// when the conditions hold within 0.005 / classes.
void CouplePairs(const Lease& threads, int64_t rows, int64_t classes, const float* pairs, float* y,
                 int ranges, void* scratch);

}  // namespace hr::cpu
