// Milliseconds of one training step of ResNet-18, always on the same batch.
#include "models/resnet.h"

enum { kMostBatch = 64 };

static const char* Run(const char* name, int repeats, double* values) {
  static hr_env* env;
  static hr_call* calls[kMostBatch + 1];
  static int counts[kMostBatch + 1];
  int batch = bench_case_number(name);
  if (batch < 1 || batch > kMostBatch) return "expected batch-N with N from 1 to 64";
  if (env == NULL) BENCH_DO(bench_env(&env));
  if (calls[batch] == NULL) {
    BENCH_DO(resnet18_call(env, batch, 1, &calls[batch]));
    BENCH_DO(bench_calls_for(bench_run_call, calls[batch], 0.5, &counts[batch]));
  }
  BENCH_DO(bench_seconds_each(bench_run_call, calls[batch], counts[batch], repeats, values));
  for (int i = 0; i < repeats; ++i) values[i] *= 1e3;
  return NULL;
}

int main(void) { return bench_serve(Run); }
