// Test accuracy of LeNet; the k-th run of a case has seed k. A case with more epochs goes on where
// one with fewer stopped.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/lenet.h"

enum { kMostSeeds = 100 };

typedef struct Training {
  int epochs;
  hr_session* session;
  hr_call *train, *infer;
  hr_dataset* data;
} Training;

static const char* Make(hr_env* env, int seed, Training* out) {
  char uri[100];
  snprintf(uri, sizeof uri, "idx:fashion-mnist/train?batch=64&shuffle=1&seed=%d", seed);
  BENCH_DO(lenet_training(env, (uint64_t)seed, &out->session, &out->train));
  BENCH_TRY(hr_call_create(out->session, "infer", &out->infer));
  BENCH_TRY(hr_dataset_open(env, uri, &out->data));
  BENCH_TRY(hr_call_bind_dataset(out->train, out->data));
  return NULL;
}

static const char* Epoch(Training* training) {
  if (training->epochs > 0) BENCH_TRY(hr_dataset_rewind(training->data, NULL));
  while (!hr_dataset_done(training->data, NULL)) BENCH_TRY(hr_call_run(training->train, NULL));
  ++training->epochs;
  return NULL;
}

// Adds a batch's right answers.
static const char* CountRight(Training* training, hr_tensor* const* batch, double* right) {
  hr_tensor* classes;
  BENCH_TRY(hr_call_bind(training->infer, "images", batch[0]));
  BENCH_TRY(hr_call_run(training->infer, NULL));
  BENCH_TRY(hr_call_result(training->infer, "classes", &classes));
  const int64_t *found = hr_tensor_data(classes), *labels = hr_tensor_data(batch[1]);
  for (int64_t i = 0; i < hr_tensor_elements(classes); ++i) *right += found[i] == labels[i];
  hr_tensor_release(classes);
  return NULL;
}

static const char* Accuracy(hr_env* env, Training* training, double* out) {
  hr_dataset* test;
  double right = 0, examples = 0;
  BENCH_TRY(hr_dataset_open(env, "idx:fashion-mnist/test?batch=1000", &test));
  while (!hr_dataset_done(test, NULL)) {
    hr_tensor* batch[2];
    BENCH_TRY(hr_dataset_next(test, NULL, batch));
    examples += (double)hr_tensor_elements(batch[1]);
    BENCH_DO(CountRight(training, batch, &right));
    hr_tensor_release(batch[0]);
    hr_tensor_release(batch[1]);
  }
  hr_dataset_release(test);
  *out = right / examples;
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  static Training trainings[kMostSeeds + 1];
  static hr_env* env;
  static int runs[2];
  int epochs = atoi(name), *seed = &runs[epochs > 2];
  if (env == NULL) BENCH_DO(bench_env(&env));
  for (int i = 0; i < repeats; ++i) {
    if (++*seed > kMostSeeds) return "expected at most 100 seeds";
    Training* training = &trainings[*seed];
    if (training->session == NULL) BENCH_DO(Make(env, *seed, training));
    while (training->epochs < epochs) BENCH_DO(Epoch(training));
    BENCH_DO(Accuracy(env, training, &values[i]));
  }
  return NULL;
}

int main(void) { return bench_serve(Run); }
