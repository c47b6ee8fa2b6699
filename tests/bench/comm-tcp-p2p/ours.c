// Microseconds of a message over TCP, one way.
#include "comm/ranks.h"

static const char* const kTransports[] = {"tcp"};

int main(void) { return ranks_serve(RANKS_SEND, 2, kTransports, 1); }
