/* Functions of the host that hang delay nothing: neither heartbeats of groups, nor each other, nor
 * runs. */
#include <pthread.h>
#include <stdatomic.h>

#include "comm_support.h"
#include "models.h"

/* Groups that take such a silence for death. */
static const hr_group_options watchful = {.silence_nanos = 400000000};

/* What holds host functions until it is opened. */
typedef struct latch {
  atomic_int entered, open, left;
} latch;

static void pass(latch* l) {
  atomic_fetch_add(&l->entered, 1);
  while (!atomic_load(&l->open)) sleep_ms(1);
  atomic_fetch_add(&l->left, 1);
}

static void await_count(atomic_int* count, int wanted) {
  const double give_up = seconds_now() + 20;
  while (atomic_load(count) < wanted && seconds_now() < give_up) sleep_ms(1);
  EXPECT(atomic_load(count) >= wanted);
}

static void hang(void* context, const hr_status* status) {
  EXPECT(status == NULL);
  pass(context);
}

static void count(void* context, const hr_status* status) {
  EXPECT(status == NULL);
  atomic_fetch_add((atomic_int*)context, 1);
}

static void meet(pair* p) {
  hr_work* work;
  CHECK(hr_barrier_start(p->group[0], &work));
  CHECK(hr_barrier(p->group[1], NULL));
  CHECK(hr_work_wait(work, NULL));
  hr_work_release(work);
}

/* Longer than a peer may be silent. Nobody waits, so that only the library's thread beats. */
static void be_idle(void) { sleep_ms(1200); }

static void a_callback_of_an_operation_hangs(hr_env* env) {
  pair p = open_pair(env, &watchful);
  latch l = {0};
  atomic_int called = 0;
  hr_work *first, *second;
  CHECK(hr_barrier_start(p.group[0], &first));
  CHECK(hr_work_on_done(first, hang, &l));
  CHECK(hr_barrier_start(p.group[1], &second));
  await_count(&l.entered, 1);
  be_idle();
  EXPECT(hr_group_status(p.group[0]) == NULL && hr_group_status(p.group[1]) == NULL);
  CHECK(hr_work_on_done(second, count, &called)); /* while the other still hangs */
  await_count(&called, 1);
  meet(&p);
  atomic_store(&l.open, 1);
  await_count(&l.left, 1);
  hr_work_release(first);
  hr_work_release(second);
  close_pair(&p);
}

/* A callback may wait for the group that it was called for. */
static atomic_int met;
static void meet_again(void* context, const hr_status* status) {
  EXPECT(status == NULL);
  meet(context);
  atomic_fetch_add(&met, 1);
}

static void a_callback_waits(hr_env* env) {
  pair p = open_pair(env, NULL);
  hr_work *first, *second;
  CHECK(hr_barrier_start(p.group[0], &first));
  CHECK(hr_barrier_start(p.group[1], &second));
  CHECK(hr_work_on_done(first, meet_again, &p)); /* now that no other thread starts anything */
  await_count(&met, 1);
  hr_work_release(first);
  hr_work_release(second);
  close_pair(&p);
}

static void callbacks_of_runs_hang(hr_env* env) {
  enum { MANY = 20 }; /* many more than threads that run */
  counting c = open_counting(env, 4, NULL);
  latch l = {0};
  hr_run* run;
  for (int i = 0; i < MANY; ++i) {
    CHECK(hr_call_start(c.step, NULL, &run));
    CHECK(hr_run_on_done(run, hang, &l));
    CHECK(hr_run_wait(run, NULL));
    hr_run_release(run);
  }
  await_count(&l.entered, MANY);
  CHECK(hr_call_start(c.step, NULL, &run));
  CHECK(hr_run_wait(run, NULL));
  hr_run_release(run);
  EXPECT(hr_session_step(c.session) == MANY + 1 && atomic_load(&l.left) == 0);
  atomic_store(&l.open, 1);
  await_count(&l.left, MANY);
  close_counting(&c);
}

/* ---- The log ---- */

static void hang_in_log(void* context, hr_log_level level, const char* message) {
  (void)level;
  if (strstr(message, "ended because of rank") != NULL) pass(context);
}

static void a_log_sink_hangs(hr_env* unused) {
  (void)unused;
  latch l = {0};
  const hr_log_sink sink = {.struct_size = sizeof sink, .context = &l, .write = hang_in_log};
  const hr_env_options options = {.struct_size = sizeof options, .log = &sink};
  hr_env* env;
  CHECK(hr_env_create(&options, &env));
  pair ended = open_pair(env, NULL), living = open_pair(env, &watchful);
  CHECK(hr_group_abort(ended.group[0], "enough"));
  await_count(&l.entered, 1);
  be_idle();
  EXPECT(hr_group_status(living.group[0]) == NULL && hr_group_status(living.group[1]) == NULL);
  meet(&living);
  atomic_store(&l.open, 1);
  close_pair(&ended);
  close_pair(&living);
  hr_env_release(env);
  EXPECT(atomic_load(&l.left) == 2); /* nothing of it was lost */
}

/* ---- A store of the host ---- */

/* It remembers one value for each key of the first ranks that meet, and hangs if it is told to. */
enum { ENTRIES = 32 };
static struct {
  pthread_mutex_t mutex;
  char key[ENTRIES][128], value[ENTRIES][512];
  size_t size[ENTRIES];
  int used;
} memory;
static latch vault;
static atomic_int vault_hangs;

static int place_of(const char* key) {
  int at = 0;
  while (at < memory.used && strcmp(memory.key[at], key) != 0) ++at;
  return at;
}

static hr_status* get(void* context, const char* key, char* value, size_t capacity,
                      int64_t* out_size) {
  (void)context;
  pthread_mutex_lock(&memory.mutex);
  const int at = place_of(key);
  *out_size = -1;
  if (at < memory.used && memory.size[at] > 0) {
    *out_size = (int64_t)memory.size[at];
    memcpy(value, memory.value[at], memory.size[at] < capacity ? memory.size[at] : capacity);
  }
  pthread_mutex_unlock(&memory.mutex);
  return NULL;
}

static hr_status* swap(void* context, const char* key, const char* expected, size_t expected_size,
                       const char* desired, size_t desired_size, int32_t* out_swapped) {
  (void)context;
  if (atomic_load(&vault_hangs)) pass(&vault);
  pthread_mutex_lock(&memory.mutex);
  const int at = place_of(key);
  const int there = at < memory.used && memory.size[at] > 0;
  *out_swapped = expected == NULL ? !there
                                  : there && memory.size[at] == expected_size &&
                                        memcmp(memory.value[at], expected, expected_size) == 0;
  if (*out_swapped) {
    EXPECT(at < ENTRIES && desired_size <= sizeof memory.value[at]);
    if (at == memory.used) strcpy(memory.key[memory.used++], key);
    memcpy(memory.value[at], desired, memory.size[at] = desired_size);
  }
  pthread_mutex_unlock(&memory.mutex);
  return NULL;
}

static hr_status* forget(void* context, const char* key) {
  (void)context;
  pthread_mutex_lock(&memory.mutex);
  memory.size[place_of(key)] = 0;
  pthread_mutex_unlock(&memory.mutex);
  return NULL;
}

static void a_store_hangs(hr_env* env) {
  const hr_store_callbacks callbacks = {
      .struct_size = sizeof callbacks, .get = get, .compare_and_swap = swap, .remove = forget};
  hr_group_options at_vault = {0};
  pthread_mutex_init(&memory.mutex, NULL);
  CHECK(hr_store_from_callbacks(&callbacks, &at_vault.store));
  pair ended = open_pair(env, &at_vault), living = open_pair(env, &watchful);
  hr_store_release(at_vault.store);
  atomic_store(&vault_hangs, 1);
  const double start = seconds_now();
  CHECK(hr_group_abort(ended.group[0], "enough"));
  await_count(&vault.entered, 1);
  FAILS(hr_barrier(ended.group[1], NULL), HR_ARBITER_LOST, "did not answer in 600 ms");
  EXPECT(seconds_now() - start < 10);
  be_idle();
  EXPECT(hr_group_status(living.group[0]) == NULL && hr_group_status(living.group[1]) == NULL);
  meet(&living);
  atomic_store(&vault.open, 1);
  close_pair(&ended);
  close_pair(&living);
}

const test tests[] = {{"a callback of an operation hangs", a_callback_of_an_operation_hangs},
                      {"a callback waits", a_callback_waits},
                      {"callbacks of runs hang", callbacks_of_runs_hang},
                      {"a log sink hangs", a_log_sink_hangs},
                      {"a store hangs", a_store_hangs},
                      {NULL, NULL}};
