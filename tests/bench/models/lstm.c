#include "models/lstm.h"

#include <math.h>
#include <stdio.h>

enum { kUnits = 256, kClasses = 10 };

// A read of a trainable variable of uniform random numbers from -1 / sqrt(units) on.
static const char* Weights(hr_graph* graph, const char* name, size_t rank, const int64_t* dims,
                           hr_value* out) {
  char attributes[100];
  hr_variable variable;
  snprintf(attributes, sizeof attributes, "low=%g high=%g", -1 / sqrt(kUnits), 1 / sqrt(kUnits));
  BENCH_TRY(hr_graph_variable_init(graph, name, HR_FLOAT32, rank, dims, 1, "RandomUniform",
                                   attributes, &variable));
  BENCH_TRY(hr_graph_read(graph, variable, out));
  return NULL;
}

// [steps, batch, features] through one layer.
static const char* Layer(hr_graph* graph, int number, int64_t inputs, hr_value axis, hr_value* x) {
  char name[3][20];
  const char* what[] = {"w", "r", "b"};
  for (int i = 0; i < 3; ++i) snprintf(name[i], sizeof name[i], "lstm%d/%s", number, what[i]);
  hr_value in[4] = {*x}, y;
  BENCH_DO(Weights(graph, name[0], 3, (const int64_t[]){1, 4 * kUnits, inputs}, &in[1]));
  BENCH_DO(Weights(graph, name[1], 3, (const int64_t[]){1, 4 * kUnits, kUnits}, &in[2]));
  BENCH_DO(Weights(graph, name[2], 2, (const int64_t[]){1, 8 * kUnits}, &in[3]));
  BENCH_TRY(hr_graph_op(graph, "LSTM", "hidden_size=256", 4, in, 1, &y));
  BENCH_TRY(hr_graph_op(graph, "Squeeze", NULL, 2, (hr_value[]){y, axis}, 1, x));
  return NULL;
}

static const char* Build(hr_env* env, hr_graph* graph, int64_t batch) {
  const int64_t one = 1;
  hr_tensor* number;
  hr_value x, axis, last, labels, rate, loss;
  BENCH_TRY(hr_graph_input(graph, "x", HR_FLOAT32, 3,
                           (const int64_t[]){kLstmSteps, batch, kLstmInputs}, NULL, &x));
  BENCH_TRY(hr_graph_input(graph, "labels", HR_INT64, 1, &batch, NULL, &labels));
  BENCH_TRY(hr_graph_signature_input(graph, "run", "x", x));
  BENCH_TRY(hr_graph_signature_input(graph, "run", "labels", labels));
  BENCH_TRY(hr_tensor_create(env, HR_INT64, 1, &one, &number));
  *(int64_t*)hr_tensor_data(number) = 1;
  BENCH_TRY(hr_graph_constant(graph, NULL, number, &axis));
  hr_tensor_release(number);
  BENCH_DO(Layer(graph, 1, kLstmInputs, axis, &x));
  BENCH_DO(Layer(graph, 2, kUnits, axis, &x));
  BENCH_TRY(hr_graph_op(graph, "Constant", "value_int=63", 0, NULL, 1, &last));
  BENCH_TRY(hr_graph_op(graph, "Gather", "axis=0", 2, (hr_value[]){x, last}, 1, &x));
  BENCH_TRY(hr_graph_dense(graph, "fc", x, kClasses, &x));
  BENCH_TRY(
      hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, (hr_value[]){x, labels}, 1, &loss));
  BENCH_TRY(hr_graph_op(graph, "Constant", "value_float=0.001", 0, NULL, 1, &rate));
  BENCH_TRY(hr_graph_minimize(graph, "run", loss, "adam", rate));
  BENCH_TRY(hr_graph_signature_output(graph, "run", "loss", loss));
  return NULL;
}

static const char* Bind(hr_env* env, hr_call* call, int64_t batch) {
  hr_tensor *x, *labels;
  BENCH_TRY(
      hr_tensor_create(env, HR_FLOAT32, 3, (const int64_t[]){kLstmSteps, batch, kLstmInputs}, &x));
  float* values = hr_tensor_data(x);
  for (int64_t i = 0; i < hr_tensor_elements(x); ++i) values[i] = (float)(i * 37 % 256) / 255;
  BENCH_TRY(hr_call_bind(call, "x", x));
  hr_tensor_release(x);
  BENCH_TRY(hr_tensor_create(env, HR_INT64, 1, &batch, &labels));
  for (int64_t i = 0; i < batch; ++i) ((int64_t*)hr_tensor_data(labels))[i] = i % kClasses;
  BENCH_TRY(hr_call_bind(call, "labels", labels));
  hr_tensor_release(labels);
  return NULL;
}

const char* lstm_call(hr_env* env, int batch, hr_call** out) {
  hr_graph* graph;
  BENCH_TRY(hr_graph_create(env, &graph));
  BENCH_DO(Build(env, graph, batch));
  BENCH_DO(bench_graph_call(graph, "run", out));
  return Bind(env, *out, batch);
}
