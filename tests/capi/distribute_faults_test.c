/* What ranks that train together have not in common is told before their first step, and groups of
 * sessions that are taken away, closed or used twice. */
#include "comm_support.h"
#include "trainers.h"

/* ---- Before the first step ---- */

/* y = 2 w with the variable w [4] of the type; "train" minimizes their sum. */
static hr_graph* make_small(hr_env* env, hr_dtype dtype, const char* strategy) {
  const int64_t dims[1] = {4};
  const float zeros[8] = {0};
  hr_tensor* initial;
  hr_graph* graph;
  hr_variable variable;
  hr_value w, loss, rate;
  CHECK(hr_tensor_copy_of(env, dtype, 1, dims, zeros, dtype == HR_FLOAT64 ? 32 : 16, &initial));
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_variable(graph, "w", initial, 1, &variable));
  CHECK(hr_graph_read(graph, variable, &w));
  CHECK(hr_graph_op(graph, "ReduceSum", "keepdims=0", 1, &w, 1, &loss));
  CHECK(hr_graph_op(graph, "Constant", "value_float=0.5", 0, NULL, 1, &rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd", rate));
  CHECK(hr_graph_distribute(graph, "train", "workers", strategy));
  hr_tensor_release(initial);
  return graph;
}

static hr_session* seeded_session(hr_graph* graph, uint64_t seed) {
  const hr_session_options options = {.struct_size = sizeof options, .seed = seed};
  hr_model* model;
  hr_session* session;
  CHECK(hr_model_from_graph(graph, &model));
  CHECK(hr_session_create(model, &options, NULL, &session));
  hr_model_release(model);
  hr_graph_release(graph);
  return session;
}

static void expect_refused(hr_session* session, hr_group* world, const char* words) {
  FAILS(hr_session_bind_group(session, "workers", world, NULL), HR_FAILED_PRECONDITION, words);
  CHECK(hr_barrier(world, NULL)); /* the group is none the worse for it */
  hr_session_release(session);
}

static void rank_differs(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int odd = hr_group_rank(world) == 1;
  expect_refused(session_of(make_small(env, odd ? HR_FLOAT64 : HR_FLOAT32, "mirrored")), world,
                 "rank 1 has variables of other names, types or shapes than rank 0");
  expect_refused(session_of(make_small(env, HR_FLOAT32, odd ? "mirrored bf16=1" : "mirrored")),
                 world,
                 "rank 1 has signatures distributed by another strategy ('train': mirrored bf16=1) "
                 "than rank 0 ('train': mirrored)");
  expect_refused(
      session_of(
          make_small(env, HR_FLOAT32, odd ? "mirrored zero=1 ranks=2" : "mirrored zero=1 ranks=3")),
      world, "('train': mirrored zero=1 ranks=2) than rank 0 ('train': mirrored zero=1 ranks=3)");
  expect_refused(seeded_session(make_small(env, HR_FLOAT32, "mirrored"), odd ? 7 : 6), world,
                 "rank 1 has the seed 7, rank 0 has 6");
  hr_group_release(world);
}
PROCESSES(differs, 3, "")

/* Rank 1 has fewer examples than the others. */
static void rank_has_less_data(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world);
  const int64_t dims[2] = {rank == 1 ? 10 : 12, FEATURES};
  const hr_dataset_options sharded = {.struct_size = sizeof sharded,
                                      .batch = 2,
                                      .repeat = 1,
                                      .shard_index = rank,
                                      .shard_count = hr_group_size(world)};
  hr_dataset* data = make_dataset(env, 2, dims, &sharded);
  hr_model* model = make_mlp(env);
  hr_graph* graph;
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  CHECK(hr_graph_distribute(graph, "train", "workers", "mirrored"));
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "workers", world, NULL));
  static const char* const names[1] = {"rate"};
  static const double rates[1] = {0.01};
  const hr_train_options options = {.struct_size = sizeof options,
                                    .train_data = data,
                                    .scalar_count = 1,
                                    .scalar_names = names,
                                    .scalars = rates,
                                    .bound_group = "workers"};
  char text[600];
  failure_text(hr_train(session, &options, NULL, NULL), text, sizeof text);
  EXPECT(strstr(text, "the data set of rank 0 is another") != NULL);
  EXPECT(strstr(text, "12") != NULL && strstr(text, "10") != NULL);
  hr_tensor* w; /* nobody has made a step */
  CHECK(hr_session_get_variable(session, hr_session_variable_name(session, 0), NULL, &w));
  hr_tensor_release(w);
  hr_dataset_release(data);
  hr_session_release(session);
  hr_group_release(world);
}
PROCESSES(has_less_data, 3, "")

/* ---- Something else is run later ---- */

/* Signatures "a" and "b", which differ in nothing that travels. */
static void rank_runs_another(hr_env* env) {
  hr_group* world = join_world(env, rank_argument());
  const int64_t dims[1] = {6};
  const float values[6] = {0};
  hr_graph* graph;
  hr_value x, y;
  hr_call *a, *b;
  hr_tensor* tensor;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &x));
  for (int i = 0; i < 2; ++i) {
    const char* const name = i == 0 ? "a" : "b";
    CHECK(hr_graph_op(graph, "headrace.comm.AllReduce", "group=workers", 1, &x, 1, &y));
    CHECK(hr_graph_signature_input(graph, name, "x", x));
    CHECK(hr_graph_signature_output(graph, name, "y", y));
  }
  hr_session* session = session_of(graph);
  CHECK(hr_session_bind_group(session, "workers", world, NULL));
  CHECK(hr_call_create(session, "a", &a));
  CHECK(hr_call_create(session, "b", &b));
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, dims, values, sizeof values, &tensor));
  CHECK(hr_call_bind(a, "x", tensor));
  CHECK(hr_call_bind(b, "x", tensor));
  for (int i = 0; i < 3; ++i) CHECK(hr_call_run(a, NULL));
  char text[600];
  failure_text(hr_call_run(hr_group_rank(world) == 1 ? b : a, NULL), text, sizeof text);
  EXPECT(strstr(text, "the ranks called different operations") != NULL);
  EXPECT(strstr(text, "as the first of the operations #") != NULL);
  hr_call_release(a);
  hr_call_release(b);
  hr_tensor_release(tensor);
  hr_session_release(session);
  hr_group_release(world);
}
static void test_runs_another(hr_env* env) {
  (void)env;
  run_ranks(2, "rank runs_another", "shm");
  run_ranks(3, "rank runs_another", "tcp");
}

/* ---- One group, two sessions; none any more ---- */

static void rank_has_two_sessions(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  const int rank = hr_group_rank(world), size = hr_group_size(world);
  trainer alone = open_trainer(session_of(make_network(env, "", "sgd")));
  trainer both[2];
  for (int i = 0; i < 2; ++i) both[i] = open_mirrored(env, world, "", "sgd", "mirrored");
  for (int s = 0; s < 10; ++s) {
    CHECK(step(env, &alone, 12 * s, 4 * size));
    for (int i = 0; i < 2; ++i) CHECK(step(env, &both[i], 12 * s + 4 * rank, 4));
  }
  for (int i = 0; i < 2; ++i) {
    expect_equal_variables(both[i].session, alone.session, world);
    close_trainer(&both[i]);
  }
  close_trainer(&alone);
  hr_group_release(world);
}
PROCESSES(has_two_sessions, 3, "")

/* Rank 0 is in a run that waits for rank 1: the group is bound until that ends. */
static void rank_unbinds(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  trainer t = open_mirrored(env, world, "", "sgd", "mirrored");
  CHECK(step(env, &t, 0, 4));
  CHECK(hr_barrier(world, NULL));
  if (hr_group_rank(world) == 0) {
    const hr_limits soon = within(0.2);
    hr_run* run;
    CHECK(hr_call_start(t.call, NULL, &run));
    sleep_ms(50);
    FAILS(hr_session_bind_group(t.session, "workers", NULL, &soon), HR_DEADLINE_EXCEEDED,
          "deadline passed");
    CHECK(hr_barrier(world, NULL)); /* rank 1 may go on */
    CHECK(hr_run_wait(run, NULL));
    hr_run_release(run);
    CHECK(hr_session_bind_group(t.session, "workers", NULL, NULL));
    FAILS(hr_call_run(t.call, NULL), HR_FAILED_PRECONDITION, "hr_session_bind_group");
  } else {
    CHECK(hr_barrier(world, NULL));
    CHECK(hr_call_run(t.call, NULL));
  }
  CHECK(hr_barrier(world, NULL));
  close_trainer(&t);
  hr_group_release(world);
}
PROCESSES(unbinds, 2, "")

/* Rank 0 leaves the group while its own run waits in it: the run ends, and no variable is touched.
 */
static void rank_closes(hr_env* env) {
  hr_group* world = join_world(env, "auto");
  trainer t = open_mirrored(env, world, "", "sgd", "mirrored");
  CHECK(step(env, &t, 0, 4));
  CHECK(hr_barrier(world, NULL));
  if (hr_group_rank(world) == 0) {
    hr_run* run;
    CHECK(hr_call_start(t.call, NULL, &run));
    sleep_ms(50);
    hr_group_close(world);
    FAILS(hr_run_wait(run, NULL), HR_CANCELLED, "");
    hr_run_release(run);
    hr_tensor* value;
    CHECK(hr_session_get_variable(t.session, "w1", NULL, &value));
    hr_tensor_release(value);
    hr_status* again = hr_call_run(t.call, NULL);
    EXPECT(again != NULL);
    hr_status_release(again);
  } else {
    sleep_ms(200);
    hr_status* status = hr_call_run(t.call, NULL);
    EXPECT(hr_status_code(status) == HR_UNAVAILABLE);
    hr_status_release(status);
  }
  close_trainer(&t);
  hr_group_release(world);
}
PROCESSES(closes, 2, "")

const test tests[] = {
    TEST(differs),      TEST(has_less_data),    TEST(runs_another), TEST(has_two_sessions),
    TEST(unbinds),      TEST(closes),           RANK(differs),      RANK(has_less_data),
    RANK(runs_another), RANK(has_two_sessions), RANK(unbinds),      RANK(closes),
    {NULL, NULL},
};
