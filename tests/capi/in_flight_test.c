/* What happens to a run from outside while it goes on: closing, releasing, cancelling, deadlines.
 * The env's threads are the test's, which holds a run at any of its parallel regions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "gate.h"
#include "models.h"

enum { WIDTH = 1 << 18 };

/* ---- One training step, in a thread of its own ---- */

typedef struct step {
  hr_env* env;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  hr_limits limits;
  hr_cancel* cancel;
  hr_status* status;
  pthread_t thread;
  int regions;
  atomic_bool done; /* the thread's run */
} step;

/* A session whose first step is done. */
static step open_step(void) {
  step s = {.limits = {.struct_size = sizeof(hr_limits)}};
  s.env = make_gated_env();
  s.model = make_counters(s.env, WIDTH);
  CHECK(hr_session_create(s.model, NULL, NULL, &s.session));
  CHECK(hr_cancel_create(&s.cancel));
  s.limits.cancel = s.cancel;
  CHECK(hr_call_create(s.session, "step", &s.call));
  hold_at(0);
  CHECK(hr_call_run(s.call, NULL));
  s.regions = regions_begun();
  EXPECT(s.regions >= 2);
  return s;
}

static void close_step(step* s) {
  hr_call_release(s->call);
  hr_cancel_release(s->cancel);
  hr_session_release(s->session);
  hr_model_release(s->model);
  hr_env_release(s->env);
}

static void* run_step(void* context) {
  step* s = context;
  s->status = hr_call_run(s->call, &s->limits);
  s->done = true;
  return NULL;
}

static void begin(step* s, int held_region) {
  hold_at(held_region);
  EXPECT(pthread_create(&s->thread, NULL, run_step, s) == 0);
  if (held_region != 0) wait_until_held();
}

static void join(step* s) { EXPECT(pthread_join(s->thread, NULL) == 0); }

/* The steps that the variables show. */
static int steps_of(const step* s) {
  float first = -1;
  for (int i = 0; i < 2; ++i) {
    hr_tensor* variable;
    CHECK(hr_session_get_variable(s->session, i == 0 ? "a" : "b", NULL, &variable));
    const float* values = hr_tensor_data(variable);
    if (i == 0) first = values[0];
    for (int j = 0; j < WIDTH; ++j) EXPECT(values[j] == first);
    hr_tensor_release(variable);
  }
  return (int)first;
}

/* ---- Closing ---- */

static void test_release_during_a_run(hr_env* env) {
  step s = open_step();
  (void)env;
  begin(&s, 1);
  hr_session_release(s.session);
  hr_model_release(s.model);
  hr_env_release(s.env);
  let_go();
  join(&s);
  CHECK(s.status);
  CHECK(hr_call_run(s.call, NULL)); /* a call keeps all it needs */
  hr_call_release(s.call);
  hr_cancel_release(s.cancel);
}

typedef struct single {
  hr_session* session;
  hr_tensor* sum;
} single;

static void* run_single(void* context) {
  single* s = context;
  const char* fetches[1] = {"sum"};
  CHECK(hr_session_run(s->session, 0, NULL, NULL, 1, fetches, 0, NULL, NULL, &s->sum));
  return NULL;
}

/* The run itself is then the last that holds the session. */
static void test_release_during_a_single_run(hr_env* env) {
  step s = open_step();
  single run = {.session = s.session};
  (void)env;
  hr_call_release(s.call);
  hold_at(1);
  EXPECT(pthread_create(&s.thread, NULL, run_single, &run) == 0);
  wait_until_held();
  hr_session_release(s.session);
  hr_model_release(s.model);
  hr_env_release(s.env);
  let_go();
  join(&s);
  EXPECT(*(float*)hr_tensor_data(run.sum) == 2 * WIDTH);
  hr_tensor_release(run.sum);
  hr_cancel_release(s.cancel);
}

static void test_close_during_a_run(hr_env* env) {
  step s = open_step();
  (void)env;
  begin(&s, 1);
  hr_session_close(s.session);
  let_go();
  join(&s);
  CHECK(s.status);
  EXPECT(hr_session_step(s.session) == 2);
  FAILS(hr_call_run(s.call, NULL), HR_FAILED_PRECONDITION, "the session is closed");
  close_step(&s);
}

/* ---- Cancel and deadline during a run ---- */

static void test_cancel_during_a_run(hr_env* env) {
  step s = open_step();
  (void)env;
  begin(&s, 1);
  hr_cancel_trigger(s.cancel);
  let_go();
  join(&s);
  FAILS(s.status, HR_CANCELLED, "cancelled");
  EXPECT(steps_of(&s) == 1);
  CHECK(hr_call_run(s.call, NULL));
  close_step(&s);
}

static void test_deadline_during_a_run(hr_env* env) {
  step s = open_step();
  (void)env;
  s.limits.timeout_nanos = 1000;
  begin(&s, 1);
  advance_clock(1001);
  let_go();
  join(&s);
  FAILS(s.status, HR_DEADLINE_EXCEEDED, "deadline");
  EXPECT(steps_of(&s) == 1);
  close_step(&s);
}

/* Once variables are written the step is brought to its end. */
static void test_cancel_during_the_update(hr_env* env) {
  step s = open_step();
  (void)env;
  begin(&s, s.regions);
  hr_cancel_trigger(s.cancel);
  let_go();
  join(&s);
  CHECK(s.status);
  EXPECT(steps_of(&s) == 2);
  close_step(&s);
}

/* ---- Cancel and deadline while a run waits ---- */

/* Another thread's step waits for the lock of the session, or for threads; its limits end that. */
static void expect_waiting_ends(step* running, step* waiting, const char* words) {
  const struct timespec moment = {.tv_nsec = 20000000};
  begin(running, 1);
  EXPECT(pthread_create(&waiting->thread, NULL, run_step, waiting) == 0);
  nanosleep(&moment, NULL); /* so that it waits; it passes without, too */
  hr_cancel_trigger(waiting->cancel);
  join(waiting);
  FAILS(waiting->status, HR_CANCELLED, words);
  waiting->limits = (hr_limits){.struct_size = sizeof(hr_limits), .timeout_nanos = 1000};
  waiting->done = false;
  EXPECT(pthread_create(&waiting->thread, NULL, run_step, waiting) == 0);
  /* Until it is done: nobody knows when it reads the clock for the first time. */
  while (!waiting->done) {
    nanosleep(&moment, NULL);
    advance_clock(2000);
  }
  join(waiting);
  FAILS(waiting->status, HR_DEADLINE_EXCEEDED, words);
  let_go();
  join(running);
  CHECK(running->status);
}

static void test_waiting_for_the_session(hr_env* env) {
  step s = open_step(), other = s;
  (void)env;
  CHECK(hr_call_create(other.session, "step", &other.call));
  CHECK(hr_cancel_create(&other.cancel));
  other.limits.cancel = other.cancel;
  expect_waiting_ends(&s, &other, "waiting for other runs of the session");
  hr_call_release(other.call);
  hr_cancel_release(other.cancel);
  close_step(&s);
}

static void test_waiting_for_threads(hr_env* env) {
  step s = open_step(), other = s;
  (void)env;
  CHECK(hr_session_create(s.model, NULL, NULL, &other.session));
  CHECK(hr_call_create(other.session, "step", &other.call));
  CHECK(hr_cancel_create(&other.cancel));
  other.limits.cancel = other.cancel;
  expect_waiting_ends(&s, &other, "waiting for a thread of the budget");
  hr_call_release(other.call);
  hr_cancel_release(other.cancel);
  hr_session_release(other.session);
  close_step(&s);
}

const test tests[] = {{"release during a call's run", test_release_during_a_run},
                      {"release during a session's run", test_release_during_a_single_run},
                      {"close during a run", test_close_during_a_run},
                      {"cancel during a run", test_cancel_during_a_run},
                      {"deadline during a run", test_deadline_during_a_run},
                      {"cancel during the update", test_cancel_during_the_update},
                      {"limits of waiting for the session", test_waiting_for_the_session},
                      {"limits of waiting for threads", test_waiting_for_threads},
                      {NULL, NULL}};
