/* Queues: what has ended arrives once, with its key and its own failure, at a thread that polls,
 * waits, or sleeps on the descriptor. */
#include <poll.h>
#include <pthread.h>

#include "comm_support.h"
#include "gate.h"
#include "models.h"

enum { WIDTH = 1 << 18 };

static hr_completion take(hr_queue* queue) {
  hr_completion done = {.struct_size = sizeof done};
  CHECK(hr_queue_wait(queue, NULL, &done));
  return done;
}

static void expect_empty(hr_queue* queue) {
  hr_completion done = {.struct_size = sizeof done};
  int32_t found = 7;
  CHECK(hr_queue_poll(queue, &done, &found));
  EXPECT(found == 0);
}

static int readable(int descriptor) {
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  EXPECT(poll(&polled, 1, 0) >= 0);
  return polled.revents == POLLIN;
}

static void runs_arrive_with_their_keys(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counting c = open_counting(env, WIDTH, NULL);
  hr_queue* queue;
  hr_run* run;
  int32_t descriptor;
  CHECK(hr_queue_create(env, &queue));
  CHECK(hr_queue_descriptor(queue, &descriptor));
  hold_at(1);
  CHECK(hr_call_start(c.step, NULL, &run));
  CHECK(hr_run_enqueue(run, queue, UINT64_MAX));
  wait_until_held();
  expect_empty(queue);
  EXPECT(!readable(descriptor));
  let_go();
  EXPECT(poll(&(struct pollfd){.fd = descriptor, .events = POLLIN}, 1, 10000) == 1);
  hr_completion done = {.struct_size = sizeof done};
  int32_t found = 0;
  CHECK(hr_queue_poll(queue, &done, &found));
  EXPECT(found == 1 && done.key == UINT64_MAX && done.failure == NULL);
  EXPECT(!readable(descriptor));
  CHECK(hr_run_enqueue(run, queue, 5)); /* it has ended already */
  EXPECT(readable(descriptor));
  EXPECT(take(queue).key == 5);
  expect_empty(queue);
  hr_run_release(run);
  hr_queue_release(queue);
  close_counting(&c);
  hr_env_release(env);
}

static void a_failure_arrives_whole(hr_env* unused) {
  (void)unused;
  hr_env* env = make_gated_env();
  counting c = open_counting(env, WIDTH, NULL);
  hr_queue* queue;
  hr_run* run;
  CHECK(hr_queue_create(env, &queue));
  hold_at(1);
  CHECK(hr_call_start(c.step, NULL, &run));
  CHECK(hr_run_enqueue(run, queue, 1));
  wait_until_held();
  hr_run_cancel(run);
  let_go();
  FAILS(take(queue).failure, HR_CANCELLED, "");
  hr_run_release(run);
  hr_queue_release(queue);
  close_counting(&c);
  hr_env_release(env);
}

static int say_yes(void* context) { return ++*(int*)context; }

static void a_wait_can_be_ended(hr_env* env) {
  hr_queue* queue;
  hr_completion done = {.struct_size = sizeof done};
  int asked = 0;
  hr_limits limits = within(0.02);
  CHECK(hr_queue_create(env, &queue));
  FAILS(hr_queue_wait(queue, &limits, &done), HR_DEADLINE_EXCEEDED, "");
  limits = (hr_limits){.struct_size = sizeof limits, .interrupted = say_yes, .context = &asked};
  FAILS(hr_queue_wait(queue, &limits, &done), HR_CANCELLED, "");
  EXPECT(asked == 1);
  hr_queue_release(queue);
}

/* Three threads take what many operations bring: each key comes once. */
enum { OPERATIONS = 300, TAKERS = 3 };
static hr_queue* shared;
static unsigned char seen[OPERATIONS];

static void* take_until_told(void* unused) {
  for (;;) {
    const hr_completion done = take(shared);
    EXPECT(done.failure == NULL);
    if (done.key == OPERATIONS) return unused;
    EXPECT(seen[done.key]++ == 0);
  }
}

static void each_comes_once(hr_env* env) {
  pair p = open_pair(env, NULL);
  static int32_t in[2][OPERATIONS], out[2][OPERATIONS];
  pthread_t takers[TAKERS];
  hr_work* work;
  memset(seen, 0, sizeof seen);
  CHECK(hr_queue_create(env, &shared));
  for (int i = 0; i < TAKERS; ++i) {
    EXPECT(pthread_create(&takers[i], NULL, take_until_told, NULL) == 0);
  }
  for (int i = 0; i < OPERATIONS; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      in[rank][i] = rank + i;
      CHECK(hr_all_reduce_start(p.group[rank], &in[rank][i], &out[rank][i], 1, HR_INT32, HR_SUM,
                                &work));
      if (rank == 1) CHECK(hr_work_enqueue(work, shared, (uint64_t)i));
      hr_work_release(work);
    }
  }
  CHECK(hr_barrier_start(p.group[0], &work));
  hr_work_release(work);
  CHECK(hr_barrier(p.group[1], NULL));
  CHECK(hr_barrier_start(p.group[0], &work)); /* after all the others */
  for (int i = 0; i < TAKERS; ++i) CHECK(hr_work_enqueue(work, shared, OPERATIONS));
  CHECK(hr_barrier(p.group[1], NULL));
  for (int i = 0; i < TAKERS; ++i) EXPECT(pthread_join(takers[i], NULL) == 0);
  for (int i = 0; i < OPERATIONS; ++i) EXPECT(seen[i] == 1 && out[1][i] == 2 * i + 1);
  hr_work_release(work);
  hr_queue_release(shared);
  close_pair(&p);
}

static void a_queue_may_go_first(hr_env* env) {
  pair p = open_pair(env, NULL);
  hr_queue* queue;
  hr_work *work, *other;
  CHECK(hr_queue_create(env, &queue));
  CHECK(hr_barrier_start(p.group[0], &work));
  CHECK(hr_work_enqueue(work, queue, 0));
  hr_queue_release(queue);
  CHECK(hr_barrier_start(p.group[1], &other));
  CHECK(hr_work_wait(work, NULL));
  CHECK(hr_work_wait(other, NULL));
  hr_work_release(other);
  hr_work_release(work);
  close_pair(&p);
}

static void a_struct_too_small_loses_nothing(hr_env* env) {
  counting c = open_counting(env, 4, NULL);
  hr_queue* queue;
  hr_run* run;
  hr_completion done = {.struct_size = 4};
  int32_t found;
  CHECK(hr_queue_create(env, &queue));
  CHECK(hr_call_start(c.step, NULL, &run));
  CHECK(hr_run_enqueue(run, queue, 3));
  FAILS(hr_queue_wait(queue, NULL, &done), HR_INVALID_ARGUMENT, "hr_completion.struct_size is 4");
  FAILS(hr_queue_poll(queue, &done, &found), HR_INVALID_ARGUMENT, "sizeof(hr_completion)");
  EXPECT(take(queue).key == 3);
  hr_run_release(run);
  hr_queue_release(queue);
  close_counting(&c);
}

const test tests[] = {{"runs arrive with their keys", runs_arrive_with_their_keys},
                      {"a failure arrives whole", a_failure_arrives_whole},
                      {"a wait can be ended", a_wait_can_be_ended},
                      {"each comes once", each_comes_once},
                      {"a queue may go first", a_queue_may_go_first},
                      {"a struct too small loses nothing", a_struct_too_small_loses_nothing},
                      {NULL, NULL}};
