// Microseconds of a message through UCX, one way.
#include "comm/ranks.h"

static const char* const kTransports[] = {"ucx"};

int main(void) { return ranks_serve(RANKS_SEND, 2, kTransports, 1); }
