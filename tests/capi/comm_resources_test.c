/* Groups that come and go leave nothing behind, and one that cannot get what it needs says so. */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "comm_support.h"

enum { COMINGS = 1000 };

/* Groups of one name, one after the other, at the pace of each rank. */
static void rank_comes_and_goes(hr_env* env) {
  long memory = 0;
  for (int i = 0; i < COMINGS; ++i) {
    hr_group* world = join_world(env, rank_argument());
    int32_t x = 1;
    CHECK(hr_all_reduce(world, &x, &x, 1, HR_INT32, HR_SUM, NULL));
    EXPECT(x == 2);
    hr_group_release(world);
    if (i == COMINGS / 5) memory = resident_kilobytes();
  }
  const long grown = resident_kilobytes() - memory;
  if (grown > 2048) {
    fprintf(stderr, "%d groups took %ld KiB\n", COMINGS, grown);
    exit(1);
  }
}

/* With every number of descriptors left, creating a group works or says what it lacks. */
static void rank_runs_out_of_descriptors(hr_env* env) {
  struct rlimit old, few;
  hr_group_options options = {.struct_size = sizeof options, .transport = rank_argument()};
  hr_group* world = join_world(env, "shm");
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

static void test_comes_and_goes(hr_env* env) {
  (void)env;
  run_ranks(2, "rank comes_and_goes", "shm");
  run_ranks(2, "rank comes_and_goes", "tcp");
}

static void test_runs_out_of_descriptors(hr_env* env) {
  (void)env;
  run_ranks(2, "rank runs_out_of_descriptors", "shm");
  run_ranks(2, "rank runs_out_of_descriptors", "tcp");
}

const test tests[] = {
    TEST(comes_and_goes), TEST(runs_out_of_descriptors), TEST(lacks_shared_memory),
    RANK(comes_and_goes), RANK(runs_out_of_descriptors), RANK(lacks_shared_memory),
    {NULL, NULL}};
