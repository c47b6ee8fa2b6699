/* A data set is used by one thread at a time: whoever comes second is told so, and nothing breaks.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "models.h"
#include "patience.h"

enum { THREADS = 16, ROUNDS = 60 };
#define IN_USE "the data set is in use: another call of it has not returned yet"

/* ---- A host's function that waits ---- */

typedef struct camera {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int closed, waiting;
  hr_dataset* data;
} camera;

static void set_closed(camera* c, int closed) {
  pthread_mutex_lock(&c->mutex);
  c->closed = closed;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->mutex);
}

static void wait_until_it_waits(camera* c) {
  pthread_mutex_lock(&c->mutex);
  while (!c->waiting) pthread_cond_wait(&c->changed, &c->mutex);
  pthread_mutex_unlock(&c->mutex);
}

static hr_status* next_batch(void* context, int64_t examples, size_t count, hr_tensor** out,
                             int32_t* out_end) {
  camera* c = context;
  (void)examples, (void)out_end;
  pthread_mutex_lock(&c->mutex);
  while (c->closed) {
    c->waiting = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_cond_wait(&c->changed, &c->mutex);
  }
  c->waiting = 0;
  pthread_mutex_unlock(&c->mutex);
  for (size_t i = 0; i < count; ++i) {
    memset(hr_tensor_data(out[i]), 0, hr_tensor_bytes(out[i]));
  }
  return NULL;
}

static hr_status* seek(void* context, int64_t epoch, int64_t first_example) {
  (void)context, (void)epoch, (void)first_example;
  return NULL;
}

/* Gives x, and labels if there are 2 fields. */
static hr_dataset* open_camera(hr_env* env, camera* c, int64_t prefetch, size_t fields) {
  const int64_t dims[2] = {2, FEATURES};
  const hr_dataset_field field[2] = {{sizeof *field, "x", HR_FLOAT32, 2, dims},
                                     {sizeof *field, "labels", HR_INT64, 1, dims}};
  const hr_dataset_callbacks callbacks = {
      .struct_size = sizeof callbacks, .context = c, .next = next_batch, .seek = seek};
  const hr_dataset_options options = {.struct_size = sizeof options, .prefetch = prefetch};
  *c = (camera){.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  CHECK(hr_dataset_from_callbacks(env, &callbacks, fields, field, &options, &c->data));
  return c->data;
}

/* ---- Who comes second ---- */

static void* run_infer(void* call) {
  CHECK(hr_call_run(call, NULL));
  return NULL;
}

static void expect_in_use(hr_dataset* data) {
  hr_tensor* batch[1];
  hr_text* text;
  EXPECT(hr_dataset_done(data, NULL) == 0);
  FAILS(hr_dataset_next(data, NULL, batch), HR_FAILED_PRECONDITION, IN_USE);
  FAILS(hr_dataset_rename(data, "x", "y"), HR_FAILED_PRECONDITION, IN_USE);
  FAILS(hr_dataset_rewind(data, NULL), HR_FAILED_PRECONDITION, IN_USE);
  FAILS(hr_dataset_position(data, &text), HR_FAILED_PRECONDITION, IN_USE);
  FAILS(hr_dataset_describe(data, &text), HR_FAILED_PRECONDITION, IN_USE);
  FAILS(hr_dataset_seek(data,
                        "{\"epoch\":0,\"example\":0,\"first_epoch\":0,\"seed\":0,\"shuffle\":false,"
                        "\"size\":-1}",
                        NULL),
        HR_FAILED_PRECONDITION, IN_USE);
  EXPECT(hr_dataset_field_count(data) == 1 && hr_dataset_batches(data) == -1);
  EXPECT(strcmp(hr_dataset_field_name(data, 0), "x") == 0);
}

/* One thread waits for a batch, in a run, while others come. */
static void test_second_threads(hr_env* env) {
  for (int64_t prefetch = 0; prefetch < 2; ++prefetch) {
    camera c;
    hr_dataset* data = open_camera(env, &c, prefetch, 1);
    hr_model* model = make_mlp(env);
    hr_session* session;
    hr_call *call, *second;
    pthread_t thread;
    CHECK(hr_session_create(model, NULL, NULL, &session));
    CHECK(hr_call_create(session, "infer", &call));
    CHECK(hr_call_create(session, "infer", &second));
    CHECK(hr_call_bind_dataset(call, data));
    CHECK(hr_call_bind_dataset(second, data));
    set_closed(&c, 1);
    EXPECT(pthread_create(&thread, NULL, run_infer, call) == 0);
    wait_until_it_waits(&c);
    expect_in_use(data);
    FAILS(hr_call_run(second, NULL), HR_FAILED_PRECONDITION, IN_USE);
    set_closed(&c, 0);
    pthread_join(thread, NULL);
    CHECK(hr_call_run(second, NULL));
    hr_call_release(call);
    hr_call_release(second);
    hr_session_release(session);
    hr_model_release(model);
    hr_dataset_release(data);
  }
}

static const char* const second_batch =
    "{\"epoch\":0,\"example\":1,\"first_epoch\":0,\"seed\":0,\"shuffle\":false,\"size\":-1}";
static const char* const elsewhere =
    "{\"epoch\":7,\"example\":0,\"first_epoch\":0,\"seed\":0,\"shuffle\":false,\"size\":-1}";

/* A deadline ends the wait for the thread that reads ahead, and changes nothing. */
static void test_limits(hr_env* env) {
  const hr_limits limits = {.struct_size = sizeof limits, .timeout_nanos = 5000000};
  camera c;
  hr_tensor* batch[1];
  hr_text *before, *after;
  hr_dataset* data = open_camera(env, &c, 1, 1);
  CHECK(hr_dataset_next(data, NULL, batch));
  hr_tensor_release(batch[0]);
  CHECK(hr_dataset_seek(data, second_batch, NULL));
  set_closed(&c, 1);
  EXPECT(hr_dataset_done(data, &limits) == 0);
  FAILS(hr_dataset_next(data, &limits, batch), HR_DEADLINE_EXCEEDED, "");
  CHECK(hr_dataset_position(data, &before)); /* which does not wait */
  FAILS(hr_dataset_rewind(data, &limits), HR_DEADLINE_EXCEEDED, "");
  FAILS(hr_dataset_seek(data, elsewhere, &limits), HR_DEADLINE_EXCEEDED, "");
  CHECK(hr_dataset_position(data, &after));
  EXPECT(strcmp(hr_text_data(before), hr_text_data(after)) == 0);
  set_closed(&c, 0);
  CHECK(hr_dataset_rewind(data, NULL));
  EXPECT(hr_dataset_done(data, &limits) == 0);
  hr_text_release(before);
  hr_text_release(after);
  hr_dataset_release(data);
}

/* The model with a signature "eval": the loss without an update. */
static hr_graph* with_eval(const hr_model* model) {
  const char* names[2] = {"x", "labels"};
  hr_graph* graph;
  hr_value value;
  CHECK(hr_graph_from_model(model, &graph));
  for (int i = 0; i < 2; ++i) {
    CHECK(hr_graph_find_value(graph, names[i], &value));
    CHECK(hr_graph_signature_input(graph, "eval", names[i], value));
  }
  CHECK(hr_graph_find_value(graph, "loss", &value));
  CHECK(hr_graph_signature_output(graph, "eval", "loss", value));
  return graph;
}

/* The host interrupts whoever waits for data, and goes on with the same data set and session. */
static void test_interrupts(hr_env* env) {
  camera c;
  hr_tensor* batch[2];
  hr_dataset* data = open_camera(env, &c, 1, 2);
  hr_model* model = make_mlp(env);
  hr_session* session;
  hr_call* call;
  const char* names[1] = {"rate"};
  const double rate = 0.1;
  const hr_train_options options = {.struct_size = sizeof options,
                                    .train_data = data,
                                    .max_steps = 3,
                                    .scalar_count = 1,
                                    .scalar_names = names,
                                    .scalars = &rate};
  session = session_of(with_eval(model));
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_bind_dataset(call, data));
  CHECK(hr_call_bind_scalar(call, "rate", 0.1));
  CHECK(hr_dataset_seek(data, second_batch, NULL));
  set_closed(&c, 1);
  patience waiter = fresh_patience();
  const hr_limits asking = interrupted_by(&waiter);
  EXPECT(hr_dataset_done(data, &asking) == 0);
  expect_patience(&waiter);
  INTERRUPTED(hr_dataset_next(data, &limits, batch));
  INTERRUPTED(hr_dataset_rewind(data, &limits));
  INTERRUPTED(hr_dataset_seek(data, elsewhere, &limits));
  INTERRUPTED(hr_call_run(call, &limits));
  INTERRUPTED(hr_train(session, &options, &limits, NULL));
  INTERRUPTED(hr_evaluate(session, NULL, data, &limits, NULL));
  set_closed(&c, 0);
  CHECK(hr_call_run(call, NULL));
  CHECK(hr_train(session, &options, NULL, NULL));
  EXPECT(hr_session_step(session) == 3);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  hr_dataset_release(data);
}

/* ---- Many ---- */

typedef struct crowd {
  hr_dataset* data;
  hr_session* session;
  atomic_int successes;
} crowd;

/* Counts a success; a failure must be the one that is promised. */
static void count(crowd* c, hr_status* status) {
  EXPECT(status == NULL || hr_status_code(status) == HR_FAILED_PRECONDITION);
  EXPECT(status == NULL || strstr(hr_status_message(status), IN_USE) != NULL);
  if (status == NULL) atomic_fetch_add(&c->successes, 1);
  hr_status_release(status);
}

static void* use(void* context) {
  crowd* c = context;
  hr_call* call;
  CHECK(hr_call_create(c->session, "infer", &call));
  for (int round = 0; round < ROUNDS; ++round) {
    hr_tensor* batch[2];
    hr_text* text;
    hr_status* status = hr_dataset_next(c->data, NULL, batch);
    if (status == NULL) hr_tensor_release(batch[0]);
    if (status == NULL) hr_tensor_release(batch[1]);
    count(c, status);
    hr_dataset_done(c->data, NULL);
    status = hr_dataset_describe(c->data, &text);
    if (status == NULL) hr_text_release(text);
    count(c, status);
    count(c, hr_dataset_rename(c->data, "labels", "labels"));
    if (round % 10 == 0) count(c, hr_dataset_rewind(c->data, NULL));
    EXPECT(strcmp(hr_dataset_field_name(c->data, 0), "x") == 0);
    CHECK(hr_call_bind_dataset(call, c->data));
    count(c, hr_call_run(call, NULL));
  }
  hr_call_release(call);
  return NULL;
}

static void test_crowd(hr_env* env) {
  const int64_t dims[2] = {100, FEATURES};
  hr_model* model = make_mlp(env);
  for (int64_t prefetch = 0; prefetch < 3; prefetch += 2) {
    const hr_dataset_options options = {.struct_size = sizeof options,
                                        .batch = 16,
                                        .repeat = -1,
                                        .shuffle = 1,
                                        .prefetch = prefetch};
    crowd c = {.data = make_dataset(env, 2, dims, &options)};
    pthread_t threads[THREADS];
    CHECK(hr_session_create(model, NULL, NULL, &c.session));
    for (int i = 0; i < THREADS; ++i) EXPECT(pthread_create(&threads[i], NULL, use, &c) == 0);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    EXPECT(atomic_load(&c.successes) > 0);
    hr_session_release(c.session);
    hr_dataset_release(c.data);
  }
  hr_model_release(model);
}

const test tests[] = {{"second threads", test_second_threads},
                      {"limits", test_limits},
                      {"interrupts", test_interrupts},
                      {"a crowd", test_crowd},
                      {NULL, NULL}};
