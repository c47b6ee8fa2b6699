/* Steps after the first allocate nothing: neither from the host's allocator nor from the heap. */
#include <time.h>

#include "models.h"

/* Runs until everything is warm, and then counts. */
static void expect_quiet(hr_call* call, const char* what, int warm) {
  for (int i = 0; i < warm; ++i) CHECK(hr_call_run(call, NULL));
  long heap = heap_allocations(), host = host_allocations();
  EXPECT(heap > 0 && host > 0); /* the counters work */
  for (int i = 0; i < 20; ++i) CHECK(hr_call_run(call, NULL));
  heap = heap_allocations() - heap;
  host = host_allocations() - host;
  if (heap != 0 || host != 0) {
    fprintf(stderr, "%s: 20 steps made %ld heap and %ld host allocations\n", what, heap, host);
    exit(1);
  }
}

typedef struct fixture {
  hr_model* model;
  hr_session* session;
  hr_tensor *x, *labels;
} fixture;

/* A thread of a sanitizer's program allocates when it begins to run. Those of the env have been
 * started; this lets them begin. */
static void let_threads_begin(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
#endif
}

static fixture open_fixture(hr_model* model, hr_env* env, size_t rank, const int64_t* dims,
                            int disable_fusion) {
  hr_session_options options = {.struct_size = sizeof options, .disable_fusion = disable_fusion};
  fixture f = {.model = model};
  let_threads_begin();
  CHECK(hr_session_create(model, &options, NULL, &f.session));
  make_examples(env, rank, dims, &f.x, &f.labels);
  return f;
}

static void close_fixture(fixture* f) {
  hr_tensor_release(f->x);
  hr_tensor_release(f->labels);
  hr_session_release(f->session);
  hr_model_release(f->model);
}

static void bind(hr_call* call, const fixture* f) {
  CHECK(hr_call_bind(call, "x", f->x));
  CHECK(hr_call_bind(call, "labels", f->labels));
  CHECK(hr_call_bind_scalar(call, "rate", 0.01));
}

/* Every kind of call on one model. */
static void expect_quiet_calls(fixture f, const char* name) {
  const char* feeds[3] = {"x", "labels", "rate"};
  const char* fetches[2] = {"loss", "scores"};
  float loss;
  hr_call* call;
  printf("  %s\n", name);
  CHECK(hr_call_create(f.session, "train", &call));
  bind(call, &f);
  expect_quiet(call, "training by signature", 1);
  CHECK(hr_call_output(call, "loss", &loss, sizeof loss));
  expect_quiet(call, "training with the host's output", 1);
  long heap = heap_allocations(), host = host_allocations();
  for (int i = 0; i < 5; ++i) {
    bind(call, &f);
    CHECK(hr_call_run(call, NULL));
  }
  EXPECT(heap_allocations() == heap && host_allocations() == host);
  hr_call_release(call);
  CHECK(hr_call_create(f.session, "infer", &call));
  CHECK(hr_call_bind(call, "x", f.x));
  expect_quiet(call, "inference by signature", 1);
  hr_call_release(call);
  CHECK(hr_call_create_custom(f.session, 3, feeds, 2, fetches, 0, NULL, &call));
  bind(call, &f);
  expect_quiet(call, "feeds and fetches", 1);
  hr_call_release(call);
  close_fixture(&f);
}

static void test_calls(hr_env* env) {
  const int64_t x_dims[2] = {8, FEATURES}, image_dims[4] = {8, 1, 12, 12};
  expect_quiet_calls(open_fixture(make_mlp(env), env, 2, x_dims, 0), "mlp");
  expect_quiet_calls(open_fixture(make_mlp(env), env, 2, x_dims, 1), "mlp without fusion");
  expect_quiet_calls(open_fixture(make_lenet(env), env, 4, image_dims, 0), "lenet");
  expect_quiet_calls(open_fixture(make_lenet(env), env, 4, image_dims, 1), "lenet without fusion");
}

/* Limits that are not reached cost no memory either. */
static void test_limits(hr_env* env) {
  const int64_t dims[2] = {8, FEATURES};
  fixture f = open_fixture(make_mlp(env), env, 2, dims, 0);
  hr_cancel* cancel;
  hr_call* call;
  CHECK(hr_cancel_create(&cancel));
  hr_limits limits = {.struct_size = sizeof limits, .cancel = cancel, .timeout_nanos = 60000000000};
  CHECK(hr_call_create(f.session, "train", &call));
  bind(call, &f);
  CHECK(hr_call_run(call, &limits));
  long heap = heap_allocations(), host = host_allocations();
  for (int i = 0; i < 5; ++i) CHECK(hr_call_run(call, &limits));
  EXPECT(heap_allocations() == heap && host_allocations() == host);
  hr_call_release(call);
  hr_cancel_release(cancel);
  close_fixture(&f);
}

/* A shuffled data set, over several epochs: its batches come from a ring of three. */
static void test_dataset(hr_env* env) {
  const int64_t dims[4] = {40, 1, 12, 12};
  hr_dataset_options options = {
      .struct_size = sizeof options, .batch = 8, .repeat = -1, .shuffle = 1, .seed = 5};
  hr_model* model = make_lenet(env);
  hr_dataset* data = make_dataset(env, 4, dims, &options);
  hr_session* session;
  hr_call* call;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_bind_dataset(call, data));
  CHECK(hr_call_bind_scalar(call, "rate", 0.01));
  expect_quiet(call, "training from a data set", 3);
  hr_call_release(call);
  hr_session_release(session);
  hr_dataset_release(data);
  hr_model_release(model);
}

/* A single run, as serving does it. */
static void run_once(hr_session* session, const hr_tensor* x) {
  const char *feeds[1] = {"x"}, *fetches[1] = {"scores"};
  hr_tensor* scores;
  CHECK(hr_session_run(session, 1, feeds, &x, 1, fetches, 0, NULL, NULL, &scores));
  hr_tensor_release(scores);
}

/* A session's later runs of the same shapes only allocate their outputs; trimming and closing give
 * back what was kept for them. */
static void test_idle_memory(hr_env* env) {
  const int64_t dims[4] = {8, 1, 12, 12};
  fixture f = open_fixture(make_lenet(env), env, 4, dims, 0);
  long empty = host_live_bytes();
  run_once(f.session, f.x);
  long before = host_allocations(), kept = host_live_bytes();
  EXPECT(kept > empty);
  for (int i = 0; i < 10; ++i) run_once(f.session, f.x);
  EXPECT(host_allocations() == before + 10);
  EXPECT(host_live_bytes() == kept);
  hr_session_trim(f.session);
  EXPECT(host_live_bytes() < kept);
  run_once(f.session, f.x);
  EXPECT(host_live_bytes() == kept);
  hr_session_close(f.session);
  EXPECT(host_live_bytes() == empty);
  close_fixture(&f);
}

const test tests[] = {{"calls allocate nothing", test_calls},
                      {"nor with limits", test_limits},
                      {"nor from a data set", test_dataset},
                      {"idle memory is kept and given back", test_idle_memory},
                      {NULL, NULL}};
