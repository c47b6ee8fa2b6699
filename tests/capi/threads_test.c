/* Sixteen threads on one session. */
#include <pthread.h>
#include <stdatomic.h>

#include "models.h"

enum { THREADS = 16, ROUNDS = 40 };

static void in_threads(void* (*body)(void*), void* contexts, size_t size) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    EXPECT(pthread_create(&threads[i], NULL, body, (char*)contexts + (size_t)i * size) == 0);
  for (int i = 0; i < THREADS; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
}

/* ---- Reading runs of different shapes, with room for few plans ---- */

typedef struct reader {
  hr_session* session;
  hr_tensor *x, *expected;
} reader;

static hr_tensor* infer(hr_session* session, const hr_tensor* x) {
  const char *feeds[1] = {"x"}, *fetches[1] = {"scores"};
  hr_tensor* scores;
  CHECK(hr_session_run(session, 1, feeds, &x, 1, fetches, 0, NULL, NULL, &scores));
  return scores;
}

static int equal(const hr_tensor* a, const hr_tensor* b) {
  return hr_tensor_bytes(a) == hr_tensor_bytes(b) &&
         memcmp(hr_tensor_data(a), hr_tensor_data(b), hr_tensor_bytes(a)) == 0;
}

static void* read_on(void* context) {
  reader* r = context;
  hr_call* call;
  CHECK(hr_call_create(r->session, "infer", &call));
  CHECK(hr_call_bind(call, "x", r->x));
  for (int round = 0; round < ROUNDS; ++round) {
    hr_tensor* scores = infer(r->session, r->x);
    EXPECT(equal(scores, r->expected));
    hr_tensor_release(scores);
    CHECK(hr_call_run(call, NULL));
    CHECK(hr_call_result(call, "scores", &scores));
    EXPECT(equal(scores, r->expected));
    hr_tensor_release(scores);
    if (round % 8 == 0) hr_session_trim(r->session);
  }
  hr_call_release(call);
  return NULL;
}

static void test_readers(hr_env* env) {
  hr_session_options options = {.struct_size = sizeof options, .max_plans = 3};
  hr_model* model = make_lenet(env);
  hr_session* session;
  reader readers[THREADS];
  CHECK(hr_session_create(model, &options, NULL, &session));
  for (int i = 0; i < THREADS; ++i) {
    const int64_t dims[4] = {1 + i % 11, 1, 12, 12};
    hr_tensor* labels;
    readers[i].session = session;
    make_examples(env, 4, dims, &readers[i].x, &labels);
    hr_tensor_release(labels);
    readers[i].expected = infer(session, readers[i].x);
  }
  in_threads(read_on, readers, sizeof readers[0]);
  for (int i = 0; i < THREADS; ++i) {
    hr_tensor_release(readers[i].x);
    hr_tensor_release(readers[i].expected);
  }
  hr_session_release(session);
  hr_model_release(model);
}

/* ---- Runs that write exclude each other and those that read ---- */

enum { WIDTH = 20000 };

typedef struct counter {
  hr_session* session;
  int writes;
} counter;

static void* count_on(void* context) {
  counter* c = context;
  float a[WIDTH], b[WIDTH];
  hr_call *step, *look;
  CHECK(hr_call_create(c->session, "step", &step));
  CHECK(hr_call_create(c->session, "look", &look));
  CHECK(hr_call_output(look, "a", a, sizeof a));
  CHECK(hr_call_output(look, "b", b, sizeof b));
  for (int round = 0; round < ROUNDS; ++round) {
    if (c->writes) CHECK(hr_call_run(step, NULL));
    CHECK(hr_call_run(look, NULL));
    for (int i = 0; i < WIDTH; ++i) EXPECT(a[i] == a[0] && b[i] == a[0]);
  }
  hr_call_release(step);
  hr_call_release(look);
  return NULL;
}

static void test_writers(hr_env* env) {
  hr_model* model = make_counters(env, WIDTH);
  hr_session* session;
  hr_tensor* a;
  counter counters[THREADS];
  CHECK(hr_session_create(model, NULL, NULL, &session));
  for (int i = 0; i < THREADS; ++i) counters[i] = (counter){session, i % 2};
  in_threads(count_on, counters, sizeof counters[0]);
  EXPECT(hr_session_step(session) == THREADS / 2 * ROUNDS);
  CHECK(hr_session_get_variable(session, "a", NULL, &a));
  EXPECT(((float*)hr_tensor_data(a))[WIDTH - 1] == THREADS / 2 * ROUNDS);
  hr_tensor_release(a);
  hr_session_release(session);
  hr_model_release(model);
}

/* ---- Everything at once ---- */

typedef struct everything {
  hr_session* session;
  hr_tensor *x, *labels;
  const char* folder;
  int number;
} everything;

static void train_on(const everything* e) {
  hr_call* call;
  CHECK(hr_call_create(e->session, "train", &call));
  CHECK(hr_call_bind(call, "x", e->x));
  CHECK(hr_call_bind(call, "labels", e->labels));
  CHECK(hr_call_bind_scalar(call, "rate", 0.01));
  for (int round = 0; round < ROUNDS; ++round) CHECK(hr_call_run(call, NULL));
  hr_call_release(call);
}

static void look_on(const everything* e) {
  for (int round = 0; round < ROUNDS; ++round) {
    hr_tensor* weight;
    hr_text* text;
    CHECK(hr_session_get_variable(e->session, "fc1/weight", NULL, &weight));
    CHECK(hr_session_set_variable(e->session, "fc1/weight", weight, NULL));
    hr_tensor_release(weight);
    CHECK(hr_session_describe(e->session, &text));
    hr_text_release(text);
    hr_tensor_release(infer(e->session, e->x));
  }
}

static void* do_all(void* context) {
  const everything* e = context;
  if (e->number == 0) {
    for (int i = 0; i < 5; ++i) CHECK(hr_session_save(e->session, e->folder, NULL, NULL));
  } else if (e->number % 2 == 0) {
    train_on(e);
  } else {
    look_on(e);
  }
  return NULL;
}

static void test_everything(hr_env* env) {
  const int64_t dims[2] = {4, FEATURES};
  hr_model* model = make_mlp(env);
  hr_session* session;
  everything all[THREADS] = {{.folder = make_folder()}};
  CHECK(hr_session_create(model, NULL, NULL, &session));
  all[0].session = session;
  make_examples(env, 2, dims, &all[0].x, &all[0].labels);
  for (int i = 1; i < THREADS; ++i) {
    all[i] = all[0];
    all[i].number = i;
  }
  in_threads(do_all, all, sizeof all[0]);
  EXPECT(hr_session_step(session) == (THREADS / 2 - 1) * ROUNDS);
  CHECK(hr_session_restore(session, all[0].folder, NULL, NULL, NULL));
  remove_folder((char*)all[0].folder);
  hr_tensor_release(all[0].x);
  hr_tensor_release(all[0].labels);
  hr_session_release(session);
  hr_model_release(model);
}

/* ---- One call in many threads: each use of it is whole or refused ---- */

typedef struct misuser {
  hr_call* call;
  hr_tensor* scores;
  int turn, done, refused;
} misuser;

static hr_status* use_somehow(misuser* m) {
  hr_tensor* result;
  hr_text* text;
  hr_status* status;
  switch (m->turn++ % 5) {
    case 0: return hr_call_run(m->call, NULL);
    case 1: return hr_call_bind_output(m->call, "scores", m->scores);
    case 2: return hr_call_bind_output(m->call, "scores", NULL);
    case 3:
      status = hr_call_take_result(m->call, "scores", &result);
      if (status == NULL) hr_tensor_release(result);
      return status;
    default:
      status = hr_call_describe(m->call, &text);
      if (status == NULL) hr_text_release(text);
      return status;
  }
}

static void* misuse(void* context) {
  misuser* m = context;
  for (int round = 0; round < 50 * ROUNDS; ++round) {
    hr_status* status = use_somehow(m);
    const int refused = status != NULL && strstr(hr_status_message(status), "another thread");
    EXPECT(status == NULL || hr_status_code(status) == HR_FAILED_PRECONDITION);
    m->done += status == NULL;
    m->refused += refused;
    hr_status_release(status);
  }
  return NULL;
}

static void test_one_call(hr_env* env) {
  const int64_t x_dims[2] = {2, FEATURES}, dims[2] = {2, CLASSES};
  misuser all[THREADS] = {{NULL}};
  hr_model* model = make_mlp(env);
  hr_session* session;
  hr_call* call;
  hr_tensor *x, *labels;
  int done = 0, refused = 0;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "infer", &call));
  make_examples(env, 2, x_dims, &x, &labels);
  CHECK(hr_call_bind(call, "x", x));
  CHECK(hr_call_run(call, NULL));
  for (int i = 0; i < THREADS; ++i) {
    all[i].call = call;
    all[i].turn = i;
    CHECK(hr_tensor_create(env, HR_FLOAT32, 2, dims, &all[i].scores));
  }
  in_threads(misuse, all, sizeof *all);
  for (int i = 0; i < THREADS; ++i) {
    done += all[i].done;
    refused += all[i].refused;
    hr_tensor_release(all[i].scores);
  }
  EXPECT(done > 0 && refused > 0);
  hr_tensor_release(x);
  hr_tensor_release(labels);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
}

const test tests[] = {{"readers of sixteen shapes", test_readers},
                      {"writers exclude", test_writers},
                      {"everything at once", test_everything},
                      {"one call in sixteen threads", test_one_call},
                      {NULL, NULL}};
