// Our side of the sweep: the networks of models/networks_torch.py, from their ONNX files.
#include <string.h>

#include "cells.h"

typedef struct Optimizer {
  char text[100];  // as hr_graph_minimize takes it
  double rate;
} Optimizer;

static const char* ReadOptimizer(const char* network, Optimizer* out) {
  FILE* file;
  BENCH_DO(bench_open(network, "optimizer", &file));
  int read = fscanf(file, "%99[^\n] %lf", out->text, &out->rate);
  fclose(file);
  return read == 2 ? NULL : "expected an optimizer and a learning rate";
}

// Adds the signature "train" with an output "loss".
static const char* AddTraining(hr_graph* graph, size_t label_rank, const char* optimizer) {
  const int64_t open[] = {-1, -1, -1, -1, -1, -1, -1, -1};
  hr_value x, labels, rate, scores, loss;
  BENCH_TRY(hr_graph_find_value(graph, "x", &x));
  BENCH_TRY(hr_graph_find_value(graph, "scores", &scores));
  BENCH_TRY(hr_graph_input(graph, "labels", HR_INT64, label_rank, open, NULL, &labels));
  BENCH_TRY(hr_graph_input(graph, "learning_rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  BENCH_TRY(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, (hr_value[]){scores, labels}, 1,
                        &loss));
  BENCH_TRY(hr_graph_minimize(graph, "train", loss, optimizer, rate));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "x", x));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "labels", labels));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "learning_rate", rate));
  BENCH_TRY(hr_graph_signature_output(graph, "train", "loss", loss));
  return NULL;
}

static const char* StartTraining(hr_env* env, const char* network, int batch, hr_graph* graph,
                                 hr_call** out) {
  hr_tensor* labels;
  Optimizer optimizer;
  BENCH_DO(ReadOptimizer(network, &optimizer));
  BENCH_DO(bench_examples(env, network, "labels", batch, &labels));
  BENCH_DO(AddTraining(graph, hr_tensor_rank(labels), optimizer.text));
  BENCH_DO(bench_call_of(graph, "train", out));
  BENCH_DO(bench_bind_tensor(*out, "labels", labels));
  BENCH_TRY(hr_call_bind_scalar(*out, "learning_rate", optimizer.rate));
  return NULL;
}

static const char* Start(hr_env* env, const char* network, const char* mode, int batch,
                         hr_call** out) {
  hr_graph* graph;
  hr_tensor* x;
  int training = strcmp(mode, "train") == 0;
  BENCH_DO(bench_converted(env, network, mode, !training, &graph));
  BENCH_DO(bench_examples(env, network, "x", batch, &x));
  if (training) {
    BENCH_DO(StartTraining(env, network, batch, graph, out));
  } else {
    BENCH_DO(bench_call_of(graph, mode, out));
  }
  return bench_bind_tensor(*out, "x", x);
}

// The losses of the first `count` steps, or elements of the scores.
static const char* Check(hr_call* call, const char* mode, int count, double* values) {
  if (strcmp(mode, "train") != 0) {
    BENCH_TRY(hr_call_run(call, NULL));
    return bench_elements(call, "scores", count, values);
  }
  for (int i = 0; i < count; ++i) {
    BENCH_TRY(hr_call_run(call, NULL));
    BENCH_DO(bench_elements(call, "loss", 1, &values[i]));
  }
  return NULL;
}

int main(void) { return bench_serve_cells(Start, Check); }
