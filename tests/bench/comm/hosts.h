// Ranks on hosts of their own: a process each in a network namespace of its own, joined by a bridge
// in another, over links of 1 Gbit/s. Needs root, and iproute2. The namespaces have no names, so
// they are gone with their processes, however those end.
#pragma once

#include <stddef.h>

#include "side.h"

enum { HOSTS_MAX = 16 };

// Runs once in each rank's process; NULL or what failed.
typedef const char* hosts_join(int rank, int size);
// One measurement, made by all ranks together.
typedef const char* hosts_step(double* value);

// Starts `size` ranks; those there were before, of another size, are ended.
const char* hosts_start(int size, hosts_join* join, hosts_step* step);
// The largest value of any rank.
const char* hosts_measure(double* value);
// The same in two parts, for what is done meanwhile.
const char* hosts_begin(void);
const char* hosts_end(double* value);

// The network swallows what a rank's host sends, and what is sent to it.
const char* hosts_cut(int rank);

// The address of a rank's host.
void hosts_address(int rank, char* out, size_t room);
