/* The host's log: what plugins and groups say arrives with its level, that of plugins from the
 * thread that it happens on; and which sinks are refused. */
#include <pthread.h>

#include "support.h"

enum { MOST = 8 };
typedef struct entry {
  hr_log_level level;
  pthread_t thread;
  char message[512];
} entry;
/* Written from any thread, as the header says. */
typedef struct journal {
  pthread_mutex_t mutex;
  int count;
  entry entries[MOST];
} journal;

static void note(void* context, hr_log_level level, const char* message) {
  journal* j = context;
  pthread_mutex_lock(&j->mutex);
  EXPECT(j->count < MOST && strlen(message) < sizeof j->entries[0].message);
  entry* e = &j->entries[j->count++];
  e->level = level;
  e->thread = pthread_self();
  strcpy(e->message, message);
  pthread_mutex_unlock(&j->mutex);
}

static void expect_entry(const entry* e, hr_log_level level, const char* message) {
  if (e->level == level && strcmp(e->message, message) == 0) return;
  fprintf(stderr, "expected level %d '%s', got level %d '%s'\n", level, message, e->level,
          e->message);
  exit(1);
}

static hr_env* talking_env(journal* j) {
  const hr_log_sink sink = {.struct_size = sizeof sink, .context = j, .write = note};
  const hr_env_options options = {.struct_size = sizeof options, .log = &sink};
  hr_env* env;
  *j = (journal){.mutex = PTHREAD_MUTEX_INITIALIZER};
  CHECK(hr_env_create(&options, &env)); /* the sink is copied */
  return env;
}

/* ---- Plugins ---- */

static const char* const talker = HEADRACE_TEST_PLUGINS "/libheadrace_talker.so";

static void test_plugins_talk(hr_env* env) {
  journal first, second;
  (void)env;
  hr_env* a = talking_env(&first);
  hr_env* b = talking_env(&second);
  EXPECT(first.count == 0);
  CHECK(hr_env_load_plugin(a, talker));
  EXPECT(first.count == 3 && second.count == 0); /* each env has its own */
  expect_entry(&first.entries[0], HR_LOG_DEBUG, "the talker comes");
  expect_entry(&first.entries[1], HR_LOG_INFO, "it stays");
  EXPECT(first.entries[2].level == HR_LOG_INFO);
  EXPECT(strstr(first.entries[2].message, "plugin 'talker' is loaded, from ") != NULL);
  hr_env_release(a);
  EXPECT(first.count == 4); /* the sink outlives the env */
  expect_entry(&first.entries[3], HR_LOG_ERROR, "the talker goes");
  hr_env_release(b);
  EXPECT(second.count == 0);
}

static void test_nobody_listens(hr_env* env) { CHECK(hr_env_load_plugin(env, talker)); }

/* ---- Groups ---- */

typedef struct member {
  hr_env* env;
  hr_group_options options;
} member;

static void* meet_and_abort(void* self) {
  const member* m = self;
  hr_group* group;
  CHECK(hr_group_create(m->env, &m->options, NULL, &group));
  if (m->options.rank == 1) CHECK(hr_group_abort(group, "had enough"));
  hr_status* ended = NULL;
  while (ended == NULL) ended = hr_barrier(group, NULL); /* until the verdict is known here */
  EXPECT(hr_status_code(ended) == HR_ABORTED);
  hr_status_release(ended);
  hr_group_release(group);
  return NULL;
}

/* How many messages of the level have both words. */
static int count_of(const journal* j, hr_log_level level, const char* word, const char* other) {
  int count = 0;
  for (int i = 0; i < j->count; ++i) {
    const entry* e = &j->entries[i];
    EXPECT(!pthread_equal(e->thread, pthread_self()));
    count += e->level == level && strstr(e->message, word) && strstr(e->message, other);
  }
  return count;
}

/* Each rank's thread was warned itself. */
static void expect_two_warned(const journal* j) {
  const entry* warnings[MOST];
  int count = 0;
  for (int i = 0; i < j->count; ++i) {
    if (j->entries[i].level == HR_LOG_WARNING) warnings[count++] = &j->entries[i];
  }
  EXPECT(count == 2 && !pthread_equal(warnings[0]->thread, warnings[1]->thread));
}

/* Two ranks that are threads of this process are given a file that is no calibration, and a folder
 * for their last operations that cannot be made; then one has had enough. */
static void test_groups_talk(hr_env* env) {
  journal j;
  member members[2];
  pthread_t threads[2];
  hr_store* store;
  (void)env;
  hr_env* own = talking_env(&j);
  CHECK(hr_store_open(own, "memory:", &store));
  for (int rank = 0; rank < 2; ++rank) {
    const hr_group_options options = {.struct_size = sizeof options,
                                      .rank = rank,
                                      .size = 2,
                                      .store = store,
                                      .transport = "inproc",
                                      .dump_folder = "/dev/null/dumps",
                                      .calibration = "/dev/null"};
    members[rank] = (member){own, options};
    EXPECT(pthread_create(&threads[rank], NULL, meet_and_abort, &members[rank]) == 0);
  }
  for (int rank = 0; rank < 2; ++rank) pthread_join(threads[rank], NULL);
  hr_store_release(store);
  hr_env_release(own); /* after the last message */
  EXPECT(j.count == 6);
  EXPECT(count_of(&j, HR_LOG_WARNING, "the calibration '/dev/null' is not used: ",
                  "write a new one with 'headrace comm calibrate'") == 2);
  expect_two_warned(&j);
  EXPECT(count_of(&j, HR_LOG_INFO, "group 'world', epoch 0: rank 0 of 2 has met the others",
                  ", 1 over inproc") == 1);
  EXPECT(count_of(&j, HR_LOG_ERROR, "ended because of rank 1: had enough",
                  "; its last operations could not be kept: ") == 2);
}

/* ---- Sinks that are refused ---- */

static void test_refused_sinks(hr_env* env) {
  struct {
    hr_log_sink known;
    int64_t new_option;
  } sink = {.known = {.struct_size = sizeof sink, .write = note}, .new_option = 1};
  const hr_env_options options = {.struct_size = sizeof options, .log = &sink.known};
  (void)env;
  hr_env* none;
  FAILS(hr_env_create(&options, &none), HR_UNIMPLEMENTED,
        "hr_log_sink has options that this library");
  sink.known.struct_size = 0;
  FAILS(hr_env_create(&options, &none), HR_INVALID_ARGUMENT,
        "hr_log_sink.struct_size is 0; set it to sizeof(hr_log_sink)");
  sink.known.struct_size = offsetof(hr_log_sink, write); /* cut off before the function */
  FAILS(hr_env_create(&options, &none), HR_INVALID_ARGUMENT,
        "hr_log_sink has a function that is NULL");
  sink.known = (hr_log_sink){.struct_size = sizeof sink.known};
  FAILS(hr_env_create(&options, &none), HR_INVALID_ARGUMENT,
        "hr_log_sink has a function that is NULL");
}

const test tests[] = {{"plugins talk", test_plugins_talk},
                      {"nobody listens", test_nobody_listens},
                      {"groups talk", test_groups_talk},
                      {"refused sinks", test_refused_sinks},
                      {NULL, NULL}};
