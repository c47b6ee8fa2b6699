/* Functions of the host that make the library run while a run waits for them: operators, their
 * tasks, and hr_limits.interrupted. Nothing may wait for the run around it. */
#include <pthread.h>
#include <stdatomic.h>

#include "comm_support.h"

enum { WIDTH = 8, SESSIONS = 3 };

/* What would hang without end ends here. */
static const hr_limits soon = {.struct_size = sizeof soon, .timeout_nanos = 5000000000};

/* ---- An operator that copies its input and calls what the test wants at its depth ---- */

static void (*_Atomic bodies[SESSIONS])(hr_op* op); /* a run in the background reads them, too */
static _Thread_local int depth; /* of operators of this thread within each other */

static hr_status* infer(void* context, hr_op* op) {
  (void)context;
  return hr_op_set_output_like(op, 0, 0);
}

static int endless; /* the operator runs the session that it is in */
static int deepest;
static hr_status* run(int session, const char* signature);

static hr_status* compute(void* context, hr_op* op) {
  const hr_op_tensor *in = hr_op_input_tensor(op, 0), *out = hr_op_output_tensor(op, 0);
  (void)context;
  memcpy(out->data, in->data, WIDTH * sizeof(float));
  ++depth;
  if (depth > deepest) deepest = depth;
  if (depth <= SESSIONS && bodies[depth - 1] != NULL) bodies[depth - 1](op);
  hr_status* status = endless ? run(0, "look") : NULL;
  --depth;
  return status;
}

static void call_inside(void (*first)(hr_op*), void (*second)(hr_op*), void (*third)(hr_op*)) {
  bodies[0] = first;
  bodies[1] = second;
  bodies[2] = third;
}

/* ---- Threads of the host, which cannot run regions within each other ---- */

typedef struct region {
  int32_t tasks;
  void (*fn)(void*, int);
  void* context;
  atomic_int next;
} region;

static _Thread_local int in_region;

static void* take_tasks(void* context) {
  region* r = context;
  EXPECT(!in_region);
  in_region = 1;
  for (int task; (task = atomic_fetch_add(&r->next, 1)) < r->tasks;) r->fn(r->context, task);
  in_region = 0;
  return NULL;
}

static void parallel_for(void* context, int32_t tasks, int32_t threads, void (*fn)(void*, int),
                         void* fn_context) {
  region r = {.tasks = tasks, .fn = fn, .context = fn_context};
  pthread_t other;
  (void)context;
  EXPECT(!in_region);
  if (threads > 1) EXPECT(pthread_create(&other, NULL, take_tasks, &r) == 0);
  take_tasks(&r);
  if (threads > 1) EXPECT(pthread_join(other, NULL) == 0);
}

/* ---- Sessions of a model with the variable v ----
 * "look" gives v; "step" adds 1 to it. Both ask the operator. */

static struct {
  hr_env* env;
  hr_session* sessions[SESSIONS];
  hr_call* outer; /* the run around all others, of the first session */
  hr_run* started;
  char* folder;
} nest;

static hr_tensor* filled(float value) {
  const int64_t dims[1] = {WIDTH};
  hr_tensor* out;
  CHECK(hr_tensor_create(nest.env, HR_FLOAT32, 1, dims, &out));
  for (int i = 0; i < WIDTH; ++i) ((float*)hr_tensor_data(out))[i] = value;
  return out;
}

static hr_model* make_model(void) {
  hr_tensor *zeros = filled(0), *ones = filled(1);
  hr_graph* graph;
  hr_variable variable;
  hr_value now, one, seen, next;
  hr_node assignment;
  hr_model* model;
  CHECK(hr_graph_create(nest.env, &graph));
  CHECK(hr_graph_variable(graph, "v", zeros, 1, &variable));
  CHECK(hr_graph_constant(graph, "one", ones, &one));
  CHECK(hr_graph_read(graph, variable, &now));
  CHECK(hr_graph_op(graph, "org.example.Ask", NULL, 1, &now, 1, &seen));
  CHECK(hr_graph_name_value(graph, seen, "seen"));
  CHECK(hr_graph_op(graph, "Add", NULL, 2, (hr_value[]){seen, one}, 1, &next));
  CHECK(hr_graph_assign(graph, variable, next, &assignment));
  CHECK(hr_graph_signature_output(graph, "look", "seen", seen));
  CHECK(hr_graph_signature_target(graph, "step", assignment));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  hr_tensor_release(zeros);
  hr_tensor_release(ones);
  return model;
}

static void open_nest(hr_env* env) {
  const hr_operator op = {.struct_size = sizeof op,
                          .name = "org.example.Ask",
                          .min_inputs = 1,
                          .max_inputs = 1,
                          .min_outputs = 1,
                          .max_outputs = 1,
                          .infer = infer,
                          .compute = compute};
  nest.env = env;
  nest.folder = make_folder();
  CHECK(hr_env_add_operator(env, &op));
  hr_model* model = make_model();
  for (int i = 0; i < SESSIONS; ++i)
    CHECK(hr_session_create(model, NULL, &soon, &nest.sessions[i]));
  hr_model_release(model);
  call_inside(NULL, NULL, NULL);
}

static void close_nest(void) {
  for (int i = 0; i < SESSIONS; ++i) hr_session_release(nest.sessions[i]);
  hr_env_release(nest.env);
  remove_folder(nest.folder);
}

/* Each test runs with one and with two threads of the library, and with two of the host. */
static void with_every_budget(void (*body)(void)) {
  const hr_executor executor = {
      .struct_size = sizeof executor, .concurrency = 2, .parallel_for = parallel_for};
  for (int i = 0; i < 3; ++i) {
    open_nest(i < 2 ? make_env(i + 1) : make_env_with(&executor, NULL));
    body();
    close_nest();
  }
}

static hr_status* run(int session, const char* signature) {
  hr_call* call;
  CHECK(hr_call_create(nest.sessions[session], signature, &call));
  hr_status* status = hr_call_run(call, &soon);
  hr_call_release(call);
  return status;
}

static hr_status* fetch(int session) {
  const char* fetches[1] = {"seen"};
  hr_tensor* seen = NULL;
  hr_status* status =
      hr_session_run(nest.sessions[session], 0, NULL, NULL, 1, fetches, 0, NULL, &soon, &seen);
  hr_tensor_release(seen);
  return status;
}

static hr_status* get(int session, float* out) {
  hr_tensor* value;
  hr_status* status = hr_session_get_variable(nest.sessions[session], "v", &soon, &value);
  if (status != NULL) return status;
  *out = ((const float*)hr_tensor_data(value))[WIDTH - 1];
  hr_tensor_release(value);
  return NULL;
}

static void expect_steps(int session, float expected) {
  float steps;
  CHECK(get(session, &steps));
  EXPECT(steps == expected);
}

static hr_status* set(int session, float value) {
  hr_tensor* tensor = filled(value);
  hr_status* status = hr_session_set_variable(nest.sessions[session], "v", tensor, &soon);
  hr_tensor_release(tensor);
  return status;
}

/* Runs the call around all others, with `body` inside. */
static hr_status* run_around(const char* signature, void (*body)(hr_op*)) {
  call_inside(body, NULL, NULL);
  CHECK(hr_call_create(nest.sessions[0], signature, &nest.outer));
  hr_status* status = hr_call_run(nest.outer, &soon);
  hr_call_release(nest.outer);
  call_inside(NULL, NULL, NULL);
  return status;
}

/* ---- Another session ---- */

static void use_other(hr_op* op) {
  (void)op;
  CHECK(run(1, "look"));
  CHECK(run(1, "step"));
  CHECK(fetch(1));
  expect_steps(1, 1);
  CHECK(set(1, 7));
  CHECK(run(1, "step"));
  expect_steps(1, 8);
  CHECK(hr_session_save(nest.sessions[1], nest.folder, NULL, &soon));
  CHECK(run(1, "step"));
  CHECK(hr_session_restore(nest.sessions[1], nest.folder, NULL, &soon, NULL));
  CHECK(set(1, 0));
}

static void another_session(void) {
  CHECK(run_around("look", use_other));
  CHECK(run_around("step", use_other));
  expect_steps(0, 1);
}

/* ---- The session of the run itself ---- */

static const char* in_nest(const char* name) { return in_folder(nest.folder, name); }

#define WAITS_FOR(access) \
  "in a function of the host inside a run of the same session, which " access " variables"

static void conflict_with_reading(hr_op* op) {
  float steps;
  (void)op;
  CHECK(run(0, "look"));
  CHECK(fetch(0));
  CHECK(get(0, &steps));
  CHECK(hr_session_save(nest.sessions[0], nest.folder, NULL, &soon));
  CHECK(hr_session_export_weights(nest.sessions[0], in_nest("w.npz"), NULL, &soon, NULL));
  FAILS(run(0, "step"), HR_FAILED_PRECONDITION, "a run that writes variables " WAITS_FOR("reads"));
  FAILS(set(0, 5), HR_FAILED_PRECONDITION, "setting a variable " WAITS_FOR("reads"));
  FAILS(hr_session_restore(nest.sessions[0], nest.folder, NULL, &soon, NULL),
        HR_FAILED_PRECONDITION, "restoring variables " WAITS_FOR("reads"));
  FAILS(hr_session_import_weights(nest.sessions[0], in_nest("w.npz"), NULL, &soon, NULL),
        HR_FAILED_PRECONDITION, "restoring variables " WAITS_FOR("reads"));
  FAILS(hr_call_run(nest.outer, &soon), HR_FAILED_PRECONDITION, "the call is in use");
}

static void conflict_with_writing(hr_op* op) {
  float steps;
  (void)op;
  FAILS(run(0, "look"), HR_FAILED_PRECONDITION, "a run " WAITS_FOR("writes"));
  FAILS(fetch(0), HR_FAILED_PRECONDITION, "a run " WAITS_FOR("writes"));
  FAILS(run(0, "step"), HR_FAILED_PRECONDITION, "a run that writes variables " WAITS_FOR("writes"));
  FAILS(get(0, &steps), HR_FAILED_PRECONDITION, "reading a variable " WAITS_FOR("writes"));
  FAILS(set(0, 5), HR_FAILED_PRECONDITION, "setting a variable " WAITS_FOR("writes"));
  FAILS(hr_session_save(nest.sessions[0], nest.folder, NULL, &soon), HR_FAILED_PRECONDITION,
        "saving variables " WAITS_FOR("writes"));
  FAILS(hr_session_export_weights(nest.sessions[0], in_nest("w.npz"), NULL, &soon, NULL),
        HR_FAILED_PRECONDITION, "saving variables " WAITS_FOR("writes"));
  FAILS(hr_session_restore(nest.sessions[0], nest.folder, NULL, &soon, NULL),
        HR_FAILED_PRECONDITION, "restoring variables " WAITS_FOR("writes"));
}

static void recursion(void) {
  deepest = 0;
  endless = 1;
  FAILS(run(0, "look"), HR_FAILED_PRECONDITION, "nested 16 deep");
  endless = 0;
  EXPECT(deepest == 16);
  CHECK(run(0, "look"));
}

static void own_session(void) {
  CHECK(run(0, "step"));
  CHECK(run_around("look", conflict_with_reading));
  expect_steps(0, 1);
  CHECK(run_around("step", conflict_with_writing));
  expect_steps(0, 2);
  CHECK(set(0, 5)); /* all is allowed again */
  CHECK(run(0, "step"));
  expect_steps(0, 6);
}

/* ---- Through another session ---- */

static void run_second(hr_op* op) {
  (void)op;
  CHECK(run(1, "step"));
}

static void run_third(hr_op* op) {
  (void)op;
  CHECK(run(2, "step"));
  CHECK(run(0, "look"));
  FAILS(set(0, 5), HR_FAILED_PRECONDITION, "setting a variable " WAITS_FOR("reads"));
  FAILS(run(1, "look"), HR_FAILED_PRECONDITION, "a run " WAITS_FOR("writes"));
}

static void use_all_below(hr_op* op) {
  (void)op;
  call_inside(NULL, NULL, NULL);
  CHECK(run(0, "look"));
  FAILS(run(0, "step"), HR_FAILED_PRECONDITION, "a run that writes variables " WAITS_FOR("reads"));
  FAILS(run(1, "step"), HR_FAILED_PRECONDITION, "a run that writes variables " WAITS_FOR("writes"));
}

static void two_deep(void) {
  call_inside(run_second, run_third, NULL);
  CHECK(run(0, "look"));
  call_inside(run_second, run_third, use_all_below);
  CHECK(run(0, "look"));
  expect_steps(1, 2);
  expect_steps(2, 2);
}

/* ---- In tasks ---- */

static atomic_int active, most, leaves;

static void count_active(void* context, int task) {
  (void)context;
  (void)task;
  const int now = atomic_fetch_add(&active, 1) + 1;
  int seen = atomic_load(&most);
  while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) continue;
  sleep_ms(1);
  atomic_fetch_sub(&active, 1);
  atomic_fetch_add(&leaves, 1);
}

static void count_in_tasks(hr_op* op) { hr_op_parallel_for(op, 3, count_active, NULL); }

static void run_in_task(void* context, int task) {
  const int before = depth;
  (void)context;
  (void)task;
  depth = 1;
  CHECK(run(1, "look"));
  CHECK(run(2, "step"));
  FAILS(run(0, "step"), HR_FAILED_PRECONDITION, "a run that writes variables " WAITS_FOR("reads"));
  CHECK(run(0, "look"));
  depth = before;
}

static void run_in_tasks(hr_op* op) { hr_op_parallel_for(op, 4, run_in_task, NULL); }

static void in_tasks(void) {
  hr_text* description;
  CHECK(hr_env_describe(nest.env, &description));
  const int budget = strstr(hr_text_data(description), "\"threads\":1,") != NULL ? 1 : 2;
  hr_text_release(description);
  atomic_store(&most, 0);
  atomic_store(&leaves, 0);
  call_inside(run_in_tasks, count_in_tasks, NULL);
  CHECK(run(0, "look"));
  EXPECT(atomic_load(&leaves) == 4 * 3 * 3);
  EXPECT(atomic_load(&most) <= budget);
  expect_steps(2, 4);
}

/* ---- Beside other threads ---- */

enum { ROUNDS = 25, HOSTS = 4 };

static void* run_around_second(void* context) {
  (void)context;
  for (int i = 0; i < ROUNDS; ++i) CHECK(run(0, "look"));
  return NULL;
}

static void* run_second_alone(void* context) {
  (void)context;
  depth = 1;
  for (int i = 0; i < ROUNDS; ++i) CHECK(run(1, "step"));
  return NULL;
}

/* Who has the lock of the second session never waits for threads that a run has whose operator
 * waits for this lock. */
static void beside_other_threads(void) {
  pthread_t threads[HOSTS];
  call_inside(run_second, NULL, NULL);
  for (int i = 0; i < HOSTS; ++i) {
    void* (*body)(void*) = i % 2 == 0 ? run_around_second : run_second_alone;
    EXPECT(pthread_create(&threads[i], NULL, body, NULL) == 0);
  }
  for (int i = 0; i < HOSTS; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  expect_steps(1, HOSTS * ROUNDS);
}

/* Readers let writers go first, but a writer that waits for the run around must not stop it. */
static void* await_writer(void* context) {
  const hr_limits at_once = {.struct_size = sizeof at_once, .timeout_nanos = 1000000};
  hr_status* status;
  hr_tensor* value;
  while ((status = hr_session_get_variable(nest.sessions[0], "v", &at_once, &value)) == NULL)
    hr_tensor_release(value);
  FAILS(status, HR_DEADLINE_EXCEEDED, "other runs");
  return context;
}

static void read_past_writer(hr_op* op) {
  pthread_t thread;
  hr_call* step;
  float steps;
  (void)op;
  call_inside(NULL, NULL, NULL);
  CHECK(hr_call_create(nest.sessions[0], "step", &step));
  CHECK(hr_call_start(step, NULL, &nest.started));
  hr_call_release(step);
  EXPECT(pthread_create(&thread, NULL, await_writer, NULL) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  CHECK(run(0, "look"));
  CHECK(get(0, &steps));
  EXPECT(steps == 0);
}

static void a_writer_waits(void) {
  CHECK(run_around("look", read_past_writer));
  CHECK(hr_run_wait(nest.started, &soon));
  hr_run_release(nest.started);
  expect_steps(0, 1);
}

/* ---- Runs in the background ---- */

static void wait_inside(hr_op* op) {
  hr_call* call;
  (void)op;
  call_inside(NULL, NULL, NULL);
  CHECK(hr_call_create(nest.sessions[1], "step", &call));
  CHECK(hr_call_start(call, NULL, &nest.started));
  hr_call_release(call);
  FAILS(hr_run_wait(nest.started, &soon), HR_FAILED_PRECONDITION,
        "waiting for a run that goes on in the background");
}

static void wait_for_background(void) {
  CHECK(run_around("look", wait_inside));
  CHECK(hr_run_wait(nest.started, &soon));
  hr_run_release(nest.started);
  expect_steps(1, 1);
}

/* ---- A host that is asked between the steps of a run ---- */

static atomic_int asked;

static void take_long(hr_op* op) {
  (void)op;
  call_inside(NULL, NULL, NULL);
  sleep_ms(120); /* so that the next step asks */
  atomic_store(&asked, 0);
}

static int answer(void* context) {
  (void)context;
  CHECK(run(1, "step"));
  FAILS(run(0, "step"), HR_FAILED_PRECONDITION, "a run that writes variables " WAITS_FOR("writes"));
  atomic_fetch_add(&asked, 1);
  return 0;
}

static void the_host_is_asked(void) {
  const hr_limits asking = {.struct_size = sizeof asking, .interrupted = answer};
  hr_call* call;
  CHECK(hr_call_create(nest.sessions[0], "step", &call));
  CHECK(hr_call_run(call, &soon)); /* the first run may ask while it is prepared */
  call_inside(take_long, NULL, NULL);
  CHECK(hr_call_run(call, &asking));
  EXPECT(atomic_load(&asked) >= 1);
  hr_call_release(call);
}

/* ---- A profile ---- */

static void run_wide(hr_op* op) {
  hr_op_parallel_for(op, 2, run_in_task, NULL);
  use_other(op);
}

static void under_a_profile(void) {
  hr_call* call;
  hr_text* profile;
  call_inside(run_wide, NULL, NULL);
  CHECK(hr_call_create(nest.sessions[0], "look", &call));
  CHECK(hr_call_profile(call, &soon, &profile));
  EXPECT(strstr(hr_text_data(profile), "org.example.Ask") != NULL);
  hr_text_release(profile);
  hr_call_release(call);
}

#define EVERY(body)                         \
  static void test_##body(hr_env* unused) { \
    (void)unused;                           \
    with_every_budget(body);                \
  }
EVERY(another_session)
EVERY(own_session)
EVERY(recursion)
EVERY(two_deep)
EVERY(in_tasks)
EVERY(beside_other_threads)
EVERY(a_writer_waits)
EVERY(wait_for_background)
EVERY(the_host_is_asked)
EVERY(under_a_profile)

const test tests[] = {{"another session", test_another_session},
                      {"own session", test_own_session},
                      {"recursion", test_recursion},
                      {"two deep", test_two_deep},
                      {"in tasks", test_in_tasks},
                      {"beside other threads", test_beside_other_threads},
                      {"a writer waits", test_a_writer_waits},
                      {"wait for the background", test_wait_for_background},
                      {"the host is asked", test_the_host_is_asked},
                      {"under a profile", test_under_a_profile},
                      {NULL, NULL}};
