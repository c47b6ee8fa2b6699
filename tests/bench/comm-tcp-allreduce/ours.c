// Microseconds of an all-reduce of floats over TCP.
#include "comm/ranks.h"

static const char* const kTransports[] = {"tcp"};

int main(void) { return ranks_serve(RANKS_ALL_REDUCE, 2, kTransports, 1); }
