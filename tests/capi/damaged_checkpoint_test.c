/* Checkpoints that are cut off, changed or lie about themselves: restoring says so and leaves the
 * session as it was. A full disk and SIGKILL while one is written: the one before stays good. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm_support.h"
#include "models.h"

enum { WIDTH = 50000 };

/* The steps that the variables show, which must agree. */
static int64_t steps_of(const counting* w) {
  hr_tensor *a, *b;
  CHECK(hr_session_get_variable(w->session, "a", NULL, &a));
  CHECK(hr_session_get_variable(w->session, "b", NULL, &b));
  float first = ((float*)hr_tensor_data(a))[0];
  for (int i = 0; i < WIDTH; ++i) {
    EXPECT(((float*)hr_tensor_data(a))[i] == first && ((float*)hr_tensor_data(b))[i] == first);
  }
  hr_tensor_release(a);
  hr_tensor_release(b);
  return (int64_t)first;
}

/* ---- Damage ---- */

static long size_of(const char* path) {
  FILE* file = fopen(path, "rb");
  EXPECT(file != NULL && fseek(file, 0, SEEK_END) == 0);
  long size = ftell(file);
  fclose(file);
  return size;
}

static void flip(const char* path, long at, int bit) {
  FILE* file = fopen(path, "r+b");
  EXPECT(file != NULL && fseek(file, at, SEEK_SET) == 0);
  int byte = fgetc(file);
  EXPECT(fseek(file, at, SEEK_SET) == 0 && fputc(byte ^ 1 << bit, file) != EOF);
  EXPECT(fclose(file) == 0);
}

/* The checkpoint of step 1 is damaged, the session is at step 2 and stays there. */
static void expect_refused(const counting* w) {
  FAILS(hr_session_restore(w->session, in_folder(w->folder, "step-000001"), NULL, NULL, NULL),
        HR_DATA_LOSS, "step-000001");
  EXPECT(hr_session_step(w->session) == 2);
}

static void damage(hr_env* env, const char* name) {
  counting w = open_counting(env, WIDTH, make_folder());
  char file[8192];
  CHECK(hr_call_run(w.step, NULL));
  CHECK(hr_session_save(w.session, w.folder, NULL, NULL));
  CHECK(hr_call_run(w.step, NULL));
  snprintf(file, sizeof file, "%s", in_folder(w.folder, name));
  long size = size_of(file);
  for (long k = 0; k < 40; ++k) { /* byte by byte at the front, wider apart later */
    long at = k < 20 ? k : (size - 1) * (k - 19) / 20;
    flip(file, at, (int)(k % 7));
    expect_refused(&w);
    flip(file, at, (int)(k % 7));
  }
  for (int k = 1; k <= 12; ++k) {
    EXPECT(truncate(file, size - size * k / 12) == 0);
    expect_refused(&w);
  }
  EXPECT(unlink(file) == 0);
  FAILS(hr_session_restore(w.session, in_folder(w.folder, "step-000001"), NULL, NULL, NULL),
        HR_NOT_FOUND, "step-000001");
  EXPECT(steps_of(&w) == 2);
  close_counting(&w);
  remove_folder(w.folder);
}

static void test_damage(hr_env* env) {
  damage(env, "step-000001/manifest.json");
  damage(env, "step-000001/shard-00000-of-00001.safetensors");
}

static int described(const char* path, const char* word) {
  hr_text* text;
  CHECK(hr_checkpoint_describe(path, &text));
  const int found = strstr(hr_text_data(text), word) != NULL;
  hr_text_release(text);
  return found;
}

static void test_descriptions(hr_env* env) {
  counting w = open_counting(env, WIDTH, make_folder());
  hr_text* text;
  FAILS(hr_checkpoint_describe(w.folder, &text), HR_NOT_FOUND, "is not a checkpoint");
  CHECK(hr_call_run(w.step, NULL));
  CHECK(hr_session_save(w.session, w.folder, NULL, NULL));
  EXPECT(described(w.folder, "\"step\":1") && described(w.folder, "\"whole\":true"));
  EXPECT(described(in_folder(w.folder, "step-000001"), "\"name\":\"a\""));
  flip(in_folder(w.folder, "step-000001/manifest.json"), 0, 0);
  EXPECT(described(w.folder, "\"whole\":false") && !described(w.folder, "\"whole\":true"));
  close_counting(&w);
  remove_folder(w.folder);
}

/* A manifest of a terabyte (a hole) must not cost that memory. */
static void test_a_manifest_that_lies(hr_env* env) {
  counting w = open_counting(env, WIDTH, make_folder());
  CHECK(hr_session_save(w.session, w.folder, NULL, NULL));
  const char* manifest = in_folder(w.folder, "step-000000/manifest.json");
  EXPECT(truncate(manifest, (off_t)1 << 40) == 0);
  FAILS(hr_session_restore(w.session, in_folder(w.folder, "step-000000"), NULL, NULL, NULL),
        HR_DATA_LOSS, "expected at most");
  close_counting(&w);
  remove_folder(w.folder);
}

/* A damaged newer checkpoint is passed over, and the report says so. */
static void test_falls_back(hr_env* env) {
  counting w = open_counting(env, WIDTH, make_folder());
  hr_text* report;
  for (int i = 0; i < 2; ++i) {
    CHECK(hr_call_run(w.step, NULL));
    CHECK(hr_session_save(w.session, w.folder, NULL, NULL));
  }
  flip(in_folder(w.folder, "step-000002/shard-00000-of-00001.safetensors"), 5000, 2);
  CHECK(hr_session_restore(w.session, w.folder, NULL, NULL, &report));
  EXPECT(strstr(hr_text_data(report), "step-000002' is skipped") != NULL);
  EXPECT(steps_of(&w) == 1 && hr_session_step(w.session) == 1);
  hr_text_release(report);
  close_counting(&w);
  remove_folder(w.folder);
}

/* A checkpoint of another model. */
static void test_of_another_model(hr_env* env) {
  counting w = open_counting(env, WIDTH, make_folder());
  hr_model* model = make_mlp(env);
  hr_session* session;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_session_save(w.session, w.folder, NULL, NULL));
  FAILS(hr_session_restore(session, w.folder, NULL, NULL, NULL), HR_NOT_FOUND,
        "does not fit the model");
  FAILS(hr_session_restore(session, in_folder(w.folder, "none"), NULL, NULL, NULL), HR_NOT_FOUND,
        "none");
  hr_session_release(session);
  hr_model_release(model);
  close_counting(&w);
  remove_folder(w.folder);
}

/* ---- A full disk ---- */

/* Files may have so many bytes at most, which fails a write as a full disk does. */
static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  EXPECT(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  limit.rlim_cur = bytes;
  EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void test_a_full_disk(hr_env* env) {
  const rlim_t sizes[4] = {0, 100, 4096, WIDTH * 4 + 5000};
  const char* signature = "look";
  counting w = open_counting(env, WIDTH, make_folder());
  CHECK(hr_call_run(w.step, NULL));
  CHECK(hr_session_save(w.session, w.folder, NULL, NULL));
  CHECK(hr_session_export(w.session, in_folder(w.folder, "served.hrg"), 1, &signature, NULL, NULL));
  long served = size_of(in_folder(w.folder, "served.hrg"));
  CHECK(hr_call_run(w.step, NULL));
  signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 4; ++i) {
    limit_files(sizes[i]);
    FAILS(hr_session_save(w.session, w.folder, NULL, NULL), HR_RESOURCE_EXHAUSTED, "free space");
    FAILS(
        hr_session_export(w.session, in_folder(w.folder, "served.hrg"), 1, &signature, NULL, NULL),
        HR_RESOURCE_EXHAUSTED, "free space");
    limit_files(RLIM_INFINITY);
  }
  EXPECT(size_of(in_folder(w.folder, "served.hrg")) == served);
  EXPECT(access(in_folder(w.folder, "step-000002"), F_OK) != 0);
  CHECK(hr_session_restore(w.session, w.folder, NULL, NULL, NULL));
  EXPECT(steps_of(&w) == 1);
  CHECK(hr_session_save(w.session, w.folder, NULL, NULL));
  close_counting(&w);
  remove_folder(w.folder);
}

/* ---- SIGKILL ---- */

/* Steps and saves until it is killed; reports each step that it saved. */
static void save_on(char* folder, int report) {
  hr_env* env = make_env(1);
  counting w = open_counting(env, WIDTH, folder);
  hr_status_release(
      hr_session_restore(w.session, folder, NULL, NULL, NULL)); /* the first has none */
  for (;;) {
    CHECK(hr_call_run(w.step, NULL));
    CHECK(hr_session_save(w.session, folder, NULL, NULL));
    int64_t step = hr_session_step(w.session);
    if (write(report, &step, sizeof step) != sizeof step) _exit(1);
  }
}

static void test_killed(hr_env* env) {
  counting w = open_counting(env, WIDTH, make_folder());
  int64_t saved = 0;
  int report[2];
  EXPECT(pipe(report) == 0 && fcntl(report[0], F_SETFL, O_NONBLOCK) == 0);
  CHECK(hr_session_save(w.session, w.folder, NULL, NULL));
  for (int round = 0; round < 20; ++round) {
    int64_t before = saved, step;
    int status;
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) save_on(w.folder, report[1]);
    sleep_ms(10 + 2 * round);
    EXPECT(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    EXPECT(WIFSIGNALED(status));
    while (read(report[0], &step, sizeof step) == sizeof step) saved = step;
    CHECK(hr_session_restore(w.session, w.folder, NULL, NULL, NULL));
    EXPECT(steps_of(&w) == hr_session_step(w.session));
    EXPECT(hr_session_step(w.session) >= saved && hr_session_step(w.session) <= saved + 1);
    EXPECT(saved >= before);
    saved = hr_session_step(w.session);
  }
  EXPECT(saved > 0);
  close(report[0]);
  close(report[1]);
  close_counting(&w);
  remove_folder(w.folder);
}

const test tests[] = {{"damage", test_damage},
                      {"descriptions", test_descriptions},
                      {"a manifest that lies", test_a_manifest_that_lies},
                      {"falls back", test_falls_back},
                      {"of another model", test_of_another_model},
                      {"a full disk", test_a_full_disk},
                      {"killed", test_killed},
                      {NULL, NULL}};
