/* A session's operations over the native group of a plugin: what it supports is its, the rest is
 * the library's; a failure of one rank, and a rank that leaves, end both. */
#include <pthread.h>

#include "comm_support.h"
#include "models.h"
#include "nodes.h"

enum { N = 5, MOST = 777 };

/* The lines of the log about the toy. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int releases, sums, warnings;

static void note(void* context, hr_log_level level, const char* message) {
  int rank, made;
  (void)context;
  pthread_mutex_lock(&mutex);
  if (sscanf(message, "toy rank %d made %d sums", &rank, &made) == 2) ++releases, sums += made;
  if (level == HR_LOG_WARNING && strstr(message, "loaded different plugins") != NULL) ++warnings;
  pthread_mutex_unlock(&mutex);
}

static hr_env* env_with(const char* plugin) {
  const hr_log_sink sink = {.struct_size = sizeof sink, .write = note};
  const hr_env_options options = {.struct_size = sizeof options, .log = &sink, .threads = 1};
  hr_env* env;
  CHECK(hr_env_create(&options, &env));
  if (plugin != NULL) CHECK(hr_env_load_plugin(env, plugin));
  return env;
}
static const char* const kToy = HEADRACE_TEST_PLUGINS "/libheadrace_toy_group.so";

typedef struct member {
  hr_env* env;
  hr_group_options options;
  hr_group* group;
  int64_t elements;
  int leaves; /* in place of its second run */
  char failure[600];
} member;

/* y = the sum of x, z = the largest of x, which the toy does not know. */
static hr_session* session_with(hr_env* env, int64_t elements) {
  hr_graph* graph;
  hr_value x;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, &elements, NULL, &x));
  CHECK(hr_graph_signature_input(graph, "run", "x", x));
  const hr_value sum = op(graph, "headrace.comm.AllReduce", "group=g", 1, x);
  const hr_value most = op(graph, "headrace.comm.AllReduce", "group=g op=max", 1, x);
  CHECK(hr_graph_signature_output(graph, "run", "sum", sum));
  CHECK(hr_graph_signature_output(graph, "run", "most", most));
  return session_of(graph);
}

static void expect(hr_call* call, const char* name, const float* wanted) {
  hr_tensor* tensor;
  CHECK(hr_call_result(call, name, &tensor));
  EXPECT(memcmp(hr_tensor_data(tensor), wanted, N * sizeof(float)) == 0);
  hr_tensor_release(tensor);
}

static void* run_rank(void* self) {
  member* m = self;
  const int rank = hr_group_rank(m->group);
  hr_session* session = session_with(m->env, m->elements);
  hr_tensor* x;
  hr_call* call;
  float data[MOST];
  for (int64_t i = 0; i < m->elements; ++i) data[i] = (float)(10 * rank + i);
  CHECK(hr_tensor_copy_of(m->env, HR_FLOAT32, 1, &m->elements, data,
                          (size_t)m->elements * sizeof *data, &x));
  CHECK(hr_session_bind_group(session, "g", m->group, NULL));
  CHECK(hr_call_create(session, "run", &call));
  CHECK(hr_call_bind(call, "x", x));
  for (int run = 0; run < 3 && m->failure[0] == 0; ++run) {
    if (run == 1 && m->leaves) break;
    hr_status* failed = hr_call_run(call, NULL);
    if (failed != NULL) {
      failure_text(failed, m->failure, sizeof m->failure);
      break;
    }
    const float sum[N] = {10, 12, 14, 16, 18}, most[N] = {10, 11, 12, 13, 14};
    expect(call, "sum", sum);
    expect(call, "most", most);
  }
  hr_call_release(call);
  hr_session_release(session);
  hr_tensor_release(x);
  hr_group_release(m->group);
  return NULL;
}

/* Ranks have envs of their own, whose threads they do not share. */
static void* join_and_run(void* self) {
  member* m = self;
  CHECK(hr_group_create(m->env, &m->options, NULL, &m->group));
  return run_rank(self);
}

static void run_both(member members[2], const char* plugin_of_rank_1) {
  pthread_t threads[2];
  hr_store* store;
  for (int i = 0; i < 2; ++i) members[i].env = env_with(i == 0 ? kToy : plugin_of_rank_1);
  CHECK(hr_store_open(members[0].env, "memory:", &store));
  for (int i = 0; i < 2; ++i) {
    members[i].options = (hr_group_options){
        .struct_size = sizeof members[i].options, .rank = i, .size = 2, .store = store};
    EXPECT(pthread_create(&threads[i], NULL, join_and_run, &members[i]) == 0);
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  hr_store_release(store);
  for (int i = 0; i < 2; ++i) hr_env_release(members[i].env);
}

static void forget(void) { releases = sums = warnings = 0; }

static void test_sums(hr_env* env) {
  (void)env;
  forget();
  member members[2] = {{.elements = N}, {.elements = N}};
  run_both(members, kToy);
  EXPECT(members[0].failure[0] == 0 && members[1].failure[0] == 0);
  EXPECT(releases == 2 && sums == 6 && warnings == 0);
}

/* Then the library's group does it all. */
static void test_not_all_have_it(hr_env* env) {
  (void)env;
  forget();
  member members[2] = {{.elements = N}, {.elements = N}};
  run_both(members, NULL);
  EXPECT(members[0].failure[0] == 0 && members[1].failure[0] == 0);
  EXPECT(releases == 0 && warnings == 2);
}

static void test_fails(hr_env* env) {
  (void)env;
  member members[2] = {{.elements = MOST}, {.elements = MOST}};
  run_both(members, kToy);
  for (int i = 0; i < 2; ++i) EXPECT(strstr(members[i].failure, "does not like so many") != NULL);
}

static void test_leaves(hr_env* env) {
  (void)env;
  member members[2] = {{.elements = N}, {.elements = N, .leaves = 1}};
  run_both(members, kToy);
  EXPECT(members[1].failure[0] == 0);
  EXPECT(members[0].failure[0] != 0);
}

const test tests[] = {TEST(sums), TEST(not_all_have_it), TEST(fails), TEST(leaves), {NULL, NULL}};
