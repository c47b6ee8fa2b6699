// Ranks on several hosts: processes in network namespaces, one namespace a host, joined by a bridge
// in another over links of 1 Gbit/s. Needs root, and iproute2. The namespaces have no names, so
// they are gone with their processes, however those end.
#pragma once

#include <stddef.h>

#include "side.h"

enum { HOSTS_MAX = 16 };

// Runs once in each rank's process; NULL or what failed.
typedef const char* hosts_join(int rank, int size);
// One measurement, made by all ranks together.
typedef const char* hosts_step(double* value);

// Starts `size` ranks, `each` on a host, the first ones on the first; those there were before, of
// other numbers, are ended.
const char* hosts_start(int size, int each, hosts_join* join, hosts_step* step);
void hosts_stop(void);
// The largest value of any rank.
const char* hosts_measure(double* value);
// The same in two parts, for what is done meanwhile.
const char* hosts_begin(void);
const char* hosts_end(double* value);

// The network swallows what a rank's host sends to others, and what they send to it.
const char* hosts_cut(int rank);

// The address of a rank's host.
void hosts_address(int rank, char* out, size_t room);
