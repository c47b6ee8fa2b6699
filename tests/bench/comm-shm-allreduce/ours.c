// Microseconds of an all-reduce of floats through shared memory.
#include "comm/ranks.h"

static const char* const kTransports[] = {"shm"};

int main(void) { return ranks_serve(RANKS_ALL_REDUCE, 2, kTransports, 1); }
