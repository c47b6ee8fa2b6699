/* Groups that come and go leave nothing behind, and one that cannot get what it needs says so. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm_support.h"

enum { COMINGS = 1000, UCX_COMINGS = 500 /* its start takes long */ };

/* Groups of one name, one after the other, at the pace of each rank. */
static void rank_comes_and_goes(hr_env* env) {
  const int comings = strcmp(rank_argument(), "ucx") == 0 ? UCX_COMINGS : COMINGS;
  long memory = 0;
  for (int i = 0; i < comings; ++i) {
    hr_group* world = join_world(env, rank_argument());
    int32_t x = 1;
    CHECK(hr_all_reduce(world, &x, &x, 1, HR_INT32, HR_SUM, NULL));
    EXPECT(x == 2);
    hr_group_release(world);
    if (i == comings / 5) memory = resident_kilobytes();
  }
  const long grown = resident_kilobytes() - memory;
  if (grown > 2048) {
    fprintf(stderr, "%d groups took %ld KiB\n", comings, grown);
    exit(1);
  }
}

/* With every number of descriptors left, creating a group works or says what it lacks. */
static void rank_runs_out_of_descriptors(hr_env* env) {
  struct rlimit old, few;
  hr_group_options options = {.struct_size = sizeof options, .transport = rank_argument()};
  hr_group* world = join_world(env, rank_argument()); /* loads what it takes */
  hr_limits limits = within(1);
  int lacked = 0, free_one = dup(0);
  close(free_one);
  EXPECT(getrlimit(RLIMIT_NOFILE, &old) == 0);
  for (int left = 0; left < 40; ++left) {
    char name[32];
    hr_group* group = NULL;
    CHECK(hr_barrier(world, NULL));
    snprintf(name, sizeof name, "left%d", left);
    options.name = name;
    few = old;
    few.rlim_cur = (rlim_t)(free_one + left);
    const char* rank = getenv("HEADRACE_RANK");
    if (rank[0] == '0') EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
    hr_status* status = hr_group_create(env, &options, &limits, &group);
    EXPECT(setrlimit(RLIMIT_NOFILE, &old) == 0);
    if (status == NULL) {
      CHECK(hr_barrier(group, NULL));
    } else if (rank[0] == '0' || hr_status_code(status) != HR_DEADLINE_EXCEEDED) {
      FAILS(status, HR_RESOURCE_EXHAUSTED, "");
      ++lacked;
    } else { /* rank 0 could not even open the store */
      FAILS(status, HR_DEADLINE_EXCEEDED, "waits for rank 0");
    }
    hr_group_release(group);
  }
  EXPECT(lacked > 0 && lacked < 40);
  CHECK(hr_barrier(world, NULL));
  hr_group_release(world);
}

/* No shared memory for the connections: files may not grow beyond 64 KiB. */
static void rank_lacks_shared_memory(hr_env* env) {
  struct rlimit small = {65536, 65536};
  hr_group_options options = {.struct_size = sizeof options, .transport = "shm"};
  hr_group* group;
  signal(SIGXFSZ, SIG_IGN);
  EXPECT(setrlimit(RLIMIT_FSIZE, &small) == 0);
  FAILS(hr_group_create(env, &options, NULL, &group), HR_RESOURCE_EXHAUSTED,
        "because of rank 1: cannot get");
}

PROCESSES(lacks_shared_memory, 2, "")

/* From now on this thread sees a /dev/shm of its own, of 5 MiB. */
static int has_small_shm(void) {
  return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=5m") == 0;
}

/* One rank's /dev/shm has room for a single group over UCX: the next one fails on all ranks, this
 * one goes on, and when it has gone there is room again. */
static void rank_fills_shm(hr_env* env) {
  hr_group_options options = {.struct_size = sizeof options, .transport = "ucx", .name = "next"};
  const hr_limits limits = within(5);
  hr_group* next;
  if (strcmp(getenv("HEADRACE_RANK"), "1") == 0) EXPECT(has_small_shm());
  hr_group* world = join_world(env, "ucx");
  for (int i = 0; i < 3; ++i) {
    FAILS(hr_group_create(env, &options, &limits, &next), HR_RESOURCE_EXHAUSTED,
          "because of rank 1: UCX cannot start a worker: No resources are available to initiate "
          "the operation; make room in /dev/shm");
    CHECK(hr_barrier(world, NULL));
  }
  hr_group_release(world);
  CHECK(hr_group_create(env, &options, &limits, &next));
  CHECK(hr_barrier(next, NULL));
  hr_group_release(next);
}

/* Whether this build has UCX. */
static int has_ucx(hr_env* env) {
  hr_text* text;
  CHECK(hr_env_describe(env, &text));
  const int found = strstr(hr_text_data(text), "\"ucx\"") != NULL;
  hr_text_release(text);
  return found;
}

static void test_comes_and_goes(hr_env* env) {
  run_ranks(2, "rank comes_and_goes", "shm");
  run_ranks(2, "rank comes_and_goes", "tcp");
  if (has_ucx(env)) run_ranks(2, "rank comes_and_goes", "ucx");
}

static void test_runs_out_of_descriptors(hr_env* env) {
  run_ranks(2, "rank runs_out_of_descriptors", "shm");
  run_ranks(2, "rank runs_out_of_descriptors", "tcp");
  if (has_ucx(env)) run_ranks(2, "rank runs_out_of_descriptors", "ucx");
}

static void test_fills_shm(hr_env* env) {
  int state = 0;
  const pid_t asks = fork();
  if (asks == 0) _exit(has_small_shm() ? 0 : 1);
  EXPECT(waitpid(asks, &state, 0) == asks);
  if (!has_ucx(env) || state != 0) {
    fprintf(stderr, "skipped: there is no UCX, or only root may mount\n");
    return;
  }
  setenv("TMPDIR", "/tmp", 1); /* rank 1 must see the folder of the store */
  run_ranks(2, "rank fills_shm", "");
}

const test tests[] = {
    TEST(comes_and_goes), TEST(runs_out_of_descriptors), TEST(lacks_shared_memory), TEST(fills_shm),
    RANK(comes_and_goes), RANK(runs_out_of_descriptors), RANK(lacks_shared_memory), RANK(fills_shm),
    {NULL, NULL}};
