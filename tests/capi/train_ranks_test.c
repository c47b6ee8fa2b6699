/* hr_train on the ranks of a group: they make the steps that one process makes with all examples,
 * go on from a checkpoint with another number of ranks, and stop together. */
#include <math.h>

#include "comm_support.h"
#include "models.h"

enum { EXAMPLES = 120, BATCH = 6 };
static const int64_t kDims[2] = {EXAMPLES, FEATURES};

static hr_dataset* shard_of(hr_env* env, int rank, int size, int batch) {
  const hr_dataset_options options = {.struct_size = sizeof options,
                                      .batch = batch,
                                      .repeat = 3,
                                      .shuffle = 1,
                                      .seed = 5,
                                      .shard_index = rank,
                                      .shard_count = size};
  return make_dataset(env, 2, kDims, &options);
}

/* The MLP; its training communicates if there is a group. */
static hr_session* make_session(hr_env* env, hr_group* world) {
  hr_model* model = make_mlp(env);
  hr_graph* graph;
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  static const char* const names[3] = {"x", "labels", "loss"};
  for (int i = 0; i < 3; ++i) {
    hr_value value;
    CHECK(hr_graph_find_value(graph, names[i], &value));
    if (i < 2) CHECK(hr_graph_signature_input(graph, "check", names[i], value));
    if (i == 2) CHECK(hr_graph_signature_output(graph, "check", names[i], value));
  }
  if (world != NULL) CHECK(hr_graph_distribute(graph, "train", "workers", "mirrored"));
  hr_session* session = session_of(graph);
  if (world != NULL) CHECK(hr_session_bind_group(session, "workers", world, NULL));
  return session;
}

static const char* const kRate[1] = {"rate"};
static const double kRates[1] = {0.01};

static hr_train_options options_for(hr_dataset* data, const char* folder, hr_group* world) {
  return (hr_train_options){.struct_size = sizeof(hr_train_options),
                            .train_data = data,
                            .scalar_count = 1,
                            .scalar_names = kRate,
                            .scalars = kRates,
                            .checkpoint_directory = folder,
                            .bound_group = world == NULL ? NULL : "workers"};
}

static void expect_same_weights(hr_session* a, hr_session* b, float within_of) {
  for (size_t i = 0; i < hr_session_variable_count(b); ++i) {
    hr_tensor *x, *y;
    const char* name = hr_session_variable_name(b, i);
    CHECK(hr_session_get_variable(a, name, NULL, &x));
    CHECK(hr_session_get_variable(b, name, NULL, &y));
    if (hr_tensor_dtype(x) == HR_FLOAT32) {
      for (int64_t k = 0; k < hr_tensor_elements(x); ++k) {
        const float p = ((float*)hr_tensor_data(x))[k], q = ((float*)hr_tensor_data(y))[k];
        if (!(fabsf(p - q) <= within_of * (1 + fabsf(q)))) {
          fprintf(stderr, "%s[%lld]: %g, expected %g\n", name, (long long)k, p, q);
          exit(1);
        }
      }
    }
    hr_tensor_release(x);
    hr_tensor_release(y);
  }
}

/* Three ranks with 6 examples each against one process with 18; the last batch of an epoch is
 * small. */
static void rank_trains(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  hr_train_report report = {.struct_size = sizeof report}, wanted = {.struct_size = sizeof wanted};
  hr_session *together = make_session(env, world), *alone = make_session(env, NULL);
  hr_dataset *shard = shard_of(env, rank, size, BATCH), *all = shard_of(env, 0, 1, BATCH * size);
  hr_train_options options = options_for(shard, NULL, world);
  CHECK(hr_train(together, &options, NULL, &report));
  options = options_for(all, NULL, NULL);
  CHECK(hr_train(alone, &options, NULL, &wanted));
  EXPECT(report.step == wanted.step && report.epoch == 3);
  EXPECT(fabs(report.loss - wanted.loss) < 1e-4);
  expect_same_weights(together, alone, 2e-3f);
  hr_dataset_release(shard);
  hr_dataset_release(all);
  hr_session_release(together);
  hr_session_release(alone);
  hr_group_release(world);
}
PROCESSES(trains, 3, "")

/* ---- Going on with another number of ranks ---- */

static hr_status* stop_at(void* context, const hr_train_report* report, int32_t* out_stop) {
  *out_stop = report->step >= *(const int64_t*)context;
  return NULL;
}

static hr_status* cancel_at_5(void* context, const hr_train_report* report, int32_t* out_stop) {
  (void)out_stop;
  if (context != NULL && report->step == 5) hr_cancel_trigger(context);
  return NULL;
}

/* Rank 1 says when it is enough. */
static void rank_stops(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world);
  int64_t enough = rank == 1 ? 4 : 1000;
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session = make_session(env, world);
  hr_dataset* shard = shard_of(env, rank, hr_group_size(world), BATCH);
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/checkpoints", rank_folder());
  hr_train_options options = options_for(shard, folder, world);
  options.on_step = stop_at;
  options.context = &enough;
  CHECK(hr_train(session, &options, NULL, &report));
  EXPECT(report.step == 4);
  if (rank == 0) EXPECT(count_entries(folder) > 2);
  hr_dataset_release(shard);
  hr_session_release(session);
  CHECK(hr_barrier(world, NULL));
  /* All go on from what rank 0 has kept; a limit of one ends it for all, with a checkpoint. */
  hr_session* again = make_session(env, world);
  shard = shard_of(env, rank, hr_group_size(world), BATCH);
  options = options_for(shard, folder, world);
  hr_cancel* cancel;
  CHECK(hr_cancel_create(&cancel));
  const hr_limits limits = {.struct_size = sizeof limits, .timeout_nanos = -1, .cancel = cancel};
  options.on_step = cancel_at_5;
  options.context = rank == 2 ? cancel : NULL;
  FAILS(hr_train(again, &options, &limits, &report), HR_CANCELLED, "cancelled");
  options.max_steps = 6;
  CHECK(hr_train(again, &options, NULL, &report));
  EXPECT(report.step == 6);
  hr_cancel_release(cancel);
  hr_dataset_release(shard);
  hr_session_release(again);
  hr_group_release(world);
}
PROCESSES(stops, 3, "")

/* ---- Four, then three: each example once ---- */

static hr_dataset* numbered(hr_env* env, int rank, int size) {
  const hr_dataset_options options = {.struct_size = sizeof options,
                                      .batch = BATCH,
                                      .repeat = 1,
                                      .shuffle = 1,
                                      .seed = 9,
                                      .shard_index = rank,
                                      .shard_count = size};
  const int64_t dims[1] = {EXAMPLES};
  const char* const names[1] = {"id"};
  int64_t ids[EXAMPLES];
  hr_tensor* tensor;
  hr_dataset* data;
  for (int i = 0; i < EXAMPLES; ++i) ids[i] = i;
  CHECK(hr_tensor_copy_of(env, HR_INT64, 1, dims, ids, sizeof ids, &tensor));
  const hr_tensor* const tensors[1] = {tensor};
  CHECK(hr_dataset_from_tensors(env, 1, names, tensors, &options, &data));
  hr_tensor_release(tensor);
  return data;
}

/* A weight for each example; a step takes 1 / (examples of all ranks) off those that it sees. */
static hr_session* make_counter(hr_env* env, hr_group* world, int zero) {
  char strategy[60] = "mirrored";
  if (zero) snprintf(strategy, sizeof strategy, "mirrored zero=1 ranks=%d", hr_group_size(world));
  const int64_t dims[1] = {EXAMPLES}, open[1] = {-1};
  const float zeros[EXAMPLES] = {0};
  hr_tensor* initial;
  hr_graph* graph;
  hr_variable variable;
  hr_value in[2], loss, rate;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, dims, zeros, sizeof zeros, &initial));
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_variable(graph, "w", initial, 1, &variable));
  CHECK(hr_graph_read(graph, variable, &in[0]));
  CHECK(hr_graph_input(graph, "id", HR_INT64, 1, open, NULL, &in[1]));
  CHECK(hr_graph_op(graph, "Constant", "value_float=1", 0, NULL, 1, &rate));
  CHECK(hr_graph_op(graph, "Gather", NULL, 2, in, 1, &loss));
  CHECK(hr_graph_op(graph, "ReduceMean", "keepdims=0", 1, &loss, 1, &loss));
  CHECK(hr_graph_signature_input(graph, "train", "id", in[1]));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd", rate));
  CHECK(hr_graph_distribute(graph, "train", "workers", strategy));
  hr_tensor_release(initial);
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "workers", world, NULL));
  return session;
}

/* How many examples have been seen once, in a batch of `batch`. */
static int seen_in(hr_session* session, int batch) {
  hr_tensor* w;
  int count = 0;
  CHECK(hr_session_get_variable(session, "w", NULL, &w));
  for (int i = 0; i < EXAMPLES; ++i) {
    count += fabsf(((const float*)hr_tensor_data(w))[i] + 1.0f / (float)batch) < 1e-5f;
  }
  hr_tensor_release(w);
  return count;
}

/* The argument: where checkpoints are, behind "zero " with divided state. Four ranks make two
 * steps; three go on to the epoch's end.
 */
static void rank_goes_on(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  hr_train_report report = {.struct_size = sizeof report};
  const int zero = strncmp(rank_argument(), "zero ", 5) == 0;
  hr_session* session = make_counter(env, world, zero);
  hr_dataset* data = numbered(env, rank, size);
  const hr_train_options options = {.struct_size = sizeof options,
                                    .train_data = data,
                                    .max_steps = size == 4 ? 2 : 0,
                                    .checkpoint_directory = rank_argument() + (zero ? 5 : 0),
                                    .bound_group = "workers"};
  CHECK(hr_train(session, &options, NULL, &report));
  EXPECT(report.step == (size == 4 ? 2 : 6));
  EXPECT(seen_in(session, 4 * BATCH) == 48);
  EXPECT(seen_in(session, 3 * BATCH) == (size == 4 ? 0 : EXAMPLES - 48));
  if (size == 4) { /* the position counts the examples of all ranks */
    hr_text* position;
    CHECK(hr_dataset_position(data, &position));
    EXPECT(strstr(hr_text_data(position), "\"example\":48,") != NULL);
    hr_text_release(position);
  }
  hr_dataset_release(data);
  hr_session_release(session);
  hr_group_release(world);
}
static void test_goes_on(hr_env* env) {
  char* folder = make_folder();
  (void)env;
  run_ranks(4, "rank goes_on", folder);
  run_ranks(3, "rank goes_on", folder);
  remove_folder(folder);
}
static void test_divided_goes_on(hr_env* env) {
  char *folder = make_folder(), argument[4096];
  (void)env;
  snprintf(argument, sizeof argument, "zero %s", folder);
  run_ranks(4, "rank goes_on", argument);
  run_ranks(3, "rank goes_on", argument);
  remove_folder(folder);
}

/* ---- Evaluation ---- */

static void rank_evaluates(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  hr_train_report report = {.struct_size = sizeof report}, wanted = {.struct_size = sizeof wanted};
  hr_session* session = make_session(env, world);
  hr_dataset *train = shard_of(env, rank, size, BATCH), *test = shard_of(env, rank, size, 7);
  hr_dataset* whole = shard_of(env, 0, 1, 11);
  hr_train_options options = options_for(train, NULL, world);
  options.max_steps = 5;
  options.eval_data = test;
  options.eval_signature = "check";
  CHECK(hr_train(session, &options, NULL, &report));
  CHECK(hr_evaluate(session, "check", whole, NULL, &wanted));
  EXPECT(report.evaluated == 1);
  EXPECT(fabs(report.evaluation_loss - wanted.evaluation_loss) < 1e-5);
  hr_dataset_release(train);
  hr_dataset_release(test);
  hr_dataset_release(whole);
  hr_session_release(session);
  hr_group_release(world);
}

PROCESSES(evaluates, 3, "")

/* A rank that fails in its own code ends the training of all, who say why. */
static hr_status* fail_at_3(void* context, const hr_train_report* report, int32_t* out_stop) {
  (void)out_stop;
  const int* rank = context;
  if (*rank != 1 || report->step < 3) return NULL;
  return hr_status_create(HR_DATA_LOSS, "the disk is full");
}

static void rank_fails(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  int rank = hr_group_rank(world);
  hr_session* session = make_session(env, world);
  hr_dataset* shard = shard_of(env, rank, hr_group_size(world), BATCH);
  hr_train_options options = options_for(shard, NULL, world);
  options.on_step = fail_at_3;
  options.context = &rank;
  FAILS(hr_train(session, &options, NULL, NULL), rank == 1 ? HR_DATA_LOSS : HR_ABORTED,
        "the disk is full");
  hr_dataset_release(shard);
  hr_session_release(session);
  hr_group_release(world);
}
PROCESSES(fails, 3, "")

static void test_no_group(hr_env* env) {
  hr_session* session = make_session(env, NULL);
  hr_dataset* data = shard_of(env, 0, 1, BATCH);
  hr_train_options options = options_for(data, NULL, NULL);
  options.bound_group = "workers";
  FAILS(hr_train(session, &options, NULL, NULL), HR_FAILED_PRECONDITION, "hr_session_bind_group");
  hr_dataset_release(data);
  hr_session_release(session);
}

const test tests[] = {
    TEST(trains),    TEST(stops),    TEST(goes_on), TEST(divided_goes_on), TEST(evaluates),
    TEST(fails),     TEST(no_group), RANK(trains),  RANK(stops),           RANK(goes_on),
    RANK(evaluates), RANK(fails),    {NULL, NULL},
};
