// Microseconds of a message through shared memory, one way.
#include "comm/ranks.h"

static const char* const kTransports[] = {"shm"};

int main(void) { return ranks_serve(RANKS_SEND, 2, kTransports, 1); }
