// The algorithms for collectives over any transport, and the choice between them.
#pragma once

#include <memory>

#include "runtime/comm/schedule.h"

namespace hr::comm {

std::unique_ptr<Planner> CreatePlanner();

}  // namespace hr::comm
