/* hr_train with data that the host's functions give. */
#include "models.h"

enum { BATCH = 2 };

typedef struct source {
  int64_t examples, at; /* of each epoch */
  int64_t most;         /* examples of a batch; 0: as many as are asked for */
  int fails;            /* the next batch, and each one while it is not 0 */
  int seek_fails;
  int released;
  hr_env* env;
} source;

/* Fills the tensors that it is given, or gives smaller ones. */
static hr_status* next_batch(void* context, int64_t examples, size_t count, hr_tensor** out,
                             int32_t* out_end) {
  source* s = context;
  EXPECT(count == 2 && *out_end == 0 && examples >= 1 && examples <= BATCH);
  EXPECT(hr_tensor_elements(out[1]) == examples);
  if (s->fails) return hr_status_create(HR_PERMISSION_DENIED, "the tape is locked");
  if (s->at >= s->examples) {
    *out_end = 1;
    return NULL;
  }
  if (s->most > 0 && s->most < examples) {
    const int64_t dims[2] = {s->most, FEATURES};
    examples = s->most;
    hr_tensor_release(out[0]);
    hr_tensor_release(out[1]);
    CHECK(hr_tensor_create(s->env, HR_FLOAT32, 2, dims, &out[0]));
    CHECK(hr_tensor_create(s->env, HR_INT64, 1, dims, &out[1]));
  }
  memset(hr_tensor_data(out[0]), 0, hr_tensor_bytes(out[0]));
  for (int64_t i = 0; i < examples; ++i) ((int64_t*)hr_tensor_data(out[1]))[i] = s->at++ % CLASSES;
  return NULL;
}

static hr_status* seek(void* context, int64_t epoch, int64_t first_example) {
  source* s = context;
  (void)epoch;
  if (s->seek_fails) return hr_status_create(HR_NOT_FOUND, "the tape was sold");
  s->at = first_example;
  return NULL;
}

static void count_release(void* context) { ++((source*)context)->released; }

static hr_dataset* data_of(hr_env* env, source* s, int64_t declared, int64_t prefetch) {
  const int64_t dims[2] = {BATCH, FEATURES};
  const hr_dataset_field fields[2] = {{sizeof *fields, "x", HR_FLOAT32, 2, dims},
                                      {sizeof *fields, "labels", HR_INT64, 1, dims}};
  const hr_dataset_callbacks callbacks = {.struct_size = sizeof callbacks,
                                          .context = s,
                                          .next = next_batch,
                                          .seek = seek,
                                          .release = count_release,
                                          .examples = declared};
  const hr_dataset_options options = {
      .struct_size = sizeof options, .repeat = 2, .prefetch = prefetch};
  hr_dataset* data;
  s->env = env;
  CHECK(hr_dataset_from_callbacks(env, &callbacks, 2, fields, &options, &data));
  return data;
}

static void test_fields(hr_env* env) {
  source s = {.examples = 6};
  hr_dataset* data = data_of(env, &s, 6, 0);
  EXPECT(hr_dataset_field_count(data) == 2 && hr_dataset_batches(data) == 3);
  const char* before = hr_dataset_field_name(data, 1);
  CHECK(hr_dataset_rename(data, "labels", "classes"));
  EXPECT(strcmp(hr_dataset_field_name(data, 1), "classes") == 0);
  EXPECT(strcmp(before, "labels") == 0); /* also after the renaming */
  EXPECT(hr_dataset_field_name(data, 2) == NULL);
  EXPECT(s.released == 0);
  hr_dataset_release(data);
  EXPECT(s.released == 1);
}

static hr_status* train(hr_session* session, hr_dataset* data, hr_train_report* report) {
  const char* names[1] = {"rate"};
  const double rates[1] = {0.01};
  const hr_train_options options = {.struct_size = sizeof options,
                                    .train_data = data,
                                    .scalar_count = 1,
                                    .scalar_names = names,
                                    .scalars = rates};
  return hr_train(session, &options, NULL, report);
}

static hr_session* new_session(hr_env* env) {
  hr_session* session;
  hr_model* model = make_mlp(env);
  CHECK(hr_session_create(model, NULL, NULL, &session));
  hr_model_release(model);
  return session;
}

static void test_epochs_are_counted(hr_env* env) {
  for (int64_t prefetch = 0; prefetch < 3; ++prefetch) {
    for (int64_t declared = -1; declared < 7; declared += 7) {
      source s = {.examples = 6};
      hr_train_report report = {.struct_size = sizeof report};
      hr_session* session = new_session(env);
      hr_dataset* data = data_of(env, &s, declared, prefetch);
      CHECK(train(session, data, &report));
      EXPECT(report.step == 6 && report.epoch == 2);
      hr_dataset_release(data);
      hr_session_release(session);
    }
  }
}

static void test_data_that_ends_early(hr_env* env) {
  for (int64_t prefetch = 0; prefetch < 3; ++prefetch) {
    source s = {.examples = 6};
    hr_train_report report = {.struct_size = sizeof report};
    hr_session* session = new_session(env);
    hr_dataset* data = data_of(env, &s, 20, prefetch);
    hr_call* call;
    FAILS(train(session, data, &report), HR_DATA_LOSS,
          "declared 20 examples, epoch 0 ended after 6; deliver as many as declared");
    EXPECT(hr_session_step(session) == 3);
    CHECK(hr_call_create(session, "train", &call));
    CHECK(hr_call_bind_scalar(call, "rate", 0.01));
    CHECK(hr_call_bind_dataset(call, data));
    FAILS(hr_call_run(call, NULL), HR_DATA_LOSS, "declared 20 examples, epoch 0 ended after 6");
    s.examples = 20; /* the rest came in the meantime */
    CHECK(hr_call_run(call, NULL));
    EXPECT(hr_session_step(session) == 4);
    hr_call_release(call);
    hr_dataset_release(data);
    hr_session_release(session);
  }
}

/* What the host says is what the caller hears, from every call that needs a batch. */
static void test_failures_of_the_host(hr_env* env) {
  for (int64_t prefetch = 0; prefetch < 3; ++prefetch) {
    source s = {.examples = 6, .fails = 1};
    hr_train_report report = {.struct_size = sizeof report};
    hr_session* session = new_session(env);
    hr_dataset* data = data_of(env, &s, 6, prefetch);
    hr_tensor* batch[2];
    hr_call* call;
    const char* words = "the host's data set failed to make a batch: the tape is locked";
    EXPECT(hr_dataset_done(data, NULL) == 0);
    FAILS(hr_dataset_next(data, NULL, batch), HR_PERMISSION_DENIED, words);
    FAILS(train(session, data, &report), HR_PERMISSION_DENIED, words);
    CHECK(hr_call_create(session, "train", &call));
    CHECK(hr_call_bind_scalar(call, "rate", 0.01));
    CHECK(hr_call_bind_dataset(call, data));
    FAILS(hr_call_run(call, NULL), HR_PERMISSION_DENIED, words);
    EXPECT(hr_session_step(session) == 0);
    s.fails = 0;
    CHECK(train(session, data, &report));
    EXPECT(report.step == 6);
    hr_call_release(call);
    hr_dataset_release(data);
    hr_session_release(session);
  }
}

static void expect_position(hr_dataset* data, const char* words) {
  hr_text* text;
  CHECK(hr_dataset_position(data, &text));
  if (strstr(hr_text_data(text), words) == NULL) fprintf(stderr, "%s\n", hr_text_data(text));
  EXPECT(strstr(hr_text_data(text), words) != NULL);
  hr_text_release(text);
}

static void draw(hr_dataset* data, int64_t examples) {
  hr_tensor* batch[2];
  CHECK(hr_dataset_next(data, NULL, batch));
  EXPECT(hr_tensor_elements(batch[1]) == examples);
  hr_tensor_release(batch[0]);
  hr_tensor_release(batch[1]);
}

/* Positions count examples, whatever the host's batches are. */
static void test_positions(hr_env* env) {
  for (int64_t prefetch = 0; prefetch < 3; ++prefetch) {
    source s = {.examples = 5, .most = 1};
    hr_dataset* data = data_of(env, &s, 5, prefetch);
    draw(data, 1);
    draw(data, 1);
    expect_position(data, "\"epoch\":0,\"example\":2,");
    CHECK(
        hr_dataset_seek(data,
                        "{\"epoch\":1,\"example\":3,\"first_epoch\":0,\"seed\":0,\"shuffle\":false,"
                        "\"size\":5}",
                        NULL));
    s.most = 0;
    draw(data, 2);
    expect_position(data, "\"epoch\":2,\"example\":0,");
    EXPECT(hr_dataset_done(data, NULL) == 1);
    CHECK(hr_dataset_rewind(data, NULL));
    s.seek_fails = 1;
    hr_tensor* batch[2];
    FAILS(hr_dataset_next(data, NULL, batch), HR_NOT_FOUND,
          "could not go to example 0 of epoch 2: the tape was sold");
    hr_dataset_release(data);
  }
}

const test tests[] = {{"epochs are counted", test_epochs_are_counted},
                      {"data that ends early", test_data_that_ends_early},
                      {"failures of the host", test_failures_of_the_host},
                      {"positions count examples", test_positions},
                      {"fields", test_fields},
                      {NULL, NULL}};
