// Milliseconds of one training step of the LSTM network, always on the same batch.
#include "models/lstm.h"

static const char* Run(const char* name, int repeats, double* values) {
  static hr_env* env;
  static hr_call* call;
  static int count, measured;
  int batch = bench_case_number(name);
  if (batch < 1) return "expected batch-N";
  if (env == NULL) BENCH_DO(bench_env(&env));
  if (batch != measured) {
    hr_call_release(call);
    BENCH_DO(lstm_call(env, batch, &call));
    BENCH_DO(bench_calls_for(bench_run_call, call, 0.5, &count));
    measured = batch;
  }
  BENCH_DO(bench_seconds_each(bench_run_call, call, count, repeats, values));
  for (int i = 0; i < repeats; ++i) values[i] *= 1e3;
  return NULL;
}

int main(void) { return bench_serve(Run); }
