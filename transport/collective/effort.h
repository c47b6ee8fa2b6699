// What algorithms cost, for choosing between them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/comm/schedule.h"

namespace hr::collective {

using comm::CostModel;

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
// The same for the largest power of two among them.
inline double FloorLevels(double ranks) { return std::bit_width(static_cast<unsigned>(ranks)) - 1; }
inline bool IsPowerOfTwo(double ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

// Of the algorithms that others are made of.
inline Effort BinomialEffort(double x, double n, const CostModel&) {
  return {.waits = Levels(n), .bytes = Levels(n) * x};
}
inline Effort ChainEffort(double x, double n, const CostModel&) {
  return {.waits = 2 * n, .bytes = x};
}
inline Effort BinomialReduceEffort(double x, double n, const CostModel&) {
  return {Levels(n), Levels(n) * x, Levels(n) * x};
}
inline Effort RecursiveDoublingEffort(double x, double n, const CostModel&) {
  const double rounds = Levels(n) + (IsPowerOfTwo(n) ? 0 : 1);
  return {rounds, rounds * x, rounds * x};
}
inline Effort RingEffort(double x, double n, const CostModel& cost) {
  // While one slice is reduced the next one comes, so that only the first one of a step counts.
  const double reduced = std::min(x / n, static_cast<double>(cost.slice_bytes));
  return {2 * (n - 1), 2 * x * (n - 1) / n, reduced * (n - 1)};
}
inline Effort RabenseifnerEffort(double x, double n, const CostModel&) {
  const double folded = IsPowerOfTwo(n) ? 0 : x, places = std::exp2(FloorLevels(n));
  const double reduced = x * (places - 1) / places + folded;
  return {2 * FloorLevels(n) + (folded > 0 ? 2 : 0), 2 * reduced, reduced};
}

// hierarchical.cc
double HierarchicalAllReduceSeconds(double bytes, double ranks, const CostModel& cost);
double HierarchicalBroadcastSeconds(double bytes, double ranks, const CostModel& cost);
double HierarchicalReduceSeconds(double bytes, double ranks, const CostModel& cost);
double HierarchicalBarrierSeconds(double bytes, double ranks, const CostModel& cost);
// lanes.cc
double LanesAllReduceSeconds(double bytes, const CostModel& cost);
double HierarchicalAllGatherSeconds(double bytes, double ranks, const CostModel& cost);
double HierarchicalReduceScatterSeconds(double bytes, double ranks, const CostModel& cost);
// shared.cc
double SharedAllReduceSeconds(double bytes, double ranks, const CostModel& cost);

}  // namespace hr::collective
