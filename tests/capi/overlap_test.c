/* Steps that go on while gradients travel, and steps that wait for each piece: the same bits. */
#include "comm_support.h"
#include "models.h"

static hr_session* open_session(hr_env* env, hr_group* world, const char* strategy) {
  hr_model* model = make_mlp(env);
  hr_graph* graph;
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  CHECK(hr_graph_distribute(graph, "train", "workers", strategy));
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "workers", world, NULL));
  return session;
}

static void run(hr_env* env, hr_session* session, int rank) {
  const int64_t dims[2] = {60, FEATURES};
  const hr_dataset_options options = {
      .struct_size = sizeof options, .batch = 6, .shard_index = rank, .shard_count = 2};
  hr_dataset* data = make_dataset(env, 2, dims, &options);
  hr_call* step;
  CHECK(hr_call_create(session, "train", &step));
  CHECK(hr_call_bind_scalar(step, "rate", 0.01));
  CHECK(hr_call_bind_dataset(step, data));
  for (int i = 0; i < 5; ++i) CHECK(hr_call_run(step, NULL));
  hr_call_release(step);
  hr_dataset_release(data);
}

/* What the session's plans say. */
typedef struct steps {
  int started;   /* operations */
  int at_once;   /* of which so many are waited for by the very next step */
  int by_poller; /* and so many are moved by another thread than the run's */
  int early;     /* whether the first starts before the last product of matrices */
} steps;

static steps count_steps(hr_session* session) {
  steps out = {0};
  hr_text* text;
  CHECK(hr_session_describe(session, &text));
  const char *first = NULL, *product = NULL;
  for (const char* at = hr_text_data(text); (at = strstr(at, "\"kernel\":\"")) != NULL;) {
    at += strlen("\"kernel\":\"");
    if (strncmp(at, "gemm", 4) == 0) product = at;
    if (strncmp(at, "AllReduce+start", 15) != 0) continue;
    const char* next = strstr(at, "\"kernel\":\"");
    if (first == NULL) first = at;
    ++out.started;
    out.at_once += next != NULL && strncmp(next, "\"kernel\":\"AllReduce+wait", 24) == 0;
    out.by_poller += strncmp(at, "AllReduce+start+poller", 22) == 0;
  }
  out.early = first != NULL && first < product;
  hr_text_release(text);
  return out;
}

static void rank_waits(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  hr_session* overlapped = open_session(env, world, "mirrored first_bucket=1 bucket=1");
  hr_session* waiting = open_session(env, world, "mirrored overlap=off first_bucket=1 bucket=1");
  run(env, overlapped, hr_group_rank(world));
  run(env, waiting, hr_group_rank(world));
  const steps on = count_steps(overlapped), off = count_steps(waiting);
  EXPECT(on.started >= 4 && on.at_once < on.started && on.by_poller == 0 && on.early);
  EXPECT(off.started == on.started && off.at_once == off.started);
  hr_tensor *a, *b;
  CHECK(hr_session_get_variable(overlapped, "fc1/weight", NULL, &a));
  CHECK(hr_session_get_variable(waiting, "fc1/weight", NULL, &b));
  EXPECT(memcmp(hr_tensor_data(a), hr_tensor_data(b), hr_tensor_bytes(a)) == 0);
  hr_tensor_release(a);
  hr_tensor_release(b);
  hr_session_release(overlapped);
  hr_session_release(waiting);
  hr_group_release(world);
}
PROCESSES(waits, 2, "")

/* A plan whose steps take long leaves the data to another thread meanwhile. */
static void test_long_steps(hr_env* env) {
  enum { kBatch = 1 << 20 };
  const int64_t dims[2] = {kBatch, FEATURES};
  hr_model* model = make_mlp(env);
  hr_graph* graph;
  hr_call* step;
  hr_tensor *x, *labels;
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  CHECK(hr_graph_distribute(graph, "train", "workers", "mirrored first_bucket=1 bucket=1"));
  hr_session* session = session_of(graph);
  CHECK(hr_call_create(session, "train", &step));
  CHECK(hr_tensor_create(env, HR_FLOAT32, 2, dims, &x));
  CHECK(hr_tensor_create(env, HR_INT64, 1, dims, &labels));
  CHECK(hr_call_bind(step, "x", x));
  CHECK(hr_call_bind(step, "labels", labels));
  CHECK(hr_call_bind_scalar(step, "rate", 0.01));
  CHECK(hr_call_output_type(step, "loss", NULL, NULL, NULL));
  EXPECT(count_steps(session).by_poller > 0);
  hr_tensor_release(x);
  hr_tensor_release(labels);
  hr_call_release(step);
  hr_session_release(session);
}

static void test_refused(hr_env* env) {
  hr_model* model = make_mlp(env);
  hr_graph* graph;
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  FAILS(hr_graph_distribute(graph, "train", "w", "mirrored overlap=on"), HR_INVALID_ARGUMENT,
        "auto or off");
  hr_graph_release(graph);
}

const test tests[] = {TEST(waits), TEST(long_steps), TEST(refused), RANK(waits), {NULL, NULL}};
