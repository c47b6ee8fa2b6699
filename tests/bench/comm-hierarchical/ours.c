// Milliseconds of an operation of 8 ranks on 2 "hosts": shared memory inside each, TCP at 1 Gbit/s
// between them, in plain text (trusted_fabric). A case is OPERATION-SIZE-ALGORITHM.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/hosts.h"

enum { kRanks = 8, kEach = 4, kLarge = 2 << 20, kSmall = 2, kTimeout = 60 };

static const struct {
  const char* name;
  hr_operation_kind kind;
} kOperations[] = {{"barrier", HR_OPERATION_BARRIER},
                   {"reduce", HR_OPERATION_REDUCE},
                   {"all_reduce", HR_OPERATION_ALL_REDUCE},
                   {"all_gather", HR_OPERATION_ALL_GATHER},
                   {"reduce_scatter", HR_OPERATION_REDUCE_SCATTER}};

static char pins[64];
static hr_group* group;
static hr_operation operation;
static int times, starts;

static const char* Join(int rank, int size) {
  hr_env* env;
  char store[512], address[32];
  snprintf(store, sizeof store, "file:%s/hierarchical-%d", bench_scratch(), starts);
  hosts_address(rank, address, sizeof address);
  hr_group_options options = {.struct_size = sizeof options,
                              .rank = rank,
                              .size = size,
                              .store_url = store,
                              .name = pins,
                              .transport = "shm,tcp",
                              .address = address,
                              .trusted_fabric = 1,
                              .timeout_nanos = kTimeout * 1000000000ll,
                              .algorithms = pins};
  unsetenv("HEADRACE_SECRET");
  BENCH_DO(bench_env(&env));
  BENCH_TRY(hr_group_create(env, &options, NULL, &group));
  operation.input = calloc(kLarge, sizeof(float));
  operation.output = calloc(kLarge, sizeof(float));
  return operation.input == NULL || operation.output == NULL ? "out of memory" : NULL;
}

static const char* Measure(double* milliseconds) {
  BENCH_TRY(hr_barrier(group, NULL));
  double begin = bench_now();
  for (int i = 0; i < times; ++i) BENCH_TRY(hr_group_run(group, &operation, NULL));
  *milliseconds = 1e3 * (bench_now() - begin) / times;
  return NULL;
}

static const char* Prepare(const char* name) {
  char kind[32], size[16], algorithm[32];
  if (sscanf(name, "%31[a-z_]-%15[a-z]-%31[a-z_]", kind, size, algorithm) != 3) {
    return "expected OPERATION-SIZE-ALGORITHM";
  }
  snprintf(pins, sizeof pins, "%s=%s", kind, algorithm);
  const int large = strcmp(size, "large") == 0;
  operation = (hr_operation){
      .struct_size = sizeof operation, .dtype = HR_FLOAT32, .count = large ? kLarge : kSmall};
  times = large ? 1 : 50;
  for (size_t i = 0; i < sizeof kOperations / sizeof *kOperations; ++i) {
    if (strcmp(kind, kOperations[i].name) == 0) operation.kind = kOperations[i].kind;
  }
  const int blocks =
      operation.kind == HR_OPERATION_ALL_GATHER || operation.kind == HR_OPERATION_REDUCE_SCATTER;
  if (blocks && large) operation.count /= kRanks;
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  static char last[64];
  BENCH_DO(Prepare(name));
  if (strcmp(last, name) != 0) {
    hosts_stop();
    ++starts;
    snprintf(last, sizeof last, "%s", name);
  }
  BENCH_DO(hosts_start(kRanks, kEach, Join, Measure));
  for (int i = 0; i < repeats; ++i) BENCH_DO(hosts_measure(&values[i]));
  return NULL;
}

int main(void) { return bench_serve(Run); }
