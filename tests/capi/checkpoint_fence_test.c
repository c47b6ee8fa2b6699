/* A rank is frozen while it saves, the others go on without it and save in the same folder, and it
 * wakes up: what it still does is refused, and what the others have saved stays the newest. */
#include <signal.h>

#include "comm_support.h"
#include "models.h"

enum { WIDTH = 300000 };

static hr_group* create_group(hr_env* env) {
  const hr_group_options options = {
      .struct_size = sizeof options, .transport = "shm,tcp", .silence_nanos = 600000000};
  hr_group* group;
  CHECK(hr_group_create(env, &options, NULL, &group));
  return group;
}

/* Trains and saves until it may not save any more. */
static void save_for_ever(counting* w, const hr_group* group) {
  const hr_checkpoint_options options = {.struct_size = sizeof options, .keep = 3, .group = group};
  char text[1024];
  hr_status* status = NULL;
  for (int64_t saved = 0; status == NULL; ++saved) {
    if (saved == 3) leave_note("saving", "");
    CHECK(hr_call_run(w->step, NULL));
    status = hr_session_save(w->session, rank_argument(), &options, NULL);
  }
  failure_text(status, text, sizeof text);
  leave_note("refused", text);
}

/* What the rank does that saves from now on. */
static void go_on(counting* w, const hr_group* group) {
  const hr_checkpoint_options options = {.struct_size = sizeof options, .keep = 3, .group = group};
  char step[32];
  CHECK(hr_session_restore(w->session, rank_argument(), &options, NULL, NULL));
  EXPECT(hr_session_step(w->session) >= 3);
  for (int i = 0; i < 2; ++i) {
    CHECK(hr_call_run(w->step, NULL));
    CHECK(hr_session_save(w->session, rank_argument(), &options, NULL));
  }
  snprintf(step, sizeof step, "%lld", (long long)hr_session_step(w->session));
  leave_note("step", step);
}

static void rank_saves(hr_env* env) {
  counting w = open_counting(env, WIDTH, NULL);
  hr_group* group = create_group(env);
  if (hr_group_rank(group) == 0) {
    save_for_ever(&w, group);
  } else {
    hr_group* next;
    hr_status_release(hr_barrier(group, NULL));
    CHECK(hr_group_shrink(group, NULL, &next));
    if (hr_group_rank(next) == 0) go_on(&w, next);
    CHECK(hr_barrier(next, NULL));
    hr_group_release(next);
  }
  hr_group_release(group);
  close_counting(&w);
}

static int64_t note_of_step(const ranks* all) {
  char text[32];
  EXPECT(read_note(all, "step.1", text, sizeof text) != NULL);
  return atoll(text);
}

static void freeze_after(hr_env* env, int milliseconds) {
  char text[1024], *folder = make_folder();
  ranks all;
  start_ranks(&all, 3, "rank saves", folder);
  await_note(&all, "saving.0", 20);
  sleep_ms(milliseconds);
  EXPECT(kill(all.pids[0], SIGSTOP) == 0);
  await_note(&all, "step.1", 20);
  const int64_t step = note_of_step(&all);
  EXPECT(kill(all.pids[0], SIGCONT) == 0);
  for (int rank = 0; rank < 3; ++rank) EXPECT(await_rank(&all, rank, 20) == 0);
  EXPECT(read_note(&all, "refused.0", text, sizeof text) != NULL);
  if (strstr(text, "FAILED_PRECONDITION") == NULL || strstr(text, "epoch 0 is over") == NULL) {
    fprintf(stderr, "%s\n", text);
    exit(1);
  }
  counting w = open_counting(env, WIDTH, NULL);
  CHECK(hr_session_restore(w.session, folder, NULL, NULL, NULL));
  EXPECT(hr_session_step(w.session) == step);
  close_counting(&w);
  end_ranks(&all);
  remove_folder(folder);
}

/* In every part of a save, as it happens. */
static void test_frozen_while_it_saves(hr_env* env) {
  for (int i = 0; i < 12; ++i) freeze_after(env, i);
}

/* All ranks are started anew, with a store of their own, and find a folder that had an owner. */
static void rank_starts_anew(hr_env* env) {
  counting w = open_counting(env, WIDTH, NULL);
  hr_group* group = create_group(env);
  const hr_checkpoint_options options = {.struct_size = sizeof options, .group = group};
  hr_status* status = hr_session_restore(w.session, rank_argument(), &options, NULL, NULL);
  if (status != NULL) EXPECT(hr_status_code(status) == HR_NOT_FOUND);
  hr_status_release(status);
  CHECK(hr_call_run(w.step, NULL));
  CHECK(hr_session_save(w.session, rank_argument(), &options, NULL));
  hr_group_release(group);
  close_counting(&w);
}

static void test_jobs_follow_each_other(hr_env* env) {
  char* folder = make_folder();
  for (int64_t job = 1; job <= 3; ++job) {
    run_ranks(1, "rank starts_anew", folder);
    counting w = open_counting(env, WIDTH, NULL);
    CHECK(hr_session_restore(w.session, folder, NULL, NULL, NULL));
    EXPECT(hr_session_step(w.session) == job);
    close_counting(&w);
  }
  remove_folder(folder);
}

/* The managed loop takes the folder before its first step. */
static void rank_trains(hr_env* env) {
  hr_text* report;
  hr_group *first, *second;
  hr_group_options options = {.struct_size = sizeof options, .size = 1};
  char store[256];
  const int64_t dims[] = {8, FEATURES};
  hr_model* model = make_mlp(env);
  hr_session* session;
  hr_dataset* data = make_dataset(env, 2, dims, NULL);
  const char* const names[] = {"rate"};
  const double rate = 0.01;
  for (int i = 0; i < 2; ++i) {
    snprintf(store, sizeof store, "file:%s/store.%d", rank_folder(), i);
    options.store_url = store;
    CHECK(hr_group_create(env, &options, NULL, i == 0 ? &first : &second));
  }
  CHECK(hr_session_create(model, NULL, NULL, &session));
  hr_train_options train = {.struct_size = sizeof train,
                            .train_data = data,
                            .scalar_count = 1,
                            .scalar_names = names,
                            .scalars = &rate,
                            .checkpoint_directory = rank_argument(),
                            .group = first};
  CHECK(hr_train(session, &train, NULL, NULL));
  train.group = second;
  CHECK(hr_train(session, &train, NULL, NULL));
  train.group = first;
  FAILS(hr_train(session, &train, NULL, NULL), HR_FAILED_PRECONDITION, "came after job");
  CHECK(hr_group_describe(first, &report));
  EXPECT(strstr(hr_text_data(report), "\"job\":\"") != NULL);
  hr_text_release(report);
  hr_session_release(session);
  hr_dataset_release(data);
  hr_model_release(model);
  hr_group_release(first);
  hr_group_release(second);
}

static void test_the_managed_loop(hr_env* env) {
  char* folder = make_folder();
  (void)env;
  run_ranks(1, "rank trains", folder);
  remove_folder(folder);
}

const test tests[] = {TEST(frozen_while_it_saves),
                      TEST(jobs_follow_each_other),
                      TEST(the_managed_loop),
                      RANK(saves),
                      RANK(starts_anew),
                      RANK(trains),
                      {NULL, NULL}};
