/* hr_graph_minimize and hr_graph_add_gradients: what they refuse, that this changes nothing, and
 * that several signatures of a graph train apart. */
#include "models.h"
#include "nodes.h"

typedef struct builder {
  hr_graph* graph;
  hr_variable w;
  hr_value now, rate, rates; /* w at the start of the step; a right and a wrong learning rate */
} builder;

static hr_value sum_of(hr_graph* graph, hr_value x) {
  return op(graph, "ReduceSum", "keepdims=0", 1, x);
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
  CHECK(hr_session_get_variable(session, variable, NULL, &tensor));
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

/* Of an input, the name of a dimension comes first; of a node, the tensors among its attributes. */
static void refuse_nodes(hr_env* env, hr_graph* graph) {
  const int64_t dims[1] = {-1};
  const char* symbols[1] = {"n"};
  hr_value out;
  hr_tensor* value;
  hr_node_spec* spec;
  FAILS(hr_graph_input(graph, "rate", HR_FLOAT32, 1, dims, symbols, &out), HR_ALREADY_EXISTS,
        "'rate'");
  CHECK(hr_tensor_create(env, HR_FLOAT32, 0, NULL, &value));
  CHECK(hr_node_spec_create("Exp", &spec));
  hr_node_spec_tensor(spec, "value", value);
  FAILS(hr_graph_add(graph, spec, 1, &out, NULL), HR_INVALID_ARGUMENT, "Exp takes 1 inputs");
  hr_node_spec_release(spec);
  hr_tensor_release(value);
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
  refuse_nodes(env, b.graph);
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

/* ---- A gradient that fails half-way ---- */

/* The negative of its input; its gradient adds a node and then fails where the context says so. */
static hr_status* infer_negative(void* context, hr_op* op) {
  (void)context;
  return hr_op_set_output_like(op, 0, 0);
}
static hr_status* compute_negative(void* context, hr_op* op) {
  const hr_op_tensor *in = hr_op_input_tensor(op, 0), *out = hr_op_output_tensor(op, 0);
  (void)context;
  for (int i = 0; i < 2; ++i) ((float*)out->data)[i] = -((const float*)in->data)[i];
  return NULL;
}
static hr_status* add_gradient_of_negative(void* context, hr_op* op) {
  const hr_value given = hr_op_output_gradient(op, 0);
  hr_value out;
  hr_status* status = hr_op_add(op, "Neg", NULL, 1, &given, 1, &out);
  if (status != NULL) return status;
  if (*(const int*)context) return hr_status_create(HR_UNAVAILABLE, "not today");
  return hr_op_set_gradient(op, 0, out);
}

static void expect_shown(const hr_graph* graph, char* text, size_t capacity, int first) {
  hr_model* model;
  hr_text* shown;
  CHECK(hr_model_from_graph(graph, &model));
  CHECK(hr_model_graph_text(model, "json", &shown));
  EXPECT(hr_text_size(shown) < capacity);
  EXPECT(first || strcmp(text, hr_text_data(shown)) == 0);
  strcpy(text, hr_text_data(shown));
  hr_text_release(shown);
  hr_model_release(model);
}

static void test_failed_gradients_change_nothing(hr_env* env) {
  static char before[1 << 16], after[1 << 16], shown[1 << 16];
  char* folder = make_folder();
  int fails = 1;
  hr_value gradients[2], xs[2];
  const hr_operator negative = {.struct_size = sizeof negative,
                                .name = "com.example.Negative",
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .min_outputs = 1,
                                .max_outputs = 1,
                                .context = &fails,
                                .infer = infer_negative,
                                .compute = compute_negative,
                                .gradient = add_gradient_of_negative};
  CHECK(hr_env_add_operator(env, &negative));
  builder b = begin(env);
  hr_value square = op(b.graph, "Mul", NULL, 2, b.now, b.now);
  hr_value y = sum_of(b.graph, op(b.graph, "com.example.Negative", NULL, 1, square));
  xs[0] = b.now;
  xs[1] = b.rate; /* on which y does not depend */
  size_t size = saved(b.graph, folder, before);
  expect_shown(b.graph, shown, sizeof shown, 1);
  for (int i = 0; i < 2; ++i) {
    FAILS(hr_graph_add_gradients(b.graph, y, 2, xs, gradients), HR_UNAVAILABLE, "not today");
    EXPECT(saved(b.graph, folder, after) == size && memcmp(before, after, size) == 0);
    expect_shown(b.graph, shown, sizeof shown, 0);
  }
  fails = 0;
  CHECK(hr_graph_add_gradients(b.graph, y, 2, xs, gradients));
  EXPECT(gradients[0] != HR_NONE && gradients[1] == HR_NONE);
  CHECK(hr_graph_signature_output(b.graph, "slope", "d", gradients[0]));
  hr_session* session = session_of(b.graph);
  const float w[2] = {3, -5};
  const int64_t two = 2;
  float slope[2] = {0, 0};
  hr_tensor* value;
  hr_call* call;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, &two, w, sizeof w, &value));
  CHECK(hr_session_set_variable(session, "w", value, NULL));
  CHECK(hr_call_create(session, "slope", &call));
  CHECK(hr_call_output(call, "d", slope, sizeof slope));
  CHECK(hr_call_run(call, NULL));
  EXPECT(slope[0] == -6 && slope[1] == 10); /* of -w * w */
  hr_call_release(call);
  hr_tensor_release(value);
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
  for (int i = 0; i < 9; ++i) second = op(b.graph, "Add", NULL, 2, second, first);
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
  minimize(&b, "both", sum_of(b.graph, op(b.graph, "Add", NULL, 2, b.now, after)), "sgd");
  minimize(&b, "start", sum_of(b.graph, b.now), "sgd");
  hr_session* session = session_of(b.graph);
  step(session, "both", 1); /* 0 - 1 by "other", which stands before in program order, + 3 - 2 */
  EXPECT(first_of(session, "w") == 0);
  step(session, "start", 1);
  EXPECT(first_of(session, "w") == -1);
  hr_session_release(session);
}

const test tests[] = {{"failures change nothing", test_failures_change_nothing},
                      {"failed gradients change nothing", test_failed_gradients_change_nothing},
                      {"settings", test_settings},
                      {"signatures train apart", test_signatures_train_apart},
                      {"effects of the step", test_effects_of_the_step_stay_in_order},
                      {NULL, NULL}};
