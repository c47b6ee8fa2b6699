// From a seed to a program.
#pragma once

#include "runtime/ops/op_def.h"
#include "tests/conformance/random_graphs/program.h"

namespace hr::random_graphs {

// The same program for the same seed, on every platform. The operators are those of the rows.
Program Generate(const ops::OpRegistry& registry, uint64_t seed);

}  // namespace hr::random_graphs
