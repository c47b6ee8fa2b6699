// Images a second of two processes, one thread each, that train LeNet: together one model, or
// apart.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "models/lenet.h"

enum { kRanks = 2, kBatch = 64, kExamples = 4096, kPixels = 28 * 28 };
static const double kSeconds = 1.5;

// Mode 0: apart, 1: together.
typedef struct Training {
  hr_session* session;
  hr_call* step;
} Training;

static struct {
  int rank, position;
  hr_group* group;
  Training trainings[2];
  hr_tensor *images[kExamples / kBatch], *labels[kExamples / kBatch];
  float loss;
} self;

typedef struct Request {
  int64_t mode, count;
} Request;

// Their values do not matter to the time; that they are dense does.
static const char* MakeExamples(void) {
  float* pixels = malloc(sizeof(float) * kExamples * kPixels);
  int64_t* classes = malloc(sizeof(int64_t) * kExamples);
  if (pixels == NULL || classes == NULL) return "no memory for the examples";
  uint32_t state = (uint32_t)self.rank + 1;
  for (int i = 0; i < kExamples * kPixels; ++i) {
    state = state * 1664525 + 1013904223;
    pixels[i] = (float)(state >> 24) / 255;
  }
  for (int i = 0; i < kExamples; ++i) classes[i] = i % 10;
  for (int i = 0; i < kExamples / kBatch; ++i) {
    BENCH_TRY(hr_tensor_wrap(HR_FLOAT32, 4, (const int64_t[]){kBatch, 1, 28, 28},
                             pixels + (size_t)i * kBatch * kPixels,
                             sizeof(float) * kBatch * kPixels, NULL, NULL, &self.images[i]));
    BENCH_TRY(hr_tensor_wrap(HR_INT64, 1, (const int64_t[]){kBatch}, classes + (size_t)i * kBatch,
                             sizeof(int64_t) * kBatch, NULL, NULL, &self.labels[i]));
  }
  return NULL;
}

static const char* MakeTraining(hr_env* env, int mode) {
  hr_model *model, *own;
  hr_graph* graph;
  const hr_session_options options = {.struct_size = sizeof options, .seed = 1};
  Training* out = &self.trainings[mode];
  BENCH_DO(lenet_model(env, &model));
  BENCH_TRY(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  if (mode == 1) BENCH_TRY(hr_graph_distribute(graph, "train", "workers", "mirrored"));
  BENCH_TRY(hr_model_from_graph(graph, &own));
  hr_graph_release(graph);
  BENCH_TRY(hr_session_create(own, &options, NULL, &out->session));
  hr_model_release(own);
  if (mode == 1) {
    BENCH_TRY(hr_session_bind_group(out->session, "workers", self.group, NULL));
    BENCH_TRY(hr_session_broadcast(out->session, "workers", 0, NULL));
  }
  BENCH_TRY(hr_call_create(out->session, "train", &out->step));
  BENCH_TRY(hr_call_bind_scalar(out->step, "learning_rate", 0.01));
  BENCH_TRY(hr_call_output(out->step, "loss", &self.loss, sizeof self.loss));
  return NULL;
}

static const char* Join(void) {
  hr_env* env;
  char store[512];
  const hr_env_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
  snprintf(store, sizeof store, "file:%s/mirrored-lenet", bench_scratch());
  const hr_group_options options = {.struct_size = sizeof options,
                                    .rank = self.rank,
                                    .size = kRanks,
                                    .store_url = store,
                                    .timeout_nanos = -1};
  BENCH_TRY(hr_env_create(&one_thread, &env));
  BENCH_TRY(hr_group_create(env, &options, NULL, &self.group));
  BENCH_DO(MakeExamples());
  BENCH_DO(MakeTraining(env, 0));
  return MakeTraining(env, 1);
}

// Seconds of a step, the slowest rank's.
static const char* Follow(const Request* request, double* seconds) {
  hr_call* step = self.trainings[request->mode].step;
  BENCH_TRY(hr_barrier(self.group, NULL));
  const double begin = bench_now();
  for (int64_t i = 0; i < request->count; ++i) {
    const int at = self.position++ % (kExamples / kBatch);
    BENCH_TRY(hr_call_bind(step, "images", self.images[at]));
    BENCH_TRY(hr_call_bind(step, "labels", self.labels[at]));
    BENCH_TRY(hr_call_run(step, NULL));
  }
  *seconds = (bench_now() - begin) / (double)request->count;
  BENCH_TRY(hr_all_reduce(self.group, seconds, seconds, 1, HR_FLOAT64, HR_MAX, NULL));
  return NULL;
}

static const char* Ask(Request request, double* seconds) {
  BENCH_TRY(hr_broadcast(self.group, &request, &request, 2, HR_INT64, 0, NULL));
  return Follow(&request, seconds);
}

static int Obey(void) {
  const char* error = Join();
  double seconds;
  while (error == NULL) {
    Request request;
    hr_status* status = hr_broadcast(self.group, NULL, &request, 2, HR_INT64, 0, NULL);
    if (status != NULL) _exit(0);  // the first rank is gone
    error = Follow(&request, &seconds);
  }
  fprintf(stderr, "rank %d: %s\n", self.rank, error);
  _exit(1);
}

static const char* Run(const char* name, int repeats, double* values) {
  Request request = {.mode = strcmp(name, "together") == 0, .count = 20};
  double seconds;
  if (self.group == NULL) BENCH_DO(Join());
  BENCH_DO(Ask(request, &seconds));
  request.count = 1 + (int64_t)(kSeconds / seconds);
  for (int i = 0; i < repeats; ++i) {
    BENCH_DO(Ask(request, &seconds));
    values[i] = kRanks * kBatch / seconds;
  }
  return NULL;
}

int main(void) {
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    self.rank = 1;
    bench_bind(1, kRanks);
    return Obey();
  }
  bench_bind(0, kRanks);
  return bench_serve(Run);
}
