/* Several sessions save into one folder at the same time: every save succeeds, and every checkpoint
 * that is there is whole. */
#include <pthread.h>

#include "models.h"

enum { WIDTH = 20000, SAVERS = 3, STEPS = 15 };

typedef struct saver {
  counting counting;
  int stride; /* runs between two checkpoints */
} saver;

static void* save_often(void* context) {
  const saver* s = context;
  hr_checkpoint_options options = {.struct_size = sizeof options, .keep = 4};
  for (int i = 0; i < STEPS; ++i) {
    for (int k = 0; k < s->stride; ++k) CHECK(hr_call_run(s->counting.step, NULL));
    CHECK(hr_session_save(s->counting.session, s->counting.folder, &options, NULL));
  }
  return NULL;
}

/* The newest checkpoint is one that a session has saved: both variables have counted its steps. */
static void expect_newest(hr_env* env, char* folder) {
  counting w = open_counting(env, WIDTH, folder);
  hr_text* report;
  hr_tensor *a, *b;
  CHECK(hr_session_restore(w.session, folder, NULL, NULL, &report));
  EXPECT(strstr(hr_text_data(report), "skipped") == NULL);
  CHECK(hr_session_get_variable(w.session, "a", NULL, &a));
  CHECK(hr_session_get_variable(w.session, "b", NULL, &b));
  const float steps = (float)hr_session_step(w.session);
  for (int i = 0; i < WIDTH; ++i) {
    EXPECT(((float*)hr_tensor_data(a))[i] == steps && ((float*)hr_tensor_data(b))[i] == steps);
  }
  hr_tensor_release(a);
  hr_tensor_release(b);
  hr_text_release(report);
  close_counting(&w);
}

static void save_at_once(hr_env* env, const int strides[SAVERS]) {
  char* folder = make_folder();
  saver savers[SAVERS];
  pthread_t threads[SAVERS];
  for (int i = 0; i < SAVERS; ++i) {
    savers[i] = (saver){open_counting(env, WIDTH, folder), strides[i]};
    EXPECT(pthread_create(&threads[i], NULL, save_often, &savers[i]) == 0);
  }
  for (int i = 0; i < SAVERS; ++i) {
    EXPECT(pthread_join(threads[i], NULL) == 0);
    close_counting(&savers[i].counting);
  }
  expect_newest(env, folder);
  remove_folder(folder);
}

static void test_same_steps(hr_env* env) { save_at_once(env, (const int[SAVERS]){1, 1, 1}); }
static void test_other_steps(hr_env* env) { save_at_once(env, (const int[SAVERS]){1, 2, 3}); }

const test tests[] = {{"sessions save the same steps", test_same_steps},
                      {"sessions save different steps", test_other_steps},
                      {NULL, NULL}};
