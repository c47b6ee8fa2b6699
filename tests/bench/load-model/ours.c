// Milliseconds until a process has its first result of MiniLM, from a file that is converted
// beforehand.
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "side.h"

enum { kTokens = 16, kWidth = 384 };

static const char* Convert(const char* path) {
  char from[4096];
  hr_env* env;
  snprintf(from, sizeof from, "%s/minilm.onnx", bench_prepared());
  BENCH_DO(bench_env(&env));
  BENCH_TRY(hr_model_convert(env, from, path, NULL, NULL, NULL));
  hr_env_release(env);
  return NULL;
}

static const char* Bind(hr_env* env, hr_call* call, const char* name, int64_t first, int64_t step) {
  int64_t values[kTokens];
  hr_tensor* tensor;
  for (int i = 0; i < kTokens; ++i) values[i] = first + step * i;
  BENCH_TRY(hr_tensor_copy_of(env, HR_INT64, 2, (const int64_t[]){1, kTokens}, values,
                              sizeof values, &tensor));
  BENCH_TRY(hr_call_bind(call, name, tensor));
  hr_tensor_release(tensor);
  return NULL;
}

static const char* FirstResult(const char* path, double* seconds) {
  static float states[kTokens * kWidth];
  hr_env* env;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  const double start = bench_now();
  BENCH_DO(bench_env(&env));
  BENCH_TRY(hr_model_load(env, path, NULL, &model));
  BENCH_TRY(hr_session_create(model, NULL, NULL, &session));
  BENCH_TRY(hr_call_create(session, "infer", &call));
  BENCH_DO(Bind(env, call, "input_ids", 1000, 1));
  BENCH_DO(Bind(env, call, "attention_mask", 1, 0));
  BENCH_DO(Bind(env, call, "token_type_ids", 0, 0));
  BENCH_TRY(hr_call_output(call, "last_hidden_state", states, sizeof states));
  BENCH_TRY(hr_call_run(call, NULL));
  *seconds = bench_now() - start;
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  hr_env_release(env);
  for (int i = 0; i < kTokens * kWidth; ++i) {
    if (!isfinite(states[i])) return "the result is not what MiniLM makes";
  }
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  char path[4096];
  (void)name;
  snprintf(path, sizeof path, "%s/minilm.hrg", bench_scratch());
  if (access(path, R_OK) != 0) BENCH_DO(Convert(path));
  for (int i = 0; i < repeats; ++i) {
    BENCH_DO(FirstResult(path, &values[i]));
    values[i] *= 1e3;
  }
  return NULL;
}

int main(void) { return bench_serve(Run); }
