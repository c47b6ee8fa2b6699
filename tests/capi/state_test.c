/* Variables that a graph writes by itself: Assign and AssignAdd, and what reads beside them see. */
#include "models.h"

enum { N = 5 };

static hr_variable variable(hr_graph* graph, const char* name, hr_dtype dtype, const void* values,
                            size_t bytes) {
  const int64_t dims[1] = {N};
  hr_tensor* initial;
  hr_variable out;
  CHECK(hr_tensor_wrap(dtype, 1, dims, (void*)values, bytes, NULL, NULL, &initial));
  CHECK(hr_graph_variable(graph, name, initial, 0, &out));
  hr_tensor_release(initial);
  return out;
}

static hr_node write_node(hr_graph* graph, const char* op, hr_variable variable, hr_value value) {
  hr_node_spec* spec;
  hr_node node;
  CHECK(hr_node_spec_create(op, &spec));
  hr_node_spec_int(spec, "variable", variable);
  hr_node_spec_input(spec, value);
  CHECK(hr_graph_add(graph, spec, 0, NULL, &node));
  hr_node_spec_release(spec);
  return node;
}

static void expect_floats(hr_session* session, const char* name, const float* expected) {
  hr_tensor* value;
  CHECK(hr_session_get_variable(session, name, NULL, &value));
  EXPECT(memcmp(hr_tensor_data(value), expected, N * sizeof(float)) == 0);
  hr_tensor_release(value);
}

/* total += x, and last = x; the output is what total was before. */
static void adds_and_assigns(hr_env* env) {
  static const float start[N] = {1, 2, 3, 4, 5}, x_values[N] = {10, 20, 30, 40, 50};
  const int64_t dims[1] = {N};
  hr_graph* graph;
  hr_value x, before;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &x));
  hr_variable total = variable(graph, "total", HR_FLOAT32, start, sizeof start);
  hr_variable last = variable(graph, "last", HR_FLOAT32, start, sizeof start);
  CHECK(hr_graph_read(graph, total, &before));
  CHECK(hr_graph_signature_input(graph, "step", "x", x));
  CHECK(hr_graph_signature_output(graph, "step", "before", before));
  CHECK(hr_graph_signature_target(graph, "step",
                                  write_node(graph, "headrace.state.AssignAdd", total, x)));
  CHECK(hr_graph_signature_target(graph, "step",
                                  write_node(graph, "headrace.state.Assign", last, x)));
  hr_session* session = session_of(graph);

  hr_call* step;
  float was[N];
  CHECK(hr_call_create(session, "step", &step));
  hr_tensor* fed;
  CHECK(hr_tensor_wrap(HR_FLOAT32, 1, dims, (void*)x_values, sizeof x_values, NULL, NULL, &fed));
  CHECK(hr_call_bind(step, "x", fed));
  CHECK(hr_call_output(step, "before", was, sizeof was));
  for (int run = 0; run < 3; ++run) {
    CHECK(hr_call_run(step, NULL));
    for (int i = 0; i < N; ++i) EXPECT(was[i] == start[i] + (float)run * x_values[i]);
  }
  const float expected[N] = {31, 62, 93, 124, 155};
  expect_floats(session, "total", expected);
  expect_floats(session, "last", x_values);
  hr_tensor_release(fed);
  hr_call_release(step);
  hr_session_release(session);
}

/* Both reads see the start of the step, so the two change places. */
static void swaps(hr_env* env) {
  static const float one[N] = {1, 2, 3, 4, 5}, two[N] = {-1, -2, -3, -4, -5};
  hr_graph* graph;
  hr_value a_value, b_value;
  CHECK(hr_graph_create(env, &graph));
  hr_variable a = variable(graph, "a", HR_FLOAT32, one, sizeof one);
  hr_variable b = variable(graph, "b", HR_FLOAT32, two, sizeof two);
  CHECK(hr_graph_read(graph, a, &a_value));
  CHECK(hr_graph_read(graph, b, &b_value));
  CHECK(hr_graph_signature_target(graph, "swap",
                                  write_node(graph, "headrace.state.Assign", a, b_value)));
  CHECK(hr_graph_signature_target(graph, "swap",
                                  write_node(graph, "headrace.state.Assign", b, a_value)));
  hr_session* session = session_of(graph);
  hr_call* swap;
  CHECK(hr_call_create(session, "swap", &swap));
  CHECK(hr_call_run(swap, NULL));
  expect_floats(session, "a", two);
  expect_floats(session, "b", one);
  hr_call_release(swap);
  hr_session_release(session);
}

/* Integers count, as step counters do, and wrong types are told when the graph is built. */
static void counts(hr_env* env) {
  static const int64_t start[N] = {0, 0, 0, 0, 1};
  const int64_t dims[1] = {N};
  hr_graph* graph;
  hr_tensor *ones, *held;
  hr_value one, x;
  CHECK(hr_graph_create(env, &graph));
  hr_variable count = variable(graph, "count", HR_INT64, start, sizeof start);
  const int64_t ones_values[N] = {1, 1, 1, 1, 1};
  CHECK(
      hr_tensor_wrap(HR_INT64, 1, dims, (void*)ones_values, sizeof ones_values, NULL, NULL, &ones));
  CHECK(hr_graph_constant(graph, NULL, ones, &one));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &x));
  hr_node_spec* wrong;
  CHECK(hr_node_spec_create("headrace.state.AssignAdd", &wrong));
  hr_node_spec_int(wrong, "variable", count);
  hr_node_spec_input(wrong, x);
  FAILS(hr_graph_add(graph, wrong, 0, NULL, NULL), HR_INVALID_ARGUMENT,
        "AssignAdd to variable 'count' takes int64[5], got float32[5]");
  hr_node_spec_release(wrong);
  CHECK(hr_graph_signature_target(graph, "count",
                                  write_node(graph, "headrace.state.AssignAdd", count, one)));
  hr_session* session = session_of(graph);
  hr_call* call;
  CHECK(hr_call_create(session, "count", &call));
  for (int run = 0; run < 7; ++run) CHECK(hr_call_run(call, NULL));
  CHECK(hr_session_get_variable(session, "count", NULL, &held));
  const int64_t expected[N] = {7, 7, 7, 7, 8};
  EXPECT(memcmp(hr_tensor_data(held), expected, sizeof expected) == 0);
  hr_tensor_release(held);
  hr_tensor_release(ones);
  hr_call_release(call);
  hr_session_release(session);
}

const test tests[] = {
    {"adds_and_assigns", adds_and_assigns}, {"swaps", swaps}, {"counts", counts}, {NULL, NULL}};
