// Our side of benchmarks that take several processes: the first one answers tests/bench/run, the
// others are told by it what to do. While nobody asks they sleep.
#pragma once

#include "side.h"

enum { RANKS_ALL_REDUCE = 0, RANKS_SEND = 1 };

// Adds what `seconds` says of so many bytes to every answer: all ranks ask it at once, after an
// operation's runs, and the largest counts.
void ranks_add(double (*seconds)(int64_t bytes));

// Serves cases WORD-BYTES with microseconds for one operation (of a send, one way) between `size`
// ranks. `transports` are those of the groups that are made, and WORD chooses one where there are
// more; "tls" is TCP with a secret.
int ranks_serve(int operation, int size, const char* const* transports, int transport_count);
