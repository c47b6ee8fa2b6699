/* Every process has a vector; all get the sum. Checks the result and prints how long it takes.
 *
 *   mpirun -n 4 build/bin/samples/allreduce [ELEMENTS]
 *
 * algbw is bytes / time; busbw = algbw * 2 (n - 1) / n, which a ring moves over each link. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <headrace/headrace.h>

enum { ROUNDS = 20, WARM_UP = 3 };

/* Prints a failure and ends the program. */
static void check(hr_status* status, const char* doing) {
  if (status == NULL) return;
  fprintf(stderr, "allreduce: %s: %s: %s\n", doing, hr_code_name(hr_status_code(status)),
          hr_status_message(status));
  exit(1);
}
#define TRY(call) check((call), #call)

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The sum over ranks of rank + i % 8: exact in float32. */
static void check_sum(const float* sum, uint64_t count, int32_t size) {
  for (uint64_t i = 0; i < count; ++i) {
    const float expected = (float)(size * (size - 1) / 2 + size * (int)(i % 8));
    if (sum[i] == expected) continue;
    fprintf(stderr, "allreduce: element %llu is %g, not %g\n", (unsigned long long)i, sum[i],
            expected);
    exit(1);
  }
}

static void measure(hr_group* world, float* data, float* sum, uint64_t count) {
  const int32_t rank = hr_group_rank(world), size = hr_group_size(world);
  double begin = 0;
  for (uint64_t i = 0; i < count; ++i) data[i] = (float)rank + (float)(i % 8);
  for (int i = -WARM_UP; i < ROUNDS; ++i) {
    if (i == 0) {
      TRY(hr_barrier(world, NULL));
      begin = now();
    }
    TRY(hr_all_reduce(world, data, sum, count, HR_FLOAT32, HR_SUM, NULL));
  }
  const double seconds = (now() - begin) / ROUNDS, bytes = (double)count * sizeof(float);
  check_sum(sum, count, size);
  if (rank == 0) {
    const double algbw = bytes / seconds * 1e-9;
    printf("%10.0f bytes %10.2f us %8.3f GB/s algbw %8.3f GB/s busbw\n", bytes, seconds * 1e6,
           algbw, algbw * 2 * (size - 1) / size);
  }
}

int main(int argc, char** argv) {
  const uint64_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : 4 << 20;
  hr_env* env;
  hr_group* world;
  hr_text* description;
  if (most < 1 || most > (uint64_t)1 << 40) {
    fprintf(stderr, "usage: allreduce [ELEMENTS]\n");
    return 2;
  }
  TRY(hr_env_create(NULL, &env));
  TRY(hr_group_create(env, NULL, NULL, &world));
  if (hr_group_rank(world) == 0) {
    TRY(hr_group_describe(world, &description));
    printf("%s\n", hr_text_data(description));
    hr_text_release(description);
  }
  float* data = malloc(most * sizeof *data);
  float* sum = malloc(most * sizeof *sum);
  if (data == NULL || sum == NULL) {
    fprintf(stderr, "allreduce: no memory for 2 x %llu floats\n", (unsigned long long)most);
    return 1;
  }
  for (uint64_t count = 1; count < most; count *= 16) measure(world, data, sum, count);
  measure(world, data, sum, most);
  free(data);
  free(sum);
  hr_group_release(world);
  hr_env_release(env);
  return 0;
}
