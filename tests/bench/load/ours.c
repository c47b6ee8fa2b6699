// Seconds and bytes of loading a file with 1 GiB of weights, until a run could begin.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "side.h"

enum { kCount = 64, kSide = 2048 };

// Tensors of their own: what shares memory is written once.
static const char* AddProduct(hr_env* env, hr_graph* graph, hr_value* x) {
  hr_tensor* weights;
  hr_value constant;
  BENCH_TRY(hr_tensor_create(env, HR_FLOAT32, 2, (const int64_t[]){kSide, kSide}, &weights));
  float* values = hr_tensor_data(weights);
  for (int i = 0; i < kSide * kSide; ++i) values[i] = (float)(i % 1021) / kSide / 1021;
  BENCH_TRY(hr_graph_constant(graph, NULL, weights, &constant));
  hr_tensor_release(weights);
  BENCH_TRY(hr_graph_op(graph, "MatMul", NULL, 2, (hr_value[]){*x, constant}, 1, x));
  return NULL;
}

static const char* Write(hr_env* env, const char* path) {
  hr_graph* graph;
  hr_value x;
  BENCH_TRY(hr_graph_create(env, &graph));
  BENCH_TRY(hr_graph_input(graph, "x", HR_FLOAT32, 2, (const int64_t[]){1, kSide}, NULL, &x));
  BENCH_TRY(hr_graph_signature_input(graph, "infer", "x", x));
  for (int i = 0; i < kCount; ++i) BENCH_DO(AddProduct(env, graph, &x));
  BENCH_TRY(hr_graph_signature_output(graph, "infer", "y", x));
  BENCH_TRY(hr_graph_save(graph, path, NULL));
  hr_graph_release(graph);
  return NULL;
}

static const char* Load(hr_env* env, const char* path, double* seconds, double* bytes) {
  hr_model* model;
  hr_session* session;
  hr_call* call;
  double before = bench_resident_bytes(), start = bench_now();
  BENCH_TRY(hr_model_load(env, path, NULL, &model));
  BENCH_TRY(hr_session_create(model, NULL, NULL, &session));
  BENCH_TRY(hr_call_create(session, "infer", &call));
  *seconds = bench_now() - start;
  *bytes = bench_resident_bytes() - before;
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  char path[4096];
  hr_env* env;
  snprintf(path, sizeof path, "%s/load.hrg", bench_scratch());
  BENCH_DO(bench_env(&env));
  if (access(path, R_OK) != 0) BENCH_DO(Write(env, path));
  for (int i = 0; i < repeats; ++i) {
    double seconds, bytes;
    BENCH_DO(Load(env, path, &seconds, &bytes));
    values[i] = strcmp(name, "time") == 0 ? seconds : bytes;
  }
  hr_env_release(env);
  return NULL;
}

int main(void) { return bench_serve(Run); }
