/* Branches, loops, scans and calls through the C interface: what they compute, that files keep
 * them, and what is said of those that are wrong. */
#include <stdint.h>

#include "bodies.h"

static const int64_t two[1] = {2}, three[1] = {3};

/* x + 1 and x * 2, whose branches have results of different shapes if `joined`. */
static hr_graph* branches(hr_env* env, int joined) {
  hr_graph *graph = new_graph(env), *add = new_graph(env), *twice = new_graph(env);
  hr_value x = input(add, "x", HR_FLOAT32, 1);
  takes(add, "x", x);
  gives(add, "y", op(add, "Add", NULL, 2, x, number(add, 1)));
  x = input(twice, "x", HR_FLOAT32, 1);
  takes(twice, "x", x);
  gives(twice, "y",
        joined ? op(twice, "Concat", "axis=0", 2, x, x)
               : op(twice, "Mul", NULL, 2, x, number(twice, 2)));
  const hr_body then_body = body_of(graph, add), else_body = body_of(graph, twice);
  const hr_value which = input(graph, "which", HR_BOOL, 0);
  x = input(graph, "x", HR_FLOAT32, 1);
  hr_value y;
  CHECK(hr_graph_if(graph, which, then_body, else_body, 1, &x, 1, &y));
  takes(graph, "which", which);
  takes(graph, "x", x);
  /* Something follows that has to be planned for the branch's shape. */
  gives(graph, "y", op(graph, "Neg", NULL, 1, y));
  return graph;
}

static void an_if_takes_one_branch(hr_env* env) {
  for (int joined = 0; joined < 2; ++joined) {
    hr_session* session;
    hr_call* call = call_of(branches(env, joined), &session);
    bind_floats(env, call, "x", 1, two, (const float[]){3, 5});
    for (int again = 0; again < 2; ++again) {
      bind_bool(env, call, "which", 1);
      CHECK(hr_call_run(call, NULL));
      expect_floats(call, "y", 1, two, (const float[]){-4, -6});
      bind_bool(env, call, "which", 0);
      CHECK(hr_call_run(call, NULL));
      if (joined) {
        expect_floats(call, "y", 1, (const int64_t[]){4}, (const float[]){-3, -5, -3, -5});
      } else {
        expect_floats(call, "y", 1, two, (const float[]){-6, -10});
      }
    }
    hr_call_release(call);
    hr_session_release(session);
  }
}

/* Outputs go where the caller wants them; a size that does not fit is an error, and then not. */
static void outputs_go_to_memory_of_the_caller(hr_env* env) {
  hr_session* session;
  hr_call* call = call_of(branches(env, 1), &session);
  float y[4] = {0};
  bind_floats(env, call, "x", 1, two, (const float[]){3, 5});
  bind_bool(env, call, "which", 0);
  CHECK(hr_call_output(call, "y", y, sizeof y));
  CHECK(hr_call_run(call, NULL));
  EXPECT(y[0] == -3 && y[1] == -5 && y[2] == -3 && y[3] == -5);
  bind_bool(env, call, "which", 1);
  FAILS(hr_call_run(call, NULL), HR_INVALID_ARGUMENT, "'y' is float32[2] and needs 8 bytes");
  CHECK(hr_call_output(call, "y", y, 2 * sizeof *y));
  CHECK(hr_call_run(call, NULL));
  EXPECT(y[0] == -4 && y[1] == -6);
  hr_call_release(call);
  hr_session_release(session);
}

/* (i, go, a) -> (a < limit, a + a, a + i): doubles until the limit is reached. */
static hr_graph* doubling(hr_env* env, float limit) {
  hr_graph *graph = new_graph(env), *body = new_graph(env);
  const hr_value i = input(body, "i", HR_INT64, 0), go = input(body, "go", HR_BOOL, 0);
  const hr_value a = input(body, "a", HR_FLOAT32, 0), more = input(body, "more", HR_FLOAT32, 0);
  takes(body, "i", i);
  takes(body, "go", go);
  takes(body, "a", a);
  takes(body, "more", more);
  const hr_value next = op(body, "Add", NULL, 2, op(body, "Add", NULL, 2, a, a), more);
  gives(body, "go", op(body, "Less", NULL, 2, next, number(body, limit)));
  gives(body, "a", next);
  gives(body, "trace", op(body, "Add", NULL, 2, a, op(body, "Cast", "to=1", 1, i)));
  const hr_body loop = body_of(graph, body);
  const hr_value trips = input(graph, "trips", HR_INT64, 0),
                 start = input(graph, "a", HR_FLOAT32, 0);
  const hr_value given = input(graph, "more", HR_FLOAT32, 0);
  hr_value out[2];
  CHECK(hr_graph_loop(graph, trips, HR_NONE, loop, 1, &start, 1, &given, 2, out));
  takes(graph, "trips", trips);
  takes(graph, "a", start);
  takes(graph, "more", given);
  gives(graph, "a", out[0]);
  gives(graph, "trace", out[1]);
  return graph;
}

static void check_doubling(hr_env* env, hr_call* call) {
  const float one = 1, none = 0;
  bind_floats(env, call, "a", 0, NULL, &one);
  bind_floats(env, call, "more", 0, NULL, &none);
  bind_int(env, call, "trips", 3);
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "a", 0, NULL, (const float[]){8});
  expect_floats(call, "trace", 1, three, (const float[]){1, 3, 6});
  bind_int(env, call, "trips", 100);
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "a", 0, NULL, (const float[]){128});
  expect_floats(call, "trace", 1, (const int64_t[]){7}, (const float[]){1, 3, 6, 11, 20, 37, 70});
  bind_int(env, call, "trips", 0);
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "a", 0, NULL, &one);
  expect_floats(call, "trace", 1, (const int64_t[]){0}, NULL);
}

static void a_loop_ends_by_count_or_condition(hr_env* env) {
  hr_session* session;
  hr_call* call = call_of(doubling(env, 100), &session);
  check_doubling(env, call);
  hr_call_release(call);
  hr_session_release(session);
}

static void files_keep_bodies(hr_env* env) {
  char* folder = make_folder();
  hr_graph* graph = doubling(env, 100);
  CHECK(hr_graph_prune(graph));
  CHECK(hr_graph_save(graph, in_folder(folder, "loop.hrg"), NULL));
  hr_graph_release(graph);
  hr_model* model;
  CHECK(hr_model_load(env, in_folder(folder, "loop.hrg"), NULL, &model));
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  check_doubling(env, call);
  hr_call_release(call);
  hr_session_release(session);
  remove_folder(folder);
}

/* A loop that never ends by itself is ended by the limits of its run, and can run again. */
static void limits_end_a_loop(hr_env* env) {
  hr_session* session;
  hr_call* call = call_of(doubling(env, 1e9f), &session);
  const float none = 0;
  bind_floats(env, call, "a", 0, NULL, &none);
  bind_floats(env, call, "more", 0, NULL, &none);
  bind_int(env, call, "trips", INT64_MAX);
  hr_limits limits = {.struct_size = sizeof limits, .timeout_nanos = 50 * 1000 * 1000};
  FAILS(hr_call_run(call, &limits), HR_DEADLINE_EXCEEDED, "deadline");
  bind_int(env, call, "trips", 2);
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "a", 0, NULL, &none);
  hr_call_release(call);
  hr_session_release(session);
}

/* Running sums of the rows of x, from the first or from the last. */
static hr_graph* running_sums(hr_env* env, const char* attributes) {
  hr_graph *graph = new_graph(env), *body = new_graph(env);
  const hr_value sum = input(body, "sum", HR_FLOAT32, 1), row = input(body, "row", HR_FLOAT32, 1);
  takes(body, "sum", sum);
  takes(body, "row", row);
  const hr_value next = op(body, "Add", NULL, 2, sum, row);
  gives(body, "sum", next);
  gives(body, "all", op(body, "Identity", NULL, 1, next));
  const hr_body loop = body_of(graph, body);
  const hr_value x = input(graph, "x", HR_FLOAT32, 2), start = input(graph, "start", HR_FLOAT32, 1);
  hr_value out[2];
  CHECK(hr_graph_scan(graph, loop, attributes, 1, &start, 1, &x, 0, NULL, 2, out));
  takes(graph, "x", x);
  takes(graph, "start", start);
  gives(graph, "sum", out[0]);
  gives(graph, "all", out[1]);
  return graph;
}

static void a_scan_goes_over_slices(hr_env* env) {
  const int64_t dims[2] = {3, 2}, turned[2] = {2, 3};
  const float x[] = {1, 2, 3, 4, 5, 6};
  hr_session* session;
  hr_call* call = call_of(running_sums(env, NULL), &session);
  bind_floats(env, call, "x", 2, dims, x);
  bind_floats(env, call, "start", 1, two, (const float[]){10, 20});
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "sum", 1, two, (const float[]){19, 32});
  expect_floats(call, "all", 2, dims, (const float[]){11, 22, 14, 26, 19, 32});
  hr_call_release(call);
  hr_session_release(session);

  call = call_of(running_sums(env,
                              "scan_input_axes=1 scan_input_directions=1 scan_output_axes=1 "
                              "scan_output_directions=1"),
                 &session);
  bind_floats(env, call, "x", 2, turned, x); /* columns (1, 4), (2, 5), (3, 6), from the last */
  bind_floats(env, call, "start", 1, two, (const float[]){0, 0});
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "sum", 1, two, (const float[]){6, 15});
  expect_floats(call, "all", 2, turned, (const float[]){6, 5, 3, 15, 11, 6});
  hr_call_release(call);
  hr_session_release(session);
}

/* A body may be called any number of times, and be a branch as well. */
static void a_call_computes_its_body(hr_env* env) {
  hr_graph *graph = new_graph(env), *square = new_graph(env);
  hr_value x = input(square, "x", HR_FLOAT32, 1);
  takes(square, "x", x);
  gives(square, "y", op(square, "Mul", NULL, 2, x, x));
  const hr_body body = body_of(graph, square);
  hr_value once, y;
  x = input(graph, "x", HR_FLOAT32, 1);
  CHECK(hr_graph_call(graph, body, 1, &x, 1, &once));
  CHECK(hr_graph_call(graph, body, 1, &once, 1, &y));
  takes(graph, "x", x);
  gives(graph, "y", y);
  hr_session* session;
  hr_call* call = call_of(graph, &session);
  bind_floats(env, call, "x", 1, two, (const float[]){2, -3});
  CHECK(hr_call_run(call, NULL));
  expect_floats(call, "y", 1, two, (const float[]){16, 81});
  hr_call_release(call);
  hr_session_release(session);
}

/* (x) -> (x): what a body needs at least. */
static hr_graph* identity(hr_env* env, hr_dtype dtype) {
  hr_graph* graph = new_graph(env);
  const hr_value x = input(graph, "x", dtype, 1);
  takes(graph, "x", x);
  gives(graph, "y", op(graph, "Identity", NULL, 1, x));
  return graph;
}

static void bodies_that_do_not_fit_are_refused(hr_env* env) {
  hr_graph* graph = new_graph(env);
  const hr_body same = body_of(graph, identity(env, HR_FLOAT32));
  const hr_body whole = body_of(graph, identity(env, HR_INT64));
  const hr_value which = input(graph, "which", HR_BOOL, 0), x = input(graph, "x", HR_FLOAT32, 1);
  hr_value y[2];
  FAILS(hr_graph_if(graph, x, same, same, 1, &x, 1, y), HR_INVALID_ARGUMENT, "bool");
  FAILS(hr_graph_if(graph, which, same, whole, 1, &x, 1, y), HR_INVALID_ARGUMENT, "int64");
  FAILS(hr_graph_if(graph, which, same, same, 0, NULL, 1, y), HR_INVALID_ARGUMENT,
        "each branch takes all 0 values");
  FAILS(hr_graph_if(graph, which, same, same, 1, &x, 2, y), HR_INVALID_ARGUMENT,
        "body gives 1 outputs, the node has 2");
  FAILS(hr_graph_if(graph, which, same, 77, 1, &x, 1, y), HR_INVALID_ARGUMENT, "no body 77");
  FAILS(hr_graph_loop(graph, HR_NONE, HR_NONE, same, 1, &x, 0, NULL, 1, y), HR_INVALID_ARGUMENT,
        "Loop's body takes 1 inputs, the node gives it 3");
  FAILS(hr_graph_call(graph, same, 0, NULL, 1, y), HR_INVALID_ARGUMENT, "takes 1 inputs");
  CHECK(hr_graph_if(graph, which, same, same, 1, &x, 1, y));
  hr_graph_release(graph);
}

/* A body with variables has no meaning of its own. */
static void bodies_touch_no_variables(hr_env* env) {
  hr_graph *graph = new_graph(env), *dense = new_graph(env);
  const int64_t dims[2] = {-1, 4};
  hr_value x, y;
  hr_body body;
  CHECK(hr_graph_input(dense, "x", HR_FLOAT32, 2, dims, NULL, &x));
  CHECK(hr_graph_dense(dense, "fc", x, 2, &y));
  takes(dense, "x", x);
  gives(dense, "y", y);
  FAILS(hr_graph_body(graph, dense, "run", &body), HR_UNIMPLEMENTED, "read it outside");
  FAILS(hr_graph_body(graph, dense, "train", &body), HR_NOT_FOUND, "there are: run");
  hr_graph_release(dense);
  hr_graph_release(graph);
}

const test tests[] = {
    {"an_if_takes_one_branch", an_if_takes_one_branch},
    {"outputs_go_to_memory_of_the_caller", outputs_go_to_memory_of_the_caller},
    {"a_loop_ends_by_count_or_condition", a_loop_ends_by_count_or_condition},
    {"files_keep_bodies", files_keep_bodies},
    {"limits_end_a_loop", limits_end_a_loop},
    {"a_scan_goes_over_slices", a_scan_goes_over_slices},
    {"a_call_computes_its_body", a_call_computes_its_body},
    {"bodies_that_do_not_fit_are_refused", bodies_that_do_not_fit_are_refused},
    {"bodies_touch_no_variables", bodies_touch_no_variables},
    {NULL, NULL},
};
