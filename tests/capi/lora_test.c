/* Low-rank adapters: added to a model that was loaded, trained alone, saved and loaded alone,
 * merged into their weights. */
#include <math.h>

#include "models.h"
#include "nodes.h"

enum { SIDE = 6, CHANNELS = 4, FLAT = CHANNELS * 4 * 4, WIDTH = 10, KINDS = 3, BATCH = 12 };

static hr_value weight(hr_graph* graph, const char* name, int64_t rows, int64_t columns) {
  hr_variable variable;
  hr_value out;
  CHECK(hr_graph_variable_init(graph, name, HR_FLOAT32, 2, (const int64_t[]){rows, columns}, 1,
                               "RandomUniform", "low=-0.5 high=0.5", &variable));
  CHECK(hr_graph_read(graph, variable, &out));
  return out;
}

static hr_value constant_weight(hr_env* env, hr_graph* graph, const char* name) {
  float numbers[WIDTH * WIDTH];
  hr_tensor* tensor;
  hr_value out;
  for (int i = 0; i < WIDTH * WIDTH; ++i) numbers[i] = (float)((i * 37) % 19 - 9) / 20;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 2, (const int64_t[]){WIDTH, WIDTH}, numbers,
                          sizeof numbers, &tensor));
  CHECK(hr_graph_constant(graph, name, tensor, &out));
  hr_tensor_release(tensor);
  return out;
}

/* A convolution, a Gemm, and products with a variable, a constant and a transposed variable. With
 * `tied`, one weight is an output, too. */
static void make_base(hr_env* env, const char* path, int tied) {
  hr_graph* graph;
  hr_value x;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 4, (const int64_t[]){-1, 1, SIDE, SIDE},
                       (const char* const[]){"batch", NULL, NULL, NULL}, &x));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  CHECK(hr_graph_conv2d(graph, "conv", x, CHANNELS, 3, NULL, &x));
  CHECK(hr_graph_dense(graph, "fc", op(graph, "Tanh", NULL, 1, x), WIDTH, &x));
  x = op(graph, "MatMul", NULL, 2, op(graph, "Tanh", NULL, 1, x),
         weight(graph, "plain", WIDTH, WIDTH));
  x = op(graph, "MatMul", NULL, 2, op(graph, "Tanh", NULL, 1, x),
         constant_weight(env, graph, "fixed"));
  hr_value turned = weight(graph, "turned", KINDS, WIDTH);
  x = op(graph, "MatMul", NULL, 2, op(graph, "Tanh", NULL, 1, x),
         op(graph, "Transpose", NULL, 1, turned));
  CHECK(hr_graph_name_value(graph, x, "scores"));
  CHECK(hr_graph_signature_output(graph, "infer", "scores", x));
  if (tied) CHECK(hr_graph_signature_output(graph, "infer", "turned", turned));
  CHECK(hr_graph_save(graph, path, NULL));
  hr_graph_release(graph);
  /* With the values that a session has drawn. */
  hr_model* model;
  hr_session* session;
  const char* infer = "infer";
  CHECK(hr_model_load(env, path, NULL, &model));
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_session_export(session, path, 1, &infer, NULL, NULL));
  hr_session_release(session);
  hr_model_release(model);
}

static hr_graph* graph_of(hr_env* env, const char* path) {
  hr_model* model;
  hr_graph* graph;
  CHECK(hr_model_load(env, path, NULL, &model));
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  return graph;
}

/* The base with adapters and the signature "train". */
static hr_graph* adapted(hr_env* env, const char* path, const char* settings) {
  hr_graph* graph = graph_of(env, path);
  hr_signature_info info = {.struct_size = sizeof info};
  hr_value labels, rate, x, loss;
  size_t at, count;
  CHECK(hr_graph_copy_signature(graph, "infer", "forward"));
  CHECK(
      hr_graph_add_lora(graph, "conv/*,fc/weight,plain,fixed,turned", settings, "forward", &count));
  EXPECT(count == 10); /* five, and their copies */
  CHECK(hr_graph_find_signature(graph, "forward", &at));
  CHECK(hr_graph_get_signature(graph, at, &info));
  x = info.inputs[0], loss = info.outputs[0];
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, (const int64_t[]){-1}, NULL, &labels));
  CHECK(hr_graph_op(graph, "Constant", "value_float=0.02", 0, NULL, 1, &rate));
  loss = op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, loss, labels);
  CHECK(hr_graph_remove_signature(graph, "forward"));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "labels", labels));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, "adam", rate));
  return graph;
}

static void images(hr_env* env, hr_tensor** x, hr_tensor** labels) {
  const int64_t dims[4] = {BATCH, 1, SIDE, SIDE};
  CHECK(hr_tensor_create(env, HR_FLOAT32, 4, dims, x));
  CHECK(hr_tensor_create(env, HR_INT64, 1, dims, labels));
  for (int64_t i = 0; i < BATCH; ++i) {
    ((int64_t*)hr_tensor_data(*labels))[i] = i % KINDS;
    for (int64_t p = 0; p < SIDE * SIDE; ++p)
      ((float*)hr_tensor_data(*x))[i * SIDE * SIDE + p] =
          (float)(p / SIDE / 2 == i % KINDS) + (float)((i * 31 + p * 17) % 13) / 26;
  }
}

static float train(hr_env* env, hr_session* session, int steps) {
  hr_call* call;
  hr_tensor *x, *labels;
  float loss = 0;
  images(env, &x, &labels);
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_bind(call, "x", x));
  CHECK(hr_call_bind(call, "labels", labels));
  CHECK(hr_call_output(call, "loss", &loss, sizeof loss));
  for (int i = 0; i < steps; ++i) CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
  hr_tensor_release(x);
  hr_tensor_release(labels);
  return loss;
}

typedef struct scores {
  float of[BATCH * KINDS];
} scores;

static scores infer(hr_env* env, hr_session* session) {
  static const char *const feeds[1] = {"x"}, *const fetches[1] = {"scores"};
  hr_tensor *x, *labels, *out;
  scores result;
  images(env, &x, &labels);
  CHECK(hr_session_run(session, 1, feeds, (const hr_tensor* const*)&x, 1, fetches, 0, NULL, NULL,
                       &out));
  memcpy(result.of, hr_tensor_data(out), sizeof result);
  hr_tensor_release(out);
  hr_tensor_release(x);
  hr_tensor_release(labels);
  return result;
}

static double distance(scores a, scores b) {
  double most = 0;
  for (int i = 0; i < BATCH * KINDS; ++i) most = fmax(most, fabs((double)(a.of[i] - b.of[i])));
  return most;
}

static int is_adapter(const char* name) { return strstr(name, "/lora_") != NULL; }

/* What both have as bytes: 1 if all variables that `is_wanted` says are equal. */
static int equal_variables(hr_session* a, hr_session* b, int base_only) {
  for (size_t i = 0; i < hr_session_variable_count(b); ++i) {
    const char* name = hr_session_variable_name(b, i);
    hr_tensor* values[2];
    if (base_only && is_adapter(name)) continue;
    CHECK(hr_session_get_variable(a, name, NULL, &values[0]));
    CHECK(hr_session_get_variable(b, name, NULL, &values[1]));
    const int equal =
        memcmp(hr_tensor_data(values[0]), hr_tensor_data(values[1]), hr_tensor_bytes(values[0]));
    hr_tensor_release(values[0]);
    hr_tensor_release(values[1]);
    if (equal != 0) return 0;
  }
  return 1;
}

static void test_trained_alone(hr_env* env) {
  char* folder = make_folder();
  make_base(env, in_folder(folder, "base.hrg"), 0);
  hr_session* base = session_of(graph_of(env, in_folder(folder, "base.hrg")));
  hr_session* session =
      session_of(adapted(env, in_folder(folder, "base.hrg"), "rank=2 alpha=4 dropout=0.1"));
  const scores before = infer(env, base);
  EXPECT(distance(before, infer(env, session)) < 1e-6); /* B is 0 */
  const float first = train(env, session, 1), last = train(env, session, 150);
  EXPECT(last < 0.5f * first);
  EXPECT(equal_variables(session, base, 1)); /* all of the base, bit by bit */
  const scores trained = infer(env, session);
  EXPECT(distance(before, trained) > 0.1);
  EXPECT(distance(trained, infer(env, session)) == 0); /* nothing is dropped out of what serves */
  hr_session_release(base);
  hr_session_release(session);
  remove_folder(folder);
}

static void test_saved_and_loaded(hr_env* env) {
  char *folder = make_folder(), base[256], file[256], merged_file[256];
  snprintf(base, sizeof base, "%s", in_folder(folder, "base.hrg"));
  snprintf(file, sizeof file, "%s", in_folder(folder, "adapters.safetensors"));
  snprintf(merged_file, sizeof merged_file, "%s", in_folder(folder, "merged.hrg"));
  make_base(env, base, 0);
  hr_session* session = session_of(adapted(env, base, "rank=3 alpha=12"));
  train(env, session, 40);
  const scores trained = infer(env, session);
  CHECK(hr_session_save_adapters(session, file, NULL));
  /* Onto a session with the same adapters. */
  hr_session* other = session_of(adapted(env, base, "rank=3"));
  EXPECT(distance(trained, infer(env, other)) > 0.1);
  CHECK(hr_session_load_adapters(other, file, NULL));
  EXPECT(distance(trained, infer(env, other)) == 0);
  EXPECT(hr_session_step(other) == 0);
  hr_session_release(other);
  /* Onto the base. */
  size_t count;
  hr_graph* graph = graph_of(env, base);
  CHECK(hr_graph_load_adapters(graph, file, &count));
  EXPECT(count == 5);
  FAILS(hr_graph_load_adapters(graph, file, NULL), HR_ALREADY_EXISTS, "/lora_A'");
  hr_save_options merge = {.struct_size = sizeof merge, .merge_adapters = 1};
  CHECK(hr_graph_save(graph, merged_file, &merge));
  other = session_of(graph);
  EXPECT(distance(trained, infer(env, other)) < 1e-6);
  hr_session_release(other);
  /* Merged, by a graph and by a session. */
  for (int i = 0; i < 2; ++i) {
    const char* infer_name = "infer";
    if (i == 1) CHECK(hr_session_export(session, merged_file, 1, &infer_name, &merge, NULL));
    other = session_of(graph_of(env, merged_file));
    EXPECT(distance(trained, infer(env, other)) < 2e-5);
    hr_session* plain = session_of(graph_of(env, base));
    EXPECT(hr_session_variable_count(other) == hr_session_variable_count(plain));
    EXPECT(!equal_variables(other, plain, 1));
    hr_session_release(plain);
    hr_session_release(other);
  }
  hr_session_release(session);
  remove_folder(folder);
}

static void test_resumed(hr_env* env) {
  char *folder = make_folder(), base[256];
  snprintf(base, sizeof base, "%s", in_folder(folder, "base.hrg"));
  make_base(env, base, 0);
  hr_session* sessions[2];
  for (int i = 0; i < 2; ++i) sessions[i] = session_of(adapted(env, base, "dropout=0.2 rank=2"));
  train(env, sessions[0], 5);
  CHECK(hr_session_save(sessions[0], in_folder(folder, "checkpoints"), NULL, NULL));
  train(env, sessions[0], 5);
  CHECK(hr_session_restore(sessions[1], in_folder(folder, "checkpoints"), NULL, NULL, NULL));
  train(env, sessions[1], 5);
  EXPECT(equal_variables(sessions[0], sessions[1], 0));
  for (int i = 0; i < 2; ++i) hr_session_release(sessions[i]);
  remove_folder(folder);
}

/* A table of 4 MB beside a small product with an adapter: training, saving and restoring leave the
 * table in the mapped file. */
static void test_mapped(hr_env* env) {
  enum { ROWS = 1 << 16, COLUMNS = 16 };
  char *folder = make_folder(), base[256];
  hr_graph* graph;
  hr_value ids, x, rate, loss;
  hr_tensor *zeros, *one;
  hr_variable table;
  snprintf(base, sizeof base, "%s", in_folder(folder, "base.hrg"));
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_tensor_create(env, HR_FLOAT32, 2, (const int64_t[]){ROWS, COLUMNS}, &zeros));
  for (int i = 0; i < ROWS * COLUMNS; ++i)
    ((float*)hr_tensor_data(zeros))[i] = (float)(i % 9 - 4) / 4;
  CHECK(hr_graph_variable(graph, "table", zeros, 1, &table));
  hr_tensor_release(zeros);
  CHECK(hr_graph_read(graph, table, &x));
  CHECK(hr_graph_input(graph, "ids", HR_INT64, 1, (const int64_t[]){3}, NULL, &ids));
  x = op(graph, "Gather", NULL, 2, x, ids);
  x = op(graph, "MatMul", NULL, 2, x, weight(graph, "w", COLUMNS, 4));
  CHECK(hr_graph_name_value(graph, x, "y"));
  CHECK(hr_graph_signature_input(graph, "infer", "ids", ids));
  CHECK(hr_graph_signature_output(graph, "infer", "y", x));
  CHECK(hr_graph_save(graph, base, NULL));
  hr_graph_release(graph);
  const long begin = host_live_bytes();
  graph = graph_of(env, base);
  CHECK(hr_graph_add_lora(graph, "w", "rank=2", NULL, NULL));
  CHECK(hr_graph_find_value(graph, "y", &x));
  CHECK(hr_graph_find_value(graph, "ids", &ids));
  CHECK(hr_graph_op(graph, "ReduceMean", "keepdims=0", 1, &x, 1, &loss));
  CHECK(hr_graph_op(graph, "Constant", "value_float=0.1", 0, NULL, 1, &rate));
  CHECK(hr_graph_signature_input(graph, "train", "ids", ids));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd", rate));
  hr_session* session = session_of(graph);
  CHECK(hr_tensor_copy_of(env, HR_INT64, 1, (const int64_t[]){3}, (const int64_t[]){1, 2, 9}, 24,
                          &one));
  for (int step = 0; step < 3; ++step) {
    hr_call* call;
    CHECK(hr_call_create(session, "train", &call));
    CHECK(hr_call_bind(call, "ids", one));
    CHECK(hr_call_run(call, NULL));
    hr_call_release(call);
    CHECK(hr_session_save(session, in_folder(folder, "checkpoints"), NULL, NULL));
    CHECK(hr_session_restore(session, in_folder(folder, "checkpoints"), NULL, NULL, NULL));
    EXPECT(host_live_bytes() - begin < 1 << 20);
  }
  hr_tensor_release(one);
  hr_session_release(session);
  remove_folder(folder);
}

static void write_text(const char* path, const char* text) {
  FILE* file = fopen(path, "wb");
  EXPECT(file != NULL && fputs(text, file) >= 0);
  fclose(file);
}

static void test_what_is_refused(hr_env* env) {
  char *folder = make_folder(), base[256], file[256];
  snprintf(base, sizeof base, "%s", in_folder(folder, "base.hrg"));
  snprintf(file, sizeof file, "%s", in_folder(folder, "adapters.safetensors"));
  make_base(env, base, 1);
  hr_graph* graph = graph_of(env, base);
  hr_graph_info before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
  CHECK(hr_graph_get(graph, &before));
  const struct {
    const char *patterns, *settings, *training;
    hr_code code;
    const char* words;
  } kWrong[] = {
      {"plian", NULL, NULL, HR_NOT_FOUND,
       "no product or convolution with a weight fits the pattern 'plian'; the nearest: 'plain'"},
      {"plain,conv*x", NULL, NULL, HR_NOT_FOUND, "'conv*x'"},
      {"fc/bias", NULL, NULL, HR_NOT_FOUND, "'fc/bias'"},
      {"", NULL, NULL, HR_INVALID_ARGUMENT, "expected patterns"},
      {"plain,turned", "rank=4", NULL, HR_INVALID_ARGUMENT,
       "an adapter of 'turned' has a rank of at most 3"},
      {"conv/weight", "rank=5", NULL, HR_INVALID_ARGUMENT, "at most 4"},
      {"plain", "rank=0", NULL, HR_INVALID_ARGUMENT, "rank is a whole number from 1 on, got 0"},
      {"plain", "rank=2 alpha=0", NULL, HR_INVALID_ARGUMENT, "alpha is above 0"},
      {"plain", "dropout=1", NULL, HR_INVALID_ARGUMENT, "dropout is at least 0 and below 1"},
      {"plain", "ranks=2", NULL, HR_INVALID_ARGUMENT, "got 'ranks'"},
      {"plain", "dropout=0.5", NULL, HR_INVALID_ARGUMENT, "needs the signature that trains"},
      {"plain", "dropout=0.5", "none", HR_INVALID_ARGUMENT, "got 'none'"},
  };
  for (size_t i = 0; i < sizeof kWrong / sizeof *kWrong; ++i)
    FAILS(
        hr_graph_add_lora(graph, kWrong[i].patterns, kWrong[i].settings, kWrong[i].training, NULL),
        kWrong[i].code, kWrong[i].words);
  CHECK(hr_graph_get(graph, &after));
  EXPECT(before.node_count == after.node_count && before.variable_count == after.variable_count);
  CHECK(hr_graph_copy_signature(graph, "infer", "copy"));
  CHECK(hr_graph_copy_signature(graph, "copy", "train"));
  CHECK(hr_graph_remove_signature(graph, "infer"));
  FAILS(hr_graph_add_lora(graph, "copy/*,infer*", "dropout=0.5 rank=2", "train", NULL),
        HR_NOT_FOUND, "'infer*'");
  CHECK(hr_graph_add_lora(graph, "turned", "rank=2", NULL, NULL));
  FAILS(hr_graph_add_lora(graph, "turned", "rank=2", NULL, NULL), HR_ALREADY_EXISTS,
        "'turned/lora_A'");
  hr_save_options merge = {.struct_size = sizeof merge, .merge_adapters = 1};
  FAILS(hr_graph_save(graph, file, &merge), HR_FAILED_PRECONDITION,
        "weight 'turned' is an output of signature");
  hr_session* session = session_of(graph);
  CHECK(hr_session_save_adapters(session, file, NULL));
  graph = graph_of(env, base);
  CHECK(hr_graph_add_lora(graph, "turned", "rank=3", NULL, NULL));
  hr_session* wider = session_of(graph);
  FAILS(hr_session_load_adapters(wider, file, NULL), HR_INVALID_ARGUMENT,
        "'turned/lora_A' is float32[10, 3], the file has float32[10, 2]");
  hr_session_release(wider);
  graph = graph_of(env, base);
  FAILS(hr_graph_load_adapters(graph, in_folder(folder, "none"), NULL), HR_NOT_FOUND, "none");
  write_text(in_folder(folder, "bad"), "no safetensors");
  FAILS(hr_graph_load_adapters(graph, in_folder(folder, "bad"), NULL), HR_DATA_LOSS, "bad");
  CHECK(hr_graph_add_lora(graph, "plain", "rank=2", NULL, NULL));
  hr_session* another = session_of(graph);
  FAILS(hr_session_load_adapters(another, file, NULL), HR_NOT_FOUND,
        "has no tensor 'plain/lora_A' for the model's adapter");
  hr_session_release(another);
  hr_session* without = session_of(graph_of(env, base));
  FAILS(hr_session_save_adapters(without, file, NULL), HR_FAILED_PRECONDITION, "has no adapters");
  hr_session_release(without);
  hr_session_release(session);
  remove_folder(folder);
}

/* Adapters beside updates would not be trained by them. */
static void test_after_updates(hr_env* env) {
  char *folder = make_folder(), base[256];
  snprintf(base, sizeof base, "%s", in_folder(folder, "base.hrg"));
  make_base(env, base, 0);
  hr_graph* graph = adapted(env, base, "rank=1");
  FAILS(hr_graph_add_lora(graph, "*", NULL, NULL, NULL), HR_FAILED_PRECONDITION,
        "signature 'train' updates variables already");
  hr_graph_release(graph);
  /* What serves shares the node. */
  graph = graph_of(env, base);
  hr_value x;
  CHECK(hr_graph_find_value(graph, "scores", &x));
  CHECK(hr_graph_signature_output(graph, "train", "scores", x));
  FAILS(hr_graph_add_lora(graph, "plain", "dropout=0.5 rank=2", "train", NULL),
        HR_FAILED_PRECONDITION, "serves signature 'infer' as well as 'train'");
  hr_graph_release(graph);
  remove_folder(folder);
}

const test tests[] = {{"trained alone", test_trained_alone},
                      {"saved and loaded", test_saved_and_loaded},
                      {"resumed", test_resumed},
                      {"mapped", test_mapped},
                      {"what is refused", test_what_is_refused},
                      {"after updates", test_after_updates},
                      {NULL, NULL}};
