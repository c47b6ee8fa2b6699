/* Sessions over several devices: the CPU and the toy accelerator of tests/plugin, which takes a
 * handful of operators and has memory of its own. */
#include <math.h>
#include <pthread.h>

#include "nodes.h"

enum { BATCH = 8, IN = 6, UNITS = 16, OUT = 3, STEPS = 20 };

static void load_toy(hr_env* env) {
  CHECK(hr_env_load_plugin(env, HEADRACE_TEST_PLUGINS "/libheadrace_toy_accelerator.so"));
}

static hr_tensor* tensor_of(hr_env* env, size_t rank, const int64_t* dims, unsigned seed) {
  hr_tensor* tensor;
  CHECK(hr_tensor_create(env, HR_FLOAT32, rank, dims, &tensor));
  float* data = hr_tensor_data(tensor);
  for (int64_t i = 0; i < hr_tensor_elements(tensor); ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
  }
  return tensor;
}

static hr_value variable_of(hr_env* env, hr_graph* graph, const char* name, size_t rank,
                            const int64_t* dims) {
  hr_tensor* initial = tensor_of(env, rank, dims, (unsigned)name[0] * 77u + (unsigned)name[1]);
  hr_variable variable;
  hr_value value;
  CHECK(hr_graph_variable(graph, name, initial, 1, &variable));
  CHECK(hr_graph_read(graph, variable, &value));
  hr_tensor_release(initial);
  return value;
}

/* x·w + b on `device`. */
static hr_value layer(hr_env* env, hr_graph* graph, const char* device, const char* w,
                      const char* b, hr_value x, int64_t in, int64_t units) {
  CHECK(hr_graph_device(graph, device));
  hr_value weights = variable_of(env, graph, w, 2, (const int64_t[]){in, units});
  hr_value bias = variable_of(env, graph, b, 1, (const int64_t[]){units});
  hr_value y = op(graph, "Add", NULL, 2, op(graph, "MatMul", NULL, 2, x, weights), bias);
  CHECK(hr_graph_device(graph, NULL));
  return y;
}

/* Two layers on the two devices; signature "train" with x, labels, rate; loss and scores. */
static hr_model* make_model(hr_env* env, const char* first, const char* second) {
  const int64_t x_dims[2] = {-1, IN}, label_dims[1] = {-1};
  hr_graph* graph;
  hr_model* model;
  hr_value x, labels, rate, hidden, loss;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, x_dims, NULL, &x));
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, label_dims, NULL, &labels));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  hidden = layer(env, graph, first, "w1", "b1", x, IN, UNITS);
  CHECK(hr_graph_device(graph, first));
  CHECK(hr_graph_op(graph, "Relu", NULL, 1, &hidden, 1, &hidden));
  hr_value scores = layer(env, graph, second, "w2", "b2", hidden, UNITS, OUT);
  loss = op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, scores, labels);
  CHECK(hr_graph_name_value(graph, scores, "scores"));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "labels", labels));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_signature_output(graph, "train", "scores", scores));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  CHECK(hr_graph_signature_output(graph, "infer", "scores", scores));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd", rate));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return model;
}

static hr_session* session_on(const hr_model* model, const char* device) {
  hr_session_options options = {.struct_size = sizeof options, .seed = 5, .device = device};
  hr_session* session;
  CHECK(hr_session_create(model, &options, NULL, &session));
  return session;
}

static hr_call* train_call(hr_env* env, hr_session* session, float* loss) {
  const int64_t dims[2] = {BATCH, IN};
  hr_tensor *x = tensor_of(env, 2, dims, 3), *labels;
  hr_call* call;
  CHECK(hr_tensor_create(env, HR_INT64, 1, dims, &labels));
  for (int i = 0; i < BATCH; ++i) ((int64_t*)hr_tensor_data(labels))[i] = i % OUT;
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_bind(call, "x", x));
  CHECK(hr_call_bind(call, "labels", labels));
  CHECK(hr_call_bind_scalar(call, "rate", 0.5));
  CHECK(hr_call_output(call, "loss", loss, sizeof *loss));
  hr_tensor_release(x);
  hr_tensor_release(labels);
  return call;
}

static void train(hr_env* env, hr_session* session, float losses[STEPS]) {
  float loss;
  hr_call* call = train_call(env, session, &loss);
  for (int i = 0; i < STEPS; ++i) {
    CHECK(hr_call_run(call, NULL));
    losses[i] = loss;
  }
  hr_call_release(call);
}

static void expect_close(const float* a, const float* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (fabsf(a[i] - b[i]) < 1e-5f) continue;
    fprintf(stderr, "%zu: %g, %g\n", i, (double)a[i], (double)b[i]);
    exit(1);
  }
}

static void expect_same_variables(hr_session* a, hr_session* b) {
  for (size_t i = 0; i < hr_session_variable_count(a); ++i) {
    const char* name = hr_session_variable_name(a, i);
    hr_tensor *x, *y;
    CHECK(hr_session_get_variable(a, name, NULL, &x));
    CHECK(hr_session_get_variable(b, name, NULL, &y));
    expect_close(hr_tensor_data(x), hr_tensor_data(y), (size_t)hr_tensor_elements(x));
    hr_tensor_release(x);
    hr_tensor_release(y);
  }
}

/* The plan's JSON has the words. */
static void expect_plan(hr_call* call, const char* words) {
  hr_text* text;
  CHECK(hr_call_describe(call, &text));
  if (strstr(hr_text_data(text), words) == NULL) {
    fprintf(stderr, "no %s in %s\n", words, hr_text_data(text));
    exit(1);
  }
  hr_text_release(text);
}

/* ---- Training ---- */

static void check_training(hr_env* env, const char* first, const char* second,
                           const char* otherwise) {
  float alone[STEPS], spread[STEPS];
  hr_model* cpu_model = make_model(env, NULL, NULL);
  hr_model* model = make_model(env, first, second);
  hr_session* cpu_session = session_on(cpu_model, NULL);
  hr_session* session = session_on(model, otherwise);
  train(env, cpu_session, alone);
  train(env, session, spread);
  EXPECT(alone[STEPS - 1] < alone[0] * 0.9f);
  expect_close(alone, spread, STEPS);
  expect_same_variables(cpu_session, session);
  hr_session_release(cpu_session);
  hr_session_release(session);
  hr_model_release(cpu_model);
  hr_model_release(model);
}

static void train_across(hr_env* env) {
  load_toy(env);
  check_training(env, "TOY:0", "CPU:0", NULL);
  check_training(env, "CPU:0", "TOY:0", NULL);
}

static void train_everywhere(hr_env* env) {
  load_toy(env);
  check_training(env, "TOY:0", "TOY:1", NULL);
  check_training(env, NULL, NULL, "TOY:1");
  check_training(env, "CPU:0", NULL, "TOY:0");
}

/* A backend in C++ behind the table: the CPU's own, with the same results to the bit. */
static void train_on_mirror(hr_env* env) {
  float alone[STEPS], mirrored[STEPS];
  CHECK(hr_env_load_plugin(env, HEADRACE_TEST_PLUGINS "/libheadrace_mirror.so"));
  hr_model* model = make_model(env, NULL, NULL);
  hr_session* cpu_session = session_on(model, NULL);
  hr_session* session = session_on(model, "MIRROR:0");
  train(env, cpu_session, alone);
  train(env, session, mirrored);
  EXPECT(memcmp(alone, mirrored, sizeof alone) == 0);
  hr_session_release(cpu_session);
  hr_session_release(session);
  hr_model_release(model);
}

static void placement_shows(hr_env* env) {
  float loss;
  load_toy(env);
  hr_model* model = make_model(env, "TOY:0", NULL);
  hr_session* session = session_on(model, NULL);
  hr_call* call = train_call(env, session, &loss);
  CHECK(hr_call_run(call, NULL));
  expect_plan(call,
              "\"node\":\"MatMul\",\"op\":\"MatMul\",\"device\":\"TOY:0\",\"wanted\":\"TOY:0\"");
  /* The toy has no ReluGrad, which is wanted there. */
  expect_plan(call, "\"op\":\"ReluGrad\",\"device\":\"CPU:0\",\"wanted\":\"TOY:0\"");
  expect_plan(call, "\"op\":\"SGD\",\"device\":\"TOY:0\"");
  expect_plan(call, "\"kernel\":\"toy_matmul\"");
  expect_plan(call, "\"from\":\"TOY:0\",\"to\":\"CPU:0\"");
  hr_text* text;
  CHECK(hr_session_describe(session, &text));
  EXPECT(strstr(hr_text_data(text),
                "\"name\":\"w1\",\"dtype\":\"float32\",\"dims\":[6,16],"
                "\"device\":\"TOY:0\"") != NULL);
  EXPECT(strstr(hr_text_data(text),
                "\"name\":\"w2\",\"dtype\":\"float32\",\"dims\":[16,3],"
                "\"device\":\"CPU:0\"") != NULL);
  hr_text_release(text);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
}

/* ---- Variables ---- */

static void variables_are_plain(hr_env* env) {
  float before[STEPS], after[STEPS];
  char* folder = make_folder();
  load_toy(env);
  hr_model* model = make_model(env, "TOY:0", "CPU:0");
  hr_session* session = session_on(model, NULL);
  train(env, session, before);
  CHECK(hr_session_save(session, folder, NULL, NULL));
  train(env, session, before);
  hr_session* other = session_on(model, NULL);
  CHECK(hr_session_restore(other, folder, NULL, NULL, NULL));
  train(env, other, after);
  EXPECT(memcmp(before, after, sizeof before) == 0);
  /* A value that is set while the device has one counts from then on. */
  hr_tensor* w1;
  CHECK(hr_session_get_variable(session, "w1", NULL, &w1));
  CHECK(hr_session_restore(session, folder, NULL, NULL, NULL));
  train(env, session, after);
  EXPECT(memcmp(before, after, sizeof before) == 0);
  memset(hr_tensor_data(w1), 0, hr_tensor_bytes(w1));
  CHECK(hr_session_set_variable(session, "w1", w1, NULL));
  hr_tensor_release(w1);
  CHECK(hr_session_get_variable(session, "w1", NULL, &w1));
  EXPECT(((float*)hr_tensor_data(w1))[7] == 0);
  hr_tensor_release(w1);
  train(env, session, after);
  EXPECT(memcmp(before, after, sizeof before) != 0);
  hr_session_release(other);
  hr_session_release(session);
  hr_model_release(model);
  remove_folder(folder);
}

/* One session reads with one plan what another plan wrote elsewhere. */
static void plans_share_variables(hr_env* env) {
  const int64_t dims[2] = {BATCH, IN};
  float losses[STEPS], first[BATCH * OUT], second[BATCH * OUT];
  load_toy(env);
  hr_model* model = make_model(env, "TOY:0", "TOY:0");
  hr_session* session = session_on(model, NULL);
  hr_tensor* x = tensor_of(env, 2, dims, 3);
  hr_call *call, *look;
  float loss;
  CHECK(hr_call_create(session, "infer", &call));
  CHECK(hr_call_bind(call, "x", x));
  CHECK(hr_call_output(call, "scores", first, sizeof first));
  CHECK(hr_call_run(call, NULL));
  train(env, session, losses);
  CHECK(hr_call_output(call, "scores", second, sizeof second));
  CHECK(hr_call_run(call, NULL));
  EXPECT(memcmp(first, second, sizeof first) != 0);
  look = train_call(env, session, &loss);
  CHECK(hr_call_output(look, "scores", first, sizeof first));
  CHECK(hr_call_run(look, NULL)); /* the scores before its update are those after the last one */
  EXPECT(memcmp(first, second, sizeof first) == 0);
  hr_call_release(look);
  hr_call_release(call);
  hr_tensor_release(x);
  hr_session_release(session);
  hr_model_release(model);
}

/* Readers of every kind go on while one thread trains. */

typedef struct crowd {
  hr_env* env;
  hr_session* session;
  hr_tensor* x;
} crowd;

static void* infer_in_thread(void* context) {
  const crowd* c = context;
  float scores[BATCH * OUT];
  hr_call* call;
  CHECK(hr_call_create(c->session, "infer", &call));
  CHECK(hr_call_bind(call, "x", c->x));
  CHECK(hr_call_output(call, "scores", scores, sizeof scores));
  for (int i = 0; i < 200; ++i) CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
  return NULL;
}

static void* look_in_thread(void* context) {
  const crowd* c = context;
  for (int i = 0; i < 200; ++i) {
    hr_tensor* w1;
    hr_text* text;
    CHECK(hr_session_get_variable(c->session, "w1", NULL, &w1));
    CHECK(hr_session_describe(c->session, &text));
    hr_text_release(text);
    hr_tensor_release(w1);
  }
  return NULL;
}

static void threads_share_variables(hr_env* env) {
  const int64_t dims[2] = {BATCH, IN};
  float alone[STEPS], among[STEPS];
  pthread_t threads[3];
  load_toy(env);
  hr_model* model = make_model(env, "TOY:0", "CPU:0");
  hr_session* first = session_on(model, NULL);
  train(env, first, alone);
  crowd c = {env, session_on(model, NULL), tensor_of(env, 2, dims, 3)};
  for (int i = 0; i < 3; ++i) {
    EXPECT(pthread_create(&threads[i], NULL, i == 2 ? look_in_thread : infer_in_thread, &c) == 0);
  }
  train(env, c.session, among);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  EXPECT(memcmp(alone, among, sizeof alone) == 0);
  hr_tensor_release(c.x);
  hr_session_release(c.session);
  hr_session_release(first);
  hr_model_release(model);
}

/* ---- What goes wrong ---- */

static void unknown_device(hr_env* env) {
  float loss;
  load_toy(env);
  hr_model* model = make_model(env, "GPU:0", NULL);
  hr_session* session = session_on(model, NULL);
  hr_call* call = train_call(env, session, &loss);
  FAILS(hr_call_run(call, NULL), HR_NOT_FOUND, "no device 'GPU:0'");
  FAILS(hr_call_run(call, NULL), HR_NOT_FOUND, "CPU:0, TOY:0, TOY:1");
  hr_call_release(call);
  hr_session_release(session);
  hr_session_options options = {.struct_size = sizeof options, .device = "TOY:7"};
  FAILS(hr_session_create(model, &options, NULL, &session), HR_NOT_FOUND, "CPU:0, TOY:0, TOY:1");
  FAILS(hr_graph_device(NULL, "CPU:0"), HR_INVALID_ARGUMENT, "graph");
  hr_model_release(model);
}

static void contradicting_devices(hr_env* env) {
  const int64_t dims[1] = {4};
  hr_graph* graph;
  hr_model* model;
  hr_variable w;
  hr_value a, b, sum;
  load_toy(env);
  hr_tensor* initial = tensor_of(env, 1, dims, 1);
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_variable(graph, "w", initial, 1, &w));
  CHECK(hr_graph_device(graph, "TOY:0"));
  CHECK(hr_graph_read(graph, w, &a));
  CHECK(hr_graph_device(graph, "TOY:1"));
  hr_node_spec* spec;
  CHECK(hr_node_spec_create("headrace.state.AssignAdd", &spec));
  hr_node_spec_int(spec, "variable", w);
  hr_node_spec_input(spec, a);
  hr_node_spec_name(spec, "increase");
  CHECK(hr_graph_add(graph, spec, 0, NULL, NULL));
  hr_node_spec_release(spec);
  CHECK(hr_graph_read(graph, w, &b));
  sum = op(graph, "Add", NULL, 2, a, b);
  CHECK(hr_graph_name_value(graph, sum, "sum"));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  hr_session* session = session_on(model, NULL);
  const char* fetches[] = {"sum"};
  hr_tensor* out[1];
  FAILS(hr_session_run(session, 0, NULL, NULL, 1, fetches, 0, NULL, NULL, out), HR_INVALID_ARGUMENT,
        "variable 'w' cannot be on TOY:1 for this node and on TOY:0 for 'w/read'");
  hr_session_release(session);
  hr_model_release(model);
  hr_tensor_release(initial);
}

static void late_plugin(hr_env* env) {
  hr_model* model = make_model(env, NULL, NULL);
  FAILS(hr_env_load_plugin(env, HEADRACE_TEST_PLUGINS "/libheadrace_toy_accelerator.so"),
        HR_FAILED_PRECONDITION, "before the first model");
  hr_model_release(model);
}

static void failing_plugin(hr_env* env) {
  static const char* const places[] = {"supports", "compile", "instantiate", "copy", "run"};
  float loss;
  setenv("TOY_FAIL", "device", 1);
  FAILS(hr_env_load_plugin(env, HEADRACE_TEST_PLUGINS "/libheadrace_toy_accelerator.so"),
        HR_INTERNAL, "the toy was told to fail in device");
  unsetenv("TOY_FAIL");
  load_toy(env);
  hr_model* model = make_model(env, "TOY:0", NULL);
  hr_session* session = session_on(model, NULL);
  hr_call* call = train_call(env, session, &loss);
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    char words[64];
    snprintf(words, sizeof words, "TOY:0: the toy was told to fail in %s", places[i]);
    setenv("TOY_FAIL", places[i], 1);
    FAILS(hr_call_run(call, NULL), HR_INTERNAL, words);
    unsetenv("TOY_FAIL");
    hr_session_trim(session);
  }
  setenv("TOY_FAIL", "run", 1);
  hr_status* status = hr_call_run(call, NULL);
  EXPECT(strcmp(hr_status_node(status), "") != 0);
  hr_status_release(status);
  unsetenv("TOY_FAIL");
  CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
}

static void no_allocation(hr_env* env) {
  float loss;
  load_toy(env);
  hr_model* model = make_model(env, "TOY:0", NULL);
  hr_session* session = session_on(model, NULL);
  hr_call* call = train_call(env, session, &loss);
  for (int i = 0; i < 3; ++i) CHECK(hr_call_run(call, NULL));
  const long host = host_allocations(), heap = heap_allocations();
  for (int i = 0; i < 10; ++i) CHECK(hr_call_run(call, NULL));
  EXPECT(host_allocations() == host);
  EXPECT(heap_allocations() == heap);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
}

const test tests[] = {
    {"training across the CPU and an accelerator", train_across},
    {"training on accelerators alone", train_everywhere},
    {"training on a backend in C++ behind the table", train_on_mirror},
    {"placement shows", placement_shows},
    {"variables are host tensors, wherever they live", variables_are_plain},
    {"plans share variables", plans_share_variables},
    {"threads share variables", threads_share_variables},
    {"an unknown device", unknown_device},
    {"devices that contradict each other", contradicting_devices},
    {"a plugin that comes too late", late_plugin},
    {"a plugin that fails", failing_plugin},
    {"a run over two devices allocates nothing", no_allocation},
    {NULL, NULL},
};
