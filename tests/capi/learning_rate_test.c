/* A learning rate is a scalar of float32 or float64 for variables of any floating type; each update
 * converts it to what it computes in. */
#include <math.h>

#include "support.h"

static const hr_dtype kTypes[4] = {HR_FLOAT16, HR_BFLOAT16, HR_FLOAT32, HR_FLOAT64};
static const hr_dtype kRates[2] = {HR_FLOAT32, HR_FLOAT64};

static hr_value cast(hr_graph* graph, hr_value value, hr_dtype to) {
  char attributes[16];
  hr_value out;
  snprintf(attributes, sizeof attributes, "to=%d", (int)to);
  CHECK(hr_graph_op(graph, "Cast", attributes, 1, &value, 1, &out));
  return out;
}

/* {1, 2} as the type has them. */
static hr_tensor* one_and_two(hr_env* env, hr_dtype dtype) {
  const uint16_t halves[2] = {0x3c00, 0x4000}, brains[2] = {0x3f80, 0x4000};
  const float floats[2] = {1, 2};
  const double doubles[2] = {1, 2};
  const void* data = dtype == HR_FLOAT16    ? (const void*)halves
                     : dtype == HR_BFLOAT16 ? (const void*)brains
                     : dtype == HR_FLOAT32  ? (const void*)floats
                                            : (const void*)doubles;
  hr_tensor* tensor;
  CHECK(hr_tensor_copy_of(env, dtype, 1, (const int64_t[]){2}, data, 2 * hr_dtype_size(dtype),
                          &tensor));
  return tensor;
}

/* One step with w at {1, 2} and the gradient {1, 1}; "look" gives w as float64. */
static hr_session* trained(hr_env* env, hr_dtype dtype, hr_dtype rate_dtype, const char* optimizer,
                           double rate, int steps) {
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  hr_variable w;
  hr_value now, input, loss;
  hr_tensor* initial = one_and_two(env, dtype);
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_variable(graph, "w", initial, 1, &w));
  CHECK(hr_graph_read(graph, w, &now));
  CHECK(hr_graph_input(graph, "rate", rate_dtype, 0, NULL, NULL, &input));
  loss = cast(graph, now, HR_FLOAT64);
  CHECK(hr_graph_signature_output(graph, "look", "w", loss));
  CHECK(hr_graph_op(graph, "ReduceSum", "keepdims=0", 1, &loss, 1, &loss));
  CHECK(hr_graph_minimize(graph, "train", loss, optimizer, input));
  CHECK(hr_graph_signature_input(graph, "train", "rate", input));
  CHECK(hr_model_from_graph(graph, &model));
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_bind_scalar(call, "rate", rate));
  for (int i = 0; i < steps; ++i) CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
  hr_tensor_release(initial);
  hr_model_release(model);
  hr_graph_release(graph);
  return session;
}

static void look(hr_session* session, double out[2]) {
  hr_call* call;
  CHECK(hr_call_create(session, "look", &call));
  CHECK(hr_call_output(call, "w", out, 16));
  CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
}

static void step(hr_env* env, hr_dtype dtype, hr_dtype rate_dtype, const char* optimizer,
                 double rate, int steps, double out[2]) {
  hr_session* session = trained(env, dtype, rate_dtype, optimizer, rate, steps);
  look(session, out);
  hr_session_release(session);
}

/* 0.25 and its products are exact in all types. */
static void test_every_pair_of_types(hr_env* env) {
  double w[2];
  for (int t = 0; t < 4; ++t) {
    for (int r = 0; r < 2; ++r) {
      step(env, kTypes[t], kRates[r], "sgd", 0.25, 2, w);
      EXPECT(w[0] == 0.5 && w[1] == 1.5);
      step(env, kTypes[t], kRates[r], "sgd momentum=0.5", 0.25, 2, w); /* 0.25, then 0.375 */
      EXPECT(w[0] == 0.375 && w[1] == 1.375);
    }
  }
}

/* 0.1 is another number in each type. */
static void test_what_it_becomes(hr_env* env) {
  const float single = 0.1f;
  double w[2];
  step(env, HR_FLOAT64, HR_FLOAT64, "sgd", 0.1, 1, w);
  EXPECT(w[0] == 1 - 0.1 && w[1] == 2 - 0.1);
  step(env, HR_FLOAT64, HR_FLOAT32, "sgd", 0.1, 1, w);
  EXPECT(w[0] == 1 - (double)single && w[1] == 2 - (double)single);
  for (int r = 0; r < 2; ++r) {
    step(env, HR_FLOAT32, kRates[r], "sgd", 0.1, 1, w);
    EXPECT(w[0] == (double)(1 - single) && w[1] == (double)(2 - single));
    step(env, HR_FLOAT16, kRates[r], "sgd", 0.1, 1, w); /* rounded once, at the end */
    EXPECT(w[0] == round((1 - 0.1) * 2048) / 2048 && w[1] == round((2 - 0.1) * 1024) / 1024);
    step(env, HR_BFLOAT16, kRates[r], "sgd", 0.1, 1, w);
    EXPECT(w[0] == round((1 - 0.1) * 256) / 256 && w[1] == round((2 - 0.1) * 128) / 128);
  }
}

/* Every optimizer with state steps in halves as it does in float32, but for their rounding. */
static void test_optimizers_in_halves(hr_env* env) {
  const char* const optimizers[] = {"sgd momentum=0.9 nesterov=1",
                                    "adam weight_decay=0.1",
                                    "adam decoupled=1 weight_decay=0.1",
                                    "adagrad",
                                    "rmsprop",
                                    "rmsprop momentum=0.5"};
  for (size_t o = 0; o < sizeof optimizers / sizeof *optimizers; ++o) {
    double expected[2], got[2];
    step(env, HR_FLOAT32, HR_FLOAT32, optimizers[o], 0.05, 3, expected);
    for (int t = 0; t < 2; ++t) {
      step(env, kTypes[t], HR_FLOAT64, optimizers[o], 0.05, 3, got);
      for (int i = 0; i < 2; ++i) {
        const double tolerance = t == 0 ? 0.004 : 0.03;
        if (fabs(got[i] - expected[i]) > tolerance * fabs(expected[i])) {
          fprintf(stderr, "%s of %s: expected %g, got %g\n", optimizers[o],
                  hr_dtype_name(kTypes[t]), expected[i], got[i]);
          exit(1);
        }
      }
    }
  }
}

static void test_other_types_are_refused(hr_env* env) {
  const hr_dtype wrong[3] = {HR_FLOAT16, HR_BFLOAT16, HR_INT64};
  hr_tensor* initial = one_and_two(env, HR_FLOAT16);
  hr_graph* graph;
  hr_variable w;
  hr_value now, rate, loss;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_variable(graph, "w", initial, 1, &w));
  CHECK(hr_graph_read(graph, w, &now));
  CHECK(hr_graph_op(graph, "ReduceSum", "keepdims=0", 1, &now, 1, &loss));
  for (int i = 0; i < 3; ++i) {
    CHECK(hr_graph_input(graph, hr_dtype_name(wrong[i]), wrong[i], 0, NULL, NULL, &rate));
    FAILS(hr_graph_minimize(graph, "train", loss, "sgd", rate), HR_INVALID_ARGUMENT,
          "SGD takes float32, float64 as input 0");
  }
  hr_tensor_release(initial);
  hr_graph_release(graph);
}

const test tests[] = {{"every pair of types", test_every_pair_of_types},
                      {"what it becomes", test_what_it_becomes},
                      {"optimizers in halves", test_optimizers_in_halves},
                      {"other types are refused", test_other_types_are_refused},
                      {NULL, NULL}};
