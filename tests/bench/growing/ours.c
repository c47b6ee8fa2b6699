// A pass over sizes that grow from 1 to kMost.
#include <string.h>

#include "side.h"

enum { kMost = 256, kWidth = 256, kLayers = 4 };

typedef struct {
  hr_session* session;
  hr_call* call;
  hr_tensor* inputs[kMost + 1];
} Growing;

static const char* Build(hr_env* env, int bounded, hr_model** out) {
  const int64_t dims[2] = {-1, kWidth};
  const char* const symbols[2] = {"n", NULL};
  const char* const names[kLayers] = {"fc1", "fc2", "fc3", "fc4"};
  hr_graph* graph;
  hr_value x;
  BENCH_TRY(hr_graph_create(env, &graph));
  BENCH_TRY(hr_graph_input(graph, "x", HR_FLOAT32, 2, dims, symbols, &x));
  if (bounded) BENCH_TRY(hr_graph_bound(graph, "n", 1, kMost, 0, NULL));
  BENCH_TRY(hr_graph_signature_input(graph, "infer", "x", x));
  for (int i = 0; i < kLayers; ++i) {
    BENCH_TRY(hr_graph_dense(graph, names[i], x, kWidth, &x));
    BENCH_TRY(hr_graph_op(graph, "Relu", NULL, 1, &x, 1, &x));
  }
  BENCH_TRY(hr_graph_signature_output(graph, "infer", "y", x));
  BENCH_TRY(hr_model_from_graph(graph, out));
  hr_graph_release(graph);
  return NULL;
}

static const char* Open(hr_env* env, int bounded, Growing* g) {
  const hr_session_options options = {
      .struct_size = sizeof options, .max_plans = kMost, .max_sizes = kMost};
  hr_model* model;
  BENCH_DO(Build(env, bounded, &model));
  BENCH_TRY(hr_session_create(model, &options, NULL, &g->session));
  hr_model_release(model);
  BENCH_TRY(hr_call_create(g->session, "infer", &g->call));
  for (int64_t n = 1; n <= kMost; ++n) {
    const int64_t dims[2] = {n, kWidth};
    BENCH_TRY(hr_tensor_create(env, HR_FLOAT32, 2, dims, &g->inputs[n]));
    memset(hr_tensor_data(g->inputs[n]), 0, (size_t)(n * kWidth) * sizeof(float));
  }
  return NULL;
}

static const char* Pass(Growing* g) {
  for (int n = 1; n <= kMost; ++n) {
    BENCH_TRY(hr_call_bind(g->call, "x", g->inputs[n]));
    BENCH_TRY(hr_call_run(g->call, NULL));
  }
  return NULL;
}

static void Close(Growing* g) {
  for (int n = 1; n <= kMost; ++n) hr_tensor_release(g->inputs[n]);
  hr_call_release(g->call);
  hr_session_release(g->session);
}

static const char* Measure(hr_env* env, const char* name, double* value) {
  Growing growing;
  BENCH_DO(Open(env, strstr(name, "unbounded") == NULL, &growing));
  if (strcmp(name, "again") == 0) BENCH_DO(Pass(&growing));
  const double resident = bench_resident_bytes(), begin = bench_now();
  BENCH_DO(Pass(&growing));
  *value = strncmp(name, "memory", 6) == 0 ? bench_resident_bytes() - resident
                                           : 1e3 * (bench_now() - begin);
  Close(&growing);
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  hr_env* env;
  BENCH_DO(bench_env(&env));
  for (int i = 0; i < repeats; ++i) BENCH_DO(Measure(env, name, &values[i]));
  hr_env_release(env);
  return NULL;
}

int main(void) { return bench_serve(Run); }
