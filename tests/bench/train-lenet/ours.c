// Images a second of training LeNet, batch after batch from memory.
#include <stdlib.h>

#include "models/lenet.h"

enum { kExamples = 16384, kPixels = 28 * 28, kMostBatches = kExamples / 64 };
static const double kSeconds = 1.5;

typedef struct Training {
  int batch, count, position;
  float loss;
  hr_session* session;
  hr_call* train;
  hr_tensor *images[kMostBatches], *labels[kMostBatches];
} Training;

static float* pixels;
static int64_t* classes;

// Their values do not matter to the time; that they are dense does.
static const char* MakeExamples(void) {
  pixels = malloc(sizeof(float) * kExamples * kPixels);
  classes = malloc(sizeof(int64_t) * kExamples);
  if (pixels == NULL || classes == NULL) return "no memory for the examples";
  uint32_t state = 1;
  for (int i = 0; i < kExamples * kPixels; ++i) {
    state = state * 1664525 + 1013904223;
    pixels[i] = (float)(state >> 24) / 255;
  }
  for (int i = 0; i < kExamples; ++i) classes[i] = i % 10;
  return NULL;
}

static const char* Step(void* context) {
  Training* training = context;
  int at = training->position++ % (kExamples / training->batch);
  BENCH_TRY(hr_call_bind(training->train, "images", training->images[at]));
  BENCH_TRY(hr_call_bind(training->train, "labels", training->labels[at]));
  BENCH_TRY(hr_call_run(training->train, NULL));
  return NULL;
}

static const char* Make(hr_env* env, int batch, Training* out) {
  out->batch = batch;
  if (pixels == NULL) BENCH_DO(MakeExamples());
  for (int i = 0; i < kExamples / batch; ++i) {
    BENCH_TRY(hr_tensor_wrap(HR_FLOAT32, 4, (const int64_t[]){batch, 1, 28, 28},
                             pixels + (size_t)i * batch * kPixels, sizeof(float) * batch * kPixels,
                             NULL, NULL, &out->images[i]));
    BENCH_TRY(hr_tensor_wrap(HR_INT64, 1, (const int64_t[]){batch}, classes + (size_t)i * batch,
                             sizeof(int64_t) * batch, NULL, NULL, &out->labels[i]));
  }
  BENCH_DO(lenet_training(env, 1, &out->session, &out->train));
  BENCH_TRY(hr_call_output(out->train, "loss", &out->loss, sizeof out->loss));
  return bench_calls_for(Step, out, kSeconds, &out->count);
}

static const char* Run(const char* name, int repeats, double* values) {
  static Training trainings[2];
  static hr_env* env;
  Training* training = &trainings[bench_case_number(name) == 64];
  if (bench_case_number(name) < 64) return "expected batch-64 or batch-256";
  if (env == NULL) BENCH_DO(bench_env(&env));
  if (training->batch == 0) BENCH_DO(Make(env, bench_case_number(name), training));
  BENCH_DO(bench_seconds_each(Step, training, training->count, repeats, values));
  for (int i = 0; i < repeats; ++i) values[i] = training->batch / values[i];
  return NULL;
}

int main(void) { return bench_serve(Run); }
