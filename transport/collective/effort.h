// What algorithms cost, for choosing between them.
#pragma once

#include <bit>

#include "runtime/comm/schedule.h"

namespace hr::comm {

// What one rank does, on the critical path.
struct Effort {
  double waits = 0;    // for other ranks, one after the other
  double bytes = 0;    // sent; in shared memory: copied
  double reduced = 0;  // bytes
};

inline double Seconds(const Effort& effort, const CostModel& cost) {
  return effort.waits * cost.latency + effort.bytes * cost.per_byte +
         effort.reduced * cost.per_reduced_byte;
}

inline double SharedSeconds(const Effort& effort, const CostModel& cost) {
  return effort.waits * cost.shared_latency + effort.bytes * cost.shared_per_byte +
         effort.reduced * cost.per_reduced_byte;
}

// Rounds in which what one rank knows gets to all.
inline double Levels(double ranks) { return std::bit_width(static_cast<unsigned>(ranks) - 1); }
inline bool IsPowerOfTwo(double ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

// shared.cc
double SharedAllReduceSeconds(double bytes, double ranks, const CostModel& cost);

}  // namespace hr::comm
