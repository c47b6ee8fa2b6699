/* Targets that have nothing left to do: their outputs are constants, or are fed. */
#include "nodes.h"

static hr_call* call_of_t(hr_graph* graph, hr_session** session) {
  hr_model* model;
  hr_call* call;
  CHECK(hr_model_from_graph(graph, &model));
  CHECK(hr_session_create(model, NULL, NULL, session));
  CHECK(hr_call_create(*session, "t", &call));
  hr_model_release(model);
  hr_graph_release(graph);
  return call;
}

static float result(hr_call* call, const char* output) {
  hr_tensor* tensor;
  CHECK(hr_call_result(call, output, &tensor));
  const float value = *(float*)hr_tensor_data(tensor);
  hr_tensor_release(tensor);
  return value;
}

static void expect_and_release(hr_call* call, hr_session* session, float expected) {
  CHECK(hr_call_run(call, NULL));
  EXPECT(result(call, "y") == expected);
  hr_call_release(call);
  hr_session_release(session);
}

/* The graph of y = Neg(x), where x is a constant. */
static hr_graph* negated_constant(hr_env* env, hr_value* x) {
  hr_graph* graph;
  CHECK(hr_graph_create(env, &graph));
  *x = op(graph, "Constant", "value_float=2", 0);
  CHECK(hr_graph_signature_output(graph, "t", "y", op(graph, "Neg", NULL, 1, *x)));
  CHECK(hr_graph_signature_target(graph, "t", 0));
  return graph;
}

static void test_constant(hr_env* env) {
  hr_value x;
  hr_session* session;
  hr_call* call = call_of_t(negated_constant(env, &x), &session);
  expect_and_release(call, session, -2);
}

static void test_fed_constant(hr_env* env) {
  hr_value x;
  hr_session* session;
  hr_graph* graph = negated_constant(env, &x);
  CHECK(hr_graph_signature_input(graph, "t", "x", x));
  hr_call* call = call_of_t(graph, &session);
  CHECK(hr_call_bind_scalar(call, "x", 5));
  expect_and_release(call, session, -5);
}

/* One output of a node is fed, the other is wanted. */
static void test_other_output(hr_env* env) {
  const int64_t dims[1] = {4};
  const float values[4] = {3, 1, 4, 1}, fed[1] = {7};
  hr_value x, k, largest[2];
  hr_graph* graph;
  hr_session* session;
  hr_tensor *in, *first;
  hr_call* call;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &x));
  k = op(graph, "Constant", "value_ints=1", 0);
  CHECK(hr_graph_op(graph, "TopK", NULL, 2, (const hr_value[]){x, k}, 2, largest));
  const hr_value place = op(graph, "Cast", "to=1", 1, largest[1]);
  CHECK(hr_graph_signature_input(graph, "t", "x", x));
  CHECK(hr_graph_signature_input(graph, "t", "largest", largest[0]));
  CHECK(hr_graph_signature_output(graph, "t", "y", op(graph, "Add", NULL, 2, largest[0], place)));
  call = call_of_t(graph, &session);
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, dims, values, sizeof values, &in));
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, (const int64_t[]){1}, fed, sizeof fed, &first));
  CHECK(hr_call_bind(call, "x", in));
  CHECK(hr_call_bind(call, "largest", first));
  hr_tensor_release(in);
  hr_tensor_release(first);
  expect_and_release(call, session, 7 + 2);
}

const test tests[] = {{"a constant is a target", test_constant},
                      {"a constant that is fed is a target", test_fed_constant},
                      {"one of two outputs is fed", test_other_output},
                      {NULL, NULL}};
