// What the ranks of a group must have in common before their sessions communicate.
#pragma once

#include <string>

#include "runtime/comm/collectives.h"
#include "runtime/graph/graph.h"

namespace hr::session {

// Graphs that send or receive are the ranks' own, and not compared. Compares the graph, the seed
// and the version of the library with those of all other ranks, which call this, too.
// FAILED_PRECONDITION on all of them, with the rank and the difference, if one has others than rank
// 0.
Status CompareRanks(comm::Collectives& group, const graph::Module& module, uint64_t seed,
                    std::string_view version, const CallLimits& limits);

}  // namespace hr::session
