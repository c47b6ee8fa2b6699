/* Two processes send a message back and forth and print how long one way takes.
 *
 *   mpirun -n 2 build/bin/samples/pingpong
 *   HEADRACE_SIZE=2 HEADRACE_STORE=file:/tmp/meet; HEADRACE_RANK=0 … & HEADRACE_RANK=1 … */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <headrace/headrace.h>

enum { ROUNDS = 1000, WARM_UP = 50, LARGEST = 4 << 20 };

/* Prints a failure and ends the program. */
static void check(hr_status* status, const char* doing) {
  if (status == NULL) return;
  fprintf(stderr, "pingpong: %s: %s: %s\n", doing, hr_code_name(hr_status_code(status)),
          hr_status_message(status));
  exit(1);
}
#define TRY(call) check((call), #call)

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* One round: there and back. */
static void play(hr_group* world, char* data, uint64_t bytes) {
  const int32_t rank = hr_group_rank(world), other = 1 - rank;
  if (rank == 0) TRY(hr_send(world, data, bytes, HR_UINT8, other, 0, NULL));
  TRY(hr_recv(world, data, bytes, HR_UINT8, other, 0, NULL));
  if (rank == 1) TRY(hr_send(world, data, bytes, HR_UINT8, other, 0, NULL));
}

static void measure(hr_group* world, char* data, uint64_t bytes) {
  const int rounds = bytes > 65536 ? ROUNDS / 10 : ROUNDS;
  memset(data, hr_group_rank(world) == 0 ? 42 : 0, bytes);
  for (int i = 0; i < WARM_UP; ++i) play(world, data, bytes);
  const double begin = now();
  for (int i = 0; i < rounds; ++i) play(world, data, bytes);
  const double one_way = (now() - begin) / rounds / 2;
  for (uint64_t i = 0; i < bytes; ++i) {
    if (data[i] == 42) continue;
    fprintf(stderr, "pingpong: byte %llu came back changed\n", (unsigned long long)i);
    exit(1);
  }
  if (hr_group_rank(world) == 0) {
    printf("%10llu bytes %10.2f us one way %10.3f GB/s\n", (unsigned long long)bytes, one_way * 1e6,
           (double)bytes / one_way * 1e-9);
  }
}

int main(void) {
  hr_env* env;
  hr_group* world;
  TRY(hr_env_create(NULL, &env));
  TRY(hr_group_create(env, NULL, NULL, &world));
  if (hr_group_size(world) != 2) {
    fprintf(stderr, "pingpong: it takes two, e.g. mpirun -n 2 %s; there %s %d\n", "pingpong",
            hr_group_size(world) == 1 ? "is" : "are", hr_group_size(world));
    exit(2);
  }
  char* data = malloc(LARGEST);
  if (data == NULL) return 1;
  for (uint64_t bytes = 8; bytes <= LARGEST; bytes *= 8) measure(world, data, bytes);
  free(data);
  hr_group_release(world);
  hr_env_release(env);
  return 0;
}
