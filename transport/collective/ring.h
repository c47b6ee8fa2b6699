// The pipelined ring (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", 2009): every rank sends to the next one only. The data is in one part a rank, and
// a part travels in slices, so that a rank passes slices on while others still come.
#pragma once

#include <functional>

#include "transport/collective/builder.h"

namespace hr::collective {

struct Ring {
  bool reduce = false;                    // first: rank r gets the reduction of part r
  bool gather = false;                    // then: every rank gets the results of all parts
  std::function<Slice(int part)> input;   // this rank's contribution to a part; if `reduce`
  std::function<Slice(int part)> result;  // where a part's result lies; of other parts if `gather`
};

// `result` of a part may lie where `input` of the same part does.
void AddRing(ScheduleBuilder& b, const Ring& ring);

}  // namespace hr::collective
