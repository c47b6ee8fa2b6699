// Microseconds of an all-reduce of floats over TCP with TLS 1.3.
#include "comm/ranks.h"

static const char* const kTransports[] = {"tls"};

int main(void) { return ranks_serve(RANKS_ALL_REDUCE, 2, kTransports, 1); }
