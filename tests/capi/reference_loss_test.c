/* Trains a LeNet through the C API and compares its losses with PyTorch's
 * (tests/reference/torch_lenet.json, made by torch_lenet.py, which documents the recipe): 100 steps
 * in float64 within 1e-6, 10 steps in float32 within 1e-4, relative. With and without fusion. */
#include <math.h>

#include "nodes.h"

#define BATCH 16

/* ---- The recipe ---- */

static uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2AE35u;
  return x ^ (x >> 16);
}

static uint32_t hash_of(uint32_t stream, uint32_t index) {
  return mix(mix(stream + 0x9E3779B9u) ^ index);
}

static float weight(uint32_t tensor, uint32_t i, double fan_in) {
  double unit = (hash_of(tensor, i) >> 8) / 16777216.0;
  return (float)((2 * unit - 1) * (1 / sqrt(fan_in)));
}

static uint32_t label(uint32_t n) { return hash_of(8, n) % 10; }

static float pixel(uint32_t n, uint32_t p) {
  uint32_t block = 7 * (p / 28 / 4) + p % 28 / 4;
  uint32_t lit = hash_of(10, 49 * label(n) + block) >> 31;
  uint32_t noise = hash_of(9, 784 * n + p) >> 25;
  return (float)(48 * lit + noise) / 256;
}

/* ---- The network ---- */

static void put(void* data, hr_dtype dtype, size_t i, float value) {
  if (dtype == HR_FLOAT64) {
    ((double*)data)[i] = value;
  } else {
    ((float*)data)[i] = value;
  }
}

static hr_value parameter(hr_env* env, hr_graph* graph, hr_dtype dtype, uint32_t number,
                          const char* name, size_t rank, const int64_t* dims, double fan_in) {
  hr_tensor* initial;
  hr_variable variable;
  hr_value value;
  CHECK(hr_tensor_create(env, dtype, rank, dims, &initial));
  for (int64_t i = 0; i < hr_tensor_elements(initial); ++i) {
    put(hr_tensor_data(initial), dtype, (size_t)i, weight(number, (uint32_t)i, fan_in));
  }
  CHECK(hr_graph_variable(graph, name, initial, 1, &variable));
  CHECK(hr_graph_read(graph, variable, &value));
  hr_tensor_release(initial);
  return value;
}

static hr_value block(hr_graph* graph, hr_value x, hr_value w, hr_value b) {
  hr_value in[3] = {x, w, b};
  hr_value y = op_of(graph, "Conv", NULL, 3, in);
  y = op(graph, "Relu", NULL, 1, y);
  return op(graph, "MaxPool", "kernel_shape=2,2 strides=2,2", 1, y);
}

static hr_model* build(hr_env* env, hr_dtype dtype) {
  const int64_t image_dims[4] = {-1, 1, 28, 28}, label_dims[1] = {-1};
  const int64_t c1[4] = {20, 1, 5, 5}, c2[4] = {50, 20, 5, 5}, f1[2] = {500, 800},
                f2[2] = {10, 500};
  hr_graph* graph;
  hr_model* model;
  hr_value images, labels, rate, p[8];
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "images", dtype, 4, image_dims, NULL, &images));
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, label_dims, NULL, &labels));
  CHECK(hr_graph_input(graph, "rate", dtype, 0, NULL, NULL, &rate));
  p[0] = parameter(env, graph, dtype, 0, "conv1.weight", 4, c1, 25);
  p[1] = parameter(env, graph, dtype, 1, "conv1.bias", 1, c1, 25);
  p[2] = parameter(env, graph, dtype, 2, "conv2.weight", 4, c2, 500);
  p[3] = parameter(env, graph, dtype, 3, "conv2.bias", 1, c2, 500);
  p[4] = parameter(env, graph, dtype, 4, "fc1.weight", 2, f1, 800);
  p[5] = parameter(env, graph, dtype, 5, "fc1.bias", 1, f1, 800);
  p[6] = parameter(env, graph, dtype, 6, "fc2.weight", 2, f2, 500);
  p[7] = parameter(env, graph, dtype, 7, "fc2.bias", 1, f2, 500);
  hr_value x = block(graph, block(graph, images, p[0], p[1]), p[2], p[3]);
  hr_value dense[3] = {op(graph, "Flatten", NULL, 1, x), p[4], p[5]};
  x = op_of(graph, "Gemm", "transB=1", 3, dense);
  hr_value last[3] = {op(graph, "Relu", NULL, 1, x), p[6], p[7]};
  hr_value scores[2] = {op_of(graph, "Gemm", "transB=1", 3, last), labels};
  hr_value loss = op_of(graph, "SoftmaxCrossEntropyLoss", NULL, 2, scores);
  CHECK(hr_graph_signature_input(graph, "train", "images", images));
  CHECK(hr_graph_signature_input(graph, "train", "labels", labels));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd momentum=0.9", rate));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return model;
}

/* ---- The comparison ---- */

/* The numbers of `"key": [ … ]` in the JSON file. */
static size_t expected_losses(const char* key, double* out, size_t most) {
  static char text[1 << 16];
  FILE* file = fopen(HEADRACE_SOURCE_DIR "/tests/reference/torch_lenet.json", "r");
  if (file == NULL) {
    perror("torch_lenet.json");
    exit(1);
  }
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  char* at = strstr(text, key);
  at = at == NULL ? NULL : strchr(at, '[');
  size_t count = 0;
  while (at != NULL && count < most && *at != ']') {
    char* end;
    double value = strtod(at + 1, &end);
    if (end == at + 1) break;
    out[count++] = value;
    at = end + strspn(end, " \n");
  }
  return count;
}

static void compare(hr_env* env, hr_dtype dtype, const char* key, size_t steps, double tolerance,
                    int disable_fusion) {
  hr_session_options options = {.struct_size = sizeof options, .disable_fusion = disable_fusion};
  const int64_t image_dims[4] = {BATCH, 1, 28, 28}, label_dims[1] = {BATCH};
  double expected[100], worst = 0;
  hr_session* session;
  hr_call* call;
  hr_tensor *images, *labels;
  EXPECT(expected_losses(key, expected, steps) == steps);
  hr_model* model = build(env, dtype);
  CHECK(hr_session_create(model, &options, NULL, &session));
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_tensor_create(env, dtype, 4, image_dims, &images));
  CHECK(hr_tensor_create(env, HR_INT64, 1, label_dims, &labels));
  CHECK(hr_call_bind(call, "images", images));
  CHECK(hr_call_bind(call, "labels", labels));
  CHECK(hr_call_bind_scalar(call, "rate", 0.05));
  int failed = 0;
  for (size_t step = 0; step < steps; ++step) {
    for (uint32_t i = 0; i < BATCH; ++i) {
      uint32_t n = (uint32_t)step * BATCH + i;
      ((int64_t*)hr_tensor_data(labels))[i] = label(n);
      for (uint32_t p = 0; p < 784; ++p)
        put(hr_tensor_data(images), dtype, i * 784 + p, pixel(n, p));
    }
    CHECK(hr_call_run(call, NULL));
    hr_tensor* result;
    CHECK(hr_call_result(call, "loss", &result));
    double loss =
        dtype == HR_FLOAT64 ? *(double*)hr_tensor_data(result) : *(float*)hr_tensor_data(result);
    hr_tensor_release(result);
    double error = fabs(loss - expected[step]) / fabs(expected[step]);
    if (!(error <= tolerance)) {
      fprintf(stderr, "%s, step %zu: expected %.10g, got %.10g\n", key, step, expected[step], loss);
      failed = 1;
    }
    if (error > worst) worst = error;
  }
  printf("%s, %s fusion: worst relative difference %.2g of %.0e\n", key,
         disable_fusion ? "without" : "with", worst, tolerance);
  hr_tensor_release(images);
  hr_tensor_release(labels);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  EXPECT(!failed);
}

static void test_float32(hr_env* env) {
  EXPECT(hash_of(3, 7) == 1457955513u); /* the recipe's own check */
  compare(env, HR_FLOAT32, "losses_float32", 10, 1e-4, 0);
  compare(env, HR_FLOAT32, "losses_float32", 10, 1e-4, 1);
}

static void test_float64(hr_env* env) {
  compare(env, HR_FLOAT64, "losses_float64", 100, 1e-6, 0);
  compare(env, HR_FLOAT64, "losses_float64", 100, 1e-6, 1);
}

const test tests[] = {
    {"losses in float32", test_float32}, {"losses in float64", test_float64}, {NULL, NULL}};
