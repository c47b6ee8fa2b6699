/* hr_train with data that the host's functions give. */
#include "models.h"

typedef struct source {
  int batches, at; /* of each epoch */
} source;

/* Fills the tensors that it is given. */
static int next_batch(void* context, size_t count, hr_tensor** out) {
  source* s = context;
  if (s->at == s->batches) return 1;
  ++s->at;
  for (size_t i = 0; i < count; ++i) memset(hr_tensor_data(out[i]), 0, hr_tensor_bytes(out[i]));
  return 0;
}

static int reset(void* context, int64_t epoch) {
  (void)epoch;
  ((source*)context)->at = 0;
  return 0;
}

static hr_dataset* data_of(hr_env* env, source* s, int64_t declared, int64_t prefetch) {
  const int64_t dims[2] = {2, FEATURES};
  const hr_dataset_field fields[2] = {{sizeof *fields, "x", HR_FLOAT32, 2, dims},
                                      {sizeof *fields, "labels", HR_INT64, 1, dims}};
  const hr_dataset_callbacks callbacks = {.struct_size = sizeof callbacks,
                                          .context = s,
                                          .next = next_batch,
                                          .reset = reset,
                                          .batches = declared};
  const hr_dataset_options options = {
      .struct_size = sizeof options, .repeat = 2, .prefetch = prefetch};
  hr_dataset* data;
  CHECK(hr_dataset_from_callbacks(env, &callbacks, 2, fields, &options, &data));
  return data;
}

static void test_fields(hr_env* env) {
  source s = {.batches = 3};
  hr_dataset* data = data_of(env, &s, 3, 0);
  EXPECT(hr_dataset_field_count(data) == 2);
  EXPECT(strcmp(hr_dataset_field_name(data, 0), "x") == 0);
  CHECK(hr_dataset_rename(data, "labels", "classes"));
  EXPECT(strcmp(hr_dataset_field_name(data, 1), "classes") == 0);
  EXPECT(hr_dataset_field_name(data, 2) == NULL);
  hr_dataset_release(data);
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
  CHECK(hr_session_create(model, NULL, &session));
  hr_model_release(model);
  return session;
}

static void test_epochs_are_counted(hr_env* env) {
  for (int64_t prefetch = 0; prefetch < 3; ++prefetch) {
    for (int64_t declared = -1; declared < 4; declared += 4) {
      source s = {.batches = 3};
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
    source s = {.batches = 3};
    hr_train_report report = {.struct_size = sizeof report};
    hr_session* session = new_session(env);
    hr_dataset* data = data_of(env, &s, 10, prefetch);
    hr_call* call;
    FAILS(train(session, data, &report), HR_DATA_LOSS,
          "declared 10 batches, epoch 0 ended after 3; deliver as many as declared");
    EXPECT(hr_session_step(session) == 3);
    CHECK(hr_call_create(session, "train", &call));
    CHECK(hr_call_bind_scalar(call, "rate", 0.01));
    CHECK(hr_call_bind_dataset(call, data));
    FAILS(hr_call_run(call, NULL), HR_DATA_LOSS, "declared 10 batches, epoch 0 ended after 3");
    s.batches = 10; /* the rest came in the meantime */
    CHECK(hr_call_run(call, NULL));
    EXPECT(hr_session_step(session) == 4);
    hr_call_release(call);
    hr_dataset_release(data);
    hr_session_release(session);
  }
}

const test tests[] = {{"epochs are counted", test_epochs_are_counted},
                      {"data that ends early", test_data_that_ends_early},
                      {"fields", test_fields},
                      {NULL, NULL}};
