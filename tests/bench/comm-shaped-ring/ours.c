// Milliseconds of a ring all-reduce of floats over TCP between N "hosts" at 1 Gbit/s, in plain text
// (trusted_fabric).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/hosts.h"

enum { kElements = 16 << 20, kTimeout = 60 };

static hr_group* group;
static float* data;

static const char* Join(int rank, int size) {
  hr_env* env;
  char store[512], address[32];
  snprintf(store, sizeof store, "file:%s/shaped-%d", bench_scratch(), size);
  hosts_address(rank, address, sizeof address);
  hr_group_options options = {.struct_size = sizeof options,
                              .rank = rank,
                              .size = size,
                              .store_url = store,
                              .transport = "tcp",
                              .address = address,
                              .trusted_fabric = 1,
                              .timeout_nanos = kTimeout * 1000000000ll,
                              .algorithms = "all_reduce=ring"};
  unsetenv("HEADRACE_SECRET");
  BENCH_DO(bench_env(&env));
  BENCH_TRY(hr_group_create(env, &options, NULL, &group));
  data = calloc(kElements, sizeof *data);
  return data == NULL ? "out of memory" : NULL;
}

static const char* Reduce(double* milliseconds) {
  BENCH_TRY(hr_barrier(group, NULL));
  double begin = bench_now();
  BENCH_TRY(hr_all_reduce(group, data, data, kElements, HR_FLOAT32, HR_SUM, NULL));
  *milliseconds = 1e3 * (bench_now() - begin);
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  int size = name[0] == 'n' ? atoi(name + 1) : 0;
  if (size < 2 || size > HOSTS_MAX) return "expected nN with 2 to 16 ranks";
  BENCH_DO(hosts_start(size, 1, Join, Reduce));
  for (int i = 0; i < repeats; ++i) BENCH_DO(hosts_measure(&values[i]));
  return NULL;
}

int main(void) { return bench_serve(Run); }
