/* The kept files of tests/files, which every later library loads and runs; what they hold and
 * compute is documented where they are made, in tests/files/make.cc. */
#include <dirent.h>

#include "support.h"

#define FOLDER HEADRACE_SOURCE_DIR "/tests/files"

static int ends_with(const char* text, const char* end) {
  const size_t size = strlen(text), wanted = strlen(end);
  return size >= wanted && strcmp(text + size - wanted, end) == 0;
}

/* How many files there are whose names end so, each of which is given to `visit`. */
static int each_file(hr_env* env, const char* end, void (*visit)(hr_env* env, const char* path)) {
  DIR* directory = opendir(FOLDER);
  struct dirent* entry;
  char path[4096];
  int count = 0;
  EXPECT(directory != NULL);
  while ((entry = readdir(directory)) != NULL) {
    if (!ends_with(entry->d_name, end)) continue;
    snprintf(path, sizeof path, "%s/%s", FOLDER, entry->d_name);
    visit(env, path);
    ++count;
  }
  closedir(directory);
  return count;
}

static void expect_text(hr_text* text, const char* words) {
  EXPECT(strstr(hr_text_data(text), words) != NULL);
  hr_text_release(text);
}

static void describe(hr_env* env, const char* path) {
  const hr_load_options options = {
      .struct_size = sizeof options, .verify_checksums = 1, .inspect_only = 1};
  hr_model* model;
  hr_text* text;
  CHECK(hr_model_load(env, path, &options, &model));
  CHECK(hr_model_describe(model, &text));
  expect_text(text, "\"infer\"");
  CHECK(hr_model_file_describe(path, &text));
  expect_text(text, "\"1.");
  hr_model_release(model);
}

static void test_described(hr_env* env) { EXPECT(each_file(env, ".hrg", describe) >= 2); }

static hr_tensor* rows(hr_env* env) {
  const int64_t dims[2] = {2, 3};
  const float x[6] = {1, 2, 3, -1, 0, 1};
  hr_tensor* tensor;
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 2, dims, x, sizeof x, &tensor));
  return tensor;
}

static void expect_inferred(hr_session* session, const hr_tensor* x, const float expected[4]) {
  hr_call* call;
  float y[4];
  CHECK(hr_call_create(session, "infer", &call));
  CHECK(hr_call_bind(call, "x", x));
  CHECK(hr_call_output(call, "y", y, sizeof y));
  CHECK(hr_call_run(call, NULL));
  EXPECT(memcmp(y, expected, sizeof y) == 0);
  hr_call_release(call);
}

static void run(hr_env* env, const char* path) {
  hr_model* model;
  hr_session* session;
  hr_call* step;
  float loss;
  hr_tensor* x = rows(env);
  CHECK(hr_model_load(env, path, NULL, &model));
  CHECK(hr_session_create(model, NULL, NULL, &session));
  expect_inferred(session, x, (const float[]){32, 39, 14, 15});
  CHECK(hr_call_create(session, "train", &step));
  CHECK(hr_call_bind(step, "x", x));
  CHECK(hr_call_bind_scalar(step, "learning_rate", 0.5));
  CHECK(hr_call_output(step, "loss", &loss, sizeof loss));
  CHECK(hr_call_run(step, NULL));
  EXPECT(loss == 100);
  expect_inferred(session, x, (const float[]){31, 38, 13, 14});
  CHECK(hr_call_run(step, NULL));
  EXPECT(loss == 96);
  hr_call_release(step);
  hr_session_release(session);
  hr_model_release(model);
  hr_tensor_release(x);
}

static void test_run(hr_env* env) { EXPECT(each_file(env, "_training.hrg", run) >= 1); }

const test tests[] = {{"described", test_described}, {"run", test_run}, {NULL, NULL}};
