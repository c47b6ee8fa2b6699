/* "zero=1": ranks divide the state of the optimizer. They compute what one process computes, hold
 * the same bits, and leave checkpoints that any number of ranks goes on from. */
#include "comm_support.h"
#include "trainers.h"

enum { STEPS = 50, RANKS = 4 };

static int64_t rows_of(int rank) { return rank == 1 ? 0 : 3 + 2 * rank; }
static int64_t first_of(int rank) {
  int64_t first = 0;
  for (int r = 0; r < rank; ++r) first += rows_of(r);
  return first;
}

/* What a rank holds of the optimizer's state, in bytes, and of how many in all. */
static int64_t state_bytes(hr_session* session) {
  int64_t bytes = 0;
  for (size_t i = 0; i < hr_session_variable_count(session); ++i) {
    const char* const name = hr_session_variable_name(session, i);
    if (strstr(name, "/adam_m") == NULL && strstr(name, "/adam_v") == NULL) continue;
    hr_tensor* value;
    CHECK(hr_session_get_variable(session, name, NULL, &value));
    bytes += (int64_t)hr_tensor_bytes(value);
    hr_tensor_release(value);
  }
  return bytes;
}

static void expect_equal_weights(hr_session* session, hr_session* reference, hr_group* world) {
  static const char* const weights[3] = {"w1", "w2", "w3"};
  for (int i = 0; i < 3; ++i) expect_equal_variable(session, reference, weights[i], world);
}

/* A step of all ranks on rows that differ between them, and of one process on all of them. */
static void step_both(hr_env* env, hr_group* world, trainer* together, trainer* alone, int i) {
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  const int64_t first = i * first_of(size);
  CHECK(step(env, alone, first, first_of(size)));
  CHECK(step(env, together, first + first_of(rank), rows_of(rank)));
  expect_close(together->loss, alone->loss);
}

/* The argument: the optimizer. */
static void rank_divides(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  char strategy[100];
  snprintf(strategy, sizeof strategy, "mirrored zero=1 ranks=%d first_bucket=100 bucket=300",
           hr_group_size(world));
  trainer alone = open_trainer(session_of(make_network(env, "dropout", rank_argument())));
  trainer together = open_mirrored(env, world, "dropout", rank_argument(), strategy);
  for (int i = 0; i < STEPS; ++i) {
    step_both(env, world, &together, &alone, i);
    if (i % 10 == 0 || i + 1 == STEPS) {
      expect_equal_weights(together.session, alone.session, world);
    }
  }
  const int64_t own = state_bytes(together.session), all = state_bytes(alone.session);
  /* Each of three weights may have up to RANKS - 1 numbers behind its end. */
  EXPECT(own * hr_group_size(world) <= all + 2 * 3 * (RANKS - 1) * 8);
  close_trainer(&together);
  close_trainer(&alone);
  hr_group_release(world);
}
#define DIVIDES(name, size, optimizer)          \
  static void test_##name(hr_env* env) {        \
    (void)env;                                  \
    run_ranks(size, "rank divides", optimizer); \
  }
DIVIDES(adam, 4, "adam decoupled=1 weight_decay=0.01")
DIVIDES(momentum, 3, "sgd momentum=0.9")
DIVIDES(clipped, 4, "adam clip_global_norm=0.05")
DIVIDES(each_clipped, 2, "adam clip_norm=0.02 clip_value=0.01")
DIVIDES(accumulated, 3, "adam accumulate=3 clip_global_norm=0.1 average=0.9")

/* ---- Checkpoints ---- */

static trainer open_with(hr_env* env, hr_group* world) {
  char strategy[60];
  if (world == NULL) return open_trainer(session_of(make_network(env, "", "adam")));
  snprintf(strategy, sizeof strategy, "mirrored zero=1 ranks=%d", hr_group_size(world));
  return open_mirrored(env, world, "", "adam", strategy);
}

/* The checkpoint that this program's argument names, and ten steps; or, the first job, ten steps
 * and the checkpoint. */
static void rank_saves(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  trainer t = open_with(env, world);
  for (int i = 0; i < 10; ++i) CHECK(step(env, &t, 12 * i + 12 / size * rank, 12 / size));
  CHECK(hr_session_save(t.session, rank_argument(), NULL, NULL));
  close_trainer(&t);
  hr_group_release(world);
}

/* All states are the bits that the checkpoint has, whole. */
static void rank_restores(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  trainer t = open_with(env, world), alone = open_with(env, NULL);
  CHECK(hr_session_restore(t.session, rank_argument(), NULL, NULL, NULL));
  CHECK(hr_session_restore(alone.session, rank_argument(), NULL, NULL, NULL));
  for (size_t i = 0; i < hr_session_variable_count(alone.session); ++i) {
    const char* const name = hr_session_variable_name(alone.session, i);
    hr_tensor *own, *whole;
    CHECK(hr_session_get_variable(t.session, name, NULL, &own));
    CHECK(hr_session_get_variable(alone.session, name, NULL, &whole));
    const size_t part = hr_tensor_bytes(own), all = hr_tensor_bytes(whole);
    const size_t from = part == all ? 0 : part * (size_t)rank;
    const size_t bytes = from >= all ? 0 : all - from < part ? all - from : part;
    EXPECT(memcmp(hr_tensor_data(own), (const char*)hr_tensor_data(whole) + from, bytes) == 0);
    hr_tensor_release(own);
    hr_tensor_release(whole);
  }
  for (int i = 0; i < 10; ++i) {
    CHECK(step(env, &alone, 12 * i, 12));
    CHECK(step(env, &t, 12 * i + 12 / size * rank, 12 / size));
    expect_close(t.loss, alone.loss);
  }
  expect_equal_weights(t.session, alone.session, world);
  CHECK(hr_barrier(world, NULL));
  close_trainer(&t);
  close_trainer(&alone);
  hr_group_release(world);
}

static void test_checkpoints(hr_env* env) {
  char* folder = make_folder();
  (void)env;
  run_ranks(4, "rank saves", folder);
  run_ranks(4, "rank restores", folder);
  run_ranks(3, "rank restores", folder);
  run_ranks(2, "rank restores", folder);
  remove_folder(folder);
}

/* ---- What is refused ---- */

static void test_refused(hr_env* env) {
  hr_graph* graph = make_network(env, "", "lamb");
  FAILS(hr_graph_distribute(graph, "train", "w", "mirrored zero=1"), HR_INVALID_ARGUMENT,
        "zero=1 ranks=4");
  FAILS(hr_graph_distribute(graph, "train", "w", "mirrored ranks=2"), HR_INVALID_ARGUMENT,
        "nothing else");
  FAILS(hr_graph_distribute(graph, "train", "w", "mirrored zero=1 ranks=0.5"), HR_INVALID_ARGUMENT,
        "size of the group");
  FAILS(hr_graph_distribute(graph, "train", "w", "mirrored zero=1 ranks=2"), HR_UNIMPLEMENTED,
        "lamb");
  /* The failure left the graph as it was. */
  CHECK(hr_graph_distribute(graph, "train", "w", "mirrored"));
  trainer t = open_trainer(session_of(graph));
  close_trainer(&t);
  graph = make_network(env, "", "adam");
  CHECK(hr_graph_distribute(graph, "train", "w", "mirrored zero=1 ranks=2"));
  t = open_trainer(session_of(graph));
  char* folder = make_folder();
  FAILS(hr_session_save(t.session, folder, NULL, NULL), HR_FAILED_PRECONDITION, "no group 'w'");
  remove_folder(folder);
  close_trainer(&t);
}

static void rank_has_other_size(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  hr_graph* graph = make_network(env, "", "adam");
  CHECK(hr_graph_distribute(graph, "train", "workers", "mirrored zero=1 ranks=3"));
  trainer t = open_trainer(session_of(graph));
  FAILS(hr_session_bind_group(t.session, "workers", world, NULL), HR_FAILED_PRECONDITION,
        "among 3 ranks (zero=1 ranks=3), but the group 'workers' has 2");
  close_trainer(&t);
  CHECK(hr_barrier(world, NULL));
  hr_group_release(world);
}
PROCESSES(has_other_size, 2, "")

const test tests[] = {
    TEST(adam),        TEST(momentum),    TEST(clipped),  TEST(each_clipped),
    TEST(accumulated), TEST(checkpoints), TEST(refused),  TEST(has_other_size),
    RANK(divides),     RANK(saves),       RANK(restores), RANK(has_other_size),
    {NULL, NULL},
};
