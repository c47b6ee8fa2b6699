// Nanoseconds of one run of one Add in C, which the other languages are measured against.
#include "models/adds.h"

static const char* Run(const char* name, int repeats, double* values) {
  static hr_call* call;
  static int count;
  (void)name;
  if (call == NULL) {
    BENCH_DO(adds_call(1, &call));
    BENCH_DO(bench_calls_for(bench_run_call, call, 0.01, &count));
  }
  BENCH_DO(bench_seconds_each(bench_run_call, call, count, repeats, values));
  for (int i = 0; i < repeats; ++i) values[i] *= 1e9;
  return NULL;
}

int main(void) { return bench_serve(Run); }
