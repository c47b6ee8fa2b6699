/* hr_graph_distribute and sessions that are bound to groups: ranks that train together compute what
 * one process computes with all their examples, and hold the same bits. */
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "comm_support.h"
#include "trainers.h"

enum { STEPS = 50 };

/* ---- Ranks against one process ---- */

#define RANKS(name, rank, size, argument)     \
  static void test_##name(hr_env* env) {      \
    (void)env;                                \
    run_ranks(size, "rank " #rank, argument); \
  }

/* Rank r has 3 + 2 r examples of a step, but rank 1 has none. */
static int64_t rows_of(int rank) { return rank == 1 ? 0 : 3 + 2 * rank; }
static int64_t first_of(int rank) {
  int64_t first = 0;
  for (int r = 0; r < rank; ++r) first += rows_of(r);
  return first;
}

/* The argument: the layers, the optimizer and the strategy, apart by ';'. */
static void rank_trains(hr_env* env) {
  char layers[200];
  snprintf(layers, sizeof layers, "%s", rank_argument());
  char* optimizer = strchr(layers, ';');
  *optimizer++ = '\0';
  char* strategy = strchr(optimizer, ';');
  *strategy++ = '\0';
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  trainer alone = open_trainer(session_of(make_network(env, layers, optimizer)));
  /* Only rank 0 begins with the right weights. */
  trainer together = open_mirrored(env, world, layers, optimizer, strategy);
  if (rank != 0) {
    hr_tensor* other;
    CHECK(hr_session_get_variable(together.session, "w3", NULL, &other));
    memset(hr_tensor_data(other), 0, hr_tensor_bytes(other));
    CHECK(hr_session_set_variable(together.session, "w3", other, NULL));
    hr_tensor_release(other);
  }
  CHECK(hr_session_broadcast(together.session, "workers", 0, NULL));
  for (int i = 0; i < STEPS; ++i) {
    const int64_t first = i * first_of(size);
    CHECK(step(env, &alone, first, first_of(size)));
    CHECK(step(env, &together, first + first_of(rank), rows_of(rank)));
    expect_close(together.loss, alone.loss);
    if (i % 10 == 0 || i + 1 == STEPS) {
      expect_equal_variables(together.session, alone.session, world);
    }
  }
  close_trainer(&together);
  close_trainer(&alone);
  hr_group_release(world);
}
RANKS(sgd, trains, 3, ";sgd momentum=0.9;mirrored first_bucket=100 bucket=300")
RANKS(one_bucket, trains, 2, ";adam;mirrored")
RANKS(clipped, trains, 4,
      ";sgd momentum=0.9 clip_global_norm=0.05;mirrored first_bucket=1 bucket=1")
RANKS(accumulated, trains, 2, ";adam accumulate=3 clip_norm=0.1;mirrored first_bucket=8")
/* Dropout, and noise of each random operator, by the global example. */
RANKS(dropout, trains, 4, "dropout noise;adam;mirrored")
/* Batch normalization, by the statistics of all ranks. */
RANKS(norm, trains, 3, "norm;sgd momentum=0.9;mirrored sync_batch_norm=1 first_bucket=1 bucket=1")
RANKS(all_layers, trains, 4, "dropout noise norm;adam clip_norm=0.1;mirrored sync_batch_norm=1")

/* Batches of fixed sizes, of which all ranks have the same. */
static void rank_has_fixed_batches(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  const char* const layers = "dropout norm batch=4";
  trainer alone = open_trainer(session_of(make_network(env, "dropout norm batch=12", "adam")));
  trainer together = open_mirrored(env, world, layers, "adam", "mirrored sync_batch_norm=1");
  for (int i = 0; i < STEPS; ++i) {
    CHECK(step(env, &alone, 12 * i, 4 * size));
    CHECK(step(env, &together, 12 * i + 4 * rank, 4));
    expect_close(together.loss, alone.loss);
  }
  expect_equal_variables(together.session, alone.session, world);
  close_trainer(&together);
  close_trainer(&alone);
  hr_group_release(world);
}
RANKS(fixed_batches, has_fixed_batches, 3, "")

/* float32, with a mean a thousand times the deviation: running statistics of the examples that all
 * ranks have. */
static void feed_large(hr_env* env, hr_call* call, int64_t first, int64_t rows) {
  const int64_t dims[2] = {rows, 2};
  float values[MOST_RANKS * 8];
  hr_tensor* tensor;
  for (int64_t i = 0; i < 2 * rows; ++i) {
    values[i] = 1000 + (float)((first * 2 + i) * 37 % 19) / 8;
  }
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 2, dims, values, (size_t)(8 * rows), &tensor));
  CHECK(hr_call_bind(call, "x", tensor));
  hr_tensor_release(tensor);
}

static trainer open_norm(hr_env* env, hr_group* world) {
  const int64_t dims[2] = {-1, 2};
  hr_graph* graph;
  hr_value x, y, loss, rate;
  hr_node update;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, dims, NULL, &x));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT64, 0, NULL, NULL, &rate));
  CHECK(hr_graph_batch_norm(graph, "norm", x, 1, NULL, &y, &update));
  CHECK(hr_graph_op(graph, "ReduceMean", "keepdims=0", 1, &y, 1, &loss));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_signature_target(graph, "train", update));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd", rate));
  if (world != NULL) {
    CHECK(hr_graph_distribute(graph, "train", "workers", "mirrored sync_batch_norm=1"));
  }
  hr_session* session = session_of(graph);
  if (world != NULL) CHECK(hr_session_bind_group(session, "workers", world, NULL));
  return open_trainer(session);
}

static void rank_norms_singles(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  trainer alone = open_norm(env, NULL), together = open_norm(env, world);
  for (int i = 0; i < 3; ++i) {
    feed_large(env, alone.call, 0, 4 * size);
    feed_large(env, together.call, 4 * rank, 4);
    CHECK(hr_call_run(alone.call, NULL));
    CHECK(hr_call_run(together.call, NULL));
  }
  for (int i = 0; i < 2; ++i) {
    const char* const name = i == 0 ? "norm/mean" : "norm/variance";
    hr_tensor *own, *wanted;
    CHECK(hr_session_get_variable(together.session, name, NULL, &own));
    CHECK(hr_session_get_variable(alone.session, name, NULL, &wanted));
    for (int k = 0; k < 2; ++k) {
      const float a = ((float*)hr_tensor_data(own))[k], b = ((float*)hr_tensor_data(wanted))[k];
      EXPECT(fabsf(a - b) <= 1e-5f * fabsf(b));
    }
    hr_tensor_release(own);
    hr_tensor_release(wanted);
  }
  close_trainer(&together);
  close_trainer(&alone);
  hr_group_release(world);
}
RANKS(singles, norms_singles, 3, "")

/* A step allocates nothing, with its operations. */
static void rank_allocates_nothing(hr_env* env) {
  hr_group* world = join_world(env, "shm");
  trainer t =
      open_mirrored(env, world, "", "sgd momentum=0.9", "mirrored first_bucket=100 bucket=300");
  CHECK(step(env, &t, 0, 4));
  long heap = 0, host = 0;
  for (int i = 0; i < 200; ++i) {
    if (i == 100) heap = heap_allocations(), host = host_allocations();
    CHECK(hr_call_run(t.call, NULL));
  }
  EXPECT(heap_allocations() == heap);
  EXPECT(host_allocations() == host);
  CHECK(hr_barrier(world, NULL));
  close_trainer(&t);
  hr_group_release(world);
}
RANKS(allocates_nothing, allocates_nothing, 2, "")

/* ---- What does not fit is told before the first step ---- */

static void rank_has_another_graph(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  hr_graph* graph = make_network(env, "", hr_group_rank(world) == 1 ? "adam" : "sgd");
  CHECK(hr_graph_distribute(graph, "train", "workers", "mirrored"));
  hr_session* session = session_of(graph);
  FAILS(hr_session_bind_group(session, "workers", world, NULL), HR_FAILED_PRECONDITION,
        "rank 1 has");
  /* The group is none the worse for it. */
  CHECK(hr_barrier(world, NULL));
  hr_session_release(session);
  hr_group_release(world);
}
RANKS(another_graph, has_another_graph, 3, "")

/* A rank that fails tells the others which node was to blame, and all have the same cause. */
static void rank_fails_alone(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  trainer t = open_mirrored(env, world, "", "sgd", "mirrored");
  CHECK(step(env, &t, 0, 4));
  if (hr_group_rank(world) == 1) {
    CHECK(hr_group_abort(world, "the data are bad"));
  }
  char text[600];
  hr_status* status = NULL; /* the ranks agree on it a moment later */
  for (int i = 0; status == NULL && i < 1000000; ++i) status = hr_call_run(t.call, NULL);
  failure_text(status, text, sizeof text);
  EXPECT(strstr(text, "the data are bad") != NULL);
  /* No variable was touched: the session can be used once more. */
  hr_tensor* value;
  CHECK(hr_session_get_variable(t.session, "w1", NULL, &value));
  hr_tensor_release(value);
  close_trainer(&t);
  hr_group_release(world);
}
RANKS(fails_alone, fails_alone, 3, "")

/* A rank is killed between two steps; the others learn it in their run, go on as a smaller group
 * with the same session, and still agree. */
static void rank_is_killed(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  trainer t = open_mirrored(env, world, "", "sgd momentum=0.9", "mirrored");
  for (int i = 0; i < 5; ++i) CHECK(step(env, &t, 10 * hr_group_rank(world), 4));
  if (hr_group_rank(world) == 1) kill(getpid(), SIGKILL);
  hr_status* status = NULL;
  for (int i = 0; status == NULL && i < 100; ++i) status = hr_call_run(t.call, NULL);
  EXPECT(hr_status_code(status) == HR_UNAVAILABLE);
  EXPECT(strstr(hr_status_message(status), "rank 1") != NULL);
  hr_status_release(status);
  hr_group* smaller;
  CHECK(hr_group_shrink(world, NULL, &smaller));
  EXPECT(hr_group_size(smaller) == 2);
  CHECK(hr_session_bind_group(t.session, "workers", smaller, NULL));
  CHECK(hr_session_broadcast(t.session, "workers", 0, NULL));
  for (int i = 0; i < 5; ++i) CHECK(hr_call_run(t.call, NULL));
  expect_equal_variables(t.session, t.session, smaller);
  close_trainer(&t);
  hr_group_release(world);
  hr_group_release(smaller);
}
static void test_killed(hr_env* env) {
  (void)env;
  ranks all;
  start_ranks(&all, 3, "rank is_killed", "");
  EXPECT(await_rank(&all, 1, 60) == 128 + SIGKILL);
  EXPECT(await_rank(&all, 0, 60) == 0);
  EXPECT(await_rank(&all, 2, 60) == 0);
  end_ranks(&all);
}

/* ---- What is refused ---- */

static void test_refused(hr_env* env) {
  hr_graph* graph = make_network(env, "", "sgd");
  FAILS(hr_graph_distribute(graph, "train", "w", "mirroring"), HR_INVALID_ARGUMENT, "mirrored");
  FAILS(hr_graph_distribute(graph, "train", "w", "mirrored bucket=0"), HR_INVALID_ARGUMENT,
        "number of bytes");
  FAILS(hr_graph_distribute(graph, "train", "w", "mirrored size=2"), HR_INVALID_ARGUMENT,
        "no setting 'size'");
  FAILS(hr_graph_distribute(graph, "train", "", "mirrored"), HR_INVALID_ARGUMENT, "name");
  FAILS(hr_graph_distribute(graph, "trains", "w", "mirrored"), HR_NOT_FOUND, "trains");
  CHECK(hr_graph_distribute(graph, "train", "w", "mirrored"));
  FAILS(hr_graph_distribute(graph, "train", "w", "mirrored"), HR_ALREADY_EXISTS, "once");
  FAILS(hr_graph_distribute(graph, "train", "v", "mirrored"), HR_ALREADY_EXISTS,
        "distributed over the group 'w' already");
  trainer t = open_trainer(session_of(graph));
  FAILS(step(env, &t, 0, 4), HR_FAILED_PRECONDITION, "hr_session_bind_group");
  FAILS(hr_session_broadcast(t.session, "w", 0, NULL), HR_FAILED_PRECONDITION, "bind");
  FAILS(hr_session_bind_group(t.session, "v", NULL, NULL), HR_NOT_FOUND, "there are: w");
  CHECK(hr_session_bind_group(t.session, "w", NULL, NULL));
  close_trainer(&t);
}

static void test_updates_nothing(hr_env* env) {
  hr_graph* graph;
  hr_value x, y;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 0, NULL, NULL, &x));
  CHECK(hr_graph_op(graph, "Neg", NULL, 1, &x, 1, &y));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  CHECK(hr_graph_signature_output(graph, "infer", "y", y));
  FAILS(hr_graph_distribute(graph, "infer", "w", "mirrored"), HR_FAILED_PRECONDITION,
        "hr_graph_minimize");
  hr_graph_release(graph);
}

const test tests[] = {
    TEST(sgd),
    TEST(one_bucket),
    TEST(clipped),
    TEST(accumulated),
    TEST(dropout),
    TEST(norm),
    TEST(all_layers),
    TEST(fixed_batches),
    TEST(singles),
    TEST(another_graph),
    TEST(fails_alone),
    TEST(killed),
    TEST(allocates_nothing),
    TEST(refused),
    TEST(updates_nothing),
    RANK(trains),
    RANK(has_fixed_batches),
    RANK(norms_singles),
    RANK(has_another_graph),
    RANK(fails_alone),
    RANK(is_killed),
    RANK(allocates_nothing),
    {NULL, NULL},
};
