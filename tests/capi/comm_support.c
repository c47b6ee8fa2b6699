#include "comm_support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void sleep_ms(int milliseconds) {
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

hr_limits within(double seconds) {
  hr_limits limits = {.struct_size = sizeof limits, .timeout_nanos = (int64_t)(seconds * 1e9)};
  return limits;
}

static void set_number(const char* name, int number) {
  char text[16];
  snprintf(text, sizeof text, "%d", number);
  setenv(name, text, 1);
}

/* This program once more, by the emulator that tests/run names where the system cannot run it. */
static void run_again(const char* test) {
  const char* emulator = getenv("HEADRACE_TEST_EMULATOR");
  char self[512] = {0};
  if (emulator == NULL) execl("/proc/self/exe", "rank", test, (char*)NULL);
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return;
  if (emulator != NULL) execlp(emulator, emulator, self, test, (char*)NULL);
}

static pid_t start_rank(const ranks* all, int rank, const char* test, const char* argument) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  char store[512];
  snprintf(store, sizeof store, "file:%s/store", all->folder);
  if (rank >= 0) set_number("HEADRACE_RANK", rank);
  if (rank >= 0) set_number("HEADRACE_SIZE", all->size);
  setenv("HEADRACE_STORE", store, 1);
  setenv("HEADRACE_TEST_ARGUMENT", argument, 1);
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a frozen rank, too, ends with a test that failed */
  run_again(test);
  _exit(127);
}

void start_another(ranks* all, const char* test, const char* argument) {
  EXPECT(all->size < MOST_RANKS);
  all->pids[all->size] = start_rank(all, -1, test, argument);
  EXPECT(all->pids[all->size++] > 0);
}

const char* rank_argument(void) { return getenv("HEADRACE_TEST_ARGUMENT"); }

void start_ranks(ranks* all, int size, const char* test, const char* argument) {
  EXPECT(size <= MOST_RANKS);
  all->size = size;
  all->folder = make_folder();
  for (int rank = 0; rank < size; ++rank) {
    all->pids[rank] = start_rank(all, rank, test, argument);
    EXPECT(all->pids[rank] > 0);
  }
}

int await_rank(ranks* all, int rank, double seconds) {
  const double give_up = seconds_now() + seconds;
  int state;
  while (waitpid(all->pids[rank], &state, WNOHANG) == 0) {
    if (seconds_now() > give_up) return -1;
    sleep_ms(2);
  }
  all->pids[rank] = 0;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

void end_ranks(ranks* all) {
  for (int rank = 0; rank < all->size; ++rank) {
    if (all->pids[rank] == 0) continue;
    kill(all->pids[rank], SIGKILL);
    waitpid(all->pids[rank], NULL, 0);
  }
  remove_folder(all->folder);
}

void run_ranks(int size, const char* test, const char* argument) {
  ranks all;
  int failed = 0;
  start_ranks(&all, size, test, argument);
  for (int rank = 0; rank < size; ++rank) {
    const int code = await_rank(&all, rank, 120);
    if (code != 0)
      fprintf(stderr, "%s (%s): rank %d of %d: %d\n", test, argument, rank, size, code);
    failed += code != 0;
  }
  end_ranks(&all);
  if (failed > 0) exit(1);
}

const char* rank_folder(void) {
  static char folder[512];
  snprintf(folder, sizeof folder, "%s", getenv("HEADRACE_STORE") + strlen("file:"));
  *strrchr(folder, '/') = '\0';
  return folder;
}

void leave_note(const char* name, const char* text) {
  char path[600], temporary[640];
  snprintf(path, sizeof path, "%s/%s.%s", rank_folder(), name, getenv("HEADRACE_RANK"));
  snprintf(temporary, sizeof temporary, "%s.new", path);
  FILE* file = fopen(temporary, "w");
  EXPECT(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
  EXPECT(rename(temporary, path) == 0);
}

char* read_note(const ranks* all, const char* name, char* text, size_t capacity) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", all->folder, name);
  FILE* file = fopen(path, "r");
  if (file == NULL) return NULL;
  text[fread(text, 1, capacity - 1, file)] = '\0';
  fclose(file);
  return text;
}

void await_note(const ranks* all, const char* name, double seconds) {
  const double give_up = seconds_now() + seconds;
  char text[16];
  while (read_note(all, name, text, sizeof text) == NULL) {
    EXPECT(seconds_now() < give_up);
    sleep_ms(2);
  }
}

hr_group* join_world(hr_env* env, const char* transport) {
  return join_world_at(env, transport, NULL);
}

hr_group* join_world_at(hr_env* env, const char* transport, const char* store) {
  hr_group_options options = {.struct_size = sizeof options,
                              .store_url = store,
                              .transport = transport,
                              .timeout_nanos = 60000000000,
                              .silence_nanos = 2000000000};
  hr_group* group;
  CHECK(hr_group_create(env, &options, NULL, &group));
  return group;
}

hr_store* keep_store(hr_env* env, char* url, size_t capacity) {
  const hr_store_options options = {.struct_size = sizeof options, .serve = 1, .secret = ""};
  hr_store* store;
  hr_text* text;
  CHECK(hr_store_open_with(env, "tcp:127.0.0.1:0", &options, &store));
  CHECK(hr_store_url(store, &text));
  snprintf(url, capacity, "%s", hr_text_data(text));
  hr_text_release(text);
  return store;
}

/* Below the ports that the system hands out by itself: one of those could be another process's by
 * the time that rank 0 keeps a store there. */
void find_free_address(hr_env* env, char* url, size_t capacity) {
  enum { kFirst = 12000, kCount = 20000 };
  static int tried = 0;
  const hr_store_options options = {.struct_size = sizeof options, .serve = 1, .secret = ""};
  for (int i = 0; i < 1000; ++i) {
    hr_store* store;
    hr_status* status;
    snprintf(url, capacity, "tcp:127.0.0.1:%d", kFirst + ((int)getpid() + 499 * tried++) % kCount);
    status = hr_store_open_with(env, url, &options, &store);
    if (status == NULL) {
      hr_store_release(store);
      return;
    }
    hr_status_release(status);
  }
  EXPECT(!"no free address");
}

void failure_text(hr_status* status, char* text, size_t capacity) {
  snprintf(text, capacity, "%s: %s", hr_code_name(hr_status_code(status)),
           hr_status_message(status));
  hr_status_release(status);
}

long resident_kilobytes(void) {
  long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  EXPECT(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- Pairs ---- */

static hr_status* join_pair(pair* p, int rank) {
  hr_group_options options = p->options;
  options.rank = rank;
  return hr_group_create(p->env, &options, NULL, &p->group[rank]);
}

static void* join_as_second(void* p) {
  CHECK(join_pair(p, 1));
  return NULL;
}

pair open_pair(hr_env* env, const hr_group_options* options) {
  pair p = {.env = env};
  hr_store* store = NULL;
  pthread_t thread;
  if (options != NULL) p.options = *options;
  if (p.options.store == NULL) {
    CHECK(hr_store_open(env, "memory:", &store));
    p.options.store = store;
  }
  p.options.struct_size = sizeof p.options;
  p.options.size = 2;
  EXPECT(pthread_create(&thread, NULL, join_as_second, &p) == 0);
  CHECK(join_pair(&p, 0));
  EXPECT(pthread_join(thread, NULL) == 0);
  p.options.store = NULL; /* the groups keep it */
  hr_store_release(store);
  return p;
}

void close_pair(pair* p) {
  hr_group_release(p->group[0]);
  hr_group_release(p->group[1]);
}
