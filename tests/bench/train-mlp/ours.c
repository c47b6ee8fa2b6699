// Microseconds of one training step of 784-128-10, always on the same batch.
#include "side.h"

enum { kMostBatch = 32 };
static float pixels[kMostBatch * 784];
static int64_t classes[kMostBatch];

static const char* Build(hr_graph* graph, int64_t batch) {
  hr_value images, labels, rate, x, loss;
  BENCH_TRY(
      hr_graph_input(graph, "images", HR_FLOAT32, 2, (const int64_t[]){batch, 784}, NULL, &images));
  BENCH_TRY(hr_graph_input(graph, "labels", HR_INT64, 1, (const int64_t[]){batch}, NULL, &labels));
  BENCH_TRY(hr_graph_input(graph, "learning_rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  BENCH_TRY(hr_graph_dense(graph, "fc1", images, 128, &x));
  BENCH_TRY(hr_graph_op(graph, "Relu", NULL, 1, &x, 1, &x));
  BENCH_TRY(hr_graph_dense(graph, "fc2", x, 10, &x));
  BENCH_TRY(
      hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, (hr_value[]){x, labels}, 1, &loss));
  BENCH_TRY(hr_graph_minimize(graph, "train", loss, "sgd momentum=0.9", rate));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "images", images));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "labels", labels));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "learning_rate", rate));
  BENCH_TRY(hr_graph_signature_output(graph, "train", "loss", loss));
  return NULL;
}

static const char* BindBatch(hr_call* call, int64_t batch) {
  hr_tensor *images, *labels;
  for (int i = 0; i < batch * 784; ++i) pixels[i] = (float)(i * 37 % 256) / 255;
  for (int i = 0; i < batch; ++i) classes[i] = i % 10;
  BENCH_TRY(hr_tensor_wrap(HR_FLOAT32, 2, (const int64_t[]){batch, 784}, pixels,
                           sizeof(float) * (size_t)batch * 784, NULL, NULL, &images));
  BENCH_TRY(hr_tensor_wrap(HR_INT64, 1, (const int64_t[]){batch}, classes,
                           sizeof(int64_t) * (size_t)batch, NULL, NULL, &labels));
  BENCH_TRY(hr_call_bind(call, "images", images));
  BENCH_TRY(hr_call_bind(call, "labels", labels));
  BENCH_TRY(hr_call_bind_scalar(call, "learning_rate", 0.05));
  hr_tensor_release(images);
  hr_tensor_release(labels);
  return NULL;
}

static const char* Make(int64_t batch, hr_call** out) {
  static float loss;
  hr_env* env;
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  BENCH_DO(bench_env(&env));
  BENCH_TRY(hr_graph_create(env, &graph));
  BENCH_DO(Build(graph, batch));
  BENCH_TRY(hr_model_from_graph(graph, &model));
  BENCH_TRY(hr_session_create(model, NULL, NULL, &session));
  BENCH_TRY(hr_call_create(session, "train", out));
  BENCH_DO(BindBatch(*out, batch));
  BENCH_TRY(hr_call_output(*out, "loss", &loss, sizeof loss));
  return NULL;
}

static const char* Run(const char* name, int repeats, double* values) {
  static hr_call* calls[kMostBatch + 1];
  static int counts[kMostBatch + 1];
  int batch = bench_case_number(name);
  if (batch < 1 || batch > kMostBatch) return "expected batch-N with N from 1 to 32";
  if (calls[batch] == NULL) {
    BENCH_DO(Make(batch, &calls[batch]));
    BENCH_DO(bench_calls_for(bench_run_call, calls[batch], 0.5, &counts[batch]));
  }
  BENCH_DO(bench_seconds_each(bench_run_call, calls[batch], counts[batch], repeats, values));
  for (int i = 0; i < repeats; ++i) values[i] *= 1e6;
  return NULL;
}

int main(void) { return bench_serve(Run); }
