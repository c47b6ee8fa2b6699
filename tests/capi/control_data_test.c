/* Shapes that follow from data, sequences, and gradients through branches and loops. */
#include <math.h>

#include "bodies.h"

static const int64_t scalar_dims[1] = {0};

/* The sum of what is not 0, by way of the places where it stands. */
static void sizes_may_follow_from_data(hr_env* env) {
  hr_graph* graph = new_graph(env);
  const int64_t flat[1] = {-1};
  const hr_value x = input(graph, "x", HR_FLOAT32, 1);
  const hr_value places = op(graph, "NonZero", NULL, 1, x);
  const hr_value at = op(graph, "Reshape", NULL, 2, places, int_list(graph, 1, flat));
  const hr_value picked = op(graph, "Gather", NULL, 2, x, at);
  takes(graph, "x", x);
  gives(graph, "places", places);
  gives(graph, "picked", picked);
  gives(graph, "sum", op(graph, "ReduceSum", "keepdims=0", 1, picked));
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  for (int again = 0; again < 2; ++again) {
    bind_floats(env, call, "x", 1, (const int64_t[]){5}, (const float[]){0, 3, 0, 4, 5});
    CHECK(hr_call_run(call, NULL));
    expect_ints(call, "places", 2, (const int64_t[]){1, 3}, (const int64_t[]){1, 3, 4});
    expect_floats(call, "picked", 1, (const int64_t[]){3}, (const float[]){3, 4, 5});
    expect_floats(call, "sum", 0, NULL, (const float[]){12});
    bind_floats(env, call, "x", 1, (const int64_t[]){5}, (const float[]){0, 0, 0, 0, 0});
    CHECK(hr_call_run(call, NULL));
    expect_ints(call, "places", 2, (const int64_t[]){1, 0}, NULL);
    expect_floats(call, "sum", 0, NULL, (const float[]){0});
  }
  hr_call_release(call);
  hr_session_release(session);
}

/* A size that is bounded, and another that follows from data: each size is planned by itself, the
 * largest, too. */
static void sizes_may_have_bounds_beside(hr_env* env) {
  const float x[4] = {0, 3, 0, 4};
  const int64_t places[2] = {1, 3};
  hr_graph* graph = new_graph(env);
  hr_value value;
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, (const int64_t[]){-1}, (const char*[]){"n"},
                       &value));
  CHECK(hr_graph_bound(graph, "n", 1, 4, 0, NULL));
  takes(graph, "x", value);
  gives(graph, "places", op(graph, "NonZero", NULL, 1, value));
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  for (int64_t n = 4; n >= 1; --n) {
    bind_floats(env, call, "x", 1, &n, x);
    CHECK(hr_call_run(call, NULL));
    expect_ints(call, "places", 2, (const int64_t[]){1, n / 2}, places);
  }
  hr_call_release(call);
  hr_session_release(session);
}

/* A shape that comes as an input. */
static void shapes_may_be_inputs(hr_env* env) {
  hr_graph* graph = new_graph(env);
  const hr_value x = input(graph, "x", HR_FLOAT32, 1), shape = input(graph, "shape", HR_INT64, 1);
  takes(graph, "x", x);
  takes(graph, "shape", shape);
  gives(graph, "y", op(graph, "Reshape", NULL, 2, op(graph, "Neg", NULL, 1, x), shape));
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  const float values[] = {1, 2, 3, 4, 5, 6}, negated[] = {-1, -2, -3, -4, -5, -6};
  int64_t wanted[2] = {2, 3};
  hr_tensor* tensor;
  CHECK(hr_tensor_wrap(HR_INT64, 1, (const int64_t[]){2}, wanted, sizeof wanted, NULL, NULL,
                       &tensor));
  bind_floats(env, call, "x", 1, (const int64_t[]){6}, values);
  CHECK(hr_call_bind(call, "shape", tensor));
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "y", 2, wanted, negated);
  wanted[0] = 6;
  wanted[1] = 1;
  CHECK(hr_call_run(call, NULL)); /* other contents of the same memory */
  expect_floats(call, "y", 2, wanted, negated);
  wanted[1] = 5;
  FAILS(hr_call_run(call, NULL), HR_INVALID_ARGUMENT, "Reshape");
  wanted[1] = 1;
  CHECK(hr_call_run(call, NULL));
  hr_tensor_release(tensor);
  hr_call_release(call);
  hr_session_release(session);
}

/* (i, go, sequence, x) -> (go, sequence with x * i). */
static hr_graph* collecting(hr_env* env) {
  hr_graph *graph = new_graph(env), *body = new_graph(env);
  const hr_value i = input(body, "i", HR_INT64, 0), go = input(body, "go", HR_BOOL, 0);
  hr_value list;
  CHECK(hr_graph_input_sequence(body, "list", HR_FLOAT32, &list));
  const hr_value x = input(body, "x", HR_FLOAT32, 1);
  takes(body, "i", i);
  takes(body, "go", go);
  takes(body, "list", list);
  takes(body, "x", x);
  gives(body, "go", op(body, "Identity", NULL, 1, go));
  const hr_value scaled = op(body, "Mul", NULL, 2, x, op(body, "Cast", "to=1", 1, i));
  gives(body, "list", op(body, "SequenceInsert", NULL, 2, list, scaled));
  const hr_body loop = body_of(graph, body);
  const hr_value trips = input(graph, "trips", HR_INT64, 0), y = input(graph, "x", HR_FLOAT32, 1);
  const hr_value empty = op(graph, "SequenceEmpty", "dtype=1", 0);
  hr_value out;
  CHECK(hr_graph_loop(graph, trips, HR_NONE, loop, 1, &empty, 1, &y, 1, &out));
  takes(graph, "trips", trips);
  takes(graph, "x", y);
  gives(graph, "joined", op(graph, "ConcatFromSequence", "axis=0", 1, out));
  gives(graph, "stacked", op(graph, "ConcatFromSequence", "axis=1 new_axis=1", 1, out));
  gives(graph, "last", op(graph, "SequenceAt", NULL, 2, out, int_number(graph, -1)));
  gives(graph, "count", op(graph, "SequenceLength", NULL, 1, out));
  return graph;
}

static void loops_collect_sequences(hr_env* env) {
  hr_session* session;
  hr_call* call = call_of(collecting(env), &session);
  bind_floats(env, call, "x", 1, (const int64_t[]){2}, (const float[]){1, 10});
  bind_int(env, call, "trips", 3);
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "joined", 1, (const int64_t[]){6}, (const float[]){0, 0, 1, 10, 2, 20});
  expect_floats(call, "stacked", 2, (const int64_t[]){2, 3}, (const float[]){0, 1, 2, 0, 10, 20});
  expect_floats(call, "last", 1, (const int64_t[]){2}, (const float[]){2, 20});
  expect_ints(call, "count", 0, scalar_dims, (const int64_t[]){3});
  bind_int(env, call, "trips", 0);
  FAILS(hr_call_run(call, NULL), HR_INVALID_ARGUMENT, "the sequence is empty");
  hr_call_release(call);
  hr_session_release(session);
}

/* Each element of a sequence through a body. */
static void sequences_are_mapped(hr_env* env) {
  hr_graph *graph = new_graph(env), *body = new_graph(env);
  const hr_value element = input(body, "element", HR_FLOAT32, 2);
  const hr_value scale = input(body, "scale", HR_FLOAT32, 0);
  takes(body, "element", element);
  takes(body, "scale", scale);
  gives(body, "y", op(body, "Mul", NULL, 2, element, scale));
  const hr_body map = body_of(graph, body);
  const hr_value x = input(graph, "x", HR_FLOAT32, 2), by = input(graph, "by", HR_FLOAT32, 0);
  hr_node_spec* spec;
  hr_value out;
  CHECK(hr_node_spec_create("SequenceMap", &spec));
  hr_node_spec_input(spec, op(graph, "SplitToSequence", "axis=1", 2, x,
                              int_list(graph, 2, (const int64_t[]){1, 2})));
  hr_node_spec_input(spec, by);
  hr_node_spec_body(spec, "body", map);
  hr_node_spec_int(spec, "captured", 1);
  CHECK(hr_graph_add(graph, spec, 1, &out, NULL));
  hr_node_spec_body(spec, NULL, map);
  FAILS(hr_graph_add(graph, spec, 1, &out, NULL), HR_INVALID_ARGUMENT, "must not be NULL");
  hr_node_spec_release(spec);
  takes(graph, "x", x);
  takes(graph, "by", by);
  gives(graph, "y", op(graph, "ConcatFromSequence", "axis=1", 1, out));
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  const int64_t dims[2] = {2, 3};
  const float three = 3;
  bind_floats(env, call, "x", 2, dims, (const float[]){1, 2, 3, 4, 5, 6});
  bind_floats(env, call, "by", 0, NULL, &three);
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "y", 2, dims, (const float[]){3, 6, 9, 12, 15, 18});
  hr_call_release(call);
  hr_session_release(session);
}

static void a_sequence_is_no_input(hr_env* env) {
  hr_graph* graph = new_graph(env);
  hr_value list;
  CHECK(hr_graph_input_sequence(graph, "list", HR_FLOAT32, &list));
  takes(graph, "list", list);
  gives(graph, "length", op(graph, "SequenceLength", NULL, 1, list));
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  bind_floats(env, call, "list", 1, (const int64_t[]){2}, (const float[]){1, 2});
  FAILS(hr_call_run(call, NULL), HR_FAILED_PRECONDITION,
        "'list' is a sequence, and runs are fed with tensors");
  hr_call_release(call);
  hr_session_release(session);
}

static void a_sequence_is_no_output(hr_env* env) {
  hr_graph* graph = new_graph(env);
  const hr_value x = input(graph, "x", HR_FLOAT32, 2);
  takes(graph, "x", x);
  gives(graph, "rows", op(graph, "SplitToSequence", "axis=0", 1, x));
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  bind_floats(env, call, "x", 2, (const int64_t[]){2, 1}, (const float[]){1, 2});
  FAILS(hr_call_run(call, NULL), HR_FAILED_PRECONDITION, "is a sequence; fetch tensors");
  hr_call_release(call);
  hr_session_release(session);
}

/* (i, go, h, w) -> (go, tanh(h * w), h * h): a recurrence with a state and a scan. */
static hr_body recurrence(hr_graph* graph, hr_env* env) {
  hr_graph* body = new_graph(env);
  const hr_value i = input(body, "i", HR_INT64, 0), go = input(body, "go", HR_BOOL, 0);
  const hr_value h = input(body, "h", HR_FLOAT32, 1), w = input(body, "w", HR_FLOAT32, 1);
  takes(body, "i", i);
  takes(body, "go", go);
  takes(body, "h", h);
  takes(body, "w", w);
  const hr_value scaled = op(body, "Mul", NULL, 2, h, w);
  gives(body, "go", op(body, "Identity", NULL, 1, go));
  gives(body, "h", op(body, "Tanh", NULL, 1, scaled));
  gives(body, "square", op(body, "Mul", NULL, 2, h, h));
  return body_of(graph, body);
}

static double after(const double start[2], const double weight[2], int steps) {
  double sum = 0;
  for (int k = 0; k < 2; ++k) {
    double h = start[k];
    for (int i = 0; i < steps; ++i) {
      sum += h * h;
      h = tanh(h * weight[k]);
    }
    sum += h;
  }
  return sum;
}

static void gradients_flow_through_loops(hr_env* env) {
  hr_graph* graph = new_graph(env);
  const hr_body body = recurrence(graph, env);
  const hr_value trips = input(graph, "trips", HR_INT64, 0);
  const hr_value h = input(graph, "h", HR_FLOAT32, 1), w = input(graph, "w", HR_FLOAT32, 1);
  hr_value out[2], gradients[2];
  CHECK(hr_graph_loop(graph, trips, HR_NONE, body, 1, &h, 1, &w, 2, out));
  const hr_value loss = op(graph, "Add", NULL, 2, op(graph, "ReduceSum", "keepdims=0", 1, out[0]),
                           op(graph, "ReduceSum", "keepdims=0", 1, out[1]));
  CHECK(hr_graph_add_gradients(graph, loss, 2, (const hr_value[]){h, w}, gradients));
  takes(graph, "trips", trips);
  takes(graph, "h", h);
  takes(graph, "w", w);
  gives(graph, "loss", loss);
  gives(graph, "dh", gradients[0]);
  gives(graph, "dw", gradients[1]);
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  const float start[2] = {0.5f, -0.25f}, weight[2] = {1.25f, 0.75f};
  bind_floats(env, call, "h", 1, (const int64_t[]){2}, start);
  bind_floats(env, call, "w", 1, (const int64_t[]){2}, weight);
  for (int steps = 0; steps < 5; steps += 2) {
    bind_int(env, call, "trips", steps);
    CHECK(hr_call_run(call, NULL));
    float dh[2], dw[2];
    const double e = 1e-5;
    for (int k = 0; k < 2; ++k) {
      double up[2] = {start[0], start[1]}, down[2] = {start[0], start[1]};
      double more[2] = {weight[0], weight[1]}, less[2] = {weight[0], weight[1]};
      const double s[2] = {start[0], start[1]}, v[2] = {weight[0], weight[1]};
      up[k] += e, down[k] -= e, more[k] += e, less[k] -= e;
      dh[k] = (float)((after(up, v, steps) - after(down, v, steps)) / (2 * e));
      dw[k] = (float)((after(s, more, steps) - after(s, less, steps)) / (2 * e));
    }
    const double s[2] = {start[0], start[1]}, v[2] = {weight[0], weight[1]};
    const float expected = (float)after(s, v, steps);
    expect_floats(call, "loss", 0, NULL, &expected);
    expect_floats(call, "dh", 1, (const int64_t[]){2}, dh);
    expect_floats(call, "dw", 1, (const int64_t[]){2}, dw);
  }
  hr_call_release(call);
  hr_session_release(session);
}

/* x * x or x * 3, by an input. */
static void gradients_flow_through_branches(hr_env* env) {
  hr_graph *graph = new_graph(env), *square = new_graph(env), *triple = new_graph(env);
  hr_value x = input(square, "x", HR_FLOAT32, 1);
  takes(square, "x", x);
  gives(square, "y", op(square, "Mul", NULL, 2, x, x));
  x = input(triple, "x", HR_FLOAT32, 1);
  takes(triple, "x", x);
  gives(triple, "y", op(triple, "Mul", NULL, 2, x, number(triple, 3)));
  const hr_body a = body_of(graph, square), b = body_of(graph, triple);
  const hr_value which = input(graph, "which", HR_BOOL, 0);
  hr_value y, dx;
  x = input(graph, "x", HR_FLOAT32, 1);
  CHECK(hr_graph_if(graph, which, a, b, 1, &x, 1, &y));
  const hr_value loss = op(graph, "ReduceSum", "keepdims=0", 1, op(graph, "Exp", NULL, 1, y));
  CHECK(hr_graph_add_gradients(graph, loss, 1, &x, &dx));
  takes(graph, "which", which);
  takes(graph, "x", x);
  gives(graph, "dx", dx);
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  const float at = 0.5f;
  bind_floats(env, call, "x", 1, (const int64_t[]){1}, &at);
  bind_bool(env, call, "which", 1);
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "dx", 1, (const int64_t[]){1}, (const float[]){2 * at * expf(at * at)});
  bind_bool(env, call, "which", 0);
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "dx", 1, (const int64_t[]){1}, (const float[]){3 * expf(3 * at)});
  hr_call_release(call);
  hr_session_release(session);
}

/* A weight that is used in a loop learns: h becomes 0.1 after three steps. */
static void weights_of_loops_are_trained(hr_env* env) {
  hr_graph* graph = new_graph(env);
  const hr_body body = recurrence(graph, env);
  const int64_t one[1] = {1};
  const float start[1] = {1};
  hr_tensor* initial = floats(env, 1, one, start);
  hr_variable weight;
  hr_value w, out[2];
  CHECK(hr_graph_variable(graph, "w", initial, 1, &weight));
  CHECK(hr_graph_read(graph, weight, &w));
  hr_tensor_release(initial);
  const hr_value h = input(graph, "h", HR_FLOAT32, 1);
  CHECK(hr_graph_loop(graph, int_number(graph, 3), HR_NONE, body, 1, &h, 1, &w, 2, out));
  const hr_value off = op(graph, "Sub", NULL, 2, out[0], number(graph, 0.1f));
  const hr_value loss =
      op(graph, "ReduceSum", "keepdims=0", 1, op(graph, "Mul", NULL, 2, off, off));
  takes(graph, "h", h);
  gives(graph, "loss", loss);
  CHECK(hr_graph_minimize(graph, "run", loss, "sgd", number(graph, 0.5f)));
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  bind_floats(env, call, "h", 1, one, start);
  float first = 0, last = 0;
  CHECK(hr_call_output(call, "loss", &last, sizeof last));
  for (int i = 0; i < 60; ++i) {
    CHECK(hr_call_run(call, NULL));
    if (i == 0) first = last;
  }
  EXPECT(first > 0.1f && last < 1e-4f);
  hr_call_release(call);
  hr_session_release(session);
}

const test tests[] = {
    {"sizes_may_follow_from_data", sizes_may_follow_from_data},
    {"sizes_may_have_bounds_beside", sizes_may_have_bounds_beside},
    {"shapes_may_be_inputs", shapes_may_be_inputs},
    {"loops_collect_sequences", loops_collect_sequences},
    {"sequences_are_mapped", sequences_are_mapped},
    {"a_sequence_is_no_input", a_sequence_is_no_input},
    {"a_sequence_is_no_output", a_sequence_is_no_output},
    {"gradients_flow_through_loops", gradients_flow_through_loops},
    {"gradients_flow_through_branches", gradients_flow_through_branches},
    {"weights_of_loops_are_trained", weights_of_loops_are_trained},
    {NULL, NULL},
};
