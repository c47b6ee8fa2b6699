// A group of processes as graphs see it.
#pragma once

#include "runtime/comm/collectives.h"
#include "runtime/comm/group.h"

namespace hr::comm {

// Nobody else may post to the group meanwhile.
std::shared_ptr<Collectives> CollectivesOf(std::shared_ptr<Group> group);

}  // namespace hr::comm
