// Our side of sweep-layers: the layers of models/layers_torch.py, from their ONNX files. "forward"
// is inference, with constant weights; "backward" computes the output and the gradients of all
// inputs and weights.
#include <string.h>

#include "cells.h"

enum { kMostInputs = 3, kMost = 8 };

// The outputs of the signature "backward", in which the sides have to agree, in order.
static const char* const kGradients[kMost] = {"g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7"};
static const char* const kInputs[kMostInputs] = {"x0", "x1", "x2"};

static int CountInputs(const hr_graph* graph) {
  int count = 0;
  for (hr_value value; count < kMostInputs; ++count) {
    hr_status* missing = hr_graph_find_value(graph, kInputs[count], &value);
    if (missing != NULL) {
      hr_status_release(missing);
      break;
    }
  }
  return count;
}

// The weights, in the order of the file.
static const char* Weights(const hr_graph* graph, const char* layer, hr_variable* out,
                           size_t* count) {
  FILE* file;
  char name[100];
  BENCH_DO(bench_open(layer, "gradients", &file));
  const char* error = NULL;
  for (*count = 0; error == NULL && *count < kMost && fscanf(file, "%99s", name) == 1; ++*count) {
    error = bench_error(hr_graph_find_variable(graph, name, &out[*count]));
  }
  fclose(file);
  return error;
}

// The sum of the output's elements, each times dy's.
static const char* Weighted(hr_graph* graph, const hr_tensor* dy, hr_value* out) {
  const int64_t open[] = {-1, -1, -1, -1, -1, -1, -1, -1};
  hr_value in[2];
  BENCH_TRY(hr_graph_find_value(graph, "y", &in[0]));
  BENCH_TRY(hr_graph_input(graph, "dy", HR_FLOAT32, hr_tensor_rank(dy), open, NULL, &in[1]));
  BENCH_TRY(hr_graph_signature_input(graph, "backward", "dy", in[1]));
  BENCH_TRY(hr_graph_op(graph, "Mul", NULL, 2, in, 1, out));
  BENCH_TRY(hr_graph_signature_output(graph, "backward", "y", in[0]));
  return bench_error(hr_graph_op(graph, "ReduceSum", "keepdims=0", 1, out, 1, out));
}

// Adds the signature "backward" with outputs y, g0, g1, …
static const char* AddGradients(hr_graph* graph, const char* layer, const hr_tensor* dy) {
  hr_value x[kMostInputs], gradients[kMost], loss;
  hr_variable weights[kMost];
  size_t count;
  int inputs = CountInputs(graph);
  BENCH_DO(Weighted(graph, dy, &loss));
  for (int i = 0; i < inputs; ++i) {
    BENCH_TRY(hr_graph_find_value(graph, kInputs[i], &x[i]));
    BENCH_TRY(hr_graph_signature_input(graph, "backward", kInputs[i], x[i]));
  }
  BENCH_DO(Weights(graph, layer, weights, &count));
  BENCH_TRY(hr_graph_add_gradients(graph, loss, (size_t)inputs, x, gradients));
  if (count > 0) {
    BENCH_TRY(hr_graph_variable_gradients(graph, loss, count, weights, gradients + inputs));
  }
  for (size_t i = 0; i < (size_t)inputs + count; ++i) {
    BENCH_TRY(hr_graph_signature_output(graph, "backward", kGradients[i], gradients[i]));
  }
  return NULL;
}

static const char* Start(hr_env* env, const char* layer, const char* mode, int batch,
                         hr_call** out) {
  hr_graph* graph;
  hr_tensor* tensor;
  int backward = strcmp(mode, "backward") == 0;
  BENCH_DO(bench_converted(env, layer, mode, !backward, &graph));
  int inputs = CountInputs(graph);
  if (backward) {
    BENCH_DO(bench_examples(env, layer, "dy", batch, &tensor));
    BENCH_DO(AddGradients(graph, layer, tensor));
  }
  BENCH_DO(bench_call_of(graph, backward ? mode : "infer", out));
  if (backward) BENCH_DO(bench_bind_tensor(*out, "dy", tensor));
  for (int i = 0; i < inputs; ++i) {
    BENCH_DO(bench_examples(env, layer, kInputs[i], batch, &tensor));
    BENCH_DO(bench_bind_tensor(*out, kInputs[i], tensor));
  }
  return NULL;
}

static int HasOutput(hr_call* call, const char* name) {
  hr_status* missing = hr_call_output_type(call, name, NULL, NULL, NULL);
  if (missing == NULL) return 1;
  hr_status_release(missing);
  return 0;
}

// Elements of the output, or as many of each gradient.
static const char* Check(hr_call* call, const char* mode, int count, double* values) {
  int gradients = 0;
  BENCH_TRY(hr_call_run(call, NULL));
  if (strcmp(mode, "backward") != 0) return bench_elements(call, "y", count, values);
  while (gradients < kMost && HasOutput(call, kGradients[gradients])) ++gradients;
  int each = gradients == 0 ? 0 : count / gradients;
  if (each * gradients != count) return "expected a number for each gradient, as many of all";
  for (int i = 0; i < gradients; ++i) {
    BENCH_DO(bench_elements(call, kGradients[i], each, values + i * each));
  }
  return NULL;
}

int main(void) { return bench_serve_cells(Start, Check); }
