// Nanoseconds a node of a chain of Adds.
#include "models/adds.h"

static const char* Run(const char* name, int repeats, double* values) {
  static hr_call* call;
  static int count;
  int length = bench_case_number(name);
  if (length < 1) return "expected chain-N";
  if (call == NULL) {
    BENCH_DO(adds_call(length, &call));
    BENCH_DO(bench_calls_for(bench_run_call, call, 0.3, &count));
  }
  BENCH_DO(bench_seconds_each(bench_run_call, call, count, repeats, values));
  for (int i = 0; i < repeats; ++i) values[i] *= 1e9 / length;
  return NULL;
}

int main(void) { return bench_serve(Run); }
