/* The tour in C: ../README.md says what it does.
 *
 *   tour MODEL OUT                             MODEL is a file of make_model, OUT a folder */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

enum { EXAMPLES = 12, FEATURES = 8, CLASSES = 3 };

/* Prints a failure and ends the program. */
static void check(hr_status* status, const char* doing) {
  if (status == NULL) return;
  fprintf(stderr, "tour: %s: %s: %s\n", doing, hr_code_name(hr_status_code(status)),
          hr_status_message(status));
  exit(1);
}
#define TRY(call) check((call), #call)

/* Prints a line: a name, and the bits of each element. */
static void show(const char* name, const float* values, int64_t count) {
  printf("%s:", name);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    printf(" %08x", bits);
  }
  printf("\n");
}

/* The data: all numbers are exact in float32. */
static float x[EXAMPLES][FEATURES];
static int64_t labels[EXAMPLES];

static void make_data(void) {
  for (int i = 0; i < EXAMPLES; ++i) {
    labels[i] = i % CLASSES;
    for (int j = 0; j < FEATURES; ++j) {
      x[i][j] = (float)((i * 7 + j * 5) % 17 - 8) / 16.0f + (j % CLASSES == i % CLASSES ? 1 : 0);
    }
  }
}

/* A tensor of the first `rows` rows of the data, in place. */
static hr_tensor* rows_of_x(int64_t rows) {
  const int64_t dims[2] = {rows, FEATURES};
  hr_tensor* out;
  TRY(hr_tensor_wrap(HR_FLOAT32, 2, dims, x, (size_t)rows * sizeof x[0], NULL, NULL, &out));
  return out;
}

/* Runs the signature "infer" on two examples and prints "p". */
static void infer(hr_session* session, const char* name) {
  hr_tensor *input = rows_of_x(2), *p;
  hr_call* call;
  TRY(hr_call_create(session, "infer", &call));
  TRY(hr_call_bind(call, "x", input));
  TRY(hr_call_run(call, NULL));
  TRY(hr_call_result(call, "p", &p));
  show(name, hr_tensor_data(p), hr_tensor_elements(p));
  hr_tensor_release(p);
  hr_call_release(call);
  hr_tensor_release(input);
}

/* 1. Load a file and run it. */
static hr_model* load(hr_env* env, const char* path, const char* name) {
  hr_model* model;
  hr_session* session;
  TRY(hr_model_load(env, path, NULL, &model));
  TRY(hr_session_create(model, NULL, NULL, &session));
  infer(session, name);
  hr_session_release(session);
  return model;
}

static hr_value op2(hr_graph* graph, const char* name, hr_value a, hr_value b) {
  const hr_value inputs[2] = {a, b};
  hr_value out;
  TRY(hr_graph_op(graph, name, NULL, 2, inputs, 1, &out));
  return out;
}

/* 2. Go on building: a new head on the frozen features of the model. */
static hr_model* extend(hr_model* base) {
  const int64_t batch = -1;
  const char* symbol = "batch";
  hr_graph_info info = {.struct_size = sizeof info};
  hr_graph* graph;
  hr_model* model;
  hr_value input, target, rate, features, scores, p, loss;
  TRY(hr_graph_from_model(base, &graph));
  TRY(hr_graph_get(graph, &info));
  for (hr_variable v = 0; v < info.variable_count; ++v) TRY(hr_graph_set_trainable(graph, v, 0));
  TRY(hr_graph_remove_signature(graph, "infer"));
  TRY(hr_graph_find_value(graph, "x", &input));
  TRY(hr_graph_find_value(graph, "features", &features));
  TRY(hr_graph_input(graph, "labels", HR_INT64, 1, &batch, &symbol, &target));
  TRY(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  TRY(hr_graph_dense(graph, "head", features, CLASSES, &scores));
  loss = op2(graph, "SoftmaxCrossEntropyLoss", scores, target);
  TRY(hr_graph_op(graph, "Softmax", "axis=1", 1, &scores, 1, &p));
  TRY(hr_graph_signature_input(graph, "infer", "x", input));
  TRY(hr_graph_signature_output(graph, "infer", "p", p));
  TRY(hr_graph_signature_input(graph, "train", "x", input));
  TRY(hr_graph_signature_input(graph, "train", "labels", target));
  TRY(hr_graph_signature_input(graph, "train", "rate", rate));
  TRY(hr_graph_signature_output(graph, "train", "loss", loss));
  TRY(hr_graph_minimize(graph, "train", loss, "sgd momentum=0.9", rate));
  TRY(hr_graph_prune(graph));
  TRY(hr_graph_get(graph, &info));
  printf("variables: %zu\n", info.variable_count);
  TRY(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return model;
}

static hr_dataset* open_data(hr_env* env) {
  const hr_dataset_options options = {
      .struct_size = sizeof options, .batch = 4, .repeat = 5, .shuffle = 1, .seed = 3};
  const char* names[2] = {"x", "labels"};
  const int64_t dims = EXAMPLES;
  hr_tensor* tensors[2] = {rows_of_x(EXAMPLES), NULL};
  hr_dataset* data;
  TRY(hr_tensor_wrap(HR_INT64, 1, &dims, labels, sizeof labels, NULL, NULL, &tensors[1]));
  TRY(hr_dataset_from_tensors(env, 2, names, (const hr_tensor* const*)tensors, &options, &data));
  hr_tensor_release(tensors[0]);
  hr_tensor_release(tensors[1]);
  return data;
}

/* 3. Fine-tune: the head learns from the data. */
static void tune(hr_env* env, hr_session* session) {
  hr_dataset* data = open_data(env);
  hr_call* step;
  float loss;
  TRY(hr_call_create(session, "train", &step));
  TRY(hr_call_bind_dataset(step, data));
  TRY(hr_call_bind_scalar(step, "rate", 0.125));
  TRY(hr_call_output(step, "loss", &loss, sizeof loss));
  while (!hr_dataset_done(data, NULL)) {
    TRY(hr_call_run(step, NULL));
    show("loss", &loss, 1);
  }
  hr_call_release(step);
  hr_dataset_release(data);
}

/* 4. Save a checkpoint to go on from, and a file to serve. */
static void save(hr_session* session, const char* checkpoints, const char* file) {
  const char* signature = "infer";
  TRY(hr_session_save(session, checkpoints, NULL, NULL));
  TRY(hr_session_export(session, file, 1, &signature, NULL, NULL));
}

/* 5. Reload both. */
static void reload(hr_env* env, hr_model* model, const char* checkpoints, const char* file) {
  hr_session* session;
  TRY(hr_session_create(model, NULL, NULL, &session));
  TRY(hr_session_restore(session, checkpoints, NULL, NULL, NULL));
  printf("step: %lld\n", (long long)hr_session_step(session));
  infer(session, "restored");
  hr_session_release(session);
  hr_model_release(load(env, file, "served"));
}

/* 6. What goes wrong says so. */
static void fail(hr_model* model) {
  hr_session* session;
  hr_call* call;
  TRY(hr_session_create(model, NULL, NULL, &session));
  TRY(hr_call_create(session, "infer", &call));
  hr_status* status = hr_call_run(call, NULL); /* "x" is not bound */
  printf("failure: %s\n", hr_code_name(hr_status_code(status)));
  hr_status_release(status);
  hr_call_release(call);
  hr_session_release(session);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: tour MODEL OUT\n");
    return 2;
  }
  const hr_env_options options = {.struct_size = sizeof options, .threads = 1};
  const hr_session_options seed = {.struct_size = sizeof seed, .seed = 7};
  char checkpoints[4096], file[4096];
  snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", argv[2]);
  snprintf(file, sizeof file, "%s/tuned.hrg", argv[2]);
  hr_env* env;
  hr_session* session;
  make_data();
  TRY(hr_env_create(&options, &env));
  hr_model* base = load(env, argv[1], "loaded");
  hr_model* model = extend(base);
  TRY(hr_session_create(model, &seed, NULL, &session));
  infer(session, "untrained");
  tune(env, session);
  infer(session, "trained");
  save(session, checkpoints, file);
  reload(env, model, checkpoints, file);
  fail(model);
  hr_session_release(session);
  hr_model_release(model);
  hr_model_release(base);
  hr_env_release(env);
  return 0;
}
