// Microseconds of an all-reduce where ranks outnumber processors.
#include "comm/ranks.h"

static const char* const kTransports[] = {"shm", "tcp"};

int main(void) { return ranks_serve(RANKS_ALL_REDUCE, 4, kTransports, 2); }
