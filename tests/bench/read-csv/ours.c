// Seconds from a CSV file to shuffled batches.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "side.h"

enum { kRows = 400000, kColumns = 20 };

// Of Knuth's MMIX generator.
static uint64_t Next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void WriteValue(FILE* file, const char* name, uint64_t* state) {
  unsigned first = (unsigned)(Next(state) % 10), six = (unsigned)(Next(state) % 1000000);
  unsigned more = (unsigned)(Next(state) % 1000000), last = (unsigned)(Next(state) % 100000);
  if (strcmp(name, "precise") == 0) {
    fprintf(file, "%u.%06u%06u%05u,", first, six, more, last);
  } else if (strcmp(name, "quoted") == 0) {
    fprintf(file, "\"%u.%06u\",", first, six);
  } else {
    fprintf(file, "%u.%06u,", first, six);
  }
}

// Into another file, which is renamed: a peer sees all of it or none.
static const char* Write(const char* name, const char* path) {
  char temporary[4200];
  uint64_t state = 1;
  snprintf(temporary, sizeof temporary, "%s.tmp", path);
  FILE* file = fopen(temporary, "w");
  if (file == NULL) return "cannot write the file";
  for (int c = 0; c < kColumns; ++c) fprintf(file, "x%d,", c);
  fprintf(file, "label\n");
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) WriteValue(file, name, &state);
    fprintf(file, "%u\n", (unsigned)(Next(&state) % 10));
  }
  if (fclose(file) != 0 || rename(temporary, path) != 0) return "cannot write the file";
  return NULL;
}

static const char* Read(hr_env* env, const char* path, double* seconds) {
  char uri[4400];
  hr_dataset* data;
  hr_tensor* batch[2];
  double sum = 0, start = bench_now();
  // Without prefetch: nothing computes beside, and all threads read.
  snprintf(uri, sizeof uri, "csv:%s?label=label&batch=256&shuffle=1&seed=1", path);
  BENCH_TRY(hr_dataset_open(env, uri, &data));
  while (!hr_dataset_done(data, NULL)) {
    BENCH_TRY(hr_dataset_next(data, NULL, batch));
    sum += ((const float*)hr_tensor_data(batch[0]))[0];
    hr_tensor_release(batch[0]);
    hr_tensor_release(batch[1]);
  }
  hr_dataset_release(data);
  *seconds = bench_now() - start;
  return sum > 0 ? NULL : "there are no numbers";
}

static const char* Run(const char* name, int repeats, double* values) {
  char path[4096];
  hr_env* env;
  snprintf(path, sizeof path, "%s/%s.csv", bench_scratch(), name);
  if (access(path, R_OK) != 0) BENCH_DO(Write(name, path));
  BENCH_DO(bench_env(&env));
  for (int i = 0; i < repeats; ++i) BENCH_DO(Read(env, path, &values[i]));
  hr_env_release(env);
  return NULL;
}

int main(void) { return bench_serve(Run); }
