// The algorithms for collectives over any transport, and the choice between them.
#pragma once

#include <memory>

#include "runtime/comm/schedule.h"

namespace hr::collective {

std::unique_ptr<comm::Planner> CreatePlanner();

}  // namespace hr::collective
