/* What a program does with groups beside calling operations: works in flight, callbacks, limits,
 * sub-groups, stores of its own; and what wrong use says. */
#include <pthread.h>
#include <stdatomic.h>

#include "comm_support.h"

/* ---- Works ---- */

static atomic_int called;
static void count_call(void* context, const hr_status* status) {
  if (status == NULL) atomic_fetch_add((atomic_int*)context, 1);
}

/* Many in flight, waited for in reverse, each with a callback. */
static void rank_many_in_flight(hr_env* env) {
  enum { MANY = 200, MOST = 3000 };
  static int32_t data[MANY][MOST];
  hr_work* works[MANY];
  hr_group* world = join_world(env, "auto");
  const int size = hr_group_size(world);
  for (int i = 0; i < MANY; ++i) {
    for (int k = 0; k < MOST; ++k) data[i][k] = hr_group_rank(world) + i;
    CHECK(hr_all_reduce_start(world, data[i], data[i], (uint64_t)(i * 15), HR_INT32, HR_SUM,
                              &works[i]));
    CHECK(hr_work_on_done(works[i], count_call, &called));
  }
  for (int i = MANY; i-- > 0;) {
    CHECK(hr_work_wait(works[i], NULL));
    EXPECT(hr_work_test(works[i]) == 1);
    if (i > 0) EXPECT(data[i][i * 15 - 1] == size * (size - 1) / 2 + size * i);
    EXPECT(data[i][i * 15] == hr_group_rank(world) + i);
    hr_work_release(works[i]);
  }
  CHECK(hr_barrier(world, NULL));
  const double give_up = seconds_now() + 10;
  while (atomic_load(&called) < MANY && seconds_now() < give_up) sleep_ms(1);
  EXPECT(atomic_load(&called) == MANY);
  hr_group_release(world);
}

static void release_work(void* context, const hr_status* status) {
  hr_work** work = context;
  EXPECT(status == NULL);
  hr_work_release(*work);
  atomic_fetch_add(&called, 1);
}

/* Nobody waits: the loop of a game or a server looks now and then, or not at all. */
static void rank_nobody_waits(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  static float data[1 << 18];
  hr_work *looked_at, *forgotten;
  CHECK(hr_all_reduce_start(world, data, data, 1 << 18, HR_FLOAT32, HR_SUM, &looked_at));
  const double give_up = seconds_now() + 10;
  while (!hr_work_test(looked_at)) EXPECT(seconds_now() < give_up);
  hr_work_release(looked_at);
  CHECK(hr_all_reduce_start(world, data, data, 1 << 18, HR_FLOAT32, HR_SUM, &forgotten));
  CHECK(hr_work_on_done(forgotten, release_work, &forgotten));
  while (atomic_load(&called) == 0 && seconds_now() < give_up) sleep_ms(1);
  EXPECT(atomic_load(&called) == 1);
  CHECK(hr_barrier(world, NULL));
  hr_group_release(world);
}

/* Small operations take no memory: works and what they need are used again. */
static void rank_allocates_nothing(hr_env* env) {
  hr_group* world = join_world(env, "shm");
  long heap = 0, host = 0;
  float x[4] = {0};
  for (int i = 0; i < 1200; ++i) {
    hr_work* work;
    if (i == 200) heap = heap_allocations(), host = host_allocations();
    CHECK(hr_all_reduce(world, x, x, 4, HR_FLOAT32, HR_SUM, NULL));
    CHECK(hr_all_reduce_start(world, x, x, 4, HR_FLOAT32, HR_SUM, &work));
    CHECK(hr_work_wait(work, NULL));
    hr_work_release(work);
  }
  EXPECT(host_allocations() == host);
  const long taken = heap_allocations() - heap;
  if (taken > 100) fprintf(stderr, "%ld allocations in 2000 operations\n", taken);
  EXPECT(taken <= 100); /* heartbeats take some */
  hr_group_release(world);
}

/* ---- Limits ---- */

static void* trigger_soon(void* cancel) {
  sleep_ms(30);
  hr_cancel_trigger(cancel);
  return NULL;
}

/* A receive that ends early leaves the group as it was. */
static void rank_receives_end_early(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int32_t other = 1 - hr_group_rank(world);
  hr_limits moment = within(0.02);
  hr_cancel* cancel;
  pthread_t thread;
  hr_work* work;
  int64_t x = 7, y = -1;
  FAILS(hr_recv(world, &y, 1, HR_INT64, other, 1, &moment), HR_DEADLINE_EXCEEDED, "deadline");
  CHECK(hr_cancel_create(&cancel));
  EXPECT(pthread_create(&thread, NULL, trigger_soon, cancel) == 0);
  hr_limits cancelled = {.struct_size = sizeof cancelled, .cancel = cancel};
  FAILS(hr_recv(world, &y, 1, HR_INT64, other, 1, &cancelled), HR_CANCELLED, "cancelled");
  pthread_join(thread, NULL);
  hr_cancel_release(cancel);
  CHECK(hr_recv_start(world, &y, 1, HR_INT64, other, 1, &work));
  FAILS(hr_work_wait(work, &moment), HR_DEADLINE_EXCEEDED, "deadline"); /* the wait alone */
  CHECK(hr_work_cancel(work));
  FAILS(hr_work_wait(work, NULL), HR_CANCELLED, "recv(int64[1] from");
  CHECK(hr_work_cancel(work)); /* nothing more to end */
  hr_work_release(work);

  CHECK(hr_recv_start(world, &y, 1, HR_INT64, other, 1, &work));
  FAILS(hr_work_wait(work, &moment), HR_DEADLINE_EXCEEDED, "deadline");
  CHECK(hr_barrier(world, NULL));
  CHECK(hr_send(world, &x, 1, HR_INT64, other, 1, NULL));
  CHECK(hr_work_wait(work, NULL)); /* it can be waited for again */
  EXPECT(y == 7);
  hr_work_release(work);
  CHECK(hr_barrier(world, NULL));
  CHECK(hr_group_status(world));
  hr_group_release(world);
}

/* ---- Sub-groups ---- */

static void* sum_often(void* group) {
  for (int i = 0; i < 200; ++i) {
    int32_t x = 1;
    CHECK(hr_all_reduce(group, &x, &x, 1, HR_INT32, HR_SUM, NULL));
    EXPECT(x == hr_group_size(group));
  }
  return NULL;
}

static void rank_splits(hr_env* env) {
  hr_group *world = join_world(env, "auto"), *half, *none, *quarter;
  const int32_t rank = hr_group_rank(world);
  pthread_t thread;
  CHECK(hr_group_split(world, rank % 2, -rank, NULL, &half)); /* in reverse order */
  EXPECT(hr_group_size(half) == 2 && hr_group_rank(half) == (rank < 2 ? 1 : 0));
  EXPECT(pthread_create(&thread, NULL, sum_often, half) == 0);
  sum_often(world);
  pthread_join(thread, NULL);
  CHECK(hr_group_split(world, rank == 3 ? -1 : 5, 0, NULL, &none));
  EXPECT((none == NULL) == (rank == 3));
  if (none != NULL) sum_often(none);
  CHECK(hr_group_split(half, hr_group_rank(half), 0, NULL, &quarter));
  EXPECT(hr_group_size(quarter) == 1);
  sum_often(quarter);
  hr_group_release(world); /* the others still live on its connections */
  sum_often(half);
  hr_group_release(quarter);
  hr_group_release(none);
  CHECK(hr_barrier(half, NULL));
  hr_group_release(half);
}

/* ---- Introspection ---- */

static void expect_text(hr_text* text, const char* part) {
  if (strstr(hr_text_data(text), part) == NULL) {
    fprintf(stderr, "no '%s' in %s\n", part, hr_text_data(text));
    exit(1);
  }
}

static void rank_describes(hr_env* env) {
  hr_group_options options = {.struct_size = sizeof options,
                              .name = "workers",
                              .transport = "shm",
                              .algorithms = "all_reduce=ring",
                              .calibration = "/dev/null"};
  hr_group* group;
  hr_text* text;
  float x[3] = {0};
  CHECK(hr_group_create(env, &options, NULL, &group));
  CHECK(hr_all_reduce(group, x, x, 3, HR_FLOAT32, HR_MAX, NULL));
  CHECK(hr_group_describe(group, &text));
  expect_text(text, "\"name\":\"workers\"");
  expect_text(text, "\"size\":2");
  expect_text(text, "\"transport\":\"shm\"");
  expect_text(text,
              "\"all_reduce\":{\"known\":[\"recursive_doubling\",\"ring\",\"rabenseifner\","
              "\"hierarchical\",\"shared\"],\"pinned\":\"ring\"}");
  expect_text(text, "\"latency_seconds\"");
  /* A file that is no calibration is not used, and that is said. */
  expect_text(text, "\"source\":\"default\"");
  expect_text(text, "the calibration '/dev/null' is not used: ");
  hr_text_release(text);
  hr_operation operation = {.struct_size = sizeof operation,
                            .kind = HR_OPERATION_ALL_REDUCE,
                            .dtype = HR_FLOAT32,
                            .count = 3};
  CHECK(hr_group_explain(group, &operation, &text));
  expect_text(text, "\"algorithm\":\"ring\",\"pinned\":true");
  expect_text(text, "{\"algorithm\":\"recursive_doubling\",\"seconds\":");
  hr_text_release(text);
  CHECK(hr_group_dump(group, &text));
  expect_text(text, "\"operation\":\"all_reduce(max, float32[3])\"");
  expect_text(text, "\"state\":\"done\"");
  hr_text_release(text);
  CHECK(hr_barrier(group, NULL));
  hr_group_release(group);
}

/* ---- Wrong use ---- */

static hr_group* join_alone(hr_env* env) {
  hr_group_options options = {.struct_size = sizeof options, .size = 1};
  hr_group* group;
  CHECK(hr_group_create(env, &options, NULL, &group));
  return group;
}

static void test_wrong_options(hr_env* env) {
  hr_group_options options = {.struct_size = sizeof options, .size = 1};
  hr_group* group;
  hr_store* store;
  FAILS(hr_group_create(NULL, NULL, NULL, &group), HR_INVALID_ARGUMENT, "'env'");
  FAILS(hr_group_create(env, &options, NULL, NULL), HR_INVALID_ARGUMENT, "'out'");
  options.struct_size = 0;
  FAILS(hr_group_create(env, &options, NULL, &group), HR_INVALID_ARGUMENT, "struct_size");
  options.struct_size = sizeof options;
  options.rank = 1;
  FAILS(hr_group_create(env, &options, NULL, &group), HR_INVALID_ARGUMENT, "got rank 1 of 1");
  options.rank = 0;
  options.transport = "shm,pigeon";
  FAILS(hr_group_create(env, &options, NULL, &group), HR_NOT_FOUND, "no transport 'pigeon'");
  options.transport = NULL;
  options.algorithms = "all_reduce";
  FAILS(hr_group_create(env, &options, NULL, &group), HR_INVALID_ARGUMENT, "OPERATION=ALGORITHM");
  options.algorithms = "all_reduce=magic";
  FAILS(hr_group_create(env, &options, NULL, &group), HR_INVALID_ARGUMENT, "it has: ");
  options.algorithms = NULL;
  options.timeout_nanos = -5;
  FAILS(hr_group_create(env, &options, NULL, &group), HR_INVALID_ARGUMENT, "timeout -5");
  options.timeout_nanos = 0;
  options.address = "10.0.0.256";
  options.transport = "tcp";
  FAILS(hr_group_create(env, &options, NULL, &group), HR_INVALID_ARGUMENT, "'10.0.0.256'");
  options.address = "0.0.0.0";
  FAILS(hr_group_create(env, &options, NULL, &group), HR_FAILED_PRECONDITION, "trusted_fabric");
  options = (hr_group_options){.struct_size = sizeof options, .size = 2};
  FAILS(hr_group_create(env, &options, NULL, &group), HR_INVALID_ARGUMENT, "HEADRACE_STORE");
  FAILS(hr_store_open(env, "ftp:x", &store), HR_INVALID_ARGUMENT, "got 'ftp:x'");
  FAILS(hr_store_open(env, "/tmp/x", &store), HR_INVALID_ARGUMENT, "KIND:PLACE");
  FAILS(hr_store_open(env, "file:/proc/no/such", &store), HR_NOT_FOUND, "/proc/no");
  hr_store_callbacks empty = {.struct_size = sizeof empty};
  FAILS(hr_store_from_callbacks(&empty, &store), HR_INVALID_ARGUMENT, "NULL");
}

/* What must be given, missing. */
static void test_missing(hr_env* env) {
  hr_group* group = join_alone(env);
  hr_text* text;
  hr_launch* launch;
  hr_store* store;
  FAILS(hr_launch_from_environment(NULL), HR_INVALID_ARGUMENT, "'out'");
  FAILS(hr_launch_describe(NULL, &text), HR_INVALID_ARGUMENT, "'launch'");
  FAILS(hr_store_open(NULL, "memory:", &store), HR_INVALID_ARGUMENT, "'env'");
  FAILS(hr_store_open(env, NULL, &store), HR_INVALID_ARGUMENT, "'url'");
  FAILS(hr_store_open(env, "memory:", NULL), HR_INVALID_ARGUMENT, "'out'");
  FAILS(hr_store_from_callbacks(NULL, &store), HR_INVALID_ARGUMENT, "'callbacks'");
  FAILS(hr_group_status(NULL), HR_INVALID_ARGUMENT, "'group'");
  FAILS(hr_group_describe(group, NULL), HR_INVALID_ARGUMENT, "'out'");
  FAILS(hr_group_dump(NULL, &text), HR_INVALID_ARGUMENT, "'group'");
  FAILS(hr_group_explain(group, NULL, &text), HR_INVALID_ARGUMENT, "'operation'");
  hr_operation unknown = {.struct_size = sizeof unknown, .kind = (hr_operation_kind)99};
  FAILS(hr_group_explain(group, &unknown, &text), HR_INVALID_ARGUMENT, "99");
  FAILS(hr_group_split(NULL, 0, 0, NULL, &group), HR_INVALID_ARGUMENT, "'group'");
  FAILS(hr_group_abort(group, NULL), HR_INVALID_ARGUMENT, "'cause'");
  FAILS(hr_work_cancel(NULL), HR_INVALID_ARGUMENT, "'work'");
  hr_group_release(group);
  CHECK(hr_launch_from_environment(&launch));
  CHECK(hr_launch_describe(launch, &text));
  EXPECT(strstr(hr_text_data(text), "\"size\":1") != NULL);
  EXPECT(hr_launch_min_ranks(launch) == 0 && hr_launch_max_ranks(launch) == 0);
  hr_text_release(text);
  hr_launch_release(launch);
}

static void test_wrong_calls(hr_env* env) {
  hr_group* group = join_alone(env);
  hr_work* work;
  float x[8] = {0};
  hr_limits bad = {.timeout_nanos = 1};
  FAILS(hr_all_reduce(NULL, x, x, 4, HR_FLOAT32, HR_SUM, NULL), HR_INVALID_ARGUMENT, "'group'");
  FAILS(hr_all_reduce_start(group, x, x, 4, HR_FLOAT32, HR_SUM, NULL), HR_INVALID_ARGUMENT,
        "'out'");
  FAILS(hr_all_reduce(group, NULL, x, 4, HR_FLOAT32, HR_SUM, NULL), HR_INVALID_ARGUMENT,
        "all_reduce(sum, float32[4]): expected an input buffer");
  FAILS(hr_all_reduce(group, x, NULL, 4, HR_FLOAT32, HR_SUM, NULL), HR_INVALID_ARGUMENT,
        "output buffer");
  FAILS(hr_all_reduce(group, x, x + 1, 4, HR_FLOAT32, HR_SUM, NULL), HR_INVALID_ARGUMENT,
        "overlap");
  FAILS(hr_all_reduce(group, x, x, 4, HR_BOOL, HR_SUM, NULL), HR_INVALID_ARGUMENT, "bool");
  FAILS(hr_all_reduce(group, x, x, 4, (hr_dtype)99, HR_SUM, NULL), HR_INVALID_ARGUMENT, "dtype");
  FAILS(hr_all_reduce(group, x, x, 4, HR_FLOAT32, (hr_reduce_op)9, NULL), HR_INVALID_ARGUMENT,
        "code 9");
  FAILS(hr_all_reduce(group, x, x, UINT64_MAX / 2, HR_FLOAT32, HR_SUM, NULL), HR_INVALID_ARGUMENT,
        "beyond what memory can hold");
  FAILS(hr_all_reduce(group, x, x, 4, HR_FLOAT32, HR_SUM, &bad), HR_INVALID_ARGUMENT,
        "struct_size");
  FAILS(hr_broadcast(group, x, x, 4, HR_FLOAT32, 1, NULL), HR_INVALID_ARGUMENT,
        "expected a rank from 0 to 0, got 1");
  FAILS(hr_send(group, x, 4, HR_FLOAT32, 0, 0, NULL), HR_INVALID_ARGUMENT, "itself");
  hr_operation operation = {.struct_size = sizeof operation, .kind = (hr_operation_kind)77};
  FAILS(hr_group_start(group, &operation, &work), HR_INVALID_ARGUMENT, "code 77");
  operation.struct_size = 1;
  FAILS(hr_group_start(group, &operation, &work), HR_INVALID_ARGUMENT, "hr_operation");
  FAILS(hr_group_start(group, NULL, &work), HR_INVALID_ARGUMENT, "'operation'");
  FAILS(hr_work_wait(NULL, NULL), HR_INVALID_ARGUMENT, "'work'");
  CHECK(hr_all_reduce_start(group, x, x, 4, HR_FLOAT32, HR_SUM, &work));
  FAILS(hr_work_on_done(work, NULL, NULL), HR_INVALID_ARGUMENT, "'callback'");
  CHECK(hr_work_wait(work, NULL));
  hr_group_close(group);
  hr_group_close(group);
  FAILS(hr_barrier(group, NULL), HR_FAILED_PRECONDITION, "closed");
  hr_group_release(group);
  hr_work_release(work); /* after its group and with what it needs */
  EXPECT(hr_group_rank(NULL) == -1 && hr_group_size(NULL) == 0 && hr_group_epoch(NULL) == 0);
  EXPECT(hr_launch_rank(NULL) == -1 && hr_launch_size(NULL) == 0 && hr_launch_epoch(NULL) == 0);
  EXPECT(hr_launch_min_ranks(NULL) == 0 && hr_launch_max_ranks(NULL) == 0);
  EXPECT(hr_launch_local_rank(NULL) == -1 && hr_launch_local_size(NULL) == 0);
  EXPECT(hr_launch_store(NULL)[0] == '\0' && hr_work_test(NULL) == 1);
  hr_group_close(NULL);
  hr_group_release(NULL);
  hr_work_release(NULL);
  hr_store_release(NULL);
  hr_launch_release(NULL);
}

static atomic_int turned_down;
static void* post_until_turned_down(void* group) {
  for (int i = 0; i < 2000000 && atomic_load(&turned_down) == 0; ++i) {
    hr_status* status = hr_barrier(group, NULL);
    if (status == NULL) continue;
    FAILS(status, HR_FAILED_PRECONDITION, "another thread is posting to this group");
    atomic_store(&turned_down, 1);
  }
  return NULL;
}

static void test_two_threads_post(hr_env* env) {
  hr_group* group = join_alone(env);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, post_until_turned_down, group) == 0);
  post_until_turned_down(group);
  pthread_join(thread, NULL);
  EXPECT(atomic_load(&turned_down) == 1);
  hr_group_release(group);
}

/* ---- A store of the host's ---- */

enum { ENTRIES = 64 };
typedef struct host_store {
  pthread_mutex_t mutex;
  struct {
    char key[128], value[256];
    size_t size;
    int used;
  } entry[ENTRIES];
} host_store;

/* A rank's way to it. */
typedef struct host_way {
  host_store* store;
  atomic_int gone; /* told by the rank, seen by all threads */
  int released;
} host_way;

static int find_entry(const host_store* store, const char* key) {
  for (int i = 0; i < ENTRIES; ++i) {
    if (store->entry[i].used && strcmp(store->entry[i].key, key) == 0) return i;
  }
  return -1;
}

static hr_status* host_failure(const host_way* way) {
  return way->gone ? hr_status_create(HR_PERMISSION_DENIED, "the vault is locked") : NULL;
}

static hr_status* host_get(void* context, const char* key, char* value, size_t capacity,
                           int64_t* out_size) {
  host_way* way = context;
  host_store* store = way->store;
  pthread_mutex_lock(&store->mutex);
  const int at = find_entry(store, key);
  *out_size = -1;
  if (at >= 0) {
    const size_t size = store->entry[at].size;
    *out_size = (int64_t)size;
    memcpy(value, store->entry[at].value, size < capacity ? size : capacity);
  }
  hr_status* failure = host_failure(way);
  pthread_mutex_unlock(&store->mutex);
  return failure;
}

static hr_status* host_swap(void* context, const char* key, const char* expected,
                            size_t expected_size, const char* desired, size_t desired_size,
                            int32_t* out_swapped) {
  host_way* way = context;
  host_store* store = way->store;
  pthread_mutex_lock(&store->mutex);
  hr_status* failure = host_failure(way);
  int at = find_entry(store, key);
  const int matches = expected == NULL
                          ? at < 0
                          : at >= 0 && store->entry[at].size == expected_size &&
                                memcmp(store->entry[at].value, expected, expected_size) == 0;
  *out_swapped = failure == NULL && matches;
  if (*out_swapped) {
    for (int i = 0; at < 0; ++i) at = store->entry[i].used ? -1 : i;
    EXPECT(strlen(key) < sizeof store->entry[at].key && desired_size < 256);
    strcpy(store->entry[at].key, key);
    memcpy(store->entry[at].value, desired, desired_size);
    store->entry[at].size = desired_size;
    store->entry[at].used = 1;
  }
  pthread_mutex_unlock(&store->mutex);
  return failure;
}

static hr_status* host_remove(void* context, const char* key) {
  host_way* way = context;
  host_store* store = way->store;
  pthread_mutex_lock(&store->mutex);
  const int at = find_entry(store, key);
  if (at >= 0) store->entry[at].used = 0;
  pthread_mutex_unlock(&store->mutex);
  return host_failure(way);
}

static void host_release(void* context) { ++((host_way*)context)->released; }

enum { MEMBERS = 3 };
typedef struct member {
  hr_env* env;
  host_way way;
  int rank, loses_store;
  const char* aborts; /* NULL: it does not */
  int fails;
  char cause[1024];
} member;

static hr_store* open_host_store(member* self) {
  const hr_store_callbacks callbacks = {sizeof callbacks, &self->way,  host_get,
                                        host_swap,        host_remove, host_release};
  hr_store* store;
  CHECK(hr_store_from_callbacks(&callbacks, &store));
  return store;
}

static void* run_member(void* context) {
  member* self = context;
  hr_store* store = open_host_store(self);
  hr_group_options options = {.struct_size = sizeof options,
                              .rank = self->rank,
                              .size = MEMBERS,
                              .store = store,
                              .transport = "inproc"};
  hr_group* group;
  int32_t x = 1;
  CHECK(hr_group_create(self->env, &options, NULL, &group));
  CHECK(hr_all_reduce(group, &x, &x, 1, HR_INT32, HR_SUM, NULL));
  EXPECT(x == MEMBERS);
  self->way.gone = self->loses_store;
  hr_status* status = hr_barrier(group, NULL); /* all have lost it; one may have aborted since */
  if (status == NULL && self->aborts != NULL) CHECK(hr_group_abort(group, self->aborts));
  while (self->fails && status == NULL) status = hr_barrier(group, NULL);
  if (!self->fails) CHECK(status);
  if (self->fails) failure_text(status, self->cause, sizeof self->cause);
  hr_store_release(store);
  EXPECT(self->way.released == 0);
  hr_group_release(group);
  EXPECT(self->way.released == 1);
  return NULL;
}

/* Each member as given, in a thread; where they fail, all say the same, and begin with `cause`. */
static void run_members(hr_env* env, member* members, const char* cause) {
  static host_store host;
  pthread_t threads[MEMBERS];
  host = (host_store){.mutex = PTHREAD_MUTEX_INITIALIZER};
  for (int rank = 0; rank < MEMBERS; ++rank) {
    members[rank].env = env;
    members[rank].way.store = &host;
    members[rank].rank = rank;
    members[rank].fails = cause != NULL;
    EXPECT(pthread_create(&threads[rank], NULL, run_member, &members[rank]) == 0);
  }
  for (int rank = 0; rank < MEMBERS; ++rank) pthread_join(threads[rank], NULL);
  for (int rank = 0; cause != NULL && rank < MEMBERS; ++rank) {
    EXPECT(strncmp(members[rank].cause, cause, strlen(cause)) == 0);
    if (strcmp(members[rank].cause, members[0].cause) != 0)
      fprintf(stderr, "%d: %s\n0: %s\n", rank, members[rank].cause, members[0].cause);
    EXPECT(strcmp(members[rank].cause, members[0].cause) == 0);
  }
}

static void test_host_store(hr_env* env) {
  member members[MEMBERS] = {{0}};
  run_members(env, members, NULL);
}

/* Two accuse, and nobody decides. */
static void test_arbiter_lost(hr_env* env) {
  member members[MEMBERS] = {{.loses_store = 1},
                             {.loses_store = 1, .aborts = "this"},
                             {.loses_store = 1, .aborts = "that"}};
  run_members(env, members, "ARBITER_LOST: group 'world', epoch 0, ended because of rank ");
  EXPECT(strstr(members[0].cause, "store of the host program") != NULL);
  EXPECT(strstr(members[0].cause, "the vault is locked") != NULL);
}

/* A group that cannot meet says what the host has said. */
static void test_host_store_fails(hr_env* env) {
  static host_store host = {.mutex = PTHREAD_MUTEX_INITIALIZER};
  member alone = {.env = env, .way = {.store = &host, .gone = 1}};
  hr_store* store = open_host_store(&alone);
  const hr_group_options options = {
      .struct_size = sizeof options, .size = 2, .store = store, .transport = "inproc"};
  hr_group* group;
  FAILS(hr_group_create(env, &options, NULL, &group), HR_PERMISSION_DENIED,
        "': the vault is locked");
  hr_store_release(store);
  EXPECT(alone.way.released == 1);
}

/* The others ask the arbiter in its place. */
static void test_arbiter_lost_by_one(hr_env* env) {
  member members[MEMBERS] = {{0}, {.loses_store = 1, .aborts = "this"}, {0}};
  run_members(env, members, "ABORTED: group 'world', epoch 0, ended because of rank 1: this");
}

PROCESSES(many_in_flight, 3, "")
PROCESSES(nobody_waits, 2, "")
PROCESSES(allocates_nothing, 2, "")
PROCESSES(receives_end_early, 2, "")
PROCESSES(splits, 4, "")
PROCESSES(describes, 2, "")

const test tests[] = {TEST(many_in_flight),
                      TEST(nobody_waits),
                      TEST(allocates_nothing),
                      TEST(receives_end_early),
                      TEST(splits),
                      TEST(describes),
                      TEST(wrong_options),
                      TEST(missing),
                      TEST(wrong_calls),
                      TEST(two_threads_post),
                      TEST(host_store),
                      TEST(host_store_fails),
                      TEST(arbiter_lost),
                      TEST(arbiter_lost_by_one),
                      RANK(many_in_flight),
                      RANK(nobody_waits),
                      RANK(allocates_nothing),
                      RANK(receives_end_early),
                      RANK(splits),
                      RANK(describes),
                      {NULL, NULL}};
