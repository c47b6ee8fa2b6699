// Milliseconds of inference of the quantized encoder, converted from ONNX beforehand, always on the
// same tokens.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "side.h"

enum { kWords = 1024, kClasses = 10, kMostTokens = 8 * 128 };

static const char* Load(hr_env* env, const char* name, hr_call** out) {
  char from[4096], to[4096];
  hr_model* model;
  hr_session* session;
  snprintf(from, sizeof from, "%s/encoder-%s.onnx", bench_prepared(), name);
  snprintf(to, sizeof to, "%s/encoder-%s.hrg", bench_scratch(), name);
  const hr_convert_options how = {.struct_size = sizeof how, .constants = 1};
  BENCH_TRY(hr_model_convert(env, from, to, &how, NULL, NULL));
  BENCH_TRY(hr_model_load(env, to, NULL, &model));
  BENCH_TRY(hr_session_create(model, NULL, NULL, &session));
  BENCH_TRY(hr_call_create(session, "infer", out));
  hr_session_release(session);
  hr_model_release(model);
  return NULL;
}

static const char* Bind(hr_env* env, hr_call* call, int batch, int length) {
  int64_t tokens[kMostTokens];
  hr_tensor* tensor;
  if (batch * length > kMostTokens) return "too many tokens";
  for (int i = 0; i < batch * length; ++i) tokens[i] = i * 37 % kWords;
  BENCH_TRY(hr_tensor_copy_of(env, HR_INT64, 2, (const int64_t[]){batch, length}, tokens,
                              sizeof *tokens * (size_t)(batch * length), &tensor));
  BENCH_TRY(hr_call_bind(call, "tokens", tensor));
  hr_tensor_release(tensor);
  return NULL;
}

// A first run whose scores are numbers.
static const char* CheckScores(hr_call* call) {
  hr_tensor* scores;
  BENCH_TRY(hr_call_run(call, NULL));
  BENCH_TRY(hr_call_result(call, "scores", &scores));
  for (int i = 0; i < kClasses; ++i) {
    if (!isfinite(((const float*)hr_tensor_data(scores))[i])) return "the scores are no numbers";
  }
  hr_tensor_release(scores);
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  static hr_env* env;
  static char measured[32];
  static hr_call* call;
  static int count;
  int batch, length;
  if (sscanf(name, "%dx%d", &batch, &length) != 2) return "expected BATCHxLENGTH";
  if (env == NULL) BENCH_DO(bench_env(&env));
  if (strcmp(name, measured) != 0) {
    hr_call_release(call);
    BENCH_DO(Load(env, name, &call));
    BENCH_DO(Bind(env, call, batch, length));
    BENCH_DO(CheckScores(call));
    BENCH_DO(bench_calls_for(bench_run_call, call, 0.5, &count));
    snprintf(measured, sizeof measured, "%s", name);
  }
  BENCH_DO(bench_seconds_each(bench_run_call, call, count, repeats, values));
  for (int i = 0; i < repeats; ++i) values[i] *= 1e3;
  return NULL;
}

int main(void) { return bench_serve(Run); }
