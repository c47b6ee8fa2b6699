// Peak resident bytes of 300 steps of LeNet.
#include "models/lenet.h"

enum { kSteps = 300 };

static const char* Train(hr_env* env) {
  hr_session* session;
  hr_call* train;
  hr_dataset* data;
  BENCH_DO(lenet_training(env, 1, &session, &train));
  BENCH_TRY(hr_dataset_open(env, "idx:fashion-mnist/train?batch=64", &data));
  BENCH_TRY(hr_call_bind_dataset(train, data));
  for (int i = 0; i < kSteps; ++i) BENCH_TRY(hr_call_run(train, NULL));
  hr_call_release(train);
  hr_dataset_release(data);
  hr_session_release(session);
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  hr_env* env;
  (void)name;
  BENCH_DO(bench_env(&env));
  BENCH_DO(Train(env));
  hr_env_release(env);
  for (int i = 0; i < repeats; ++i) values[i] = bench_peak_resident_bytes();
  return NULL;
}

int main(void) { return bench_serve(Run); }
