/* What the C tests share. Each *_test.c defines `tests`; support.c has main, which gives every test
 * an env over a counting allocator and fails it where memory, threads or file descriptors are left
 * at its end. Started with the name of a test, the program runs that one alone; those whose names
 * begin with "rank " run only so (comm_support.h). */
#ifndef HEADRACE_TESTS_CAPI_SUPPORT_H_
#define HEADRACE_TESTS_CAPI_SUPPORT_H_

#include <headrace/headrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test {
  const char* name;
  void (*run)(hr_env* env);
} test;
extern const test tests[]; /* ends with a test without a name */

/* ---- Expectations. A failure ends the program. ---- */

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)
#define CHECK(call) check_ok((call), __FILE__, __LINE__)
/* The call fails with the code, and its message has the words. */
#define FAILS(call, code, words) check_failure((call), (code), (words), __FILE__, __LINE__)

void check_ok(hr_status* status, const char* file, int line);
void check_failure(hr_status* status, hr_code code, const char* words, const char* file, int line);

/* ---- Memory ---- */

/* An env over the counting allocator, for tests that need one of their own. */
hr_env* make_env(int threads);
/* The same with threads and time of the test. */
hr_env* make_env_with(const hr_executor* executor, const hr_clock* clock);
long host_allocations(void); /* from the counting allocator so far */
long host_live_bytes(void);
/* From now on the n-th allocation from the counting allocator (0: the next) fails, and with `all`
 * every later one; n -1: none fails. */
void fail_host_allocations(long n, int all);
int host_allocation_failed(void); /* whether any has since */
/* malloc, operator new and their kin so far, of all threads; see heap.c. */
long heap_allocations(void);

/* ---- Files ---- */

/* A new folder; remove_folder removes it with all it holds and frees the name. */
char* make_folder(void);
void remove_folder(char* folder);
/* "FOLDER/NAME", in memory that the next call uses again. */
const char* in_folder(const char* folder, const char* name);
/* Of whatever kind, with "." and "..". */
long count_entries(const char* folder);

#endif
