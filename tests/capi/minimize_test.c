/* hr_graph_minimize: what it refuses, and that several signatures of a graph train apart. */
#include "models.h"

typedef struct builder {
  hr_graph* graph;
  hr_variable w;
  hr_value now, rate, rates; /* w at the start of the step; a right and a wrong learning rate */
} builder;

static hr_value op(hr_graph* graph, const char* name, const char* attributes, hr_value a,
                   hr_value b) {
  const hr_value in[2] = {a, b};
  hr_value out;
  CHECK(hr_graph_op(graph, name, attributes, b == HR_NONE ? 1 : 2, in, 1, &out));
  return out;
}

static hr_value sum_of(hr_graph* graph, hr_value x) {
  return op(graph, "ReduceSum", "keepdims=0", x, HR_NONE);
}

/* A graph with the trainable variable w, float32 [2], zero at first. */
static builder begin(hr_env* env) {
  const int64_t dims[1] = {2};
  builder b;
  hr_tensor* zero;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 1, dims, &zero));
  memset(hr_tensor_data(zero), 0, hr_tensor_bytes(zero));
  CHECK(hr_graph_create(env, &b.graph));
  CHECK(hr_graph_variable(b.graph, "w", zero, 1, &b.w));
  CHECK(hr_graph_read(b.graph, b.w, &b.now));
  CHECK(hr_graph_input(b.graph, "rate", HR_FLOAT32, 0, NULL, NULL, &b.rate));
  CHECK(hr_graph_input(b.graph, "rates", HR_FLOAT32, 1, dims, NULL, &b.rates));
  hr_tensor_release(zero);
  return b;
}

static float first_of(hr_session* session, const char* variable) {
  hr_tensor* tensor;
  CHECK(hr_session_get_variable(session, variable, &tensor));
  float value = *(const float*)hr_tensor_data(tensor);
  hr_tensor_release(tensor);
  return value;
}

/* Runs the signature `times` times with the rate 1. */
static void step(hr_session* session, const char* signature, int times) {
  hr_call* call;
  CHECK(hr_call_create(session, signature, &call));
  CHECK(hr_call_bind_scalar(call, "rate", 1));
  for (int i = 0; i < times; ++i) CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
}

static void minimize(builder* b, const char* signature, hr_value loss, const char* optimizer) {
  CHECK(hr_graph_minimize(b->graph, signature, loss, optimizer, b->rate));
  CHECK(hr_graph_signature_input(b->graph, signature, "rate", b->rate));
}

/* ---- What is refused ---- */

/* The bytes of the graph's file. */
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
  builder b = begin(env);
  hr_value loss = sum_of(b.graph, b.now);
  size_t size = saved(b.graph, folder, before);
  const char* adam = "adam beta1=0.8";
  FAILS(hr_graph_minimize(b.graph, "train", loss, adam, b.rates), HR_INVALID_ARGUMENT, "rank");
  FAILS(hr_graph_minimize(b.graph, "train", loss, adam, 999), HR_INVALID_ARGUMENT, "999");
  FAILS(hr_graph_minimize(b.graph, "train", 999, adam, b.rate), HR_INVALID_ARGUMENT, "the loss");
  FAILS(hr_graph_minimize(b.graph, "train", b.rate, adam, b.rate), HR_FAILED_PRECONDITION,
        "no trainable variable");
  FAILS(hr_graph_minimize(b.graph, "train", b.now, adam, b.rate), HR_INVALID_ARGUMENT,
        "the loss must be a scalar, 'w/read:0' is float32[2]; reduce it");
  EXPECT(saved(b.graph, folder, after) == size && memcmp(before, after, size) == 0);
  minimize(&b, "train", loss, adam);
  FAILS(hr_graph_minimize(b.graph, "train", loss, "sgd", b.rate), HR_ALREADY_EXISTS,
        "signature 'train' updates variable 'w' already; minimize the sum of the losses");
  hr_session* session = session_of(b.graph);
  step(session, "train", 1);
  EXPECT(first_of(session, "w") < -0.9f);
  hr_session_release(session);
  remove_folder(folder);
}

static void test_settings(hr_env* env) {
  const struct {
    const char *optimizer, *words;
  } wrong[] = {{"sgd momentum=-0.1", "momentum must be at least 0 and finite, got -0.1"},
               {"sgd weight_decay=-1", "weight_decay must be at least 0 and finite, got -1"},
               {"sgd weight_decay=nan", "weight_decay must be at least 0"},
               {"sgd momentum=inf", "momentum must be at least 0 and finite, got inf"},
               {"sgd dampening=nan momentum=0.9", "dampening must be finite"},
               {"sgd nesterov=0.5 momentum=0.9", "nesterov must be 0 or 1, got 0.5"},
               {"sgd nesterov=1", "nesterov wants momentum above 0 and no dampening, got 0 and 0"},
               {"sgd nesterov=1 momentum=0.9 dampening=0.1", "got 0.9 and 0.1"},
               {"adam beta1=1", "beta1 must be at least 0 and below 1, got 1"},
               {"adam beta2=-0.5", "beta2 must be at least 0 and below 1, got -0.5"},
               {"adam epsilon=-1e-8", "epsilon must be at least 0"},
               {"adam decoupled=1e300", "decoupled must be 0 or 1"}};
  const char* right[] = {"sgd momentum=0 dampening=-1", "sgd momentum=2 nesterov=1",
                         "adam beta1=0 beta2=0 epsilon=0 weight_decay=0 decoupled=1"};
  builder b = begin(env);
  hr_value loss = sum_of(b.graph, b.now);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    FAILS(hr_graph_minimize(b.graph, "train", loss, wrong[i].optimizer, b.rate),
          HR_INVALID_ARGUMENT, wrong[i].words);
  }
  for (int i = 0; i < 3; ++i)
    CHECK(hr_graph_minimize(b.graph, (const char*[]){"a", "b", "c"}[i], loss, right[i], b.rate));
  hr_graph_release(b.graph);
}

/* ---- Several signatures ---- */

/* The gradient is 1 in "pretrain" and 10 in "finetune", momentum is 0.5 in both: steps of 1, 1.5
 * and of 10, 15. */
static void test_signatures_train_apart(hr_env* env) {
  builder b = begin(env);
  hr_value first = sum_of(b.graph, b.now), second = first;
  for (int i = 0; i < 9; ++i) second = op(b.graph, "Add", NULL, second, first);
  minimize(&b, "pretrain", first, "sgd momentum=0.5");
  minimize(&b, "finetune", second, "sgd momentum=0.5");
  minimize(&b, "adam", first, "adam");
  hr_session* session = session_of(b.graph);
  step(session, "pretrain", 2);
  EXPECT(first_of(session, "w") == -2.5f);
  step(session, "finetune", 2);
  EXPECT(first_of(session, "w") == -27.5f);
  EXPECT(first_of(session, "w/momentum") == 1.5f);
  EXPECT(first_of(session, "w/finetune/momentum") == 15);
  EXPECT(first_of(session, "w/adam_m") == 0);
  step(session, "pretrain", 1);
  EXPECT(first_of(session, "w") == -29.25f);
  hr_session_release(session);
}

/* The loss depends on w before and after 3 is added to it; the update comes after that. */
static void test_effects_of_the_step_stay_in_order(hr_env* env) {
  const int64_t dims[1] = {2};
  builder b = begin(env);
  hr_tensor* three;
  hr_value constant, after;
  hr_node_spec* spec;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 1, dims, &three));
  for (int i = 0; i < 2; ++i) ((float*)hr_tensor_data(three))[i] = 3;
  CHECK(hr_graph_constant(b.graph, NULL, three, &constant));
  hr_tensor_release(three);
  minimize(&b, "other", sum_of(b.graph, b.now), "sgd");
  CHECK(hr_node_spec_create("headrace.state.AssignAdd", &spec));
  hr_node_spec_input(spec, constant);
  hr_node_spec_int(spec, "variable", b.w);
  CHECK(hr_graph_add(b.graph, spec, 0, NULL, NULL));
  hr_node_spec_release(spec);
  CHECK(hr_graph_read(b.graph, b.w, &after));
  minimize(&b, "both", sum_of(b.graph, op(b.graph, "Add", NULL, b.now, after)), "sgd");
  minimize(&b, "start", sum_of(b.graph, b.now), "sgd");
  hr_session* session = session_of(b.graph);
  step(session, "both", 1); /* 0 - 1 by "other", which stands before in program order, + 3 - 2 */
  EXPECT(first_of(session, "w") == 0);
  step(session, "start", 1);
  EXPECT(first_of(session, "w") == -1);
  hr_session_release(session);
}

const test tests[] = {{"failures change nothing", test_failures_change_nothing},
                      {"settings", test_settings},
                      {"signatures train apart", test_signatures_train_apart},
                      {"effects of the step", test_effects_of_the_step_stay_in_order},
                      {NULL, NULL}};
