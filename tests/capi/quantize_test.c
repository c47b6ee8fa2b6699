/* hr_graph_quantize: what it makes of a network of convolutions and products, and what it refuses.
 */
#include <math.h>

#include "nodes.h"

enum { SIDE = 6, CHANNELS = 4, FLAT = CHANNELS * SIDE * SIDE, WIDTH = 10, KINDS = 3, BATCH = 12 };

/* A constant of numbers between -1 and 1; `odd` stands at its second place if it is not 0. */
static hr_value numbers(hr_env* env, hr_graph* graph, const char* name, size_t rank,
                        const int64_t* dims, float odd) {
  hr_tensor* tensor;
  hr_value out;
  CHECK(hr_tensor_create(env, HR_FLOAT32, rank, dims, &tensor));
  float* const data = hr_tensor_data(tensor);
  for (int64_t i = 0; i < hr_tensor_elements(tensor); ++i)
    data[i] = (float)((i * 37 + (int64_t)rank) % 41 - 20) / 20;
  if (odd != 0) data[1] = odd;
  CHECK(hr_graph_constant(graph, name, tensor, &out));
  hr_tensor_release(tensor);
  return out;
}

/* "infer": x [batch, 2, SIDE, SIDE] → scores [batch, KINDS], by a convolution of two groups, a Gemm
 * with a transposed weight, and a MatMul. */
static hr_graph* network(hr_env* env, float odd) {
  hr_graph* graph;
  hr_value x;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 4, (const int64_t[]){-1, 2, SIDE, SIDE},
                       (const char* const[]){"batch", NULL, NULL, NULL}, &x));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  const hr_value filters =
      numbers(env, graph, "filters", 4, (const int64_t[]){CHANNELS, 1, 3, 3}, 0);
  const hr_value bias = numbers(env, graph, "bias", 1, (const int64_t[]){CHANNELS}, 0);
  x = op(graph, "Conv", "group=2 pads=1,1,1,1", 3, x, filters, bias);
  x = op(graph, "Relu", NULL, 1, x);
  x = op(graph, "Flatten", NULL, 1, x);
  const hr_value first = numbers(env, graph, "first", 2, (const int64_t[]){WIDTH, FLAT}, odd);
  const hr_value row = numbers(env, graph, "row", 1, (const int64_t[]){WIDTH}, 0);
  x = op(graph, "Gemm", "transB=1", 3, x, first, row);
  x = op(graph, "Tanh", NULL, 1,
         op(graph, "Mul", NULL, 2, x, op(graph, "Constant", "value_float=0.05", 0)));
  x = op(graph, "MatMul", NULL, 2, x,
         numbers(env, graph, "second", 2, (const int64_t[]){WIDTH, KINDS}, 0));
  CHECK(hr_graph_signature_output(graph, "infer", "scores", x));
  /* Goes when the graph is quantized. */
  CHECK(hr_graph_signature_output(graph, "other", "scores", op(graph, "Exp", NULL, 1, x)));
  return graph;
}

static hr_tensor* images(hr_env* env, int64_t count, int64_t side, float odd) {
  hr_tensor* x;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 4, (const int64_t[]){count, 2, side, side}, &x));
  float* const data = hr_tensor_data(x);
  for (int64_t i = 0; i < hr_tensor_elements(x); ++i) data[i] = (float)(i * 31 % 67 - 30) / 30;
  if (odd != 0) data[5] = odd;
  return x;
}

static hr_dataset* data_of(hr_env* env, hr_tensor* x) {
  const hr_dataset_options options = {.struct_size = sizeof options, .batch = 4};
  hr_dataset* data;
  CHECK(hr_dataset_from_tensors(env, 1, (const char* const[]){"x"}, (const hr_tensor* const*)&x,
                                &options, &data));
  hr_tensor_release(x);
  return data;
}

/* What "infer" makes of `x`, which it releases: `count` scores. */
static void run(const hr_graph* graph, hr_tensor* x, size_t count, float* out) {
  hr_model* model;
  hr_session* session;
  hr_call* call;
  CHECK(hr_model_from_graph(graph, &model));
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "infer", &call));
  CHECK(hr_call_bind(call, "x", x));
  CHECK(hr_call_output(call, "scores", out, sizeof(float) * count));
  CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  hr_tensor_release(x);
}

static void infer(hr_env* env, const hr_graph* graph, float* out) {
  run(graph, images(env, BATCH, SIDE, 0), BATCH * KINDS, out);
}

/* The root mean square of the error, as a part of that of what it was. */
static double error_of(const float* after, const float* before, size_t count) {
  double size = 0, error = 0;
  for (size_t i = 0; i < count; ++i) {
    size += (double)before[i] * before[i];
    error += ((double)after[i] - before[i]) * ((double)after[i] - before[i]);
  }
  return sqrt(error / size);
}

/* Quantizes the network, and expects its scores to be within `most` of what they were, as a part
 * of their size, but not the same. */
static void check(hr_env* env, const char* settings, double most, const char* const* operators) {
  float before[BATCH * KINDS], after[BATCH * KINDS];
  hr_graph* graph = network(env, 0);
  hr_dataset* data = NULL;
  hr_text* report;
  infer(env, graph, before);
  if (strncmp(settings, "static", 6) == 0) data = data_of(env, images(env, BATCH, SIDE, 0));
  CHECK(hr_graph_quantize(graph, "infer", settings, NULL, data, NULL, &report));
  EXPECT(strstr(hr_text_data(report), "\"op\":\"Gemm\",\"weight\":\"first\"") != NULL);
  EXPECT(strstr(hr_text_data(report), "\"weight\":\"filters\"") != NULL);
  EXPECT(strstr(hr_text_data(report), "\"skipped\":[]") != NULL);
  EXPECT((strstr(hr_text_data(report), "\"high\"") != NULL) == (data != NULL));
  hr_text_release(report);
  infer(env, graph, after);
  const double error = error_of(after, before, BATCH * KINDS);
  EXPECT(error > 0);
  EXPECT(error < most);
  /* What it is written with, and what is gone. */
  hr_text* text;
  hr_model* model;
  CHECK(hr_model_from_graph(graph, &model));
  CHECK(hr_model_describe(model, &text));
  for (; *operators != NULL; ++operators) EXPECT(strstr(hr_text_data(text), *operators) != NULL);
  EXPECT(strstr(hr_text_data(text), "other") == NULL);
  hr_text_release(text);
  hr_model_release(model);
  hr_dataset_release(data);
  hr_graph_release(graph);
}

static void modes(hr_env* env) {
  const char* const weights[] = {"DequantizeLinear", "Gemm", NULL};
  const char* const dynamic[] = {"DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", NULL};
  const char* const fixed[] = {"\"QuantizeLinear", "DequantizeLinear", "Conv", NULL};
  const char* const halves[] = {"Cast", "MatMul", NULL};
  check(env, "weights", 0.02, weights);
  check(env, "weights per_channel=0", 0.03, weights);
  check(env, "dynamic", 0.03, dynamic);
  check(env, "dynamic per_channel=0", 0.04, dynamic);
  check(env, "static", 0.03, fixed);
  check(env, "static percentile=99.9 batches=2", 0.05, fixed);
  check(env, "static entropy=1", 0.05, fixed);
  check(env, "float16", 1e-3, halves);
  check(env, "bfloat16", 1e-2, halves);
  check(env, "bfloat16 activations=1", 1e-2, halves);
}

/* Whether the range of x reaches its one far number, over images that have it. */
static int reaches(hr_env* env, const char* settings) {
  hr_graph* graph = network(env, 0);
  hr_dataset* data = data_of(env, images(env, BATCH, SIDE, 1000));
  hr_text* report;
  CHECK(hr_graph_quantize(graph, "infer", settings, NULL, data, NULL, &report));
  const int out = strstr(hr_text_data(report), "\"high\":1000") != NULL;
  hr_text_release(report);
  hr_dataset_release(data);
  hr_graph_release(graph);
  return out;
}

static void calibration(hr_env* env) {
  EXPECT(reaches(env, "static"));
  EXPECT(!reaches(env, "static percentile=99"));
  EXPECT(!reaches(env, "static entropy=1"));
}

enum { WORDS = 11, DEPTH = 6 };

/* "infer": x [WORDS] words → scores [WORDS, WORDS], by a table that is the last weight, too, and a
 * square weight that is taken as it is and turned. */
static hr_graph* language(hr_env* env) {
  hr_graph* graph;
  hr_value x;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_INT64, 1, (const int64_t[]){WORDS}, NULL, &x));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  const hr_value table = numbers(env, graph, "table", 2, (const int64_t[]){WORDS, DEPTH}, 3);
  const hr_value square = numbers(env, graph, "square", 2, (const int64_t[]){DEPTH, DEPTH}, 0.7f);
  x = op(graph, "Gather", NULL, 2, table, x);
  x = op(graph, "MatMul", NULL, 2, x, square);
  x = op(graph, "Gemm", "transB=1", 2, x, square);
  x = op(graph, "MatMul", NULL, 2, x, op(graph, "Transpose", "perm=1,0", 1, table));
  CHECK(hr_graph_signature_output(graph, "infer", "scores", x));
  return graph;
}

static hr_tensor* words(hr_env* env) {
  hr_tensor* x;
  CHECK(hr_tensor_create(env, HR_INT64, 1, (const int64_t[]){WORDS}, &x));
  for (int64_t i = 0; i < WORDS; ++i) ((int64_t*)hr_tensor_data(x))[i] = i * 5 % WORDS;
  return x;
}

/* `bytes`: all weights, in 8 or 16 bits, with their scales. */
static void check_words(hr_env* env, const char* settings, const char* bytes, double most) {
  float before[WORDS * WORDS], after[WORDS * WORDS];
  hr_graph* graph = language(env);
  hr_dataset* data = NULL;
  hr_text* report;
  run(graph, words(env), WORDS * WORDS, before);
  if (strncmp(settings, "static", 6) == 0) {
    hr_tensor* x = words(env);
    const hr_dataset_options options = {.struct_size = sizeof options, .batch = WORDS};
    CHECK(hr_dataset_from_tensors(env, 1, (const char* const[]){"x"}, (const hr_tensor* const*)&x,
                                  &options, &data));
    hr_tensor_release(x);
  }
  CHECK(hr_graph_quantize(graph, "infer", settings, NULL, data, NULL, &report));
  EXPECT(strstr(hr_text_data(report), "\"op\":\"Gather\",\"weight\":\"table\"") != NULL);
  EXPECT(strstr(hr_text_data(report), bytes) != NULL);
  hr_text_release(report);
  run(graph, words(env), WORDS * WORDS, after);
  const double error = error_of(after, before, WORDS * WORDS);
  EXPECT(error > 0);
  EXPECT(error < most);
  hr_dataset_release(data);
  hr_graph_release(graph);
}

static void embeddings(hr_env* env) {
  /* The square and the table, each in two forms, with a scale for each row or column. */
  const char* const bytes = "\"bytes_before\":408,\"bytes_after\":340";
  check_words(env, "weights embeddings=1", bytes, 0.02);
  check_words(env, "dynamic embeddings=1", bytes, 0.03);
  check_words(env, "static embeddings=1", bytes, 0.04);
  check_words(env, "weights embeddings=1 per_channel=0", "\"bytes_before\":408,\"bytes_after\":220",
              0.04);
  check_words(env, "float16 embeddings=1", "\"bytes_after\":", 1e-3);
  check_words(env, "bfloat16 embeddings=1 activations=1", "\"bytes_after\":", 1e-2);
}

static void patterns(hr_env* env) {
  hr_graph* graph = network(env, 0);
  hr_text* report;
  CHECK(hr_graph_quantize(graph, "infer", "dynamic", "sec*", NULL, NULL, &report));
  EXPECT(strstr(hr_text_data(report), "second") != NULL);
  EXPECT(strstr(hr_text_data(report), "first") == NULL);
  hr_text_release(report);
  hr_graph_release(graph);
}

/* Nothing changes if it fails. */
static void bad_settings(hr_env* env) {
  float before[BATCH * KINDS], after[BATCH * KINDS];
  hr_graph* graph = network(env, 0);
  hr_dataset* data = data_of(env, images(env, BATCH, SIDE, 0));
  infer(env, graph, before);
#define QUANTIZE(settings, data) hr_graph_quantize(graph, "infer", settings, NULL, data, NULL, NULL)
  FAILS(QUANTIZE("int4", NULL), HR_INVALID_ARGUMENT, "weights, dynamic, static, float16");
  FAILS(QUANTIZE("static", NULL), HR_INVALID_ARGUMENT, "needs a data set");
  FAILS(QUANTIZE("dynamic", data), HR_INVALID_ARGUMENT, "only static is calibrated");
  FAILS(QUANTIZE("dynamic percentile=9", NULL), HR_INVALID_ARGUMENT, "percentile");
  FAILS(QUANTIZE("static percentile=9", data), HR_INVALID_ARGUMENT, "above 50");
  FAILS(QUANTIZE("static batches=0.5", data), HR_INVALID_ARGUMENT, "whole number");
  FAILS(QUANTIZE("weights per_channel=3", NULL), HR_INVALID_ARGUMENT, "0 or 1");
  FAILS(QUANTIZE("dynamic entropy=1", NULL), HR_INVALID_ARGUMENT, "per_channel, embeddings, got");
  FAILS(QUANTIZE("static entropy=1 percentile=99", data), HR_INVALID_ARGUMENT, "leave percentile");
  FAILS(QUANTIZE("float16 activations=1", NULL), HR_INVALID_ARGUMENT, "got 'activations'");
  FAILS(hr_graph_quantize(graph, "infr", "dynamic", NULL, NULL, NULL, NULL), HR_NOT_FOUND, "infer");
  FAILS(hr_graph_quantize(graph, "infer", "dynamic", "third", NULL, NULL, NULL), HR_NOT_FOUND,
        "third");
  infer(env, graph, after);
  EXPECT(memcmp(before, after, sizeof before) == 0);
  hr_dataset_release(data);
  hr_graph_release(graph);
}

static void bad_data(hr_env* env) {
  hr_graph* graph = network(env, 0);
  hr_dataset* data = data_of(env, images(env, BATCH, SIDE + 1, 0));
  FAILS(QUANTIZE("static", data), HR_INVALID_ARGUMENT, "float32[4, 2, 7, 7]");
  hr_dataset_release(data);
  data = data_of(env, images(env, BATCH, SIDE, NAN));
  FAILS(QUANTIZE("static", data), HR_INVALID_ARGUMENT, "'x' has NaN at element 5 for batch 0");
  hr_dataset_release(data);
  data = data_of(env, images(env, BATCH, SIDE, 0));
  CHECK(hr_dataset_rename(data, "x", "y"));
  FAILS(QUANTIZE("static", data), HR_INVALID_ARGUMENT, "the call takes x");
  hr_dataset_release(data);
  data = data_of(env, images(env, BATCH, SIDE, 0));
  hr_tensor* batch;
  while (!hr_dataset_done(data, NULL)) {
    CHECK(hr_dataset_next(data, NULL, &batch));
    hr_tensor_release(batch);
  }
  FAILS(QUANTIZE("static", data), HR_FAILED_PRECONDITION, "no examples");
  hr_dataset_release(data);
  hr_graph_release(graph);
}

static void bad_weights(hr_env* env) {
  hr_graph* graph = network(env, NAN);
  FAILS(QUANTIZE("dynamic", NULL), HR_INVALID_ARGUMENT, "'first' has NaN at element 1");
  hr_graph_release(graph);
  graph = network(env, 1e6f);
  FAILS(QUANTIZE("float16", NULL), HR_INVALID_ARGUMENT, "use bfloat16");
  hr_graph_release(graph);
  hr_variable variable;
  hr_value x, read;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, (const int64_t[]){3, 4}, NULL, &x));
  CHECK(hr_graph_signature_output(graph, "infer", "y", op(graph, "Exp", NULL, 1, x)));
  FAILS(QUANTIZE("dynamic", NULL), HR_FAILED_PRECONDITION, "nothing to quantize");
  CHECK(hr_graph_variable_init(graph, "drawn", HR_FLOAT32, 2, (const int64_t[]){4, 5}, 1,
                               "RandomUniform", NULL, &variable));
  CHECK(hr_graph_read(graph, variable, &read));
  CHECK(hr_graph_signature_output(graph, "infer", "z", op(graph, "MatMul", NULL, 2, x, read)));
  FAILS(QUANTIZE("dynamic", NULL), HR_FAILED_PRECONDITION, "'drawn' has no value");
  hr_graph_release(graph);
}

const test tests[] = {{"modes", modes},
                      {"calibration", calibration},
                      {"embeddings", embeddings},
                      {"patterns", patterns},
                      {"bad_settings", bad_settings},
                      {"bad_data", bad_data},
                      {"bad_weights", bad_weights},
                      {NULL, NULL}};
