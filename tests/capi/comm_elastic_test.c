/* Groups that lose ranks and go on without them, and to which new ranks come. */
#include <signal.h>
#include <time.h>

#include "comm_support.h"

static const hr_group_options usual = {
    .struct_size = sizeof usual, .timeout_nanos = 60000000000, .silence_nanos = 2000000000};

/* How many ranks say 1. */
static int32_t count_ranks(hr_group* group) {
  int32_t x = 1;
  CHECK(hr_all_reduce(group, &x, &x, 1, HR_INT32, HR_SUM, NULL));
  return x;
}

/* Reduces large arrays until the group ends. */
static hr_status* reduce_for_ever(hr_group* group) {
  static float data[1 << 20];
  hr_status* status = NULL;
  while (status == NULL) {
    status = hr_all_reduce(group, data, data, 1 << 20, HR_FLOAT32, HR_SUM, NULL);
  }
  return status;
}

/* The new ranks are in the order of the old ones. */
static void expect_old_order(hr_group* group, int32_t old_rank) {
  int32_t ranks[MOST_RANKS];
  CHECK(hr_all_gather(group, &old_rank, ranks, 1, HR_INT32, NULL));
  for (int i = 1; i < hr_group_size(group); ++i) EXPECT(ranks[i - 1] < ranks[i]);
}

/* argument: "TRANSPORT STORE", STORE "-" for the folder's. */
static hr_group* create_world(hr_env* env, hr_group_options options) {
  static char transport[16], store[128];
  hr_group* world;
  EXPECT(sscanf(rank_argument(), "%15s %127s", transport, store) == 2);
  options.transport = transport;
  if (strcmp(store, "-") != 0) options.store_url = store;
  CHECK(hr_group_create(env, &options, NULL, &world));
  return world;
}

static void rank_loses_one(hr_env* env) {
  hr_limits limits = within(30);
  hr_group_options options = usual;
  hr_group *next, *full;
  options.algorithms = "all_reduce=ring";
  hr_group* world = create_world(env, options);
  EXPECT(count_ranks(world) == 4);
  FAILS(hr_group_shrink(world, NULL, &next), HR_FAILED_PRECONDITION, "has not ended");
  leave_note("ready", "");
  hr_status_release(reduce_for_ever(world));
  hr_status* status = hr_group_shrink(world, &limits, &next);
  if (status != NULL) { /* it was frozen for so long that the others went on */
    char text[1024];
    failure_text(status, text, sizeof text);
    leave_note("left", text);
    hr_group_release(world);
    return;
  }
  EXPECT(hr_group_size(next) == 3 && hr_group_epoch(next) == 1);
  EXPECT(count_ranks(next) == 3);
  expect_old_order(next, hr_group_rank(world));
  hr_group_release(world);
  CHECK(hr_group_grow(next, 4, &limits, &full));
  hr_group_release(next);
  EXPECT(hr_group_size(full) == 4 && hr_group_epoch(full) == 2);
  EXPECT(count_ranks(full) == 4);
  hr_group_release(full);
}

static void rank_joins(hr_env* env) {
  hr_limits limits = within(60);
  char transport[16], store[128];
  hr_group_options options = usual;
  hr_group* world;
  EXPECT(sscanf(rank_argument(), "%15s %127s", transport, store) == 2);
  options.transport = transport;
  options.algorithms = "all_reduce=ring";
  if (strcmp(store, "-") != 0) options.store_url = store;
  CHECK(hr_group_join(env, &options, &limits, &world));
  EXPECT(hr_group_rank(world) == 3 && hr_group_size(world) == 4);
  EXPECT(count_ranks(world) == 4);
  hr_group_release(world);
}

static void await_ready(const ranks* all, int size) {
  char name[32];
  for (int rank = 0; rank < size; ++rank) {
    snprintf(name, sizeof name, "ready.%d", rank);
    await_note(all, name, 20);
  }
}

static void lose_one(const char* transport, const char* store, int victim, int signal) {
  char argument[160], name[32], text[1024];
  ranks all;
  snprintf(argument, sizeof argument, "%s %s", transport, store);
  start_ranks(&all, 4, "rank loses_one", argument);
  await_ready(&all, 4);
  sleep_ms(20);
  EXPECT(kill(all.pids[victim], signal) == 0);
  start_another(&all, "rank joins", argument);
  for (int rank = 0; rank < 5; ++rank) {
    if (rank == victim) continue;
    const int code = await_rank(&all, rank, 20);
    if (code != 0) fprintf(stderr, "%s, victim %d: rank %d: %d\n", argument, victim, rank, code);
    EXPECT(code == 0);
  }
  if (signal == SIGSTOP) {
    EXPECT(kill(all.pids[victim], SIGCONT) == 0);
    EXPECT(await_rank(&all, victim, 20) == 0);
    snprintf(name, sizeof name, "left.%d", victim);
    EXPECT(read_note(&all, name, text, sizeof text) != NULL);
    if (strstr(text, "FAILED_PRECONDITION") == NULL || strstr(text, "hr_group_join") == NULL) {
      fprintf(stderr, "%s\n", text);
      exit(1);
    }
  }
  end_ranks(&all);
}

static void test_killed_in_a_ring(hr_env* env) {
  (void)env;
  lose_one("auto", "-", 0, SIGKILL);
  lose_one("auto", "-", 2, SIGKILL);
  lose_one("tcp", "-", 0, SIGKILL);
}

static void test_frozen_in_a_ring(hr_env* env) {
  (void)env;
  lose_one("auto", "-", 0, SIGSTOP);
  lose_one("tcp", "-", 2, SIGSTOP);
}

static void test_with_a_store_at_an_address(hr_env* env) {
  char url[64];
  hr_store* store = keep_store(env, url, sizeof url);
  /* Rank 0 finds the address taken, and is a client as the others. */
  lose_one("auto", url, 0, SIGKILL);
  hr_store_release(store);
  store = keep_store(env, url, sizeof url);
  lose_one("tcp", url, 1, SIGSTOP);
  hr_store_release(store);
}

/* Rank 0 keeps the store, so nobody can decide once it is dead. */
static void rank_loses_the_store(hr_env* env) {
  hr_limits limits = within(30);
  hr_group* next;
  hr_group* world = create_world(env, usual);
  leave_note("ready", "");
  hr_status_release(reduce_for_ever(world));
  FAILS(hr_group_shrink(world, &limits, &next), HR_ARBITER_LOST, "start all ranks again");
  hr_group_release(world);
}

static void test_losing_the_store(hr_env* env) {
  char url[64], argument[96];
  ranks all;
  find_free_address(env, url, sizeof url);
  snprintf(argument, sizeof argument, "auto %s", url);
  start_ranks(&all, 3, "rank loses_the_store", argument);
  await_ready(&all, 3);
  EXPECT(kill(all.pids[0], SIGKILL) == 0);
  EXPECT(await_rank(&all, 1, 20) == 0);
  EXPECT(await_rank(&all, 2, 20) == 0);
  end_ranks(&all);
}

/* ---- Losing more ranks meanwhile ---- */

/* This process is killed by its own timer. */
static void die_after(int milliseconds) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  struct itimerspec time = {.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000000L + 1}};
  timer_t timer;
  EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  EXPECT(timer_settime(timer, 0, &time, NULL) == 0);
}

/* Rank 3 is killed by the test, rank 1 dies so many milliseconds after that. */
static void rank_loses_two(hr_env* env) {
  hr_limits limits = within(30);
  hr_group* world = create_world(env, usual);
  const int32_t rank = hr_group_rank(world);
  leave_note("ready", "");
  hr_status_release(reduce_for_ever(world));
  if (rank == 1) die_after(atoi(getenv("HEADRACE_TEST_DELAY")));
  for (;;) {
    hr_group* next;
    hr_status* status = NULL;
    CHECK(hr_group_shrink(world, &limits, &next));
    hr_group_release(world);
    world = next;
    while (status == NULL && hr_group_size(world) > 2) status = hr_barrier(world, NULL);
    hr_status_release(status);
    if (hr_group_size(world) == 2) break;
  }
  EXPECT(count_ranks(world) == 2);
  expect_old_order(world, rank);
  hr_group_release(world);
}

static void test_a_survivor_dies_while_they_shrink(hr_env* env) {
  const char* delays[] = {"0", "3", "10", "40"};
  (void)env;
  for (int i = 0; i < 4; ++i) {
    ranks all;
    setenv("HEADRACE_TEST_DELAY", delays[i], 1);
    start_ranks(&all, 4, "rank loses_two", i % 2 == 0 ? "auto -" : "tcp -");
    await_ready(&all, 4);
    EXPECT(kill(all.pids[3], SIGKILL) == 0);
    for (int rank = 0; rank < 3; rank += 2) {
      const int code = await_rank(&all, rank, 20);
      if (code != 0) fprintf(stderr, "delay %s: rank %d: %d\n", delays[i], rank, code);
      EXPECT(code == 0);
    }
    end_ranks(&all);
  }
}

/* A store that came back without what it held knows of no epoch, so nobody may decide by it. */
static void rank_finds_the_store_empty(hr_env* env) {
  hr_limits limits = within(30);
  char command[700];
  hr_group* next;
  hr_group* world = create_world(env, usual);
  const int32_t rank = hr_group_rank(world);
  CHECK(hr_barrier(world, NULL));
  if (rank == 2) CHECK(hr_group_abort(world, "that is it"));
  hr_status_release(reduce_for_ever(world));
  if (rank == 0) {
    snprintf(command, sizeof command, "rm -f '%s'/store/*", rank_folder());
    EXPECT(system(command) == 0);
    leave_note("emptied", "");
  }
  const ranks all = {.folder = (char*)rank_folder()};
  await_note(&all, "emptied.0", 20);
  if (rank < 2) {
    FAILS(hr_group_shrink(world, &limits, &next), HR_ARBITER_LOST, "the store was emptied");
  }
  hr_group_release(world);
}
PROCESSES(finds_the_store_empty, 3, "auto -")

/* ---- Those who come die ---- */

static void rank_comes_and_dies(hr_env* env) {
  hr_group* world;
  die_after(atoi(getenv("HEADRACE_TEST_DELAY")));
  hr_status_release(hr_group_join(env, &usual, NULL, &world));
  for (;;) sleep_ms(1000);
}

/* Whatever has become of the one that came, those who were there go on. */
static void rank_is_joined_by_one_that_dies(hr_env* env) {
  hr_limits limits = within(4);
  hr_group* next;
  hr_group* world = create_world(env, usual);
  CHECK(hr_barrier(world, NULL));
  leave_note("ready", "");
  hr_status* status = hr_group_grow(world, 4, &limits, &next);
  if (status == NULL) {
    hr_group_release(world);
    world = next;
  } else {
    char text[1024];
    const int is_late = hr_status_code(status) == HR_DEADLINE_EXCEEDED;
    failure_text(status, text, sizeof text);
    if (!is_late) fprintf(stderr, "rank %d: %s\n", hr_group_rank(world), text);
    EXPECT(is_late);
  }
  limits = within(30);
  while (hr_group_size(world) == 4) {
    hr_status_release(reduce_for_ever(world));
    CHECK(hr_group_shrink(world, &limits, &next));
    hr_group_release(world);
    world = next;
  }
  EXPECT(count_ranks(world) == 3);
  hr_group_release(world);
}

static void test_one_that_comes_dies(hr_env* env) {
  const char* delays[] = {"5", "15", "25", "40", "80", "300"};
  (void)env;
  for (int i = 0; i < 6; ++i) {
    ranks all;
    setenv("HEADRACE_TEST_DELAY", delays[i], 1);
    start_ranks(&all, 3, "rank is_joined_by_one_that_dies", "auto -");
    await_ready(&all, 3);
    start_another(&all, "rank comes_and_dies", "auto -");
    for (int rank = 0; rank < 3; ++rank) {
      const int code = await_rank(&all, rank, 30);
      if (code != 0) fprintf(stderr, "delay %s: rank %d: %d\n", delays[i], rank, code);
      EXPECT(code == 0);
    }
    end_ranks(&all);
  }
}

/* ---- Limits ---- */

static void rank_waits_in_vain(hr_env* env) {
  hr_limits limits = within(0.5);
  hr_group* next;
  hr_group* world = create_world(env, usual);
  hr_cancel* cancel;
  FAILS(hr_group_grow(world, 2, &limits, &next), HR_INVALID_ARGUMENT, "above 2");
  FAILS(hr_group_grow(world, 3, &limits, &next), HR_DEADLINE_EXCEEDED, "new ranks to join");
  CHECK(hr_cancel_create(&cancel));
  hr_cancel_trigger(cancel);
  limits.cancel = cancel;
  FAILS(hr_group_grow(world, 3, &limits, &next), HR_CANCELLED, "new ranks to join");
  hr_cancel_release(cancel);
  EXPECT(count_ranks(world) == 2); /* it is as before */
  hr_group_release(world);
}
PROCESSES(waits_in_vain, 2, "auto -")

static void test_nobody_to_join(hr_env* env) {
  hr_limits limits = within(0.2);
  hr_group_options options = usual;
  hr_group* group;
  FAILS(hr_group_join(env, NULL, &limits, &group), HR_INVALID_ARGUMENT, "HEADRACE_STORE");
  CHECK(hr_store_open(env, "memory:", &options.store));
  FAILS(hr_group_join(env, &options, &limits, &group), HR_DEADLINE_EXCEEDED, "to grow");
  FAILS(hr_group_join(NULL, &options, &limits, &group), HR_INVALID_ARGUMENT, "'env'");
  FAILS(hr_group_shrink(NULL, &limits, &group), HR_INVALID_ARGUMENT, "'group'");
  FAILS(hr_group_grow(NULL, 2, &limits, &group), HR_INVALID_ARGUMENT, "'group'");
  hr_store_release(options.store);
}

/* Rank 1 comes too late at first; both try again with the same options. */
static void rank_tries_again(hr_env* env) {
  hr_limits limits = within(1);
  hr_group_options options = usual;
  hr_group* world;
  const int late = getenv("HEADRACE_RANK")[0] == '1';
  if (late) sleep_ms(1500);
  if (!late) {
    FAILS(hr_group_create(env, &options, &limits, &world), HR_DEADLINE_EXCEEDED, "rank 1");
  }
  limits = within(20);
  CHECK(hr_group_create(env, &options, &limits, &world));
  EXPECT(count_ranks(world) == 2 && hr_group_epoch(world) == 0);
  hr_group_release(world);
}
PROCESSES(tries_again, 2, "")

/* Rank 1 was not there when rank 0 gave up: it learns that, instead of waiting in vain. */
static void rank_comes_too_late(hr_env* env) {
  hr_group* world;
  const int late = getenv("HEADRACE_RANK")[0] == '1';
  if (late) sleep_ms(1500);
  const double begin = seconds_now();
  hr_limits limits = within(late ? 20 : 0.5);
  FAILS(hr_group_create(env, &usual, &limits, &world), HR_DEADLINE_EXCEEDED,
        "rank 0 of group 'world' waits for rank 1");
  EXPECT(seconds_now() - begin < 3);
}
PROCESSES(comes_too_late, 2, "")

/* Rank 1 leaves and comes again: it is none of the group any more, and accuses nobody. */
static void rank_comes_again(hr_env* env) {
  hr_limits limits = within(20);
  hr_group *world, *again;
  const ranks all = {.folder = (char*)rank_folder()};
  CHECK(hr_group_create(env, &usual, &limits, &world));
  CHECK(hr_barrier(world, NULL));
  if (hr_group_rank(world) == 1) {
    hr_group_release(world);
    FAILS(hr_group_create(env, &usual, &limits, &again), HR_ALREADY_EXISTS, "hr_group_join");
    leave_note("refused", "");
    return;
  }
  await_note(&all, "refused.1", 20);
  CHECK(hr_group_abort(world, "a cause of its own"));
  FAILS(hr_barrier(world, NULL), HR_ABORTED, "a cause of its own");
  hr_group_release(world);
}
PROCESSES(comes_again, 2, "")

/* ---- Many rounds ---- */

/* In each round rank 0 ends the group, the others go on without it, and it joins them again. */
static void rank_comes_and_goes(hr_env* env) {
  enum { WARM = 11, ROUNDS = 50 }; /* ranks have the same part every third round */
  hr_limits limits = within(30);
  char store[600];
  long descriptors = 0, threads = 0;
  long kilobytes = 0;
  hr_group* world = create_world(env, usual);
  snprintf(store, sizeof store, "%s/store", rank_folder());
  for (int round = 0; round < ROUNDS; ++round) {
    const int leaves = hr_group_rank(world) == 0;
    hr_group *rest, *full;
    CHECK(hr_barrier(world, NULL));
    if (round == WARM) {
      descriptors = count_entries("/proc/self/fd");
      threads = count_entries("/proc/self/task");
      kilobytes = resident_kilobytes();
    }
    if (leaves) CHECK(hr_group_abort(world, "another round"));
    hr_status* status = NULL;
    while (status == NULL) status = hr_barrier(world, NULL);
    hr_status_release(status);
    if (leaves) {
      FAILS(hr_group_shrink(world, &limits, &rest), HR_FAILED_PRECONDITION, "hr_group_join");
      hr_group_options options = usual;
      options.transport = "auto";
      CHECK(hr_group_join(env, &options, &limits, &full));
    } else {
      CHECK(hr_group_shrink(world, &limits, &rest));
      CHECK(hr_group_grow(rest, 3, &limits, &full));
      hr_group_release(rest);
    }
    hr_group_release(world);
    world = full;
    EXPECT(count_ranks(world) == 3);
  }
  EXPECT(hr_group_epoch(world) == 2 * ROUNDS);
  CHECK(hr_barrier(world, NULL));
  EXPECT(count_entries("/proc/self/fd") == descriptors);
  EXPECT(count_entries("/proc/self/task") == threads);
  EXPECT(resident_kilobytes() < kilobytes + 1024);
  hr_group_release(world);
  EXPECT(count_entries(store) < 12);
}
PROCESSES(comes_and_goes, 3, "auto -")

static void rank_cannot_share(hr_env* env) {
  hr_group_options options = usual;
  hr_group* world;
  options.transport = "tcp";
  options.algorithms = "all_reduce=shared";
  FAILS(hr_group_create(env, &options, NULL, &world), HR_FAILED_PRECONDITION,
        "all_reduce=shared, because its ranks share no memory");
}
PROCESSES(cannot_share, 2, "")

const test tests[] = {TEST(killed_in_a_ring),
                      TEST(frozen_in_a_ring),
                      TEST(with_a_store_at_an_address),
                      TEST(losing_the_store),
                      TEST(a_survivor_dies_while_they_shrink),
                      TEST(finds_the_store_empty),
                      TEST(one_that_comes_dies),
                      TEST(waits_in_vain),
                      TEST(nobody_to_join),
                      TEST(tries_again),
                      TEST(comes_too_late),
                      TEST(comes_again),
                      TEST(comes_and_goes),
                      TEST(cannot_share),
                      RANK(loses_one),
                      RANK(joins),
                      RANK(loses_the_store),
                      RANK(loses_two),
                      RANK(finds_the_store_empty),
                      RANK(comes_and_dies),
                      RANK(is_joined_by_one_that_dies),
                      RANK(waits_in_vain),
                      RANK(tries_again),
                      RANK(comes_too_late),
                      RANK(comes_again),
                      RANK(comes_and_goes),
                      RANK(cannot_share),
                      {NULL, NULL}};
