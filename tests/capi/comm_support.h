/* What the tests of headrace/comm.h share: ranks that are processes, each this program again. */
#ifndef HEADRACE_TESTS_COMM_SUPPORT_H_
#define HEADRACE_TESTS_COMM_SUPPORT_H_

#include <sys/types.h>

#include "support.h"

double seconds_now(void);
void sleep_ms(int milliseconds);
hr_limits within(double seconds);

/* ---- Ranks that are processes ---- */

/* The ranks run a test of this program, one whose name begins with "rank ". */
enum { MOST_RANKS = 8 };
typedef struct ranks {
  int size;
  pid_t pids[MOST_RANKS];
  char* folder; /* of the file store, and for what ranks leave to the test */
} ranks;

/* Starts processes that are told who they are by HEADRACE_RANK, _SIZE and _STORE. */
void start_ranks(ranks* all, int size, const char* test, const char* argument);
/* One more, that is told the store alone. */
void start_another(ranks* all, const char* test, const char* argument);
const char* rank_argument(void);
/* Waits until a rank has ended, for so long at most. Its exit code; 128 + signal where one ended
 * it; -1 where it still runs. */
int await_rank(ranks* all, int rank, double seconds);
/* Kills those that still run and removes the folder. */
void end_ranks(ranks* all);
/* start, await 0 of each, end. */
void run_ranks(int size, const char* test, const char* argument);

/* The entries of `tests`, and a test that is such ranks. */
#define TEST(name) \
  { #name, test_##name }
#define RANK(name) \
  { "rank " #name, rank_##name }
#define PROCESSES(name, size, argument)       \
  static void test_##name(hr_env* env) {      \
    (void)env;                                \
    run_ranks(size, "rank " #name, argument); \
  }

/* A file in the folder, for a rank to tell the test something: NULL where there is none. */
void leave_note(const char* name, const char* text);
char* read_note(const ranks* all, const char* name, char* text, size_t capacity);
/* Waits for a note. */
void await_note(const ranks* all, const char* name, double seconds);
const char* rank_folder(void);

/* ---- Groups ---- */

/* The group of all ranks, from the environment; `transport` as in hr_group_options. */
hr_group* join_world(hr_env* env, const char* transport);
/* The same, at a store that rank 0 keeps. */
hr_group* join_world_at(hr_env* env, const char* transport, const char* store);
/* A store that this process keeps, at an address of this host. */
hr_store* keep_store(hr_env* env, char* url, size_t capacity);
/* The url of a TCP store on this host that nobody keeps. */
void find_free_address(hr_env* env, char* url, size_t capacity);
/* A group of two ranks in this process. `options` has what both share; NULL: a store in memory. */
typedef struct pair {
  hr_env* env;
  hr_group_options options;
  hr_group* group[2];
} pair;
pair open_pair(hr_env* env, const hr_group_options* options);
void close_pair(pair* p);
/* "CODE: message" of a failure, which is released. */
void failure_text(hr_status* status, char* text, size_t capacity);
/* Kilobytes of memory in use. */
long resident_kilobytes(void);

#endif
