#include "models/adds.h"

static const char* Build(hr_graph* graph, int length) {
  hr_value x, y;
  BENCH_TRY(hr_graph_input(graph, "x", HR_FLOAT32, 1, (const int64_t[]){4}, NULL, &x));
  y = x;
  for (int i = 0; i < length; ++i) {
    BENCH_TRY(hr_graph_op(graph, "Add", NULL, 2, (hr_value[]){y, x}, 1, &y));
  }
  BENCH_TRY(hr_graph_signature_input(graph, "infer", "x", x));
  BENCH_TRY(hr_graph_signature_output(graph, "infer", "y", y));
  return NULL;
}

const char* adds_call(int length, hr_call** out) {
  static float in[4] = {1, 2, 3, 4}, result[4];
  hr_env* env;
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  hr_tensor* x;
  BENCH_DO(bench_env(&env));
  BENCH_TRY(hr_graph_create(env, &graph));
  BENCH_DO(Build(graph, length));
  BENCH_TRY(hr_model_from_graph(graph, &model));
  hr_session_options options = {.struct_size = sizeof options, .disable_fusion = 1};
  BENCH_TRY(hr_session_create(model, &options, NULL, &session));
  BENCH_TRY(hr_call_create(session, "infer", out));
  BENCH_TRY(hr_tensor_wrap(HR_FLOAT32, 1, (const int64_t[]){4}, in, sizeof in, NULL, NULL, &x));
  BENCH_TRY(hr_call_bind(*out, "x", x));
  BENCH_TRY(hr_call_output(*out, "y", result, sizeof result));
  BENCH_TRY(hr_call_run(*out, NULL));
  for (int i = 0; i < 4; ++i) {
    if (result[i] != in[i] * (float)(length + 1)) return "the sum is wrong";
  }
  return NULL;
}
