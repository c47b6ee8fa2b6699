/* Runs that are started and go on by themselves. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "gate.h"
#include "models.h"

enum { WIDTH = 1 << 18 };

typedef struct counters {
  hr_env* env;
  hr_session* session;
  hr_call* call;
} counters;

static counters open_counters(hr_env* env) {
  counters c = {.env = env};
  hr_model* model = make_counters(env, WIDTH);
  CHECK(hr_session_create(model, NULL, NULL, &c.session));
  CHECK(hr_call_create(c.session, "step", &c.call));
  hr_model_release(model);
  hold_at(0);
  CHECK(hr_call_run(c.call, NULL));
  return c;
}

static void close_counters(counters* c) {
  hr_call_release(c->call);
  hr_session_release(c->session);
}

static void a_run_goes_on_by_itself(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counters c = open_counters(env);
  float sum[1];
  hr_run* run;
  hr_run* second;
  hr_tensor* result;
  const hr_limits soon = {.struct_size = sizeof soon, .timeout_nanos = 1000000};
  hold_at(1);
  CHECK(hr_call_start(c.call, NULL, &run));
  wait_until_held();
  EXPECT(!hr_run_test(run));
  FAILS(hr_run_wait(run, &soon), HR_DEADLINE_EXCEEDED, "deadline");
  FAILS(hr_call_start(c.call, NULL, &second), HR_FAILED_PRECONDITION, "in flight");
  FAILS(hr_call_run(c.call, NULL), HR_FAILED_PRECONDITION, "in flight");
  FAILS(hr_call_output(c.call, "sum", sum, sizeof sum), HR_FAILED_PRECONDITION, "in flight");
  FAILS(hr_call_result(c.call, "sum", &result), HR_FAILED_PRECONDITION, "in flight");
  let_go();
  CHECK(hr_run_wait(run, NULL));
  EXPECT(hr_run_test(run));
  CHECK(hr_run_wait(run, NULL)); /* as often as one likes */
  CHECK(hr_call_result(c.call, "sum", &result));
  EXPECT(*(const float*)hr_tensor_data(result) == 2 * WIDTH);
  hr_tensor_release(result);
  hr_run_release(run);
  EXPECT(hr_session_step(c.session) == 2);
  close_counters(&c);
  hr_env_release(env);
}

static void everything_may_be_released(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counters c = open_counters(env);
  hr_run* run;
  hold_at(1);
  CHECK(hr_call_start(c.call, NULL, &run));
  wait_until_held();
  close_counters(&c);
  hr_env_release(env);
  let_go();
  CHECK(hr_run_wait(run, NULL));
  hr_run_release(run);
}

/* The run's own thread is then the last that holds the env. */
static atomic_int ended;
static void note_end(void* context, const hr_status* status) {
  EXPECT(status == NULL);
  atomic_fetch_add((atomic_int*)context, 1);
}

static void even_the_run(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counters c = open_counters(env);
  hr_run* run;
  atomic_store(&ended, 0);
  hold_at(1);
  CHECK(hr_call_start(c.call, NULL, &run));
  CHECK(hr_run_on_done(run, note_end, &ended));
  wait_until_held();
  close_counters(&c);
  hr_env_release(env);
  hr_run_release(run);
  let_go();
  while (atomic_load(&ended) == 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void cancels(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counters c = open_counters(env);
  hr_cancel* cancel;
  hr_run* run;
  CHECK(hr_cancel_create(&cancel));
  const hr_limits limits = {.struct_size = sizeof limits, .cancel = cancel, .timeout_nanos = 5000};
  for (int way = 0; way < 3; ++way) {
    hold_at(1);
    CHECK(hr_call_start(c.call, &limits, &run));
    wait_until_held();
    if (way == 0) advance_clock(6000);
    if (way == 1) hr_run_cancel(run);
    if (way == 2) hr_cancel_trigger(cancel);
    let_go();
    FAILS(hr_run_wait(run, NULL), way == 0 ? HR_DEADLINE_EXCEEDED : HR_CANCELLED, "");
    hr_run_release(run);
    EXPECT(hr_session_step(c.session) == 1); /* nothing was changed */
  }
  CHECK(hr_call_start(c.call, &limits, &run)); /* cancelled beforehand */
  FAILS(hr_run_wait(run, NULL), HR_CANCELLED, "");
  hr_run_release(run);
  hr_cancel_release(cancel);
  close_counters(&c);
  hr_env_release(env);
}

/* ---- Chains ---- */

enum { STEPS = 50 };

typedef struct chain {
  hr_call* call;
  int left;
  atomic_int done;
} chain;

static void start_next(void* context, const hr_status* status) {
  chain* c = context;
  hr_run* run;
  EXPECT(status == NULL);
  if (--c->left == 0) {
    atomic_store(&c->done, 1);
    return;
  }
  CHECK(hr_call_start(c->call, NULL, &run));
  CHECK(hr_run_on_done(run, start_next, c));
  hr_run_release(run);
}

/* More chains than threads, all on one session: each step adds 1, and none is lost. */
static void callbacks_start_the_next(hr_env* env) {
  hr_model* model = make_counters(env, 64);
  hr_session* session;
  hr_tensor* a;
  chain chains[5] = {{0}};
  CHECK(hr_session_create(model, NULL, NULL, &session));
  for (int i = 0; i < 5; ++i) {
    CHECK(hr_call_create(session, "step", &chains[i].call));
    chains[i].left = STEPS + 1;
    start_next(&chains[i], NULL);
  }
  for (int i = 0; i < 5; ++i) {
    while (!atomic_load(&chains[i].done)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    hr_call_release(chains[i].call);
  }
  CHECK(hr_session_get_variable(session, "a", NULL, &a));
  EXPECT(*(const float*)hr_tensor_data(a) == 5 * STEPS);
  hr_tensor_release(a);
  hr_session_release(session);
  hr_model_release(model);
}

const test tests[] = {{"a run goes on by itself", a_run_goes_on_by_itself},
                      {"everything may be released", everything_may_be_released},
                      {"even the run", even_the_run},
                      {"cancels", cancels},
                      {"callbacks start the next", callbacks_start_the_next},
                      {NULL, NULL}};
