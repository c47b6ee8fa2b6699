// Images a second of training LeNet by hr_train, which the Python side also uses.
#include <stdlib.h>

#include "models/lenet.h"

enum { kExamples = 4096, kPixels = 28 * 28, kBatch = 64, kSteps = 192 };

typedef struct Training {
  hr_session* session;
  hr_dataset* data;
} Training;

static const char* MakeData(hr_env* env, hr_dataset** out) {
  hr_tensor* tensors[2];
  const char* const names[2] = {"images", "labels"};
  const hr_dataset_options options = {.struct_size = sizeof options, .batch = kBatch, .repeat = -1};
  BENCH_TRY(hr_tensor_create(env, HR_FLOAT32, 4, (const int64_t[]){kExamples, 1, 28, 28}, tensors));
  BENCH_TRY(hr_tensor_create(env, HR_INT64, 1, (const int64_t[]){kExamples}, tensors + 1));
  float* pixels = hr_tensor_data(tensors[0]);
  int64_t* classes = hr_tensor_data(tensors[1]);
  uint32_t state = 1;
  for (int i = 0; i < kExamples * kPixels; ++i) {
    state = state * 1664525 + 1013904223;
    pixels[i] = (float)(state >> 24) / 255;
  }
  for (int i = 0; i < kExamples; ++i) classes[i] = i % 10;
  BENCH_TRY(
      hr_dataset_from_tensors(env, 2, names, (const hr_tensor* const*)tensors, &options, out));
  hr_tensor_release(tensors[0]);
  hr_tensor_release(tensors[1]);
  return NULL;
}

static const char* Make(Training* out) {
  hr_env* env;
  hr_model* model;
  const hr_session_options options = {.struct_size = sizeof options, .seed = 1};
  BENCH_DO(bench_env(&env));
  BENCH_DO(lenet_model(env, &model));
  BENCH_TRY(hr_session_create(model, &options, NULL, &out->session));
  hr_model_release(model);
  return MakeData(env, &out->data);
}

static const char* Fit(void* context) {
  const Training* training = context;
  const char* const names[1] = {"learning_rate"};
  const double rates[1] = {0.05};
  const hr_train_options options = {.struct_size = sizeof options,
                                    .train_data = training->data,
                                    .max_steps = hr_session_step(training->session) + kSteps,
                                    .scalar_count = 1,
                                    .scalar_names = names,
                                    .scalars = rates};
  BENCH_TRY(hr_train(training->session, &options, NULL, NULL));
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  static Training training;
  (void)name;
  if (training.session == NULL) {
    BENCH_DO(Make(&training));
    BENCH_DO(Fit(&training));
  }
  BENCH_DO(bench_seconds_each(Fit, &training, 1, repeats, values));
  for (int i = 0; i < repeats; ++i) values[i] = kSteps * kBatch / values[i];
  return NULL;
}

int main(void) { return bench_serve(Run); }
