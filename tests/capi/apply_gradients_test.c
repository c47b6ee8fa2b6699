/* Gradients as values: hr_graph_minimize is the two calls, and what a host may do in between. */
#include <math.h>

#include "models.h"
#include "nodes.h"

static hr_value sum_of(hr_graph* graph, hr_value x) {
  return op(graph, "ReduceSum", "keepdims=0", 1, x);
}

/* ---- Minimizing is these two ---- */

/* A network with a training signature, by one call or by two. */
static hr_graph* trained_graph(hr_env* env, const char* optimizer, int apart) {
  hr_graph* graph;
  hr_value x, labels, rate, in[2], loss, gradients[6];
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, (const int64_t[]){-1, FEATURES},
                       (const char* const[]){"batch", NULL}, &x));
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, (const int64_t[]){-1},
                       (const char* const[]){"batch"}, &labels));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  CHECK(hr_graph_dense(graph, "fc1", x, HIDDEN, &in[0]));
  in[0] = op(graph, "Tanh", NULL, 1, in[0]);
  CHECK(hr_graph_dense(graph, "fc2", in[0], HIDDEN, &in[0]));
  in[0] = op(graph, "Tanh", NULL, 1, in[0]);
  CHECK(hr_graph_dense(graph, "fc2", in[0], HIDDEN, &in[0])); /* read twice */
  CHECK(hr_graph_dense(graph, "fc3", in[0], CLASSES, &in[0]));
  in[1] = labels;
  CHECK(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, in, 1, &loss));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "labels", labels));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  if (!apart) {
    CHECK(hr_graph_minimize(graph, "train", loss, optimizer, rate));
  } else {
    const hr_variable variables[6] = {0, 1, 2, 3, 4, 5};
    CHECK(hr_graph_variable_gradients(graph, loss, 6, variables, gradients));
    CHECK(hr_graph_apply_gradients(graph, "train", optimizer, rate, 6, variables, gradients));
  }
  return graph;
}

/* Sums of gradients and updates go where the session puts them, whatever the graph's device is. */
static void test_devices(hr_env* env) {
  hr_graph* graph;
  hr_value x, rate, y, loss, gradient;
  hr_variable weight;
  hr_node node;
  hr_node_info info = {.struct_size = sizeof info};
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, (const int64_t[]){4, 4}, NULL, &x));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  CHECK(hr_graph_dense(graph, "d", x, 4, &y));
  loss = sum_of(graph, y);
  CHECK(hr_graph_find_variable(graph, "d/weight", &weight));
  CHECK(hr_graph_assign_add(graph, weight, x, &node));
  CHECK(hr_graph_read(graph, weight, &y)); /* so that there is a sum of two gradients */
  loss = op(graph, "Add", NULL, 2, loss, sum_of(graph, y));
  CHECK(hr_graph_device(graph, "CPU:0"));
  CHECK(hr_graph_variable_gradients(graph, loss, 1, &weight, &gradient));
  CHECK(hr_graph_apply_gradients(graph, "train", "sgd", rate, 1, &weight, &gradient));
  CHECK(hr_graph_find_node(graph, "d/weight/update", &node));
  CHECK(hr_graph_get_node(graph, node, &info));
  EXPECT(strcmp(info.device, "") == 0);
  hr_graph_info all = {.struct_size = sizeof all};
  CHECK(hr_graph_get(graph, &all));
  for (hr_node n = 0; n < all.node_count; ++n) {
    CHECK(hr_graph_get_node(graph, n, &info));
    EXPECT(strcmp(info.device, "") == 0);
  }
  CHECK(hr_graph_op(graph, "Relu", NULL, 1, &x, 1, &y)); /* the device is kept for what follows */
  hr_value_info value = {.struct_size = sizeof value};
  CHECK(hr_graph_get_value(graph, y, &value));
  CHECK(hr_graph_get_node(graph, value.producer, &info));
  EXPECT(strcmp(info.device, "CPU:0") == 0);
  hr_graph_release(graph);
}

static void test_minimize_is_two_calls(hr_env* env) {
  const char* const optimizers[] = {"sgd",     "sgd momentum=0.9 weight_decay=1e-4 nesterov=1",
                                    "adam",    "adam weight_decay=0.01 decoupled=1",
                                    "adagrad", "rmsprop momentum=0.5"};
  hr_tensor *x, *labels;
  make_examples(env, 2, (const int64_t[]){8, FEATURES}, &x, &labels);
  for (size_t o = 0; o < sizeof optimizers / sizeof *optimizers; ++o) {
    hr_session* sessions[2];
    hr_text* texts[2];
    for (int apart = 0; apart < 2; ++apart) {
      hr_graph* graph = trained_graph(env, optimizers[o], apart);
      hr_model* model;
      hr_call* call;
      CHECK(hr_model_from_graph(graph, &model));
      CHECK(hr_model_graph_text(model, "json", &texts[apart]));
      CHECK(hr_session_create(model, NULL, NULL, &sessions[apart]));
      CHECK(hr_call_create(sessions[apart], "train", &call));
      CHECK(hr_call_bind(call, "x", x));
      CHECK(hr_call_bind(call, "labels", labels));
      CHECK(hr_call_bind_scalar(call, "rate", 0.05));
      for (int i = 0; i < 5; ++i) CHECK(hr_call_run(call, NULL));
      hr_call_release(call);
      hr_model_release(model);
      hr_graph_release(graph);
    }
    EXPECT(strcmp(hr_text_data(texts[0]), hr_text_data(texts[1])) == 0);
    const size_t count = hr_session_variable_count(sessions[0]);
    EXPECT(count >= 6 && hr_session_variable_count(sessions[1]) == count);
    for (size_t v = 0; v < count; ++v) {
      const char* name = hr_session_variable_name(sessions[0], v);
      hr_tensor* values[2];
      for (int s = 0; s < 2; ++s)
        CHECK(hr_session_get_variable(sessions[s], name, NULL, &values[s]));
      EXPECT(memcmp(hr_tensor_data(values[0]), hr_tensor_data(values[1]),
                    hr_tensor_bytes(values[0])) == 0);
      for (int s = 0; s < 2; ++s) hr_tensor_release(values[s]);
    }
    for (int s = 0; s < 2; ++s) {
      hr_session_release(sessions[s]);
      hr_text_release(texts[s]);
    }
  }
  hr_tensor_release(x);
  hr_tensor_release(labels);
}

/* ---- Between the two ---- */

/* Variables of two float32, {1, 2} at first. */
typedef struct pair {
  hr_graph* graph;
  hr_variable a, b;
  hr_value now_a, now_b, rate;
} pair;

static hr_tensor* two(hr_env* env, float first, float second) {
  hr_tensor* tensor;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, (const int64_t[]){2}, (const float[]){first, second},
                          8, &tensor));
  return tensor;
}

static pair begin(hr_env* env) {
  pair p;
  hr_tensor* initial = two(env, 1, 2);
  CHECK(hr_graph_create(env, &p.graph));
  CHECK(hr_graph_variable(p.graph, "a", initial, 1, &p.a));
  CHECK(hr_graph_variable(p.graph, "b", initial, 1, &p.b));
  CHECK(hr_graph_read(p.graph, p.a, &p.now_a));
  CHECK(hr_graph_read(p.graph, p.b, &p.now_b));
  CHECK(hr_graph_input(p.graph, "rate", HR_FLOAT32, 0, NULL, NULL, &p.rate));
  hr_tensor_release(initial);
  return p;
}

static hr_value constant(hr_env* env, hr_graph* graph, float first, float second) {
  hr_tensor* tensor = two(env, first, second);
  hr_value value;
  CHECK(hr_graph_constant(graph, NULL, tensor, &value));
  hr_tensor_release(tensor);
  return value;
}

static hr_value scalar(hr_env* env, hr_graph* graph, float number) {
  hr_tensor* tensor;
  hr_value value;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 0, NULL, &number, 4, &tensor));
  CHECK(hr_graph_constant(graph, NULL, tensor, &value));
  hr_tensor_release(tensor);
  return value;
}

/* The sum of a · {3, -5} + b · {1, 1}: gradients {3, -5} and {1, 1}. */
static hr_value loss_of(hr_env* env, pair* p) {
  hr_value product = op(p->graph, "Mul", NULL, 2, p->now_a, constant(env, p->graph, 3, -5));
  return sum_of(p->graph, op(p->graph, "Add", NULL, 2, product, p->now_b));
}

static void expect_values(hr_session* session, const char* name, float first, float second) {
  hr_tensor* tensor;
  CHECK(hr_session_get_variable(session, name, NULL, &tensor));
  const float* got = hr_tensor_data(tensor);
  if (got[0] != first || got[1] != second) {
    fprintf(stderr, "%s: expected {%g, %g}, got {%g, %g}\n", name, first, second, got[0], got[1]);
    exit(1);
  }
  hr_tensor_release(tensor);
}

static void step(hr_session* session, const char* signature) {
  hr_call* call;
  CHECK(hr_call_create(session, signature, &call));
  hr_status_release(hr_call_bind_scalar(call, "rate", 1)); /* some have none */
  CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
}

static void test_clipped(hr_env* env) {
  pair p = begin(env);
  hr_value gradients[2], in[3] = {HR_NONE, scalar(env, p.graph, -2), scalar(env, p.graph, 2)};
  const hr_variable variables[2] = {p.a, p.b};
  CHECK(hr_graph_variable_gradients(p.graph, loss_of(env, &p), 2, variables, gradients));
  for (int i = 0; i < 2; ++i) {
    in[0] = gradients[i];
    CHECK(hr_graph_op(p.graph, "Clip", NULL, 3, in, 1, &gradients[i]));
  }
  CHECK(hr_graph_apply_gradients(p.graph, "train", "sgd", p.rate, 2, variables, gradients));
  CHECK(hr_graph_signature_input(p.graph, "train", "rate", p.rate));
  CHECK(hr_graph_signature_output(p.graph, "train", "gradient of a", gradients[0]));
  hr_session* session = session_of(p.graph);
  step(session, "train");
  expect_values(session, "a", 1 - 2, 2 + 2);
  expect_values(session, "b", 1 - 1, 2 - 1);
  hr_session_release(session);
}

/* Each group has its own optimizer and learning rate. */
static void test_groups(hr_env* env) {
  pair p = begin(env);
  hr_value gradients[2];
  const hr_variable variables[2] = {p.a, p.b};
  CHECK(hr_graph_variable_gradients(p.graph, loss_of(env, &p), 2, variables, gradients));
  CHECK(hr_graph_apply_gradients(p.graph, "train", "sgd", scalar(env, p.graph, 10), 1, variables,
                                 gradients));
  CHECK(hr_graph_apply_gradients(p.graph, "train", "sgd momentum=0.5", scalar(env, p.graph, 100), 1,
                                 variables + 1, gradients + 1));
  FAILS(hr_graph_apply_gradients(p.graph, "train", "sgd", p.rate, 1, variables, gradients),
        HR_ALREADY_EXISTS, "signature 'train' updates variable 'a' already");
  hr_session* session = session_of(p.graph);
  step(session, "train");
  step(session, "train");
  expect_values(session, "a", 1 - 60, 2 + 100);
  expect_values(session, "b", 1 - 250, 2 - 250);
  expect_values(session, "b/momentum", 1.5f, 1.5f);
  hr_session_release(session);
}

/* "add" adds the gradients up; "train" adds its own, makes a step by the sum and begins anew. */
static void test_accumulated(hr_env* env) {
  pair p = begin(env);
  hr_tensor* zero = two(env, 0, 0);
  hr_variable sum;
  hr_value gradient, total;
  hr_node add, clear;
  CHECK(hr_graph_variable(p.graph, "sum", zero, 0, &sum));
  hr_tensor_release(zero);
  CHECK(hr_graph_variable_gradients(p.graph, loss_of(env, &p), 1, &p.a, &gradient));
  CHECK(hr_graph_assign_add(p.graph, sum, gradient, &add));
  CHECK(hr_graph_signature_target(p.graph, "add", add));
  CHECK(hr_graph_read(p.graph, sum, &total));
  CHECK(hr_graph_apply_gradients(p.graph, "train", "sgd", p.rate, 1, &p.a, &total));
  CHECK(hr_graph_signature_input(p.graph, "train", "rate", p.rate));
  CHECK(hr_graph_assign(p.graph, sum, constant(env, p.graph, 0, 0), &clear));
  CHECK(hr_graph_signature_target(p.graph, "train", clear));
  hr_session* session = session_of(p.graph);
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < 2; ++i) step(session, "add");
    expect_values(session, "sum", 6, -10);
    step(session, "train");
    expect_values(session, "sum", 0, 0);
    expect_values(session, "a", (float)(1 - 9 * round), (float)(2 + 15 * round));
  }
  hr_session_release(session);
}

/* ---- Which variables ---- */

static void test_what_the_loss_depends_on(hr_env* env) {
  pair p = begin(env);
  hr_value gradients[3], once;
  const hr_variable variables[3] = {p.b, p.a, p.b};
  CHECK(hr_graph_set_trainable(p.graph, p.a, 0));
  once = sum_of(p.graph, op(p.graph, "Mul", NULL, 2, p.now_a, p.now_a));
  CHECK(hr_graph_variable_gradients(p.graph, once, 3, variables, gradients));
  EXPECT(gradients[0] == HR_NONE && gradients[2] == HR_NONE);
  EXPECT(gradients[1] != HR_NONE); /* though it is frozen */
  CHECK(hr_graph_signature_output(p.graph, "slope", "d", gradients[1]));
  FAILS(hr_graph_minimize(p.graph, "train", once, "sgd", p.rate), HR_FAILED_PRECONDITION,
        "no trainable variable");
  FAILS(hr_graph_apply_gradients(p.graph, "train", "sgd", p.rate, 3, variables, gradients),
        HR_FAILED_PRECONDITION, "variable 'a' is frozen");
  CHECK(hr_graph_set_trainable(p.graph, p.a, 1));
  CHECK(hr_graph_apply_gradients(p.graph, "train", "sgd", p.rate, 3, variables, gradients));
  CHECK(hr_graph_signature_input(p.graph, "train", "rate", p.rate));
  hr_session* session = session_of(p.graph);
  step(session, "train");
  expect_values(session, "a", 1 - 2, 2 - 4);
  expect_values(session, "b", 1, 2);
  hr_session_release(session);
}

/* What is frozen is left alone. */
static void test_frozen(hr_env* env) {
  pair p = begin(env);
  CHECK(hr_graph_set_trainable(p.graph, p.a, 0));
  CHECK(hr_graph_minimize(p.graph, "train", loss_of(env, &p), "sgd", p.rate));
  CHECK(hr_graph_signature_input(p.graph, "train", "rate", p.rate));
  hr_session* session = session_of(p.graph);
  step(session, "train");
  expect_values(session, "a", 1, 2);
  expect_values(session, "b", 0, 1);
  hr_session_release(session);
}

/* Through a read at the start of the step and one after an assignment. */
static void test_all_reads_count(hr_env* env) {
  pair p = begin(env);
  hr_node node;
  hr_value later, gradient;
  CHECK(hr_graph_assign_add(p.graph, p.a, constant(env, p.graph, 1, 1), &node));
  CHECK(hr_graph_read(p.graph, p.a, &later));
  hr_value loss = sum_of(p.graph, op(p.graph, "Mul", NULL, 2, p.now_a, later));
  CHECK(hr_graph_variable_gradients(p.graph, loss, 1, &p.a, &gradient));
  CHECK(hr_graph_apply_gradients(p.graph, "train", "sgd", p.rate, 1, &p.a, &gradient));
  CHECK(hr_graph_signature_input(p.graph, "train", "rate", p.rate));
  hr_session* session = session_of(p.graph);
  step(session, "train"); /* {1, 2} + 1 - ({1, 2} + {2, 3}) */
  expect_values(session, "a", -1, -2);
  hr_session_release(session);
}

/* ---- Assignments ---- */

static void test_assignments_in_order(hr_env* env) {
  pair p = begin(env);
  hr_node assigned, added;
  hr_value between, last;
  CHECK(hr_graph_assign(p.graph, p.a, constant(env, p.graph, 10, 20), &assigned));
  CHECK(hr_graph_read(p.graph, p.a, &between));
  CHECK(hr_graph_assign_add(p.graph, p.a, p.now_b, &added));
  CHECK(hr_graph_read(p.graph, p.a, &last));
  CHECK(hr_graph_signature_target(p.graph, "assign", assigned));
  CHECK(hr_graph_signature_output(p.graph, "all", "start", p.now_a));
  CHECK(hr_graph_signature_output(p.graph, "all", "between", between));
  CHECK(hr_graph_signature_output(p.graph, "all", "last", last));
  hr_value wrong = scalar(env, p.graph, 1);
  FAILS(hr_graph_assign(p.graph, p.a, wrong, &added), HR_INVALID_ARGUMENT,
        "Assign to variable 'a' takes float32[2], got float32[]");
  FAILS(hr_graph_assign_add(p.graph, 7, last, &added), HR_INVALID_ARGUMENT, "variable 7");
  FAILS(hr_graph_assign(p.graph, p.a, 999, &added), HR_INVALID_ARGUMENT, "#999");
  hr_session* session = session_of(p.graph);
  hr_call* call;
  float start[2], then[2], end[2];
  CHECK(hr_call_create(session, "all", &call));
  CHECK(hr_call_output(call, "start", start, sizeof start));
  CHECK(hr_call_output(call, "between", then, sizeof then));
  CHECK(hr_call_output(call, "last", end, sizeof end));
  CHECK(hr_call_run(call, NULL));
  EXPECT(start[0] == 1 && start[1] == 2 && then[0] == 10 && then[1] == 20);
  EXPECT(end[0] == 11 && end[1] == 22);
  expect_values(session, "a", 11, 22);
  step(session, "assign");
  expect_values(session, "a", 10, 20);
  hr_call_release(call);
  hr_session_release(session);
}

/* ---- What is refused ---- */

static size_t saved(const hr_graph* graph, char* folder, char bytes[1 << 16]) {
  CHECK(hr_graph_save(graph, in_folder(folder, "graph.hrg"), NULL));
  FILE* file = fopen(in_folder(folder, "graph.hrg"), "rb");
  EXPECT(file != NULL);
  size_t size = fread(bytes, 1, 1 << 16, file);
  fclose(file);
  return size;
}

static void test_failures_change_nothing(hr_env* env) {
  static char before[1 << 16], after[1 << 16];
  char* folder = make_folder();
  pair p = begin(env);
  const hr_value loss = loss_of(env, &p), wrong = scalar(env, p.graph, 1);
  hr_variable variables[2] = {p.a, p.b}, beyond[2] = {p.a, 9};
  hr_value gradients[2] = {p.now_a, wrong}, none[2] = {HR_NONE, HR_NONE}, out[2];
  hr_value missing[2] = {p.now_a, 999};
  size_t size = saved(p.graph, folder, before);
  FAILS(hr_graph_variable_gradients(p.graph, p.now_a, 2, variables, out), HR_INVALID_ARGUMENT,
        "the loss must be a scalar");
  FAILS(hr_graph_variable_gradients(p.graph, 999, 2, variables, out), HR_INVALID_ARGUMENT,
        "the loss is no value");
  FAILS(hr_graph_variable_gradients(p.graph, loss, 2, beyond, out), HR_INVALID_ARGUMENT,
        "variable 9");
  FAILS(hr_graph_apply_gradients(p.graph, "t", "sgd momentum=1", p.rate, 2, variables, gradients),
        HR_INVALID_ARGUMENT, "SGD of variable 'b' takes a gradient of type float32[2]");
  FAILS(hr_graph_apply_gradients(p.graph, "t", "sgd", p.rate, 2, variables, none),
        HR_FAILED_PRECONDITION, "no trainable variable");
  FAILS(hr_graph_apply_gradients(p.graph, "t", "sgd", p.rate, 0, NULL, NULL),
        HR_FAILED_PRECONDITION, "no trainable variable");
  FAILS(hr_graph_apply_gradients(p.graph, "t", "sgd", p.rate, 2, variables, missing),
        HR_INVALID_ARGUMENT, "the gradient of variable 'b' is value #999");
  FAILS(hr_graph_apply_gradients(p.graph, "t", "sgd", p.rate, 2, beyond, gradients),
        HR_INVALID_ARGUMENT, "variable 9");
  FAILS(hr_graph_apply_gradients(p.graph, "t", "bfgs", p.rate, 1, variables, gradients),
        HR_INVALID_ARGUMENT, "there is no optimizer 'bfgs'");
  FAILS(hr_graph_variable_init(p.graph, "r", HR_FLOAT32, 0, NULL, 1, "RandomUniform", "dtype=11",
                               &beyond[0]),
        HR_INVALID_ARGUMENT, "expected float32[], it makes float64[]");
  variables[1] = p.a;
  gradients[1] = p.now_b;
  FAILS(hr_graph_apply_gradients(p.graph, "t", "adam", p.rate, 2, variables, gradients),
        HR_ALREADY_EXISTS, "updates variable 'a' already");
  EXPECT(saved(p.graph, folder, after) == size && memcmp(before, after, size) == 0);
  hr_graph_release(p.graph);
  remove_folder(folder);
}

const test tests[] = {{"minimize is two calls", test_minimize_is_two_calls},
                      {"devices", test_devices},
                      {"clipped", test_clipped},
                      {"groups", test_groups},
                      {"accumulated", test_accumulated},
                      {"what the loss depends on", test_what_the_loss_depends_on},
                      {"frozen", test_frozen},
                      {"all reads count", test_all_reads_count},
                      {"assignments in order", test_assignments_in_order},
                      {"failures change nothing", test_failures_change_nothing},
                      {NULL, NULL}};
