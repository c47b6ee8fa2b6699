/* Ranks of a training that fail by themselves, and such as have made a step that others have not.
 */
#include "comm_support.h"
#include "models.h"

enum { BATCH = 6 };
static const int64_t kDims[2] = {60, FEATURES};

#define RANKS(name, size)                \
  static void test_##name(hr_env* env) { \
    (void)env;                           \
    run_ranks(size, "rank " #name, "");  \
  }

/* The MLP, whose signature "train" communicates and whose signature "alone" does not. `inner`: an
 * operator of the host through which the loss goes on to an output, or NULL. */
static hr_session* open_session(hr_env* env, hr_group* world, const char* inner) {
  static const char* const inputs[3] = {"x", "labels", "rate"};
  hr_model* model = make_mlp(env);
  hr_graph* graph;
  hr_value value, loss;
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  CHECK(hr_graph_find_value(graph, "loss", &loss));
  for (int i = 0; i < 3; ++i) {
    CHECK(hr_graph_find_value(graph, inputs[i], &value));
    CHECK(hr_graph_signature_input(graph, "alone", inputs[i], value));
  }
  CHECK(hr_graph_minimize(graph, "alone", loss, "sgd", value));
  if (inner != NULL) {
    CHECK(hr_graph_op(graph, inner, NULL, 1, &loss, 1, &value));
    CHECK(hr_graph_signature_output(graph, "train", "inner", value));
  }
  CHECK(hr_graph_distribute(graph, "train", "workers", "mirrored first_bucket=1"));
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "workers", world, NULL));
  return session;
}

static hr_call* open_call(hr_env* env, hr_session* session, const char* signature) {
  const hr_dataset_options options = {.struct_size = sizeof options, .batch = BATCH, .repeat = -1};
  hr_dataset* data = make_dataset(env, 2, kDims, &options);
  hr_call* call;
  CHECK(hr_call_create(session, signature, &call));
  CHECK(hr_call_bind_scalar(call, "rate", 0.01));
  CHECK(hr_call_bind_dataset(call, data));
  hr_dataset_release(data);
  return call;
}

static hr_tensor* weights_of(hr_session* session) {
  hr_tensor* out;
  CHECK(hr_session_get_variable(session, "fc1/weight", NULL, &out));
  return out;
}

static void expect_equal_ranks(hr_session* session, hr_group* world) {
  hr_tensor* own = weights_of(session);
  const size_t bytes = hr_tensor_bytes(own);
  unsigned char* all = malloc(bytes * (size_t)hr_group_size(world));
  CHECK(hr_all_gather(world, hr_tensor_data(own), all, bytes, HR_UINT8, NULL));
  for (int r = 0; r < hr_group_size(world); ++r)
    EXPECT(memcmp(all + (size_t)r * bytes, hr_tensor_data(own), bytes) == 0);
  free(all);
  hr_tensor_release(own);
}

/* ---- A step that some have made ---- */

/* Rank r makes r steps by itself: rank 2 is furthest, and gives all its variables. */
static void rank_furthest(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  hr_session* session = open_session(env, world, NULL);
  hr_call *alone = open_call(env, session, "alone"), *step = open_call(env, session, "train");
  for (int i = 0; i < rank; ++i) CHECK(hr_call_run(alone, NULL));
  hr_tensor* before = weights_of(session);
  CHECK(hr_session_broadcast(session, "workers", HR_FURTHEST, NULL));
  hr_tensor* after = weights_of(session);
  EXPECT(hr_session_step(session) == size - 1);
  EXPECT((memcmp(hr_tensor_data(before), hr_tensor_data(after), hr_tensor_bytes(after)) == 0) ==
         (rank == size - 1));
  expect_equal_ranks(session, world);
  CHECK(hr_call_run(step, NULL));
  EXPECT(hr_session_step(session) == size);
  expect_equal_ranks(session, world);
  FAILS(hr_session_broadcast(session, "workers", -2, NULL), HR_INVALID_ARGUMENT, "no rank");
  hr_tensor_release(before);
  hr_tensor_release(after);
  hr_call_release(alone);
  hr_call_release(step);
  hr_session_release(session);
  hr_group_release(world);
}
RANKS(furthest, 3)

/* ---- A rank that fails before its run begins, or in it ---- */

static hr_status* fail_to_read(void* context, int64_t examples, size_t fields, hr_tensor** out,
                               int32_t* out_end) {
  int* batches = context;
  (void)examples, (void)out_end;
  if (++*batches > 3) return hr_status_create(HR_DATA_LOSS, "the disk is gone");
  for (size_t i = 0; i < fields; ++i) memset(hr_tensor_data(out[i]), 0, hr_tensor_bytes(out[i]));
  return NULL;
}

/* The data of rank 1 end with a failure: the others learn it at once, and not when time is up. */
static void rank_unreadable(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  hr_session* session = open_session(env, world, NULL);
  hr_call* step = open_call(env, session, "train");
  const int64_t dims[2] = {BATCH, FEATURES};
  const hr_dataset_field fields[2] = {{sizeof *fields, "x", HR_FLOAT32, 2, dims},
                                      {sizeof *fields, "labels", HR_INT64, 1, dims}};
  int batches = hr_group_rank(world) == 1 ? 0 : -1000;
  const hr_dataset_callbacks callbacks = {
      .struct_size = sizeof callbacks, .context = &batches, .next = fail_to_read};
  hr_dataset* data;
  CHECK(hr_dataset_from_callbacks(env, &callbacks, 2, fields, NULL, &data));
  CHECK(hr_call_bind_dataset(step, data));
  for (int i = 0; i < 3; ++i) CHECK(hr_call_run(step, NULL));
  const double begin = seconds_now();
  FAILS(hr_call_run(step, NULL), hr_group_rank(world) == 1 ? HR_DATA_LOSS : HR_ABORTED,
        "the disk is gone");
  EXPECT(seconds_now() - begin < 20); /* the group's timeout is a minute */
  hr_dataset_release(data);
  hr_call_release(step);
  hr_session_release(session);
  hr_group_release(world);
}
RANKS(unreadable, 3)

/* In a loop of the host's own the data of rank 1 end a step before those of the others, and it
 * leaves: they are told at once. */
static void rank_ends_early(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int ends = hr_group_rank(world) == 1;
  hr_session* session = open_session(env, world, NULL);
  hr_call* step = open_call(env, session, "train");
  const int64_t dims[2] = {ends ? 2 * BATCH : 3 * BATCH, FEATURES};
  const hr_dataset_options options = {.struct_size = sizeof options, .batch = BATCH, .repeat = 1};
  hr_dataset* data = make_dataset(env, 2, dims, &options);
  CHECK(hr_call_bind_dataset(step, data));
  for (int i = 0; i < 2; ++i) CHECK(hr_call_run(step, NULL));
  const double begin = seconds_now();
  FAILS(hr_call_run(step, NULL), ends ? HR_OUT_OF_RANGE : HR_UNAVAILABLE,
        ends ? "no more data" : "rank 1");
  EXPECT(seconds_now() - begin < 20); /* the group's timeout is a minute */
  EXPECT(hr_session_step(session) == 2);
  hr_dataset_release(data);
  hr_call_release(step);
  hr_session_release(session);
  hr_group_release(world);
}
RANKS(ends_early, 3)

static hr_status* infer_same(void* context, hr_op* op) {
  (void)context;
  return hr_op_set_output_like(op, 0, 0);
}
static hr_status* fail_to_compute(void* context, hr_op* op) {
  const hr_op_tensor *in = hr_op_input_tensor(op, 0), *out = hr_op_output_tensor(op, 0);
  int* steps = context;
  if (++*steps == 3) return hr_status_create(HR_RESOURCE_EXHAUSTED, "no memory for this batch");
  *(float*)out->data = *(const float*)in->data;
  return NULL;
}

/* A node of rank 1 fails in the middle of a step: all are told which, and none has made the step.
 */
static void rank_no_memory(hr_env* env) {
  const int fails = atoi(getenv("HEADRACE_RANK")) == 1;
  int steps = fails ? 0 : -1000;
  const hr_operator hungry = {.struct_size = sizeof hungry,
                              .name = "test.Hungry",
                              .min_inputs = 1,
                              .max_inputs = 1,
                              .min_outputs = 1,
                              .max_outputs = 1,
                              .context = &steps,
                              .infer = infer_same,
                              .compute = fail_to_compute};
  CHECK(hr_env_add_operator(env, &hungry));
  hr_group* world = join_world(env, "auto");
  hr_session* session = open_session(env, world, "test.Hungry");
  hr_call* step = open_call(env, session, "train");
  for (int i = 0; i < 2; ++i) CHECK(hr_call_run(step, NULL));
  const double begin = seconds_now();
  char text[1200];
  hr_status* status = hr_call_run(step, NULL);
  EXPECT(seconds_now() - begin < 20);
  EXPECT(hr_status_code(status) == (fails ? HR_RESOURCE_EXHAUSTED : HR_ABORTED));
  if (fails) EXPECT(strstr(hr_status_node(status), "Hungry") != NULL);
  failure_text(status, text, sizeof text);
  EXPECT(strstr(text, "no memory for this batch") != NULL);
  if (!fails) EXPECT(strstr(text, "node '") != NULL && strstr(text, "Hungry") != NULL);
  EXPECT(hr_session_step(session) == 2);
  hr_call_release(step);
  hr_session_release(session);
  hr_group_release(world);
}
RANKS(no_memory, 3)

const test tests[] = {
    TEST(furthest),   TEST(unreadable), TEST(no_memory),  TEST(ends_early), RANK(furthest),
    RANK(unreadable), RANK(no_memory),  RANK(ends_early), {NULL, NULL},
};
