/* Training that was broken off and restored from its checkpoint goes on bit by bit as it would
 * have: variables, optimizer state, step and the position in shuffled data. Also: what wrong use
 * says. */
#include <headrace/headrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(call)                                                               \
  do {                                                                            \
    hr_status* status_ = (call);                                                  \
    if (status_ != NULL) {                                                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,                      \
              hr_code_name(hr_status_code(status_)), hr_status_message(status_)); \
      exit(1);                                                                    \
    }                                                                             \
  } while (0)
#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

enum { EXAMPLES = 100, FEATURES = 12, CLASSES = 4 };

static hr_model* make_model(hr_env* env) {
  const int64_t x_dims[2] = {-1, FEATURES}, label_dims[1] = {-1};
  hr_graph* graph;
  hr_model* model;
  hr_value x, h, labels, rate, in[2], loss;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, x_dims, NULL, &x));
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, label_dims, NULL, &labels));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  CHECK(hr_graph_dense(graph, "fc1", x, 16, &h));
  CHECK(hr_graph_op(graph, "Tanh", NULL, 1, &h, 1, &h));
  CHECK(hr_graph_dense(graph, "fc2", h, CLASSES, &in[0]));
  in[1] = labels;
  CHECK(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, in, 1, &loss));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "labels", labels));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, "adam", rate));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return model;
}

static hr_dataset* make_data(hr_env* env) {
  const int64_t x_dims[2] = {EXAMPLES, FEATURES}, label_dims[1] = {EXAMPLES};
  const char* names[2] = {"x", "labels"};
  hr_dataset_options options = {.struct_size = sizeof options,
                                .batch = 16,
                                .repeat = 3,
                                .shuffle = 1,
                                .seed = 5,
                                .prefetch = 2};
  hr_tensor* tensors[2];
  hr_dataset* data;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 2, x_dims, &tensors[0]));
  CHECK(hr_tensor_create(env, HR_INT64, 1, label_dims, &tensors[1]));
  for (int i = 0; i < EXAMPLES; ++i) {
    ((int64_t*)hr_tensor_data(tensors[1]))[i] = i % CLASSES;
    for (int j = 0; j < FEATURES; ++j) {
      ((float*)hr_tensor_data(tensors[0]))[i * FEATURES + j] =
          (float)((i * 7 + j * (i % CLASSES)) % 11) / 11;
    }
  }
  CHECK(hr_dataset_from_tensors(env, 2, names, (const hr_tensor* const*)tensors, &options, &data));
  hr_tensor_release(tensors[0]);
  hr_tensor_release(tensors[1]);
  return data;
}

/* Trains a new session to `steps` steps in all, going on from the checkpoint in `folder` if there
 * is one. */
static void train(hr_env* env, hr_model* model, const char* folder, int64_t steps, uint64_t seed,
                  float* weights) {
  const char* names[1] = {"rate"};
  const double values[1] = {0.01};
  hr_session_options session_options = {.struct_size = sizeof session_options, .seed = seed};
  hr_session* session;
  hr_tensor* weight;
  CHECK(hr_session_create(model, &session_options, &session));
  hr_dataset* data = make_data(env);
  hr_train_options options = {.struct_size = sizeof options,
                              .train_data = data,
                              .max_steps = steps,
                              .scalar_count = 1,
                              .scalar_names = names,
                              .scalars = values,
                              .checkpoint_directory = folder};
  hr_train_report report = {.struct_size = sizeof report};
  CHECK(hr_train(session, &options, NULL, &report));
  EXPECT(report.step == steps && hr_session_step(session) == steps);
  CHECK(hr_session_get_variable(session, "fc1/weight", &weight));
  EXPECT(hr_tensor_bytes(weight) == sizeof(float) * 16 * FEATURES);
  memcpy(weights, hr_tensor_data(weight), hr_tensor_bytes(weight));
  hr_tensor_release(weight);
  hr_dataset_release(data);
  hr_session_release(session);
}

static void test_resume(hr_env* env, hr_model* model) {
  char whole[] = "/tmp/headrace_whole_XXXXXX", broken[] = "/tmp/headrace_broken_XXXXXX",
       command[128];
  float expected[16 * FEATURES], got[16 * FEATURES], early[16 * FEATURES];
  EXPECT(mkdtemp(whole) != NULL && mkdtemp(broken) != NULL);
  train(env, model, whole, 20, 3, expected);
  train(env, model, broken, 9, 3, early);
  train(env, model, broken, 20, 99, got); /* another seed: the checkpoint's counts */
  EXPECT(memcmp(expected, got, sizeof got) == 0);
  EXPECT(memcmp(expected, early, sizeof got) != 0);
  snprintf(command, sizeof command, "rm -r %s %s", whole, broken);
  EXPECT(system(command) == 0);
}

/* The call fails with the code, and the message has the word. */
static void expect_failure(hr_status* status, hr_code code, const char* word) {
  if (hr_status_code(status) != code || strstr(hr_status_message(status), word) == NULL) {
    fprintf(stderr, "expected %s with '%s', got %s: %s\n", hr_code_name(code), word,
            hr_code_name(hr_status_code(status)), hr_status_message(status));
    exit(1);
  }
  hr_status_release(status);
}

static void test_wrong_use(hr_env* env, hr_model* model) {
  const int64_t dims[2] = {2, FEATURES + 1};
  const char garbage[] = "this is no graph file, it is a sentence that is long enough";
  hr_session* session;
  hr_call* call;
  hr_tensor* tensor;
  hr_model* other;
  CHECK(hr_session_create(model, NULL, &session));
  expect_failure(hr_call_create(session, "tran", &call), HR_NOT_FOUND, "did you mean 'train'");
  CHECK(hr_call_create(session, "train", &call));
  expect_failure(hr_call_run(call, NULL), HR_INVALID_ARGUMENT, "'x'");
  CHECK(hr_tensor_create(env, HR_FLOAT32, 2, dims, &tensor));
  expect_failure(hr_call_bind(call, "y", tensor), HR_NOT_FOUND, "x, labels, rate");
  CHECK(hr_call_bind(call, "x", tensor));
  expect_failure(hr_call_run(call, NULL), HR_INVALID_ARGUMENT, "float32[2, 13]");
  expect_failure(hr_model_load(env, "/no/such/file.hrg", NULL, &other), HR_NOT_FOUND,
                 "/no/such/file.hrg");
  expect_failure(hr_model_load_memory(env, garbage, sizeof garbage, NULL, NULL, NULL, &other),
                 HR_INVALID_ARGUMENT, "");
  expect_failure(hr_session_create(NULL, NULL, &session), HR_INVALID_ARGUMENT,
                 "'model' must not be NULL");
  hr_session_close(session);
  expect_failure(hr_session_run(session, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL),
                 HR_FAILED_PRECONDITION, "closed");
  hr_tensor_release(tensor);
  hr_call_release(call);
  hr_session_release(session);
}

int main(void) {
  hr_env_options options = {.struct_size = sizeof options, .threads = 2};
  hr_env* env;
  CHECK(hr_env_create(&options, &env));
  hr_model* model = make_model(env);
  test_resume(env, model);
  test_wrong_use(env, model);
  hr_model_release(model);
  hr_env_release(env);
  puts("resumed bit by bit; wrong use was told");
  return 0;
}
