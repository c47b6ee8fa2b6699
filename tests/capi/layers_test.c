/* hr_graph_batch_norm, by the numbers of PyTorch (tests/reference/torch_batch_norm.json, made by
 * torch_batch_norm.py, which documents the recipe), and layers that share their variables. */
#include <math.h>

#include "models.h"
#include "nodes.h"

enum { STEPS = 4, CHANNELS = 3 };

/* ---- The recipe ---- */

static const int64_t shape[4] = {4, CHANNELS, 2, 5};

static double element(int step, int i) {
  return (double)((37 * i + 101 * step) % 97) / 16 - 3 + i / 10 % CHANNELS;
}
static double weight(int step, int i) {
  (void)step;
  return (double)(13 * i % 29) / 32;
}

static void fill(hr_tensor* tensor, double (*value)(int step, int i), int step) {
  for (int i = 0; i < (int)hr_tensor_elements(tensor); ++i) {
    if (hr_tensor_dtype(tensor) == HR_FLOAT64) {
      ((double*)hr_tensor_data(tensor))[i] = value(step, i);
    } else {
      ((float*)hr_tensor_data(tensor))[i] = (float)value(step, i);
    }
  }
}

static double number(const hr_tensor* tensor, int i) {
  return hr_tensor_dtype(tensor) == HR_FLOAT64 ? ((const double*)hr_tensor_data(tensor))[i]
                                               : ((const float*)hr_tensor_data(tensor))[i];
}

/* ---- The graph ---- */

typedef struct net {
  hr_graph* graph;
  hr_value x, weights, rate;
} net;

static net begin(hr_env* env, hr_dtype dtype) {
  net n;
  hr_tensor* weights;
  CHECK(hr_graph_create(env, &n.graph));
  CHECK(hr_graph_input(n.graph, "x", dtype, 4, (const int64_t[]){-1, CHANNELS, -1, 5}, NULL, &n.x));
  CHECK(hr_graph_input(n.graph, "rate", HR_FLOAT64, 0, NULL, NULL, &n.rate));
  CHECK(hr_tensor_create(env, dtype, 4, shape, &weights));
  fill(weights, weight, 0);
  CHECK(hr_graph_constant(n.graph, "weights", weights, &n.weights));
  hr_tensor_release(weights);
  return n;
}

/* The loss of a path in the signature. */
static hr_value path(net* n, const char* signature, int training, hr_node* update) {
  hr_value y;
  CHECK(hr_graph_batch_norm(n->graph, "norm", n->x, training, "epsilon=1e-3 momentum=0.3", &y,
                            update));
  hr_value loss =
      op(n->graph, "ReduceSum", "keepdims=0", 1, op(n->graph, "Mul", NULL, 2, y, n->weights));
  CHECK(hr_graph_signature_input(n->graph, signature, "x", n->x));
  CHECK(hr_graph_signature_output(n->graph, signature, "loss", loss));
  return loss;
}

static void train_path(net* n) {
  hr_node update;
  hr_value loss = path(n, "train", 1, &update);
  CHECK(hr_graph_minimize(n->graph, "train", loss, "sgd", n->rate));
  CHECK(hr_graph_signature_input(n->graph, "train", "rate", n->rate));
  CHECK(hr_graph_signature_target(n->graph, "train", update));
}

static void eval_path(net* n) {
  hr_node update = 0;
  path(n, "eval", 0, &update);
  EXPECT(update == HR_NONE);
}

/* ---- The comparison ---- */

/* The numbers of `"key": [ … ]` in the JSON file. */
static size_t expected(const char* key, double* out, size_t most) {
  static char text[1 << 14];
  FILE* file = fopen(HEADRACE_SOURCE_DIR "/tests/reference/torch_batch_norm.json", "r");
  EXPECT(file != NULL);
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

static void expect_near(const char* what, double got, double wanted, double tolerance) {
  if (fabs(got - wanted) <= tolerance * (1 + fabs(wanted))) return;
  fprintf(stderr, "%s: expected %.17g, got %.17g\n", what, wanted, got);
  exit(1);
}

static void expect_variable(hr_session* session, const char* name, const double* wanted,
                            double tolerance) {
  hr_tensor* tensor;
  CHECK(hr_session_get_variable(session, name, NULL, &tensor));
  for (int c = 0; c < CHANNELS; ++c) expect_near(name, number(tensor, c), wanted[c], tolerance);
  hr_tensor_release(tensor);
}

static double run(hr_session* session, const char* signature, const hr_tensor* x, double rate) {
  hr_call* call;
  hr_tensor* loss;
  CHECK(hr_call_create(session, signature, &call));
  CHECK(hr_call_bind(call, "x", x));
  if (rate != 0) CHECK(hr_call_bind_scalar(call, "rate", rate));
  CHECK(hr_call_run(call, NULL));
  CHECK(hr_call_result(call, "loss", &loss));
  const double value = number(loss, 0);
  hr_tensor_release(loss);
  hr_call_release(call);
  return value;
}

static void compare(hr_env* env, hr_dtype dtype, int eval_first, double tolerance) {
  double losses[STEPS], means[STEPS * CHANNELS], variances[STEPS * CHANNELS],
      scales[STEPS * CHANNELS], biases[STEPS * CHANNELS], evaluated[1];
  EXPECT(expected("\"losses\"", losses, STEPS) == STEPS);
  EXPECT(expected("\"means\"", means, STEPS * CHANNELS) == STEPS * CHANNELS);
  EXPECT(expected("\"variances\"", variances, STEPS * CHANNELS) == STEPS * CHANNELS);
  EXPECT(expected("\"scales\"", scales, STEPS * CHANNELS) == STEPS * CHANNELS);
  EXPECT(expected("\"biases\"", biases, STEPS * CHANNELS) == STEPS * CHANNELS);
  EXPECT(expected("\"evaluated\"", evaluated, 1) == 1);
  net n = begin(env, dtype);
  if (eval_first) eval_path(&n);
  train_path(&n);
  if (!eval_first) eval_path(&n);
  hr_session* session = session_of(n.graph);
  hr_tensor* x;
  CHECK(hr_tensor_create(env, dtype, 4, shape, &x));
  for (int step = 0; step < STEPS; ++step) {
    fill(x, element, step);
    expect_near("loss", run(session, "train", x, 1.0 / 64), losses[step], tolerance);
    fill(x, element, 9);
    run(session, "eval", x, 0); /* changes nothing */
    expect_variable(session, "norm/mean", means + step * CHANNELS, tolerance);
    expect_variable(session, "norm/variance", variances + step * CHANNELS, tolerance);
    expect_variable(session, "norm/scale", scales + step * CHANNELS, tolerance);
    expect_variable(session, "norm/bias", biases + step * CHANNELS, tolerance);
  }
  fill(x, element, STEPS);
  expect_near("evaluated", run(session, "eval", x, 0), evaluated[0], tolerance);
  hr_tensor_release(x);
  hr_session_release(session);
}

static void test_as_pytorch(hr_env* env) {
  for (int eval_first = 0; eval_first < 2; ++eval_first) {
    compare(env, HR_FLOAT64, eval_first, 1e-12);
    compare(env, HR_FLOAT32, eval_first, 2e-5);
  }
}

/* ---- Without a reference ---- */

/* Two training paths of one name update the statistics one after the other. */
static void test_two_training_paths(hr_env* env) {
  hr_graph* graph;
  hr_value x[2], y[2];
  hr_node update[2];
  const int64_t dims[2] = {4, 1};
  CHECK(hr_graph_create(env, &graph));
  for (int i = 0; i < 2; ++i) {
    CHECK(hr_graph_input(graph, i == 0 ? "a" : "b", HR_FLOAT32, 2, dims, NULL, &x[i]));
    CHECK(hr_graph_batch_norm(graph, "n", x[i], 1, "momentum=0.5", &y[i], &update[i]));
    CHECK(hr_graph_signature_input(graph, "run", i == 0 ? "a" : "b", x[i]));
    CHECK(hr_graph_signature_target(graph, "run", update[i]));
    CHECK(hr_graph_signature_output(graph, "run", i == 0 ? "ya" : "yb", y[i]));
  }
  hr_session* session = session_of(graph);
  hr_call* call;
  hr_tensor *a, *b, *value;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 2, dims, (const float[]){1, 3, 1, 3}, 16, &a));
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 2, dims, (const float[]){10, 14, 10, 14}, 16, &b));
  CHECK(hr_call_create(session, "run", &call));
  CHECK(hr_call_bind(call, "a", a));
  CHECK(hr_call_bind(call, "b", b));
  CHECK(hr_call_run(call, NULL));
  CHECK(hr_session_get_variable(session, "n/mean", NULL, &value));
  EXPECT(*(float*)hr_tensor_data(value) == (0 + 2) * 0.25f + 12 * 0.5f);
  hr_tensor_release(value);
  CHECK(hr_session_get_variable(session, "n/variance", NULL, &value));
  expect_near("variance", *(float*)hr_tensor_data(value),
              0.25 * 1 + 0.25 * 4.0 / 3 + 0.5 * 16.0 / 3, 1e-6);
  hr_tensor_release(value);
  CHECK(hr_call_result(call, "yb", &value));
  expect_near("y", *(float*)hr_tensor_data(value), -1, 1e-5);
  hr_tensor_release(value);
  hr_tensor_release(a);
  hr_tensor_release(b);
  hr_call_release(call);
  hr_session_release(session);
}

/* One value a channel has no unbiased variance: it counts as 0. */
static void test_one_value_a_channel(hr_env* env) {
  hr_graph* graph;
  hr_value x, y;
  hr_node update;
  const int64_t dims[2] = {1, 2};
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, dims, NULL, &x));
  CHECK(hr_graph_batch_norm(graph, "n", x, 1, NULL, &y, &update));
  CHECK(hr_graph_signature_input(graph, "run", "x", x));
  CHECK(hr_graph_signature_target(graph, "run", update));
  hr_session* session = session_of(graph);
  hr_call* call;
  hr_tensor *data, *value;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 2, dims, (const float[]){10, 20}, 8, &data));
  CHECK(hr_call_create(session, "run", &call));
  CHECK(hr_call_bind(call, "x", data));
  CHECK(hr_call_run(call, NULL));
  CHECK(hr_session_get_variable(session, "n/variance", NULL, &value));
  expect_near("variance", *(float*)hr_tensor_data(value), 0.9, 1e-6);
  hr_tensor_release(value);
  CHECK(hr_session_get_variable(session, "n/mean", NULL, &value));
  expect_near("mean", ((float*)hr_tensor_data(value))[1], 2, 1e-6);
  hr_tensor_release(value);
  hr_tensor_release(data);
  hr_call_release(call);
  hr_session_release(session);
}

static void test_what_does_not_fit(hr_env* env) {
  net n = begin(env, HR_FLOAT32);
  hr_value y, vector;
  hr_node update;
  CHECK(hr_graph_input(n.graph, "v", HR_FLOAT32, 1, (const int64_t[]){3}, NULL, &vector));
  FAILS(hr_graph_batch_norm(n.graph, "n", vector, 0, NULL, &y, NULL), HR_INVALID_ARGUMENT,
        "layer 'n' takes floats [N, C, ...] with a known C, got float32[3]");
  FAILS(hr_graph_batch_norm(n.graph, "n", 99, 0, NULL, &y, NULL), HR_INVALID_ARGUMENT, "#99");
  FAILS(hr_graph_batch_norm(n.graph, "n", n.x, 1, "training_mode=1", &y, &update),
        HR_INVALID_ARGUMENT, "no attribute 'training_mode'; it has epsilon, momentum");
  FAILS(hr_graph_batch_norm(n.graph, "n", n.x, 1, "momentum=1.5", &y, &update), HR_INVALID_ARGUMENT,
        "momentum from 0 to 1, got 1e-05 and 1.5");
  FAILS(hr_graph_batch_norm(n.graph, "n", n.x, 1, "epsilon=-1", &y, &update), HR_INVALID_ARGUMENT,
        "epsilon of at least 0");
  hr_graph_info info = {.struct_size = sizeof info};
  CHECK(hr_graph_get(n.graph, &info));
  EXPECT(info.variable_count == 0 && info.node_count == 0);
  hr_graph_release(n.graph);
}

/* ---- Layers of one name ---- */

static void test_shared_layers(hr_env* env) {
  hr_graph* graph;
  hr_value x, wide, image, a, b;
  hr_graph_info info = {.struct_size = sizeof info};
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, (const int64_t[]){2, 3}, NULL, &x));
  CHECK(hr_graph_input(graph, "wide", HR_FLOAT32, 2, (const int64_t[]){2, 5}, NULL, &wide));
  CHECK(hr_graph_input(graph, "image", HR_FLOAT32, 4, (const int64_t[]){2, 3, 8, 8}, NULL, &image));
  CHECK(hr_graph_dense(graph, "d", x, 4, &a));
  CHECK(hr_graph_dense(graph, "d", x, 4, &b));
  EXPECT(a != b);
  CHECK(hr_graph_conv2d(graph, "c", image, 2, 3, NULL, &a));
  CHECK(hr_graph_conv2d(graph, "c", image, 2, 3, "strides=2,2", &b));
  CHECK(hr_graph_get(graph, &info));
  EXPECT(info.variable_count == 4);
  FAILS(hr_graph_dense(graph, "d", wide, 4, &a), HR_ALREADY_EXISTS,
        "layer 'd' needs 'd/weight' to be float32[4, 5], and a variable of that name is "
        "float32[4, 3]; use another name");
  FAILS(hr_graph_conv2d(graph, "c", image, 2, 5, NULL, &a), HR_ALREADY_EXISTS, "[2, 3, 5, 5]");
  FAILS(hr_graph_batch_norm(graph, "d", image, 0, NULL, &a, NULL), HR_ALREADY_EXISTS,
        "'d/bias' to be float32[3]");
  CHECK(hr_graph_get(graph, &info));
  EXPECT(info.variable_count == 4); /* "d/scale" is taken back */
  hr_graph_release(graph);
}

/* An inference path that is added after the training step does not wait for it. */
static void test_inference_after_training(hr_env* env) {
  hr_graph* graph;
  hr_value x, rate, y, loss;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, (const int64_t[]){2, 3}, NULL, &x));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  CHECK(hr_graph_dense(graph, "d", x, 4, &y));
  loss = op(graph, "ReduceSum", "keepdims=0", 1, y);
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd", rate));
  CHECK(hr_graph_dense(graph, "d", x, 4, &y));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  CHECK(hr_graph_signature_output(graph, "infer", "y", y));
  hr_session* session = session_of(graph);
  hr_tensor *data, *before, *after;
  hr_call* call;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 2, (const int64_t[]){2, 3},
                          (const float[]){1, 2, 3, 4, 5, 6}, 24, &data));
  CHECK(hr_session_get_variable(session, "d/weight", NULL, &before));
  CHECK(hr_call_create(session, "infer", &call));
  CHECK(hr_call_bind(call, "x", data));
  CHECK(hr_call_run(call, NULL));
  CHECK(hr_session_get_variable(session, "d/weight", NULL, &after));
  EXPECT(memcmp(hr_tensor_data(before), hr_tensor_data(after), 48) == 0);
  EXPECT(hr_session_step(session) == 0);
  hr_tensor_release(before);
  hr_tensor_release(after);
  hr_tensor_release(data);
  hr_call_release(call);
  hr_session_release(session);
}

const test tests[] = {{"as PyTorch", test_as_pytorch},
                      {"two training paths", test_two_training_paths},
                      {"one value a channel", test_one_value_a_channel},
                      {"what does not fit", test_what_does_not_fit},
                      {"shared layers", test_shared_layers},
                      {"inference after training", test_inference_after_training},
                      {NULL, NULL}};
