#include "models/encoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { kLayers = 6, kSize = 384, kHeads = 12, kInner = 1536, kWords = 1024, kClasses = 10 };

typedef struct Net {
  hr_env* env;
  hr_graph* graph;
  int batch, length;
  int variables;  // so far, for names
} Net;

// A read of a trainable variable of uniform random numbers from -bound to bound.
static const char* Random(Net* net, size_t rank, const int64_t* dims, double bound, hr_value* out) {
  char name[40], attributes[100];
  hr_variable variable;
  snprintf(name, sizeof name, "v%d", net->variables++);
  snprintf(attributes, sizeof attributes, "low=%g high=%g", -bound, bound);
  BENCH_TRY(hr_graph_variable_init(net->graph, name, HR_FLOAT32, rank, dims, 1, "RandomUniform",
                                   attributes, &variable));
  BENCH_TRY(hr_graph_read(net->graph, variable, out));
  return NULL;
}

// A read of a trainable variable of `count` equal numbers.
static const char* Filled(Net* net, int64_t count, float value, hr_value* out) {
  char name[40];
  hr_tensor* initial;
  hr_variable variable;
  snprintf(name, sizeof name, "v%d", net->variables++);
  BENCH_TRY(hr_tensor_create(net->env, HR_FLOAT32, 1, &count, &initial));
  for (int64_t i = 0; i < count; ++i) ((float*)hr_tensor_data(initial))[i] = value;
  BENCH_TRY(hr_graph_variable(net->graph, name, initial, 1, &variable));
  hr_tensor_release(initial);
  BENCH_TRY(hr_graph_read(net->graph, variable, out));
  return NULL;
}

static const char* Op(Net* net, const char* op, const char* attributes, hr_value a, hr_value b,
                      hr_value* out) {
  BENCH_TRY(hr_graph_op(net->graph, op, attributes, 2, (hr_value[]){a, b}, 1, out));
  return NULL;
}

static const char* Ints(Net* net, size_t count, const int64_t* values, hr_value* out) {
  hr_tensor* tensor;
  const int64_t dim = (int64_t)count;
  BENCH_TRY(hr_tensor_create(net->env, HR_INT64, 1, &dim, &tensor));
  for (size_t i = 0; i < count; ++i) ((int64_t*)hr_tensor_data(tensor))[i] = values[i];
  BENCH_TRY(hr_graph_constant(net->graph, NULL, tensor, out));
  hr_tensor_release(tensor);
  return NULL;
}

static const char* Linear(Net* net, int64_t inputs, int64_t outputs, hr_value* x) {
  hr_value weights, bias;
  BENCH_DO(Random(net, 2, (const int64_t[]){inputs, outputs}, 1 / sqrt((double)inputs), &weights));
  BENCH_DO(Filled(net, outputs, 0, &bias));
  BENCH_DO(Op(net, "MatMul", NULL, *x, weights, x));
  return Op(net, "Add", NULL, *x, bias, x);
}

static const char* Normalize(Net* net, hr_value* x) {
  hr_value in[3] = {*x};
  BENCH_DO(Filled(net, kSize, 1, &in[1]));
  BENCH_DO(Filled(net, kSize, 0, &in[2]));
  BENCH_TRY(hr_graph_op(net->graph, "LayerNormalization", NULL, 3, in, 1, x));
  return NULL;
}

// [batch, length, size] as heads, turned by the permutation.
static const char* Heads(Net* net, const char* permutation, hr_value* x) {
  hr_value dims;
  BENCH_DO(Linear(net, kSize, kSize, x));
  BENCH_DO(Ints(net, 4, (const int64_t[]){net->batch, net->length, kHeads, kSize / kHeads}, &dims));
  BENCH_DO(Op(net, "Reshape", NULL, *x, dims, x));
  BENCH_TRY(hr_graph_op(net->graph, "Transpose", permutation, 1, x, 1, x));
  return NULL;
}

static const char* Attention(Net* net, hr_value* x) {
  hr_value q = *x, k = *x, v = *x, root, dims;
  BENCH_DO(Heads(net, "perm=0,2,1,3", &q));
  BENCH_DO(Heads(net, "perm=0,2,3,1", &k));
  BENCH_DO(Heads(net, "perm=0,2,1,3", &v));
  char value[40];
  snprintf(value, sizeof value, "value_float=%.9g", sqrt(kSize / (double)kHeads));
  BENCH_TRY(hr_graph_op(net->graph, "Constant", value, 0, NULL, 1, &root));
  BENCH_DO(Op(net, "MatMul", NULL, q, k, &q));
  BENCH_DO(Op(net, "Div", NULL, q, root, &q));
  BENCH_TRY(hr_graph_op(net->graph, "Softmax", "axis=-1", 1, &q, 1, &q));
  BENCH_DO(Op(net, "MatMul", NULL, q, v, &q));
  BENCH_TRY(hr_graph_op(net->graph, "Transpose", "perm=0,2,1,3", 1, &q, 1, &q));
  BENCH_DO(Ints(net, 3, (const int64_t[]){net->batch, net->length, kSize}, &dims));
  BENCH_DO(Op(net, "Reshape", NULL, q, dims, x));
  return Linear(net, kSize, kSize, x);
}

static const char* Layer(Net* net, hr_value* x) {
  hr_value side = *x;
  BENCH_DO(Attention(net, &side));
  BENCH_DO(Op(net, "Add", NULL, *x, side, x));
  BENCH_DO(Normalize(net, x));
  side = *x;
  BENCH_DO(Linear(net, kSize, kInner, &side));
  BENCH_TRY(hr_graph_op(net->graph, "Gelu", NULL, 1, &side, 1, &side));
  BENCH_DO(Linear(net, kInner, kSize, &side));
  BENCH_DO(Op(net, "Add", NULL, *x, side, x));
  return Normalize(net, x);
}

// The scores of the classes from tokens.
static const char* Scores(Net* net, hr_value tokens, hr_value* x) {
  hr_value words, positions, axis;
  BENCH_DO(Random(net, 2, (const int64_t[]){kWords, kSize}, 1, &words));
  BENCH_DO(Random(net, 2, (const int64_t[]){net->length, kSize}, 1, &positions));
  BENCH_DO(Op(net, "Gather", "axis=0", words, tokens, x));
  BENCH_DO(Op(net, "Add", NULL, *x, positions, x));
  BENCH_DO(Normalize(net, x));
  for (int i = 0; i < kLayers; ++i) BENCH_DO(Layer(net, x));
  BENCH_DO(Ints(net, 1, (const int64_t[]){1}, &axis));
  BENCH_DO(Op(net, "ReduceMean", "keepdims=0", *x, axis, x));
  return Linear(net, kSize, kClasses, x);
}

static const char* Train(Net* net, hr_value scores) {
  const int64_t batch = net->batch;
  hr_value labels, rate, loss;
  BENCH_TRY(hr_graph_input(net->graph, "labels", HR_INT64, 1, &batch, NULL, &labels));
  BENCH_TRY(hr_graph_op(net->graph, "Constant", "value_float=0.0001", 0, NULL, 1, &rate));
  BENCH_DO(Op(net, "SoftmaxCrossEntropyLoss", NULL, scores, labels, &loss));
  BENCH_TRY(hr_graph_minimize(net->graph, "run", loss, "adam weight_decay=0.01 decoupled=1", rate));
  BENCH_TRY(hr_graph_signature_input(net->graph, "run", "labels", labels));
  BENCH_TRY(hr_graph_signature_output(net->graph, "run", "loss", loss));
  return NULL;
}

static const char* Build(Net* net, int training) {
  hr_value tokens, x;
  BENCH_TRY(hr_graph_input(net->graph, "tokens", HR_INT64, 2,
                           (const int64_t[]){net->batch, net->length}, NULL, &tokens));
  BENCH_TRY(hr_graph_signature_input(net->graph, "run", "tokens", tokens));
  BENCH_DO(Scores(net, tokens, &x));
  if (training) return Train(net, x);
  BENCH_TRY(hr_graph_signature_output(net->graph, "run", "scores", x));
  return NULL;
}

// Integers from 0 to below `limit`.
static const char* BindInts(const Net* net, hr_call* call, const char* name, size_t rank,
                            const int64_t* dims, int limit) {
  hr_tensor* tensor;
  BENCH_TRY(hr_tensor_create(net->env, HR_INT64, rank, dims, &tensor));
  int64_t* values = hr_tensor_data(tensor);
  for (int64_t i = 0; i < hr_tensor_elements(tensor); ++i) values[i] = i * 37 % limit;
  BENCH_TRY(hr_call_bind(call, name, tensor));
  hr_tensor_release(tensor);
  return NULL;
}

const char* encoder_call(hr_env* env, int batch, int length, int training, hr_call** out) {
  Net net = {.env = env, .batch = batch, .length = length};
  BENCH_TRY(hr_graph_create(env, &net.graph));
  BENCH_DO(Build(&net, training));
  BENCH_DO(bench_graph_call(net.graph, "run", out));
  const int64_t dims[] = {batch, length};
  BENCH_DO(BindInts(&net, *out, "tokens", 2, dims, kWords));
  return training ? BindInts(&net, *out, "labels", 1, dims, kClasses) : NULL;
}

const char* encoder_run(const char* name, int training, int repeats, double* values) {
  static hr_env* env;
  static char measured[32];
  static hr_call* call;
  static int count;
  int batch, length;
  if (sscanf(name, "%dx%d", &batch, &length) != 2) return "expected BATCHxLENGTH";
  if (env == NULL) BENCH_DO(bench_env(&env));
  if (strcmp(name, measured) != 0) {
    hr_call_release(call);
    BENCH_DO(encoder_call(env, batch, length, training, &call));
    BENCH_DO(bench_calls_for(bench_run_call, call, 0.5, &count));
    snprintf(measured, sizeof measured, "%s", name);
  }
  BENCH_DO(bench_seconds_each(bench_run_call, call, count, repeats, values));
  for (int i = 0; i < repeats; ++i) values[i] *= 1e3;
  return NULL;
}
