/* The host ends waits by its function `interrupted`, and goes on with the same objects. */
#include <pthread.h>

#include "comm_support.h"
#include "gate.h"
#include "models.h"

enum { WIDTH = 1 << 18 };

/* Says yes at the third question, and knows who asked and how long apart. */
typedef struct patience {
  pthread_t thread;
  double last, longest;
  int asked;
} patience;

static int third_time(void* context) {
  patience* p = context;
  const double time = seconds_now();
  EXPECT(pthread_equal(pthread_self(), p->thread));
  if (time - p->last > p->longest) p->longest = time - p->last;
  p->last = time;
  return ++p->asked == 3;
}

static patience fresh(void) { return (patience){.thread = pthread_self(), .last = seconds_now()}; }

static hr_limits interrupted_by(patience* p) {
  return (hr_limits){.struct_size = sizeof(hr_limits), .interrupted = third_time, .context = p};
}

/* The call ends because the host says so, which was asked often enough. */
#define INTERRUPTED(call)                                                           \
  do {                                                                              \
    patience waiter = fresh();                                                      \
    const hr_limits limits = interrupted_by(&waiter);                               \
    FAILS((call), HR_CANCELLED, "the host interrupted the call");                   \
    EXPECT(waiter.asked == 3);                                                      \
    if (waiter.longest > 0.1) printf("asked after %.0f ms ", 1e3 * waiter.longest); \
  } while (0)

static void* run_held(void* call) {
  CHECK(hr_call_run(call, NULL));
  return NULL;
}

static void waits_for_a_session(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counting c = open_counting(env, WIDTH, make_folder());
  const char* fetches[1] = {"sum"};
  const char* signatures[1] = {"look"};
  hr_tensor *value, *sum;
  hr_call* look;
  pthread_t thread;
  CHECK(hr_session_get_variable(c.session, "a", NULL, &value));
  CHECK(hr_call_create(c.session, "look", &look));
  hold_at(1);
  EXPECT(pthread_create(&thread, NULL, run_held, c.step) == 0);
  wait_until_held();
  INTERRUPTED(hr_call_run(look, &limits));
  INTERRUPTED(hr_session_run(c.session, 0, NULL, NULL, 1, fetches, 0, NULL, &limits, &sum));
  INTERRUPTED(hr_session_get_variable(c.session, "a", &limits, &sum));
  INTERRUPTED(hr_session_set_variable(c.session, "a", value, &limits));
  INTERRUPTED(hr_session_save(c.session, c.folder, NULL, &limits));
  INTERRUPTED(
      hr_session_export(c.session, in_folder(c.folder, "x.hrg"), 1, signatures, NULL, &limits));
  EXPECT(count_entries(c.folder) == 2); /* nothing was written */
  let_go();
  EXPECT(pthread_join(thread, NULL) == 0);
  CHECK(hr_session_save(c.session, c.folder, NULL, NULL));
  hold_at(1);
  EXPECT(pthread_create(&thread, NULL, run_held, c.step) == 0);
  wait_until_held();
  INTERRUPTED(hr_session_restore(c.session, c.folder, NULL, &limits, NULL));
  let_go();
  EXPECT(pthread_join(thread, NULL) == 0);
  CHECK(hr_session_restore(c.session, c.folder, NULL, NULL, NULL));
  EXPECT(hr_session_step(c.session) == 1);
  CHECK(hr_call_run(c.step, NULL));
  hr_tensor_release(value);
  hr_call_release(look);
  remove_folder(c.folder);
  close_counting(&c);
  hr_env_release(env);
}

static void a_wait_for_a_run_can_be_repeated(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counting c = open_counting(env, WIDTH, NULL);
  hr_run* run;
  hold_at(1);
  CHECK(hr_call_start(c.step, NULL, &run));
  wait_until_held();
  INTERRUPTED(hr_run_wait(run, &limits));
  EXPECT(!hr_run_test(run));
  let_go();
  CHECK(hr_run_wait(run, NULL));
  hr_run_release(run);
  EXPECT(hr_session_step(c.session) == 1);
  close_counting(&c);
  hr_env_release(env);
}

static void a_token_may_go_while_its_run_goes_on(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counting c = open_counting(env, WIDTH, NULL);
  hr_cancel* cancel;
  hr_run* run;
  CHECK(hr_cancel_create(&cancel));
  const hr_limits limits = {.struct_size = sizeof limits, .cancel = cancel};
  hold_at(1);
  CHECK(hr_call_start(c.step, &limits, &run));
  wait_until_held();
  hr_cancel_release(cancel);
  let_go();
  CHECK(hr_run_wait(run, NULL));
  hr_run_release(run);
  close_counting(&c);
  hr_env_release(env);
}

/* ---- Groups ---- */

static void the_group_outlives_an_interrupted_wait(hr_env* env) {
  pair p = open_pair(env, NULL);
  float x[2] = {1, 2}, y[2] = {0, 0}, got = 0;
  const float sent = 7;
  hr_work *mine, *other;
  CHECK(hr_all_reduce_start(p.group[0], x, y, 2, HR_FLOAT32, HR_SUM, &mine));
  INTERRUPTED(hr_work_wait(mine, &limits));
  EXPECT(!hr_work_test(mine));
  CHECK(hr_all_reduce_start(p.group[1], x, x, 2, HR_FLOAT32, HR_SUM, &other));
  CHECK(hr_work_wait(mine, NULL));
  CHECK(hr_work_wait(other, NULL));
  EXPECT(y[0] == 2 && y[1] == 4);
  hr_work_release(mine);
  hr_work_release(other);
  INTERRUPTED(hr_recv(p.group[0], &got, 1, HR_FLOAT32, 1, 5, &limits)); /* has no effect */
  CHECK(hr_send_start(p.group[1], &sent, 1, HR_FLOAT32, 0, 5, &other));
  CHECK(hr_recv(p.group[0], &got, 1, HR_FLOAT32, 1, 5, NULL));
  CHECK(hr_work_wait(other, NULL));
  hr_work_release(other);
  EXPECT(got == 7 && hr_group_status(p.group[0]) == NULL);
  close_pair(&p);
}

static void a_meeting_can_be_interrupted(hr_env* env) {
  hr_group* group;
  hr_store* store;
  CHECK(hr_store_open(env, "memory:", &store));
  const hr_group_options options = {.struct_size = sizeof options, .size = 2, .store = store};
  INTERRUPTED(hr_group_create(env, &options, &limits, &group));
  INTERRUPTED(hr_group_join(env, &options, &limits, &group));
  hr_store_release(store);
}

static void short_calls_do_not_ask(hr_env* env) {
  counting c = open_counting(env, 4, NULL);
  patience waiter = fresh();
  const hr_limits limits = interrupted_by(&waiter);
  const double until = seconds_now() + 0.3;
  int runs = 0;
  for (; seconds_now() < until; ++runs) CHECK(hr_call_run(c.step, &limits));
  EXPECT(runs > 10 && waiter.asked == 0);
  close_counting(&c);
}

const test tests[] = {
    {"waits for a session", waits_for_a_session},
    {"a wait for a run can be repeated", a_wait_for_a_run_can_be_repeated},
    {"a token may go while its run goes on", a_token_may_go_while_its_run_goes_on},
    {"the group outlives an interrupted wait", the_group_outlives_an_interrupted_wait},
    {"a meeting can be interrupted", a_meeting_can_be_interrupted},
    {"short calls do not ask", short_calls_do_not_ask},
    {NULL, NULL}};
