/* The best checkpoint and early stops. Step t assigns t to a variable, and the evaluation's metric
 * is what a table says of it. */
#include <math.h>

#include "models.h"

enum { STEPS = 12 };
/* The best is at step 4; then nothing is better for long. */
static const double kScores[STEPS + 1] = {0, 1, 3, 2, 5, 5, 4, 3, 1, 2, 6, 7, 1};

static hr_graph* build(hr_env* env) {
  hr_graph* graph;
  hr_tensor *zero, *table;
  hr_variable step;
  hr_value x, now, one, next, scores, score, loss;
  hr_node assigned;
  const int64_t none = 0;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_tensor_copy_of(env, HR_INT64, 0, NULL, &none, 8, &zero));
  CHECK(hr_tensor_copy_of(env, HR_FLOAT64, 1, (const int64_t[]){STEPS + 1}, kScores, sizeof kScores,
                          &table));
  CHECK(hr_graph_variable(graph, "now", zero, 0, &step));
  CHECK(hr_graph_read(graph, step, &now));
  CHECK(hr_graph_constant(graph, NULL, table, &scores));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, (const int64_t[]){-1}, NULL, &x));
  CHECK(hr_graph_op(graph, "ReduceMean", "keepdims=0", 1, &x, 1, &loss));
  CHECK(hr_graph_op(graph, "Constant", "value_int=1", 0, NULL, 1, &one));
  CHECK(hr_graph_op(graph, "Gather", NULL, 2, (const hr_value[]){scores, now}, 1, &score));
  for (int i = 0; i < 2; ++i) {
    CHECK(hr_graph_signature_input(graph, i == 0 ? "train" : "eval", "x", x));
    CHECK(hr_graph_signature_output(graph, i == 0 ? "train" : "eval", "loss", loss));
  }
  CHECK(hr_graph_signature_output(graph, "eval", "score", score));
  CHECK(hr_graph_op(graph, "Add", NULL, 2, (const hr_value[]){now, one}, 1, &next));
  CHECK(hr_graph_assign(graph, step, next, &assigned));
  CHECK(hr_graph_signature_target(graph, "train", assigned));
  hr_tensor_release(zero);
  hr_tensor_release(table);
  return graph;
}

static hr_dataset* make_data(hr_env* env, int64_t repeat) {
  const char* name = "x";
  hr_tensor* tensor;
  hr_dataset* out;
  const hr_dataset_options options = {.struct_size = sizeof options, .batch = 2, .repeat = repeat};
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, (const int64_t[]){2}, (const float[]){1, 2}, 8,
                          &tensor));
  CHECK(hr_dataset_from_tensors(env, 1, &name, (const hr_tensor* const*)&tensor, &options, &out));
  hr_tensor_release(tensor);
  return out;
}

static int64_t now_of(hr_session* session) {
  hr_tensor* tensor;
  CHECK(hr_session_get_variable(session, "now", NULL, &tensor));
  const int64_t now = *(int64_t*)hr_tensor_data(tensor);
  hr_tensor_release(tensor);
  return now;
}

typedef struct evaluations {
  int count;
  double last;
} evaluations;

static hr_status* count_evaluation(void* context, const hr_train_report* report, size_t count,
                                   const char* const* names, const double* values) {
  evaluations* seen = context;
  EXPECT(count == 2 && strcmp(names[0], "loss") == 0 && strcmp(names[1], "score") == 0);
  EXPECT(values[0] == 1.5 && values[1] == kScores[report->step] && report->evaluated == 1);
  ++seen->count;
  seen->last = values[1];
  return NULL;
}

/* Trains a new session, from the checkpoint in the folder if there is one. */
static hr_train_report train(hr_env* env, const char* folder, int64_t max_steps, int64_t patience,
                             int smallest, int restore, int64_t* now, evaluations* seen) {
  hr_session* session = session_of(build(env));
  hr_dataset *data = make_data(env, -1), *test = make_data(env, 1);
  hr_train_report report = {.struct_size = sizeof report};
  evaluations unseen = {0, 0};
  const hr_train_options options = {.struct_size = sizeof options,
                                    .train_data = data,
                                    .eval_data = test,
                                    .eval_steps = 1,
                                    .max_steps = max_steps,
                                    .checkpoint_directory = folder,
                                    .best_metric = "score",
                                    .best_is_smallest = smallest,
                                    .patience = patience,
                                    .restore_best = restore,
                                    .on_evaluate = count_evaluation,
                                    .context = seen == NULL ? &unseen : seen};
  CHECK(hr_train(session, &options, NULL, &report));
  if (now != NULL) *now = now_of(session);
  hr_dataset_release(data);
  hr_dataset_release(test);
  hr_session_release(session);
  return report;
}

static int64_t best_in(hr_env* env, char* folder) {
  hr_session* session = session_of(build(env));
  CHECK(hr_session_restore(session, in_folder(folder, "best"), NULL, NULL, NULL));
  const int64_t now = now_of(session);
  EXPECT(hr_session_step(session) == now);
  hr_session_release(session);
  return now;
}

static void test_best_is_kept(hr_env* env) {
  char* folder = make_folder();
  evaluations seen = {0, 0};
  int64_t now;
  hr_train_report report = train(env, folder, 9, 0, 0, 0, &now, &seen);
  EXPECT(report.best == 5 && report.best_step == 4 && !report.stopped_early && report.step == 9);
  EXPECT(now == 9 && seen.count == 9 && seen.last == 2 && isnan(report.learning_rate));
  EXPECT(best_in(env, folder) == 4);
  EXPECT(count_entries(in_folder(folder, "best")) == 4); /* step-4, latest, . and .. */
  report = train(env, folder, 12, 0, 0, 1, &now, NULL);  /* goes on, and finds a better one */
  EXPECT(report.best == 7 && report.best_step == 11 && report.step == 12);
  EXPECT(now == 11); /* the best was restored */
  remove_folder(folder);
}

static void test_smallest(hr_env* env) {
  const hr_train_report report = train(env, NULL, 12, 0, 1, 0, NULL, NULL);
  EXPECT(report.best == 1 && report.best_step == 1);
}

/* 5 at step 4 is not better than 5 at step 5. */
static void test_patience(hr_env* env) {
  char* folder = make_folder();
  int64_t now;
  hr_train_report report = train(env, folder, 12, 3, 0, 1, &now, NULL);
  EXPECT(report.stopped_early && report.step == 7 && report.best_step == 4 && now == 4);
  report = train(env, folder, 12, 3, 0, 0, &now, NULL); /* it has no more patience than before */
  EXPECT(report.stopped_early && report.step == 7 && now == 7);
  report = train(env, folder, 12, 6, 0, 0, &now, NULL);
  EXPECT(!report.stopped_early && report.step == 12 && report.best_step == 11);
  remove_folder(folder);
}

/* Wherever it was broken off, it stops where it would have. */
static void test_resumed_stops_alike(hr_env* env) {
  for (int64_t broken = 1; broken < 8; ++broken) {
    char* folder = make_folder();
    train(env, folder, broken, 4, 0, 0, NULL, NULL);
    const hr_train_report report = train(env, folder, 12, 4, 0, 0, NULL, NULL);
    EXPECT(report.stopped_early && report.step == 8 && report.best_step == 4);
    remove_folder(folder);
  }
}

static void test_what_is_refused(hr_env* env) {
  hr_session* session = session_of(build(env));
  hr_dataset *data = make_data(env, 1), *test = make_data(env, 1);
  hr_train_options options = {.struct_size = sizeof options, .train_data = data};
  options.patience = 2;
  FAILS(hr_train(session, &options, NULL, NULL), HR_INVALID_ARGUMENT, "need a best_metric");
  options.best_metric = "scores";
  FAILS(hr_train(session, &options, NULL, NULL), HR_INVALID_ARGUMENT, "data to evaluate on");
  options.eval_data = test;
  FAILS(hr_train(session, &options, NULL, NULL), HR_NOT_FOUND,
        "the evaluation 'eval' has no metric 'scores'; there are: loss, score");
  options.best_metric = "score";
  options.patience = -1;
  FAILS(hr_train(session, &options, NULL, NULL), HR_INVALID_ARGUMENT, "patience is at least 0");
  options.patience = 0;
  options.restore_best = 1;
  FAILS(hr_train(session, &options, NULL, NULL), HR_INVALID_ARGUMENT,
        "restore_best needs a directory");
  EXPECT(hr_session_step(session) == 0);
  hr_dataset_release(data);
  hr_dataset_release(test);
  hr_session_release(session);
}

const test tests[] = {{"the best is kept", test_best_is_kept},
                      {"smallest", test_smallest},
                      {"patience", test_patience},
                      {"resumed stops alike", test_resumed_stops_alike},
                      {"what is refused", test_what_is_refused},
                      {NULL, NULL}};
