#include "ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kMaxGroups = 4, kWarmUp = 3 };
static const double kSeconds = 0.15;

typedef struct Request {
  int64_t bytes, count, group;
} Request;

static struct {
  int operation, rank, size, groups;
  const char* const* transports;
  hr_group* group[kMaxGroups];
  float *input, *output;
  int64_t room;
  double (*add)(int64_t bytes);
} ranks;

void ranks_add(double (*seconds)(int64_t bytes)) { ranks.add = seconds; }

static const char* Join(void) {
  hr_env* env;
  char store[512];
  BENCH_DO(bench_env(&env));
  for (int i = 0; i < ranks.groups; ++i) {
    const int tls = strcmp(ranks.transports[i], "tls") == 0;
    snprintf(store, sizeof store, "file:%s/%s-%d", bench_scratch(), ranks.transports[i],
             ranks.operation);
    hr_group_options options = {.struct_size = sizeof options,
                                .rank = ranks.rank,
                                .size = ranks.size,
                                .store_url = store,
                                .transport = tls ? "tcp" : ranks.transports[i],
                                .timeout_nanos = -1};
    tls ? setenv("HEADRACE_SECRET", "a secret that everybody can read", 1)
        : unsetenv("HEADRACE_SECRET");
    BENCH_TRY(hr_group_create(env, &options, NULL, &ranks.group[i]));
  }
  return NULL;
}

static const char* MakeRoom(int64_t bytes) {
  if (bytes <= ranks.room) return NULL;
  free(ranks.input);
  free(ranks.output);
  ranks.room = bytes;
  ranks.input = malloc((size_t)bytes);
  ranks.output = malloc((size_t)bytes);
  if (ranks.input == NULL || ranks.output == NULL) return "out of memory";
  memset(ranks.input, 0, (size_t)bytes);
  memset(ranks.output, 0, (size_t)bytes);
  return NULL;
}

static const char* GoBackAndForth(hr_group* group, uint64_t bytes) {
  for (int turn = 0; turn < 2; ++turn) {
    if (turn == ranks.rank) {
      BENCH_TRY(hr_send(group, ranks.input, bytes, HR_UINT8, 1 - ranks.rank, 0, NULL));
    } else {
      BENCH_TRY(hr_recv(group, ranks.output, bytes, HR_UINT8, 1 - ranks.rank, 0, NULL));
    }
  }
  return NULL;
}

static const char* DoOne(hr_group* group, uint64_t bytes) {
  if (ranks.operation == RANKS_SEND) return GoBackAndForth(group, bytes);
  BENCH_TRY(hr_all_reduce(group, ranks.input, ranks.output, bytes / 4, HR_FLOAT32, HR_SUM, NULL));
  return NULL;
}

// Carries a request out; seconds of one operation.
static const char* Follow(const Request* request, double* seconds) {
  hr_group* group = ranks.group[request->group];
  BENCH_DO(MakeRoom(request->bytes));
  BENCH_TRY(hr_barrier(group, NULL));
  double begin = bench_now();
  for (int64_t i = 0; i < request->count; ++i) BENCH_DO(DoOne(group, (uint64_t)request->bytes));
  *seconds = (bench_now() - begin) / (double)request->count;
  if (ranks.add == NULL) return NULL;
  double more = ranks.add(request->bytes);
  BENCH_TRY(hr_all_reduce(group, &more, &more, 1, HR_FLOAT64, HR_MAX, NULL));
  *seconds += more;
  return NULL;
}

static const char* Ask(Request request, double* seconds) {
  BENCH_TRY(hr_broadcast(ranks.group[0], &request, &request, 3, HR_INT64, 0, NULL));
  return Follow(&request, seconds);
}

// The others' life.
static int Obey(void) {
  const char* error = Join();
  double seconds;
  while (error == NULL) {
    Request request;
    hr_status* status = hr_broadcast(ranks.group[0], NULL, &request, 3, HR_INT64, 0, NULL);
    if (status != NULL) _exit(0);  // the first rank is gone
    error = Follow(&request, &seconds);
  }
  fprintf(stderr, "rank %d: %s\n", ranks.rank, error);
  _exit(1);
}

static const char* Run(const char* name, int repeats, double* values) {
  Request request = {.bytes = bench_case_number(name), .count = kWarmUp};
  double seconds;
  if (request.bytes < 1) return "expected WORD-BYTES";
  for (int i = 0; i < ranks.groups; ++i) {
    if (strncmp(name, ranks.transports[i], strlen(ranks.transports[i])) == 0) request.group = i;
  }
  if (ranks.group[0] == NULL) BENCH_DO(Join());
  BENCH_DO(Ask(request, &seconds));
  if (seconds < 1e-3) request.count = 100;
  BENCH_DO(Ask(request, &seconds));
  request.count = seconds * 3 > kSeconds ? 3 : (int64_t)(kSeconds / seconds);
  // A core that has rested takes some 100 ms to reach its full speed. Peers are warmed up alike.
  BENCH_DO(Ask(request, &seconds));
  for (int i = 0; i < repeats; ++i) {
    BENCH_DO(Ask(request, &seconds));
    values[i] = seconds * 1e6 / (ranks.operation == RANKS_SEND ? 2 : 1);
  }
  return NULL;
}

int ranks_serve(int operation, int size, const char* const* transports, int transport_count) {
  ranks.operation = operation;
  ranks.size = size;
  ranks.transports = transports;
  ranks.groups = transport_count;
  for (int rank = 1; rank < size; ++rank) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ranks.rank = rank;
    bench_bind(rank, size);
    return Obey();
  }
  bench_bind(0, size);
  return bench_serve(Run);
}
