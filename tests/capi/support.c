#include "support.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* ---- Expectations ---- */

void check_ok(hr_status* status, const char* file, int line) {
  if (status == NULL) return;
  fprintf(stderr, "%s:%d: %s: %s (node '%s')\n", file, line, hr_code_name(hr_status_code(status)),
          hr_status_message(status), hr_status_node(status));
  exit(1);
}

void check_failure(hr_status* status, hr_code code, const char* words, const char* file, int line) {
  if (hr_status_code(status) != code || strstr(hr_status_message(status), words) == NULL) {
    fprintf(stderr, "%s:%d: expected %s with '%s', got %s: %s\n", file, line, hr_code_name(code),
            words, hr_code_name(hr_status_code(status)), hr_status_message(status));
    exit(1);
  }
  hr_status_release(status);
}

/* ---- Memory ---- */

static atomic_long allocations, live_bytes, fail_at = -1;
static atomic_int fail_all, has_failed;

static void* allocate(void* context, size_t bytes, size_t alignment) {
  void* data = NULL;
  (void)context;
  long number = atomic_fetch_add(&allocations, 1);
  long failing = atomic_load(&fail_at);
  if (failing >= 0 && (number == failing || (number > failing && atomic_load(&fail_all)))) {
    atomic_store(&has_failed, 1);
    return NULL;
  }
  if (bytes > (size_t)1 << 38) return NULL; /* a sanitizer would end the program */
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  if (posix_memalign(&data, alignment, bytes == 0 ? 1 : bytes) != 0) return NULL;
  memset(data, 0xA5, bytes);                      /* nobody may count on zeroes */
  atomic_fetch_add(&live_bytes, (long)bytes + 1); /* empty ones count, too */
  return data;
}

static void deallocate(void* context, void* data, size_t bytes, size_t alignment) {
  (void)context;
  (void)alignment;
  atomic_fetch_sub(&live_bytes, (long)bytes + 1);
  free(data);
}

static hr_env* counting_env(hr_env_options options) {
  const hr_allocator allocator = {
      .struct_size = sizeof allocator, .allocate = allocate, .deallocate = deallocate};
  hr_env* env;
  options.struct_size = sizeof options;
  options.allocator = &allocator;
  CHECK(hr_env_create(&options, &env));
  return env;
}

hr_env* make_env(int threads) { return counting_env((hr_env_options){.threads = threads}); }

hr_env* make_env_with(const hr_executor* executor, const hr_clock* clock) {
  return counting_env((hr_env_options){.executor = executor, .clock = clock});
}

long host_allocations(void) { return atomic_load(&allocations); }
long host_live_bytes(void) { return atomic_load(&live_bytes); }
void fail_host_allocations(long n, int all) {
  atomic_store(&fail_all, all);
  if (n >= 0) atomic_store(&has_failed, 0);
  atomic_store(&fail_at, n < 0 ? -1 : atomic_load(&allocations) + n);
}
int host_allocation_failed(void) { return atomic_load(&has_failed); }

/* ---- Files ---- */

char* make_folder(void) {
  const char* root = getenv("TMPDIR");
  char* folder = malloc(4096);
  EXPECT(folder != NULL);
  snprintf(folder, 4096, "%s/headrace-XXXXXX", root == NULL ? "/tmp" : root);
  EXPECT(mkdtemp(folder) != NULL);
  return folder;
}

void remove_folder(char* folder) {
  char command[4200];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  EXPECT(system(command) == 0);
  free(folder);
}

const char* in_folder(const char* folder, const char* name) {
  static char path[8192];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

long count_entries(const char* folder) {
  DIR* directory = opendir(folder);
  long count = 0;
  EXPECT(directory != NULL);
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

/* ---- Nothing leaks: entries of /proc are this process's descriptors and threads ---- */

/* Threads leave /proc a moment after they were joined: the least that are there for a while. */
static long resting_threads(void) {
  const struct timespec moment = {.tv_nsec = 1000000};
  long least = count_entries("/proc/self/task");
  for (int i = 0; i < 20; ++i) {
    nanosleep(&moment, NULL);
    const long count = count_entries("/proc/self/task");
    if (count < least) least = count;
  }
  return least;
}
static long settled_threads(long expected) {
  const struct timespec moment = {.tv_nsec = 1000000};
  long count = count_entries("/proc/self/task");
  for (int i = 0; i < 1000 && count > expected; ++i) {
    nanosleep(&moment, NULL);
    count = count_entries("/proc/self/task");
  }
  return count;
}

static int leaked(const char* name, const char* what, long before, long after) {
  if (after == before) return 0;
  fprintf(stderr, "%s: %ld %s before the test, %ld after it\n", name, before, what, after);
  return 1;
}

static void* nothing(void* context) { return context; }

/* What is opened once for the whole process is no leak: by libuv, and by the thread sanitizer,
 * which starts a thread of its own with the first one. */
static void open_once(void) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
  hr_env* env = make_env(1);
  hr_group_options options = {.struct_size = sizeof options, .size = 1, .transport = "tcp"};
  hr_group* group = NULL;
  hr_status_release(hr_group_create(env, &options, NULL, &group)); /* a build may lack it */
  hr_group_release(group);
  hr_env_release(env);
}

static int run_test(const test* t) {
  long descriptors = count_entries("/proc/self/fd"), threads = resting_threads();
  long bytes = host_live_bytes();
  int failed = 0;
  fail_host_allocations(-1, 0);
  hr_env* env = make_env(2);
  t->run(env);
  hr_env_release(env);
  /* First: a thread may be the last that holds the env. */
  failed |= leaked(t->name, "threads", threads, settled_threads(threads));
  failed |= leaked(t->name, "bytes of the env's allocator", bytes, host_live_bytes());
  failed |= leaked(t->name, "file descriptors", descriptors, count_entries("/proc/self/fd"));
  return failed;
}

int main(int argc, char** argv) {
  int failed = 0;
  open_once();
  for (const test* t = tests; t->name != NULL; ++t) {
    const int wanted = argc > 1 ? strcmp(argv[1], t->name) == 0 : strncmp(t->name, "rank ", 5) != 0;
    if (!wanted) continue;
    failed |= run_test(t);
    if (argc == 1) printf("%s: done\n", t->name);
    fflush(stdout);
  }
  return failed;
}
