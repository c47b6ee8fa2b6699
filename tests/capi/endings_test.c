/* Releases: which of them wait, what may be released where, and what a program may leave behind
 * when it ends or forks. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm_support.h"
#include "models.h"

/* ---- The env ---- */

typedef struct slow {
  atomic_int entered, left;
  hr_env* env; /* released by the callback, if there is one */
} slow;

static void take_time(void* context, const hr_status* status) {
  slow* s = context;
  EXPECT(status == NULL);
  atomic_store(&s->entered, 1);
  sleep_ms(200);
  hr_env_release(s->env);
  atomic_store(&s->left, 1);
}

static void start_slow_callback(hr_env* env, slow* s) {
  counting c = open_counting(env, 4, NULL);
  hr_run* run;
  CHECK(hr_call_start(c.step, NULL, &run));
  CHECK(hr_run_on_done(run, take_time, s));
  CHECK(hr_run_wait(run, NULL));
  hr_run_release(run);
  close_counting(&c);
}

static void await(atomic_int* flag) {
  const double give_up = seconds_now() + 20;
  while (!atomic_load(flag) && seconds_now() < give_up) sleep_ms(1);
  EXPECT(atomic_load(flag));
}

/* So what the callback uses may go afterwards. */
static void the_last_env_waits_for_callbacks(hr_env* unused) {
  (void)unused;
  slow s = {0};
  hr_env* env = make_env(1);
  start_slow_callback(env, &s);
  await(&s.entered);
  EXPECT(!atomic_load(&s.left));
  hr_env_release(env);
  EXPECT(atomic_load(&s.left));
}

static void a_callback_may_release_the_env(hr_env* unused) {
  (void)unused;
  slow s = {.env = make_env(1)};
  start_slow_callback(s.env, &s);
  await(&s.left);
}

/* ---- Release functions ---- */

static void release_other(void* context) { hr_tensor_release(context); }

/* A release function may release what it was made of. */
static void a_release_may_release(hr_env* env) {
  const int64_t dims[1] = {4};
  hr_tensor *inner, *outer;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 1, dims, &inner));
  CHECK(
      hr_tensor_wrap(HR_FLOAT32, 1, dims, hr_tensor_data(inner), 16, release_other, inner, &outer));
  counting c = open_counting(env, 4, NULL);
  CHECK(hr_session_set_variable(c.session, "a", outer, NULL));
  hr_tensor_release(outer);
  close_counting(&c);
}

/* ---- The end of the program ---- */

static void hang_forever(void* context, const hr_status* status) {
  (void)context, (void)status;
  for (;;) sleep_ms(1000);
}

/* Everything is alive: a run, a group, a callback that does not return. */
static void rank_leaves_all_behind(hr_env* env) {
  counting c = open_counting(env, 1 << 20, NULL);
  pair p = open_pair(env, NULL);
  static hr_run* runs[2]; /* static: left behind, yet no leak */
  static hr_work* work;
  CHECK(hr_call_start(c.step, NULL, &runs[0]));
  CHECK(hr_run_on_done(runs[0], hang_forever, NULL));
  CHECK(hr_run_wait(runs[0], NULL));
  CHECK(hr_barrier_start(p.group[0], &work));
  CHECK(hr_call_start(c.step, NULL, &runs[1]));
  exit(0);
}
PROCESSES(leaves_all_behind, 1, "")

/* The child may end, or become another program; the parent goes on. */
static void a_process_may_fork(hr_env* env) {
  counting c = open_counting(env, 4, NULL);
  pair p = open_pair(env, NULL);
  int status;
  for (int way = 0; way < 2; ++way) {
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0 && way == 1) execlp("true", "true", (char*)NULL);
    if (child == 0) _exit(0);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    CHECK(hr_call_run(c.step, NULL));
    hr_work* work;
    CHECK(hr_barrier_start(p.group[0], &work));
    CHECK(hr_barrier(p.group[1], NULL));
    CHECK(hr_work_wait(work, NULL));
    hr_work_release(work);
  }
  close_pair(&p);
  close_counting(&c);
}

const test tests[] = {{"the last env waits for callbacks", the_last_env_waits_for_callbacks},
                      {"a callback may release the env", a_callback_may_release_the_env},
                      {"a release may release", a_release_may_release},
                      {"a process may fork", a_process_may_fork},
                      TEST(leaves_all_behind),
                      RANK(leaves_all_behind),
                      {NULL, NULL}};
