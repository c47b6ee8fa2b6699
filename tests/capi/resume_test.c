/* Training that was broken off and restored from its checkpoint goes on bit by bit as it would
 * have: variables, optimizer state, step and the position in shuffled data. */
#include "models.h"

static hr_dataset* make_data(hr_env* env, int64_t prefetch) {
  const int64_t dims[2] = {100, FEATURES};
  hr_dataset_options options = {.struct_size = sizeof options,
                                .batch = 16,
                                .repeat = 3,
                                .shuffle = 1,
                                .seed = 5,
                                .prefetch = prefetch};
  return make_dataset(env, 2, dims, &options);
}

/* Trains a new session to `steps` steps in all, going on from the checkpoint in `folder` if there
 * is one. Whether it got there within the limits; if there are some, no other thread reads ahead,
 * as a wait for it looks at the clock as often as it takes. */
static int train_within(hr_env* env, hr_model* model, const char* folder, int64_t steps,
                        uint64_t seed, const hr_limits* limits, float* weights) {
  const char* names[1] = {"rate"};
  const double values[1] = {0.01};
  hr_session_options session_options = {.struct_size = sizeof session_options, .seed = seed};
  hr_session* session;
  hr_tensor* weight;
  CHECK(hr_session_create(model, &session_options, NULL, &session));
  hr_dataset* data = make_data(env, limits == NULL ? 2 : 0);
  hr_train_options options = {.struct_size = sizeof options,
                              .train_data = data,
                              .max_steps = steps,
                              .scalar_count = 1,
                              .scalar_names = names,
                              .scalars = values,
                              .checkpoint_directory = folder};
  hr_train_report report = {.struct_size = sizeof report};
  hr_status* ended = hr_train(session, &options, limits, &report);
  int done = ended == NULL;
  EXPECT(done || hr_status_code(ended) == HR_DEADLINE_EXCEEDED);
  EXPECT(!done || (report.step == steps && hr_session_step(session) == steps));
  EXPECT(limits != NULL || report.examples == 16);
  hr_status_release(ended);
  CHECK(hr_session_get_variable(session, "fc1/weight", NULL, &weight));
  EXPECT(hr_tensor_bytes(weight) == sizeof(float) * HIDDEN * FEATURES);
  memcpy(weights, hr_tensor_data(weight), hr_tensor_bytes(weight));
  hr_tensor_release(weight);
  hr_dataset_release(data);
  hr_session_release(session);
  return done;
}

static void train(hr_env* env, hr_model* model, const char* folder, int64_t steps, uint64_t seed,
                  float* weights) {
  EXPECT(train_within(env, model, folder, steps, seed, NULL, weights));
}

static void test_resume(hr_env* env) {
  char *whole = make_folder(), *broken = make_folder();
  float expected[HIDDEN * FEATURES], got[HIDDEN * FEATURES], early[HIDDEN * FEATURES];
  hr_model* model = make_mlp(env);
  train(env, model, whole, 20, 3, expected);
  train(env, model, broken, 9, 3, early);
  train(env, model, broken, 20, 99, got); /* another seed: the checkpoint's counts */
  EXPECT(memcmp(expected, got, sizeof got) == 0);
  EXPECT(memcmp(expected, early, sizeof got) != 0);
  remove_folder(whole);
  remove_folder(broken);
  hr_model_release(model);
}

static int64_t next_tick(void* context) { return ++*(int64_t*)context; }

/* A deadline that passes in the middle of a run loses neither what was trained nor the batch that
 * the run had drawn. The clock ticks whenever it is looked at, which is as often on any machine. */
static void test_deadlines(hr_env* unused) {
  (void)unused;
  int64_t ticks = 0;
  hr_clock clock = {.struct_size = sizeof clock, .context = &ticks, .now_nanos = next_tick};
  hr_env_options options = {.struct_size = sizeof options, .clock = &clock, .threads = 1};
  hr_limits limits = {.struct_size = sizeof limits, .timeout_nanos = 45};
  char *whole = make_folder(), *broken = make_folder();
  float expected[HIDDEN * FEATURES], got[HIDDEN * FEATURES];
  int attempts = 1;
  hr_env* env;
  CHECK(hr_env_create(&options, &env));
  hr_model* model = make_mlp(env);
  train(env, model, whole, 20, 3, expected);
  while (!train_within(env, model, broken, 20, 3, &limits, got)) EXPECT(++attempts < 50);
  EXPECT(attempts > 3);
  EXPECT(memcmp(expected, got, sizeof got) == 0);
  remove_folder(whole);
  remove_folder(broken);
  hr_model_release(model);
  hr_env_release(env);
}

/* ---- The host stops a training ---- */

typedef struct stop {
  int64_t at;
  const char* why; /* NULL: it only stops */
  int calls;
} stop;

static hr_status* stop_at(void* context, const hr_train_report* report, int32_t* out_stop) {
  stop* s = context;
  EXPECT(*out_stop == 0 && report->step == ++s->calls);
  if (report->step != s->at) return NULL;
  if (s->why != NULL) return hr_status_create(HR_RESOURCE_EXHAUSTED, s->why);
  *out_stop = 1;
  return NULL;
}

/* A stop and a failure both keep what was trained. */
static void test_stops(hr_env* env) {
  const char* names[1] = {"rate"};
  const double values[1] = {0.01};
  hr_model* model = make_mlp(env);
  for (int fails = 0; fails < 2; ++fails) {
    char* folder = make_folder();
    stop s = {.at = 5, .why = fails ? "the budget is spent" : NULL};
    hr_session *session, *restored;
    hr_dataset *data = make_data(env, 2), *test = make_data(env, 2);
    hr_train_options options = {.struct_size = sizeof options,
                                .train_data = data,
                                .eval_signature = "none such", /* which is not missed */
                                .eval_data = test,
                                .scalar_count = 1,
                                .scalar_names = names,
                                .scalars = values,
                                .checkpoint_directory = folder,
                                .on_step = stop_at,
                                .context = &s};
    CHECK(hr_session_create(model, NULL, NULL, &session));
    if (fails) {
      FAILS(hr_train(session, &options, NULL, NULL), HR_RESOURCE_EXHAUSTED, "the budget is spent");
    } else {
      CHECK(hr_train(session, &options, NULL, NULL));
    }
    EXPECT(s.calls == 5);
    CHECK(hr_session_create(model, NULL, NULL, &restored));
    CHECK(hr_session_restore(restored, folder, NULL, NULL, NULL));
    EXPECT(hr_session_step(restored) == 5);
    hr_session_release(session);
    hr_session_release(restored);
    hr_dataset_release(data);
    hr_dataset_release(test);
    remove_folder(folder);
  }
  hr_model_release(model);
}

static void test_renamed_fields(hr_env* env) {
  hr_model* model = make_mlp(env);
  hr_dataset* data = make_data(env, 2);
  hr_session* session;
  hr_call* call;
  CHECK(hr_dataset_rename(data, "x", "pixels"));
  FAILS(hr_dataset_rename(data, "x", "y"), HR_NOT_FOUND, "pixels, labels");
  FAILS(hr_dataset_rename(data, "pixels", "labels"), HR_ALREADY_EXISTS, "'labels'");
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_bind_scalar(call, "rate", 0.1));
  CHECK(hr_call_bind_dataset(call, data));
  FAILS(hr_call_run(call, NULL), HR_INVALID_ARGUMENT, "'x'");
  CHECK(hr_dataset_rename(data, "pixels", "x"));
  CHECK(hr_call_bind_dataset(call, data));
  CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
  hr_session_release(session);
  hr_dataset_release(data);
  hr_model_release(model);
}

const test tests[] = {{"resumes bit by bit", test_resume},
                      {"deadlines lose nothing", test_deadlines},
                      {"the host stops a training", test_stops},
                      {"fields have other names", test_renamed_fields},
                      {NULL, NULL}};
