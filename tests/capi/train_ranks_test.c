/* hr_train on the ranks of a group: they make the steps that one process makes with all examples,
 * go on from a checkpoint with another number of ranks, and stop together. */
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

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

/* How often a text stands in the files of a folder. */
static int count_in_files(const char* folder, const char* text) {
  int count = 0;
  DIR* entries = opendir(folder);
  for (struct dirent* entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
    char path[4600];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    FILE* file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
    if (file == NULL) continue;
    char bytes[1 << 16];
    const size_t size = fread(bytes, 1, sizeof bytes, file), length = strlen(text);
    fclose(file);
    for (size_t i = 0; i + length <= size; ++i) count += memcmp(bytes + i, text, length) == 0;
  }
  if (entries != NULL) closedir(entries);
  return count;
}

/* Three ranks with 6 examples each against one process with 18; the last batch of an epoch is
 * small. TensorBoard gets, from rank 0, how fast all are and how long they wait. */
static void rank_trains(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  hr_train_report report = {.struct_size = sizeof report}, wanted = {.struct_size = sizeof wanted};
  hr_session *together = make_session(env, world), *alone = make_session(env, NULL);
  hr_dataset *shard = shard_of(env, rank, size, BATCH), *all = shard_of(env, 0, 1, BATCH * size);
  char events[4096];
  snprintf(events, sizeof events, "%s/events", rank_folder());
  hr_train_options options = options_for(shard, NULL, world);
  options.event_directory = events;
  options.summary_steps = 5;
  CHECK(hr_train(together, &options, NULL, &report));
  for (int i = 0; rank == 0 && i < size; ++i) {
    char name[64];
    const int summaries = (int)report.step / 5 + (report.step % 5 != 0);
    snprintf(name, sizeof name, "ranks/%d/examples_per_second", i);
    EXPECT(count_in_files(events, name) == summaries);
    snprintf(name, sizeof name, "ranks/%d/waiting_ms", i);
    EXPECT(count_in_files(events, name) == summaries);
  }
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

/* Data sets that are no shards of these ranks are refused before the first step. */
static void refuse_shards(hr_env* env, int index, int count, const char* saying) {
  hr_group* world = join_world(env, "auto");
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session = make_session(env, world);
  hr_dataset* shard = shard_of(env, index, count, BATCH);
  const hr_train_options options = options_for(shard, NULL, world);
  FAILS(hr_train(session, &options, NULL, &report), HR_FAILED_PRECONDITION, saying);
  hr_dataset_release(shard);
  hr_session_release(session);
  hr_group_release(world);
}

static void rank_other_count(hr_env* env) {
  refuse_shards(env, 1, 3, "rank 0's data set is shard 1 of 3, and 2 ranks train together");
}
PROCESSES(other_count, 2, "")

static void rank_same_shard(hr_env* env) {
  refuse_shards(env, 1, 2, "ranks 0 and 1 have data sets of one shard, 1 of 2");
}
PROCESSES(same_shard, 2, "")

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

/* ---- Ranks that die and ranks that come ---- */

/* What a rank of an elastic training is to do in its steps. */
typedef struct part {
  hr_group* world;
  int64_t dies_at, fails_at; /* 0: never */
  int slow_ms;
  int awaits; /* 1: goes on when somebody waits to join, or has joined */
} part;

static hr_status* play(void* context, const hr_train_report* report, int32_t* out_stop) {
  const part* p = context;
  (void)out_stop;
  if (report->step == p->dies_at) kill(getpid(), SIGKILL);
  if (report->step == p->fails_at) return hr_status_create(HR_DATA_LOSS, "the disk is full");
  if (p->slow_ms > 0) sleep_ms(p->slow_ms);
  int32_t waiting = 0;
  const double give_up = seconds_now() + 30;
  while (p->awaits && report->step == 3 && waiting == 0 && hr_group_epoch(p->world) == 0) {
    EXPECT(seconds_now() < give_up);
    CHECK(hr_group_waiting(p->world, NULL, &waiting));
    sleep_ms(5);
  }
  return NULL;
}

static hr_status* train_elastic(hr_env* env, part* p, int least, int most, const char* folder,
                                hr_session** session, hr_train_report* report) {
  /* As shards of another number, which the training sets right. */
  hr_dataset *data = shard_of(env, 0, 1, BATCH), *test = shard_of(env, 0, 1, 7);
  *session = make_session(env, p->world);
  hr_train_options options = options_for(data, folder, p->world);
  options.eval_data = test;
  options.eval_signature = "check";
  options.eval_steps = 5;
  options.checkpoint_steps = folder == NULL ? 0 : 2;
  options.elastic_group = p->world;
  options.min_ranks = least;
  options.max_ranks = most;
  options.on_step = play;
  options.context = p;
  hr_status* status = hr_train(*session, &options, NULL, report);
  hr_dataset_release(data);
  hr_dataset_release(test);
  return status;
}

/* All variables, of all ranks of the group. */
static void expect_equal_ranks(hr_session* session, hr_group* world) {
  for (size_t i = 0; i < hr_session_variable_count(session); ++i) {
    hr_tensor* x;
    CHECK(hr_session_get_variable(session, hr_session_variable_name(session, i), NULL, &x));
    const size_t bytes = hr_tensor_bytes(x);
    unsigned char* all = malloc(bytes * (size_t)hr_group_size(world));
    CHECK(hr_all_gather(world, hr_tensor_data(x), all, bytes, HR_UINT8, NULL));
    for (int r = 0; r < hr_group_size(world); ++r)
      EXPECT(memcmp(all + (size_t)r * bytes, hr_tensor_data(x), bytes) == 0);
    free(all);
    hr_tensor_release(x);
  }
}

/* The argument: which rank dies. The others make all epochs, with no example lost. */
static void rank_survives(hr_env* env) {
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session;
  part p = {.world = join_world(env, "auto")};
  char folder[600];
  snprintf(folder, sizeof folder, "%s/checkpoints", rank_folder());
  const int rank = hr_group_rank(p.world), victim = atoi(rank_argument());
  if (rank == victim) p.dies_at = 4;
  CHECK(train_elastic(env, &p, 1, 0, folder, &session, &report));
  EXPECT(hr_group_size(p.world) == 2 && hr_group_rank(p.world) == rank - (rank > victim));
  /* 4 steps of 18 examples, or 3 where the fourth died with the rank; then steps of 12. */
  EXPECT(report.epoch == 3 && (report.step == 28 || report.step == 29));
  EXPECT(report.evaluated == 1 && isfinite(report.evaluation_loss));
  expect_equal_ranks(session, p.world);
  CHECK(hr_barrier(p.world, NULL));
  hr_session_release(session);
  /* What the new chief has saved is what all have. */
  if (hr_group_rank(p.world) == 0) {
    hr_session* restored = make_session(env, NULL);
    CHECK(hr_session_restore(restored, folder, NULL, NULL, NULL));
    EXPECT(hr_session_step(restored) == report.step);
    hr_session_release(restored);
  }
  hr_group_release(p.world);
}

static void lose(int victim) {
  ranks all;
  char argument[8];
  snprintf(argument, sizeof argument, "%d", victim);
  start_ranks(&all, 3, "rank survives", argument);
  for (int rank = 0; rank < 3; ++rank)
    EXPECT(await_rank(&all, rank, 60) == (rank == victim ? 128 + SIGKILL : 0));
  end_ranks(&all);
}
static void test_goes_on_without_a_rank(hr_env* env) {
  (void)env;
  lose(1);
  lose(0); /* the one that saves */
}

/* A rank that fails by itself says why, and the others go on. */
static void rank_fails_and_leaves(hr_env* env) {
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session;
  part p = {.world = join_world(env, "auto")};
  const int fails = hr_group_rank(p.world) == 2;
  if (fails) p.fails_at = 3;
  hr_status* status = train_elastic(env, &p, 1, 0, NULL, &session, &report);
  if (fails) {
    FAILS(status, HR_DATA_LOSS, "the disk is full");
  } else {
    CHECK(status);
    EXPECT(report.epoch == 3 && hr_group_size(p.world) == 2);
    expect_equal_ranks(session, p.world);
  }
  hr_session_release(session);
  hr_group_release(p.world);
}
PROCESSES(fails_and_leaves, 3, "")

/* A third rank comes while two train. */
static void rank_is_joined(hr_env* env) {
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session;
  part p = {.world = join_world(env, "auto"), .slow_ms = 30, .awaits = 1};
  leave_note("ready", "");
  CHECK(train_elastic(env, &p, 1, 3, NULL, &session, &report));
  EXPECT(report.epoch == 3 && hr_group_size(p.world) == 3);
  expect_equal_ranks(session, p.world);
  hr_session_release(session);
  hr_group_release(p.world);
}

static void rank_comes(hr_env* env) {
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session;
  part p = {.slow_ms = 10};
  setenv("HEADRACE_JOIN", "1", 1);
  p.world = join_world(env, "auto");
  EXPECT(hr_group_rank(p.world) == 2 && hr_group_size(p.world) == 3);
  CHECK(train_elastic(env, &p, 1, 3, NULL, &session, &report));
  EXPECT(report.epoch == 3);
  expect_equal_ranks(session, p.world);
  hr_session_release(session);
  hr_group_release(p.world);
}

static void test_takes_a_rank_in(hr_env* env) {
  (void)env;
  ranks all;
  start_ranks(&all, 2, "rank is_joined", "");
  await_note(&all, "ready.0", 20);
  start_another(&all, "rank comes", "");
  for (int rank = 0; rank < 3; ++rank) EXPECT(await_rank(&all, rank, 60) == 0);
  end_ranks(&all);
}

/* One that has another graph is told so, and the others go on as they were. */
static void rank_comes_with_another_graph(hr_env* env) {
  setenv("HEADRACE_JOIN", "1", 1);
  hr_group* world = join_world(env, "auto");
  hr_graph* graph;
  hr_model* model = make_lenet(env);
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  CHECK(hr_graph_distribute(graph, "train", "workers", "mirrored"));
  hr_session* session = session_of(graph);
  FAILS(hr_session_bind_group(session, "workers", world, NULL), HR_FAILED_PRECONDITION,
        "rank 2 has variables of other names");
  hr_session_release(session);
  hr_group_release(world);
}

static void rank_refuses_one(hr_env* env) {
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session;
  part p = {.world = join_world(env, "auto"), .slow_ms = 30, .awaits = 1};
  leave_note("ready", "");
  CHECK(train_elastic(env, &p, 1, 3, NULL, &session, &report));
  EXPECT(report.epoch == 3 && hr_group_size(p.world) == 2 && hr_group_epoch(p.world) == 2);
  expect_equal_ranks(session, p.world);
  hr_session_release(session);
  hr_group_release(p.world);
}

static void test_refuses_another_graph(hr_env* env) {
  (void)env;
  ranks all;
  start_ranks(&all, 2, "rank refuses_one", "");
  await_note(&all, "ready.0", 20);
  start_another(&all, "rank comes_with_another_graph", "");
  for (int rank = 0; rank < 3; ++rank) EXPECT(await_rank(&all, rank, 60) == 0);
  end_ranks(&all);
}

/* One that is not needed is told when the training is over, and one that comes later, at once. */
static void rank_is_not_needed(hr_env* env) {
  hr_group* world;
  setenv("HEADRACE_JOIN", "1", 1);
  FAILS(hr_group_create(env, NULL, NULL, &world), HR_OUT_OF_RANGE, "what it did is over");
}

static void rank_needs_nobody(hr_env* env) {
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session;
  part p = {.world = join_world(env, "auto"), .awaits = 1};
  leave_note("ready", "");
  CHECK(train_elastic(env, &p, 1, 2, NULL, &session, &report));
  EXPECT(report.epoch == 3 && hr_group_size(p.world) == 2 && hr_group_epoch(p.world) == 0);
  hr_session_release(session);
  hr_group_release(p.world);
}

static void test_too_many_ranks(hr_env* env) {
  (void)env;
  ranks all;
  start_ranks(&all, 2, "rank needs_nobody", "");
  await_note(&all, "ready.0", 20);
  start_another(&all, "rank is_not_needed", "");
  for (int rank = 0; rank < 3; ++rank) EXPECT(await_rank(&all, rank, 60) == 0);
  start_another(&all, "rank is_not_needed", "");
  EXPECT(await_rank(&all, 3, 20) == 0);
  end_ranks(&all);
}

/* With fewer ranks than it needs, a training waits for new ones, and in vain for its limits. */
static void rank_is_alone(hr_env* env) {
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session;
  hr_group_options options = {
      .struct_size = sizeof options, .timeout_nanos = 1500000000, .silence_nanos = 2000000000};
  part p = {.world = NULL};
  CHECK(hr_group_create(env, &options, NULL, &p.world));
  if (hr_group_rank(p.world) == 1) p.dies_at = 2;
  FAILS(train_elastic(env, &p, 2, 2, NULL, &session, &report), HR_DEADLINE_EXCEEDED,
        "new ranks to join");
  hr_session_release(session);
  hr_group_release(p.world);
}

static void test_too_few_ranks(hr_env* env) {
  (void)env;
  ranks all;
  start_ranks(&all, 2, "rank is_alone", "");
  EXPECT(await_rank(&all, 0, 60) == 0);
  end_ranks(&all);
}

static void test_no_group(hr_env* env) {
  hr_session* session = make_session(env, NULL);
  hr_dataset* data = shard_of(env, 0, 1, BATCH);
  hr_train_options options = options_for(data, NULL, NULL);
  options.bound_group = "workers";
  FAILS(hr_train(session, &options, NULL, NULL), HR_FAILED_PRECONDITION, "hr_session_bind_group");
  pair p = open_pair(env, NULL);
  options.elastic_group = p.group[0];
  options.min_ranks = 3;
  options.max_ranks = 2;
  FAILS(hr_train(session, &options, NULL, NULL), HR_INVALID_ARGUMENT, "min_ranks <= max_ranks");
  options.bound_group = NULL;
  FAILS(hr_train(session, &options, NULL, NULL), HR_INVALID_ARGUMENT, "needs a bound_group");
  int32_t waiting = -1;
  CHECK(hr_group_waiting(p.group[0], NULL, &waiting));
  EXPECT(waiting == 0);
  close_pair(&p);
  hr_dataset_release(data);
  hr_session_release(session);
}

const test tests[] = {
    TEST(trains),
    TEST(other_count),
    TEST(same_shard),
    TEST(stops),
    TEST(goes_on),
    TEST(divided_goes_on),
    TEST(evaluates),
    TEST(fails),
    TEST(goes_on_without_a_rank),
    TEST(fails_and_leaves),
    TEST(takes_a_rank_in),
    TEST(refuses_another_graph),
    TEST(too_many_ranks),
    TEST(too_few_ranks),
    TEST(no_group),
    RANK(trains),
    RANK(other_count),
    RANK(same_shard),
    RANK(stops),
    RANK(evaluates),
    RANK(fails),
    RANK(goes_on),
    RANK(survives),
    RANK(fails_and_leaves),
    RANK(is_joined),
    RANK(comes),
    RANK(refuses_one),
    RANK(comes_with_another_graph),
    RANK(is_not_needed),
    RANK(needs_nobody),
    RANK(is_alone),
    {NULL, NULL},
};
