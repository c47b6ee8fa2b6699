/* Ranks that are killed or frozen, give up, abort, or call something else: every rank gets the same
 * cause, which names the culprit, in time. */
#include <signal.h>

#include "comm_support.h"

enum { SILENCE_SECONDS = 2, CREATE_SECONDS = 5 };

/* What a rank ended with is left as the note "cause.RANK". */
static void leave_cause(hr_status* status) {
  char text[1024];
  failure_text(status, text, sizeof text);
  leave_note("cause", text);
}

/* argument: "TRANSPORT STATE", and a store's url where rank 0 is to keep one. The rank says that it
 * is in its state by the note "ready.RANK" and stays in it until the group ends. */
static hr_status* play(hr_group* world, const char* state) {
  static float data[1 << 21];
  const int32_t rank = hr_group_rank(world), size = hr_group_size(world);
  const uint64_t count = strcmp(state, "ring") == 0 ? 1 << 21 : 16;
  hr_status* status = hr_all_reduce(world, data, data, count, HR_FLOAT32, HR_SUM, NULL);
  leave_note("ready", "");
  if (strcmp(state, "receive") == 0) {
    return hr_recv(world, data, 16, HR_FLOAT32, (rank + 1) % size, 3, NULL);
  }
  if (strcmp(state, "send") == 0) { /* a large message that nobody takes */
    return hr_send(world, data, 1 << 21, HR_FLOAT32, (rank + 1) % size, 3, NULL);
  }
  while (status == NULL && strcmp(state, "rest") == 0) {
    sleep_ms(10);
    status = hr_group_status(world);
  }
  while (status == NULL) {
    status = hr_all_reduce(world, data, data, count, HR_FLOAT32, HR_SUM, NULL);
  }
  return status;
}

static void rank_in_state(hr_env* env) {
  char transport[16], state[16], url[64];
  const int words = sscanf(rank_argument(), "%15s %15s %63s", transport, state, url);
  EXPECT(words >= 2);
  hr_group* world = join_world_at(env, transport, words == 3 ? url : NULL);
  hr_status* status = play(world, state);
  FAILS(hr_barrier(world, NULL), hr_status_code(status), hr_status_message(status));
  leave_cause(status);
  hr_group_release(world);
}

/* Whether the text has these words; an asterisk stands for anything. */
static int has_words(const char* text, const char* words) {
  char piece[256];
  for (const char* end; words != NULL; words = end == NULL ? NULL : end + 1) {
    end = strchr(words, '*');
    const size_t size = end == NULL ? strlen(words) : (size_t)(end - words);
    snprintf(piece, sizeof piece, "%.*s", (int)size, words);
    text = strstr(text, piece);
    if (text == NULL) return 0;
    text += size;
  }
  return 1;
}

/* All ranks but the victim end with one cause, of this code and with these words. */
static void expect_one_cause(ranks* all, int victim, double seconds, const char* code,
                             const char* words) {
  const double give_up = seconds_now() + seconds;
  char name[32], first[1024] = "", text[1024];
  for (int rank = 0; rank < all->size; ++rank) {
    if (rank == victim) continue;
    const int exit_code = await_rank(all, rank, give_up - seconds_now());
    if (exit_code != 0) fprintf(stderr, "rank %d: %d\n", rank, exit_code);
    EXPECT(exit_code == 0);
    snprintf(name, sizeof name, "cause.%d", rank);
    EXPECT(read_note(all, name, text, sizeof text) != NULL);
    if (first[0] == '\0') strcpy(first, text);
    if (strcmp(first, text) != 0 || strncmp(text, code, strlen(code)) != 0 ||
        !has_words(text, words)) {
      fprintf(stderr, "rank %d: %s\nexpected %s with '%s'\nas in: %s\n", rank, text, code, words,
              first);
      exit(1);
    }
  }
}

/* The others end with one cause at once, or by the victim's silence, `seconds` later. */
static void strike_at(int victim, const char* argument, int signal, double seconds,
                      const char* code, const char* words) {
  ranks all;
  start_ranks(&all, 3, "rank in_state", argument);
  for (int rank = 0; rank < 3; ++rank) {
    char name[32];
    snprintf(name, sizeof name, "ready.%d", rank);
    await_note(&all, name, 20);
  }
  sleep_ms(20);
  EXPECT(kill(all.pids[victim], signal) == 0);
  const double silence = signal == SIGSTOP ? SILENCE_SECONDS * 1.25 : 0;
  expect_one_cause(&all, victim, silence + seconds, code, words);
  end_ranks(&all);
}

static void strike(const char* transport, const char* state, int signal) {
  char argument[64];
  snprintf(argument, sizeof argument, "%s %s", transport, state);
  strike_at(1, argument, signal, 1, "UNAVAILABLE", "because of rank 1");
}

/* Rank 0, which keeps the store: the arbiter is waited for, and then rank 0 while the group closes.
 */
static void strike_the_keeper(hr_env* env, const char* transport, const char* state, int signal) {
  char url[64], argument[128];
  find_free_address(env, url, sizeof url);
  snprintf(argument, sizeof argument, "%s %s %s", transport, state, url);
  strike_at(0, argument, signal, 1.5, "ARBITER_LOST", "because of rank 0*start all ranks again");
}

static void test_killed(hr_env* env) {
  const char* states[] = {"rest", "small", "ring", "receive", "send"};
  (void)env;
  for (int i = 0; i < 5; ++i) {
    strike("auto", states[i], SIGKILL);
    strike("tcp", states[i], SIGKILL);
  }
}

static void test_frozen(hr_env* env) {
  (void)env;
  strike("auto", "rest", SIGSTOP);
  strike("auto", "ring", SIGSTOP);
  strike("tcp", "receive", SIGSTOP);
}

/* ---- While the ranks meet ---- */

static void rank_meets(hr_env* env) {
  hr_group_options options = {.struct_size = sizeof options, .silence_nanos = 2000000000};
  const int is_victim = getenv("HEADRACE_RANK")[0] == '1';
  hr_limits limits = within(is_victim ? 60 : CREATE_SECONDS);
  hr_group* group;
  if (is_victim && strcmp(rank_argument(), "never") == 0) sleep_ms(60000);
  if (is_victim) leave_note("ready", "");
  /* Who comes late finds it gone, or the others have met it before. */
  const char late = strcmp(rank_argument(), "killed") == 0 ? '2' : '0';
  if (getenv("HEADRACE_RANK")[0] == late && !is_victim && strcmp(rank_argument(), "never") != 0) {
    sleep_ms(strcmp(rank_argument(), "frozen") == 0 ? 3500 : 1000);
  }
  leave_cause(hr_group_create(env, &options, &limits, &group));
}

static void test_a_rank_that_never_comes(hr_env* env) {
  ranks all;
  (void)env;
  start_ranks(&all, 3, "rank meets", "never");
  expect_one_cause(&all, 1, CREATE_SECONDS + 1.5, "DEADLINE_EXCEEDED", "because of rank 1");
  end_ranks(&all);
}

/* Starts three ranks and kills or freezes rank 1 while they meet. */
static void strike_one_that_meets(ranks* all, const char* how, int signal) {
  start_ranks(all, 3, "rank meets", how);
  await_note(all, "ready.1", 10);
  sleep_ms(300);
  kill(all->pids[1], signal);
}

/* The rank ends within `seconds`, because of rank 1. */
static void expect_blamed(ranks* all, int rank, double seconds) {
  char name[32], text[1024];
  EXPECT(await_rank(all, rank, seconds) == 0);
  snprintf(name, sizeof name, "cause.%d", rank);
  EXPECT(read_note(all, name, text, sizeof text) != NULL);
  if (strstr(text, "because of rank 1") == NULL) fprintf(stderr, "%s: %s\n", name, text);
  EXPECT(strstr(text, "because of rank 1") != NULL);
}

static void test_a_rank_that_dies_while_they_meet(hr_env* env) {
  ranks all;
  (void)env;
  strike_one_that_meets(&all, "killed", SIGKILL);
  expect_blamed(&all, 0, 0.5); /* at once */
  expect_blamed(&all, 2, 2);   /* when it comes */
  end_ranks(&all);
}

static void test_a_rank_that_dies_once_it_was_met(hr_env* env) {
  ranks all;
  (void)env;
  strike_one_that_meets(&all, "met", SIGKILL);
  expect_blamed(&all, 2, 0.5); /* at once */
  expect_blamed(&all, 0, 2);   /* when it comes */
  end_ranks(&all);
}

/* Rank 2 has connected to it, and waits for rank 0. The silence counts, not the limits. */
static void test_a_rank_that_freezes_while_they_meet(hr_env* env) {
  ranks all;
  (void)env;
  strike_one_that_meets(&all, "frozen", SIGSTOP);
  expect_one_cause(&all, 1, 4.5, "UNAVAILABLE", "because of rank 1*while the ranks met");
  end_ranks(&all);
}

/* Rank 1 has another cluster secret than the others, or none. The words never show it. */
static void rank_has_its_secret(hr_env* env) {
  hr_group_options options = {.struct_size = sizeof options, .transport = "tcp"};
  hr_limits limits = within(20);
  hr_group* group;
  const int odd = getenv("HEADRACE_RANK")[0] == '1';
  options.secret = odd ? rank_argument() : "what the ranks have in common";
  hr_status* status = hr_group_create(env, &options, &limits, &group);
  leave_cause(status);
}

static void test_a_rank_with_another_secret(hr_env* env) {
  const char* secrets[] = {"what only one rank thinks of", ""};
  (void)env;
  for (int i = 0; i < 2; ++i) {
    ranks all;
    start_ranks(&all, 2, "rank has_its_secret", secrets[i]);
    expect_one_cause(&all, -1, 10, "UNAUTHENTICATED",
                     "start all ranks with the same cluster secret");
    end_ranks(&all);
  }
}

/* All have the secret, from the environment, and work in the open of no network. */
static void rank_with_a_secret(hr_env* env) {
  hr_group* world = join_world(env, "tcp");
  float x[5] = {1, 2, 3, 4, 5};
  CHECK(hr_all_reduce(world, x, x, 5, HR_FLOAT32, HR_SUM, NULL));
  EXPECT(x[4] == 5.0f * (float)hr_group_size(world));
  hr_group_release(world);
}

static void test_ranks_with_a_secret(hr_env* env) {
  (void)env;
  EXPECT(setenv("HEADRACE_SECRET", "a secret in the environment", 1) == 0);
  run_ranks(3, "rank with_a_secret", "");
  EXPECT(unsetenv("HEADRACE_SECRET") == 0);
}

/* ---- The store that rank 0 keeps ---- */

static void rank_meets_at(hr_env* env) {
  static const char* const gone[] = {"HEADRACE_STORE", "HEADRACE_RANK", "HEADRACE_SIZE"};
  const char* port = strrchr(rank_argument(), ':') + 1;
  hr_group* world;
  float x = 1;
  /* As torchrun tells it. */
  EXPECT(setenv("RANK", getenv("HEADRACE_RANK"), 1) == 0);
  EXPECT(setenv("WORLD_SIZE", getenv("HEADRACE_SIZE"), 1) == 0);
  EXPECT(setenv("MASTER_ADDR", "localhost", 1) == 0 && setenv("MASTER_PORT", port, 1) == 0);
  for (int i = 0; i < 3; ++i) unsetenv(gone[i]);
  for (int round = 0; round < 2; ++round) {
    char name[32];
    snprintf(name, sizeof name, "round %d", round);
    hr_group_options options = {.struct_size = sizeof options, .name = name, .epoch = 0};
    CHECK(hr_group_create(env, &options, NULL, &world));
    CHECK(hr_all_reduce(world, &x, &x, 1, HR_FLOAT32, HR_SUM, NULL));
    hr_group_release(world);
  }
  EXPECT(x == 9);
}

static void test_ranks_meet_at_an_address(hr_env* env) {
  char url[64];
  find_free_address(env, url, sizeof url);
  run_ranks(3, "rank meets_at", url);
}

/* argument: the store's url. Rank 0, which keeps it, goes after a while. */
static void rank_goes_on_without_the_store(hr_env* env) {
  hr_group_options options = {.struct_size = sizeof options, .store_url = rank_argument()};
  hr_group* world;
  hr_status* status = NULL;
  int32_t x = 1;
  CHECK(hr_group_create(env, &options, NULL, &world));
  for (int i = 0; status == NULL && (hr_group_rank(world) != 0 || i < 100); ++i) {
    status = hr_all_reduce(world, &x, &x, 1, HR_INT32, HR_SUM, NULL);
  }
  leave_cause(status);
  hr_group_release(world);
}

/* Whether one of them still gets a verdict is a matter of luck. */
static void test_the_store_leaves(hr_env* env) {
  char url[64];
  for (int round = 0; round < 5; ++round) {
    ranks all;
    find_free_address(env, url, sizeof url);
    start_ranks(&all, 3, "rank goes_on_without_the_store", url);
    EXPECT(await_rank(&all, 0, 20) == 0);
    expect_one_cause(&all, 0, 2, "", "because of rank 0");
    end_ranks(&all);
  }
}

static void test_losing_the_store(hr_env* env) {
  const char* states[] = {"rest", "small", "ring", "receive", "send"};
  for (int i = 0; i < 5; ++i) {
    strike_the_keeper(env, "auto", states[i], SIGKILL);
    strike_the_keeper(env, "tcp", states[i], SIGKILL);
  }
}

static void test_a_store_that_freezes(hr_env* env) {
  strike_the_keeper(env, "auto", "rest", SIGSTOP);
  strike_the_keeper(env, "auto", "ring", SIGSTOP);
  strike_the_keeper(env, "tcp", "receive", SIGSTOP);
}

static void rank_second_with_its_rank(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  CHECK(hr_barrier(world, NULL));
  if (hr_group_rank(world) == 1) {
    hr_group* second;
    FAILS(hr_group_create(env, NULL, NULL, &second), HR_ALREADY_EXISTS, "rank 1 of group 'world'");
  }
  CHECK(hr_barrier(world, NULL)); /* the first is not harmed */
  hr_group_release(world);
}
PROCESSES(second_with_its_rank, 2, "")

/* ---- Ranks that disagree ---- */

/* Rank 1 differs from the others' all_reduce(sum, float32[8]) in what the argument says. */
static void rank_disagrees(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const char* how = rank_argument();
  const int other = hr_group_rank(world) == 1;
  float data[64] = {0};
  hr_status* status = hr_barrier(world, NULL);
  if (other && strcmp(how, "operation") == 0) {
    status = hr_broadcast(world, data, data, 8, HR_FLOAT32, 0, NULL);
  } else {
    const uint64_t count = other && strcmp(how, "count") == 0 ? 9 : 8;
    const hr_dtype dtype = other && strcmp(how, "dtype") == 0 ? HR_INT32 : HR_FLOAT32;
    const hr_reduce_op op = other && strcmp(how, "reduction") == 0 ? HR_MAX : HR_SUM;
    status = hr_all_reduce(world, data, data, count, dtype, op, NULL);
  }
  /* A rank may have what it needs before the verdict comes. */
  while (status == NULL) status = hr_barrier(world, NULL);
  leave_cause(status);
  hr_group_release(world);
}

static void disagree(const char* how, const char* theirs) {
  const double begin = seconds_now();
  ranks all;
  start_ranks(&all, 3, "rank disagrees", how);
  expect_one_cause(&all, -1, 20, "FAILED_PRECONDITION", theirs);
  EXPECT(seconds_now() - begin < 5); /* and not by some deadline */
  end_ranks(&all);
}

static void test_disagreement(hr_env* env) {
  (void)env;
  disagree("operation", "rank 1 called broadcast(float32[8], root 0)");
  disagree("count", "all_reduce(sum, float32[9])");
  disagree("dtype", "all_reduce(sum, int32[8])");
  disagree("reduction", "all_reduce(max, float32[8])");
}

static void rank_nobody_sends(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int32_t rank = hr_group_rank(world);
  int32_t x = 0;
  /* Each waits for the other's message. */
  hr_status* status = hr_broadcast(world, &x, &x, 1, HR_INT32, 1 - rank, NULL);
  leave_cause(status);
  hr_group_release(world);
}

static void test_nobody_sends(hr_env* env) {
  const double begin = seconds_now();
  ranks all;
  (void)env;
  start_ranks(&all, 2, "rank nobody_sends", "");
  expect_one_cause(&all, -1, 10, "FAILED_PRECONDITION", "root 0");
  EXPECT(seconds_now() - begin < 4);
  end_ranks(&all);
}

/* ---- Ranks that give up ---- */

/* Rank 1 does not come to the third operation; the argument says how rank 0 ends its wait. */
static void rank_gives_up(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int32_t rank = hr_group_rank(world);
  hr_limits limits = within(2);
  hr_status* status = NULL;
  hr_work* work;
  int32_t x = 1;
  CHECK(hr_barrier(world, NULL));
  CHECK(hr_barrier(world, NULL));
  if (rank == 1) {
    while (status == NULL) {
      sleep_ms(10);
      status = hr_group_status(world);
    }
  } else if (rank == 0 && strcmp(rank_argument(), "deadline") == 0) {
    status = hr_all_reduce(world, &x, &x, 1, HR_INT32, HR_SUM, &limits);
    x = 5; /* the buffer is ours again */
  } else {
    /* Rank 2 may come when rank 0 has ended it already. */
    status = hr_all_reduce_start(world, &x, &x, 1, HR_INT32, HR_SUM, &work);
    if (rank == 0 && strcmp(rank_argument(), "cancel") == 0) CHECK(hr_work_cancel(work));
    if (rank == 0 && strcmp(rank_argument(), "abort") == 0) {
      CHECK(hr_group_abort(world, "the disk is full"));
    }
    if (status == NULL) {
      status = hr_work_wait(work, NULL);
      hr_work_release(work);
    }
  }
  leave_cause(status);
  hr_group_release(world);
}

static void give_up(const char* how, const char* code, const char* words) {
  ranks all;
  start_ranks(&all, 3, "rank gives_up", how);
  expect_one_cause(&all, -1, 10, code, words);
  end_ranks(&all);
}

static void test_giving_up(hr_env* env) {
  (void)env;
  /* The operations of creating the group count, too. */
  give_up("deadline", "DEADLINE_EXCEEDED",
          "because of rank 1: rank 0 waited 20* ms for it in all_reduce(sum, int32[1]), number 6; "
          "it has called only 5");
  give_up("cancel", "CANCELLED", "because of rank 0: it cancelled all_reduce(sum, int32[1])");
  give_up("abort", "ABORTED", "because of rank 0: the disk is full");
}

/* ---- After the end ---- */

/* The failed group's last operations are on disk, its epoch is over, and the next one works. */
static void rank_goes_on(hr_env* env) {
  char folder[600], path[700];
  snprintf(folder, sizeof folder, "%s/dump", rank_folder());
  hr_group_options options = {.struct_size = sizeof options, .dump_folder = folder};
  const hr_group_options other = {.struct_size = sizeof other, .name = "other"};
  hr_group *first, *second, *unharmed;
  CHECK(hr_group_create(env, &options, NULL, &first));
  CHECK(hr_group_create(env, &other, NULL, &unharmed));
  CHECK(hr_barrier(first, NULL));
  CHECK(hr_group_abort(first, "to go on"));
  hr_status* status = NULL;
  while (status == NULL) status = hr_barrier(first, NULL);
  hr_status_release(status);
  hr_group_release(first);
  snprintf(path, sizeof path, "%s/world-0-%s.json", folder, getenv("HEADRACE_RANK"));
  FILE* dump = fopen(path, "r");
  char text[4096];
  EXPECT(dump != NULL && fread(text, 1, sizeof text, dump) > 0);
  fclose(dump);
  EXPECT(strstr(text, "\"operation\":\"barrier()\"") != NULL);
  FAILS(hr_group_create(env, &options, NULL, &first), HR_ABORTED, "use a higher epoch");
  CHECK(hr_barrier(unharmed, NULL));
  hr_group_release(unharmed);
  setenv("HEADRACE_EPOCH", "1", 1);
  CHECK(hr_group_create(env, &options, NULL, &second));
  EXPECT(hr_group_epoch(second) == 1);
  CHECK(hr_barrier(second, NULL));
  FAILS(hr_group_create(env,
                        &(hr_group_options){.struct_size = sizeof options,
                                            .rank = hr_group_rank(second),
                                            .size = 2,
                                            .store_url = getenv("HEADRACE_STORE")},
                        NULL, &first),
        HR_FAILED_PRECONDITION, "has gone on to epoch 1");
  hr_group_release(second);
}
PROCESSES(goes_on, 2, "")

const test tests[] = {TEST(killed),
                      TEST(frozen),
                      TEST(a_rank_that_never_comes),
                      TEST(a_rank_that_dies_while_they_meet),
                      TEST(a_rank_that_dies_once_it_was_met),
                      TEST(a_rank_that_freezes_while_they_meet),
                      TEST(a_rank_with_another_secret),
                      TEST(ranks_with_a_secret),
                      TEST(ranks_meet_at_an_address),
                      TEST(losing_the_store),
                      TEST(the_store_leaves),
                      TEST(a_store_that_freezes),
                      TEST(second_with_its_rank),
                      TEST(disagreement),
                      TEST(nobody_sends),
                      TEST(giving_up),
                      TEST(goes_on),
                      RANK(in_state),
                      RANK(meets),
                      RANK(has_its_secret),
                      RANK(with_a_secret),
                      RANK(meets_at),
                      RANK(goes_on_without_the_store),
                      RANK(second_with_its_rank),
                      RANK(disagrees),
                      RANK(nobody_sends),
                      RANK(gives_up),
                      RANK(goes_on),
                      {NULL, NULL}};
