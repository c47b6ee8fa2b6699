/* hr_train with elastic_group on ranks that divide the optimizer's state (zero=1): when ranks die
 * or come, those that are there divide it again, and end with the bits of ranks that nothing has
 * disturbed since then. */
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "comm_support.h"
#include "models.h"

enum { EXAMPLES = 120, BATCH = 6, EPOCHS = 3 };

/* What a rank does in its steps, and what it has seen. */
typedef struct part {
  hr_group* world;
  int64_t dies_at, every; /* 0: never; the steps from one checkpoint to the next */
  int awaits; /* at step 3, until somebody waits to join, and is slow until they are taken in */
  int64_t last, repeated; /* steps that were made again */
  uint64_t epoch;
  int64_t from; /* the step with which the latest group began */
} part;

static hr_status* play(void* context, const hr_train_report* report, int32_t* out_stop) {
  part* p = context;
  (void)out_stop;
  if (report->step == p->dies_at) kill(getpid(), SIGKILL);
  if (hr_group_epoch(p->world) != p->epoch || p->last == 0) p->from = report->step - 1;
  p->repeated += p->last >= report->step ? p->last - report->step + 1 : 0;
  p->epoch = hr_group_epoch(p->world);
  p->last = report->step;
  if (p->awaits && p->epoch == 0) sleep_ms(40);
  int32_t waiting = 0;
  const double give_up = seconds_now() + 30;
  while (p->awaits && report->step == 3 && waiting == 0 && p->epoch == 0) {
    EXPECT(seconds_now() < give_up);
    CHECK(hr_group_waiting(p->world, NULL, &waiting));
    sleep_ms(5);
  }
  return NULL;
}

static hr_session* open_session(hr_env* env, hr_group* world) {
  hr_graph* graph;
  hr_model* model = make_mlp(env);
  char strategy[60];
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  snprintf(strategy, sizeof strategy, "mirrored zero=1 ranks=%d", hr_group_size(world));
  CHECK(hr_graph_distribute(graph, "train", "workers", strategy));
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "workers", world, NULL));
  return session;
}

static hr_dataset* open_data(hr_env* env, hr_group* world) {
  static const int64_t dims[2] = {EXAMPLES, FEATURES};
  const hr_dataset_options options = {.struct_size = sizeof options,
                                      .batch = BATCH,
                                      .repeat = EPOCHS,
                                      .shuffle = 1,
                                      .seed = 5,
                                      .shard_index = hr_group_rank(world),
                                      .shard_count = hr_group_size(world)};
  return make_dataset(env, 2, dims, &options);
}

static hr_train_options options_for(hr_dataset* data) {
  static const char* const names[1] = {"rate"};
  static const double rates[1] = {0.01};
  return (hr_train_options){.struct_size = sizeof(hr_train_options),
                            .train_data = data,
                            .scalar_count = 1,
                            .scalar_names = names,
                            .scalars = rates,
                            .keep_checkpoints = -1,
                            .bound_group = "workers"};
}

static void folder_of(char* folder, size_t capacity) {
  snprintf(folder, capacity, "%s/checkpoints", rank_folder());
}

/* The scores of a call that was made before the training, whose sessions have changed since. */
static void expect_calls_go_on(hr_env* env, hr_session* session, hr_call* early) {
  const int64_t dims[2] = {4, FEATURES};
  float scores[2][4 * CLASSES];
  hr_tensor *x, *labels;
  hr_call* late;
  make_examples(env, 2, dims, &x, &labels);
  CHECK(hr_call_create(session, "infer", &late));
  hr_call* const calls[2] = {early, late};
  for (int i = 0; i < 2; ++i) {
    CHECK(hr_call_bind(calls[i], "x", x));
    CHECK(hr_call_output(calls[i], "scores", scores[i], sizeof scores[i]));
    CHECK(hr_call_run(calls[i], NULL));
  }
  EXPECT(memcmp(scores[0], scores[1], sizeof scores[0]) == 0);
  hr_call_release(late);
  hr_tensor_release(x);
  hr_tensor_release(labels);
}

static hr_session* train(hr_env* env, part* p) {
  char folder[4096];
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session = open_session(env, p->world);
  hr_dataset* data = open_data(env, p->world);
  hr_call* early;
  CHECK(hr_call_create(session, "infer", &early));
  folder_of(folder, sizeof folder);
  hr_train_options options = options_for(data);
  options.checkpoint_directory = folder;
  options.checkpoint_steps = p->every;
  options.elastic_group = p->world;
  options.max_ranks = 3;
  options.on_step = play;
  options.context = p;
  CHECK(hr_train(session, &options, NULL, &report));
  EXPECT(report.epoch == EPOCHS);
  expect_calls_go_on(env, session, early);
  hr_call_release(early);
  hr_dataset_release(data);
  return session;
}

/* The checkpoint of a step. */
static void find_checkpoint(int64_t step, char* path, size_t capacity) {
  char folder[4096], name[40];
  int found = 0;
  folder_of(folder, sizeof folder);
  snprintf(name, sizeof name, "step-%06lld-", (long long)step);
  DIR* entries = opendir(folder);
  EXPECT(entries != NULL);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    if (strncmp(entry->d_name, name, strlen(name)) != 0) continue;
    /* The first one: a step that was made again has another. */
    char other[9000];
    snprintf(other, sizeof other, "%s/%s", folder, entry->d_name);
    if (!found || strcmp(other, path) < 0) snprintf(path, capacity, "%s", other);
    found = 1;
  }
  closedir(entries);
  EXPECT(found);
}

/* This rank's variables and parts of variables. */
static void expect_same_bits(hr_session* a, hr_session* b) {
  for (size_t i = 0; i < hr_session_variable_count(b); ++i) {
    const char* const name = hr_session_variable_name(b, i);
    hr_tensor *x, *y;
    CHECK(hr_session_get_variable(a, name, NULL, &x));
    CHECK(hr_session_get_variable(b, name, NULL, &y));
    EXPECT(hr_tensor_bytes(x) == hr_tensor_bytes(y));
    if (memcmp(hr_tensor_data(x), hr_tensor_data(y), hr_tensor_bytes(x)) != 0) {
      fprintf(stderr, "%s differs\n", name);
      exit(1);
    }
    hr_tensor_release(x);
    hr_tensor_release(y);
  }
}

/* As many ranks make the steps since then undisturbed, from that checkpoint. */
static void expect_as_undisturbed(hr_env* env, const part* p, hr_session* trained) {
  char path[9000];
  hr_train_report report = {.struct_size = sizeof report};
  hr_session* session = open_session(env, p->world);
  hr_dataset* data = open_data(env, p->world);
  find_checkpoint(p->from, path, sizeof path);
  const hr_checkpoint_options from = {.struct_size = sizeof from, .dataset = data};
  CHECK(hr_session_restore(session, path, &from, NULL, NULL));
  const hr_train_options options = options_for(data);
  CHECK(hr_train(session, &options, NULL, &report));
  EXPECT(report.step == p->last && report.epoch == EPOCHS);
  expect_same_bits(trained, session);
  CHECK(hr_barrier(p->world, NULL));
  hr_dataset_release(data);
  hr_session_release(session);
}

static void finish(hr_env* env, part* p, hr_session* session) {
  expect_as_undisturbed(env, p, session);
  hr_session_release(session);
  hr_group_release(p->world);
}

/* ---- Ranks that die ---- */

/* The argument: which rank dies, at which step, and how many steps lie between checkpoints. */
static void rank_survives(hr_env* env) {
  int victim, step, every;
  EXPECT(sscanf(rank_argument(), "%d %d %d", &victim, &step, &every) == 3);
  part p = {.world = join_world(env, "auto"), .every = every};
  if (hr_group_rank(p.world) == victim) p.dies_at = step;
  hr_session* session = train(env, &p);
  const int64_t kept = every == 0 ? 0 : step / every * every;
  EXPECT(hr_group_size(p.world) == 2 && p.from == kept);
  EXPECT(p.repeated >= step - kept);
  finish(env, &p, session);
}

static void lose(int victim, int step, int every) {
  ranks all;
  char argument[40];
  snprintf(argument, sizeof argument, "%d %d %d", victim, step, every);
  start_ranks(&all, 3, "rank survives", argument);
  for (int rank = 0; rank < 3; ++rank)
    EXPECT(await_rank(&all, rank, 60) == (rank == victim ? 128 + SIGKILL : 0));
  end_ranks(&all);
}
static void test_goes_back_without_a_rank(hr_env* env) {
  (void)env;
  lose(1, 7, 2);
  lose(0, 7, 2); /* the one that saves */
  lose(2, 5, 4);
}
/* There is a checkpoint of the beginning. */
static void test_goes_back_to_the_beginning(hr_env* env) {
  (void)env;
  lose(1, 1, 10);
  lose(0, 4, 0);
}

/* ---- Ranks that come ---- */

/* All that there is goes on: no step is made again. */
static void rank_is_joined(hr_env* env) {
  part p = {.world = join_world(env, "auto"), .every = 1, .awaits = 1};
  leave_note("ready", "");
  hr_session* session = train(env, &p);
  EXPECT(p.repeated == 0);
  EXPECT(hr_group_size(p.world) == atoi(rank_argument()));
  finish(env, &p, session);
}

static void rank_comes(hr_env* env) {
  setenv("HEADRACE_JOIN", "1", 1);
  part p = {.world = join_world(env, "auto"), .every = 1};
  EXPECT(hr_group_rank(p.world) == 2 && hr_group_size(p.world) == 3);
  hr_session* session = train(env, &p);
  EXPECT(hr_group_size(p.world) == 3);
  finish(env, &p, session);
}

static void take_in(const char* newcomer, const char* size_then, int ends_with) {
  ranks all;
  start_ranks(&all, 2, "rank is_joined", size_then);
  await_note(&all, "ready.0", 20);
  start_another(&all, newcomer, "");
  EXPECT(await_rank(&all, 2, 60) == ends_with);
  for (int rank = 0; rank < 2; ++rank) EXPECT(await_rank(&all, rank, 60) == 0);
  end_ranks(&all);
}

static void test_takes_a_rank_in(hr_env* env) {
  (void)env;
  take_in("rank comes", "3", 0);
}

/* One that dies before it has a part: the others have all parts still. */
static void rank_comes_and_dies(hr_env* env) {
  setenv("HEADRACE_JOIN", "1", 1);
  open_session(env, join_world(env, "auto"));
  kill(getpid(), SIGKILL);
}
static void test_takes_one_in_that_dies(hr_env* env) {
  (void)env;
  take_in("rank comes_and_dies", "2", 128 + SIGKILL);
}

/* ---- What is refused ---- */

static void rank_has_no_folder(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  hr_session* session = open_session(env, world);
  hr_dataset* data = open_data(env, world);
  hr_train_options options = options_for(data);
  options.elastic_group = world;
  FAILS(hr_train(session, &options, NULL, NULL), HR_INVALID_ARGUMENT,
        "needs a checkpoint_directory");
  hr_dataset_release(data);
  hr_session_release(session);
  hr_group_release(world);
}
static void test_needs_a_folder(hr_env* env) {
  (void)env;
  run_ranks(1, "rank has_no_folder", "");
}

const test tests[] = {
    TEST(goes_back_without_a_rank),
    TEST(goes_back_to_the_beginning),
    TEST(takes_a_rank_in),
    TEST(takes_one_in_that_dies),
    TEST(needs_a_folder),
    RANK(survives),
    RANK(is_joined),
    RANK(comes),
    RANK(comes_and_dies),
    RANK(has_no_folder),
    {NULL, NULL},
};
