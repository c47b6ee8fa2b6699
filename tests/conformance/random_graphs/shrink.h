// Makes a failing program smaller.
#pragma once

#include "tests/conformance/random_graphs/judge.h"

namespace hr::random_graphs {

// A program that fails the same judge as `program` does, with as few nodes, fetches, steps and
// elements as `most_trials` trials find.
Program Shrink(Judge& judge, const Program& program, const std::string& failed, int most_trials);

}  // namespace hr::random_graphs
