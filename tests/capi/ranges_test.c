/* Plans for ranges of a dimension's sizes: bounds and buckets. */
#include <pthread.h>

#include "models.h"
#include "nodes.h"

enum { MOST = 40 };

typedef struct side {
  hr_model* model;
  hr_session* session;
  hr_call* call;
} side;

static side open_side(hr_model* model, const char* signature, int max_sizes) {
  hr_session_options options = {.struct_size = sizeof options, .max_sizes = max_sizes};
  side s = {.model = model};
  CHECK(hr_session_create(model, &options, NULL, &s.session));
  CHECK(hr_call_create(s.session, signature, &s.call));
  return s;
}

static void close_side(side* s) {
  hr_call_release(s->call);
  hr_session_release(s->session);
  hr_model_release(s->model);
}

/* How often the description of the session, or of the call, has the words. */
static int count_words(const hr_text* text, const char* words) {
  int count = 0;
  for (const char* at = hr_text_data(text); (at = strstr(at, words)) != NULL; ++at) ++count;
  return count;
}

static int session_words(const side* s, const char* words) {
  hr_text* text;
  CHECK(hr_session_describe(s->session, &text));
  int count = count_words(text, words);
  hr_text_release(text);
  return count;
}

static int plans(const side* s) { return session_words(s, "\"idle_instances\""); }

static void bind_examples(side* s, const hr_tensor* x, const hr_tensor* labels) {
  CHECK(hr_call_bind(s->call, "x", x));
  if (labels == NULL) return;
  CHECK(hr_call_bind(s->call, "labels", labels));
  CHECK(hr_call_bind_scalar(s->call, "rate", 0.01));
}

static void expect_same_output(side* a, side* b, const char* name) {
  hr_tensor *left, *right;
  CHECK(hr_call_result(a->call, name, &left));
  CHECK(hr_call_result(b->call, name, &right));
  EXPECT(hr_tensor_rank(left) == hr_tensor_rank(right));
  for (size_t i = 0; i < hr_tensor_rank(left); ++i)
    EXPECT(hr_tensor_dims(left)[i] == hr_tensor_dims(right)[i]);
  EXPECT(memcmp(hr_tensor_data(left), hr_tensor_data(right),
                (size_t)hr_tensor_elements(left) * sizeof(float)) == 0);
  hr_tensor_release(left);
  hr_tensor_release(right);
}

/* Runs both with `count` examples and expects the same bits. */
static void expect_same_run(hr_env* env, side* a, side* b, size_t rank, const int64_t* rest,
                            int64_t count, const char* output) {
  int64_t dims[4] = {count, rest[0], rank > 2 ? rest[1] : 1, rank > 2 ? rest[2] : 1};
  int train = strcmp(output, "loss") == 0;
  hr_tensor *x, *labels;
  make_examples(env, rank, dims, &x, &labels);
  bind_examples(a, x, train ? labels : NULL);
  bind_examples(b, x, train ? labels : NULL);
  CHECK(hr_call_run(a->call, NULL));
  CHECK(hr_call_run(b->call, NULL));
  expect_same_output(a, b, output);
  hr_tensor_release(x);
  hr_tensor_release(labels);
}

/* Up, down, and at the bound: always what a plan for the shape alone makes. */
static void expect_same_sizes(hr_env* env, side bounded, side free_, size_t rank,
                              const int64_t* rest, const char* output) {
  const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, MOST, 5, 16, 1, 33};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    expect_same_run(env, &bounded, &free_, rank, rest, sizes[i], output);
  EXPECT(plans(&bounded) == 1);
  EXPECT(plans(&free_) > 10);
  close_side(&bounded);
  close_side(&free_);
}

static void test_results(hr_env* env) {
  const int64_t features[1] = {FEATURES}, image[3] = {1, 12, 12};
  const bounds batch = {.min = 1, .max = MOST};
  const char *signatures[2] = {"infer", "train"}, *outputs[2] = {"scores", "loss"};
  for (int i = 0; i < 2; ++i) {
    expect_same_sizes(env, open_side(make_bounded_mlp(env, batch), signatures[i], 0),
                      open_side(make_mlp(env), signatures[i], 0), 2, features, outputs[i]);
    expect_same_sizes(env, open_side(make_bounded_lenet(env, batch), signatures[i], 0),
                      open_side(make_lenet(env), signatures[i], 0), 4, image, outputs[i]);
  }
}

/* One arena and one output, both for the bound: nothing more of the host's memory for any size. */
static void test_memory(hr_env* env) {
  hr_tensor *x[MOST + 1], *labels;
  side s = open_side(make_bounded_mlp(env, (bounds){.min = 1, .max = MOST}), "infer", 100);
  for (int64_t n = 1; n <= MOST; ++n) {
    make_examples(env, 2, (const int64_t[]){n, FEATURES}, &x[n], &labels);
    hr_tensor_release(labels);
  }
  bind_examples(&s, x[1], NULL);
  CHECK(hr_call_run(s.call, NULL));
  bind_examples(&s, x[MOST], NULL);
  CHECK(hr_call_run(s.call, NULL));
  const long live = host_live_bytes();
  for (int round = 0; round < 3; ++round) {
    const long heap = heap_allocations(), host = host_allocations();
    for (int n = MOST; n >= 1; --n) {
      bind_examples(&s, x[n], NULL);
      CHECK(hr_call_run(s.call, NULL));
    }
    EXPECT(host_live_bytes() == live);
    /* Sizes met before cost no memory at all. */
    if (round > 0) EXPECT(heap_allocations() == heap && host_allocations() == host);
  }
  for (int n = 1; n <= MOST; ++n) hr_tensor_release(x[n]);
  close_side(&s);
}

static void run_sizes(hr_env* env, side* s, int64_t first, int64_t last) {
  for (int64_t n = first; n <= last; ++n) {
    hr_tensor *x, *labels;
    make_examples(env, 2, (const int64_t[]){n, FEATURES}, &x, &labels);
    bind_examples(s, x, NULL);
    CHECK(hr_call_run(s->call, NULL));
    hr_tensor_release(x);
    hr_tensor_release(labels);
  }
}

/* A plan for each bucket, one for the rest up to the bound; without one, a plan for each shape. */
static void test_buckets(hr_env* env) {
  const int64_t buckets[2] = {4, 16};
  side s = open_side(make_bounded_mlp(env, (bounds){1, MOST, 2, buckets}), "infer", 0);
  run_sizes(env, &s, 1, 4);
  EXPECT(plans(&s) == 1);
  EXPECT(session_words(&s, "\"dimension\":\"batch\",\"first\":1,\"last\":4}") == 1);
  run_sizes(env, &s, 5, 16);
  EXPECT(plans(&s) == 2);
  EXPECT(session_words(&s, "\"first\":5,\"last\":16}") == 1);
  run_sizes(env, &s, 17, MOST);
  EXPECT(plans(&s) == 3);
  EXPECT(session_words(&s, "\"first\":17,\"last\":40}") == 1);
  close_side(&s);
  s = open_side(make_bounded_mlp(env, (bounds){0, -1, 2, buckets}), "infer", 0);
  run_sizes(env, &s, 1, 16);
  EXPECT(plans(&s) == 2);
  run_sizes(env, &s, 17, 19);
  EXPECT(plans(&s) == 5);
  close_side(&s);
}

/* The last sizes are kept, as many as the options say. */
static void test_kept_sizes(hr_env* env) {
  side s = open_side(make_bounded_mlp(env, (bounds){.min = 1, .max = MOST}), "infer", 3);
  hr_text* text;
  run_sizes(env, &s, 1, 9);
  EXPECT(session_words(&s, "\"max_sizes\":3") == 1);
  EXPECT(session_words(&s, "\"inputs\":[\"float32[") == 3);
  EXPECT(session_words(&s, "\"inputs\":[\"float32[6, 12]\"]") == 0);
  EXPECT(session_words(&s, "\"inputs\":[\"float32[7, 12]\"]") == 1);
  CHECK(hr_call_describe(s.call, &text));
  EXPECT(count_words(text, "\"type\":\"float32[9, 12]\"") == 1);
  hr_text_release(text);
  hr_session_trim(s.session);
  EXPECT(session_words(&s, "\"inputs\":[\"float32[") == 0);
  run_sizes(env, &s, 2, 2);
  close_side(&s);
}

static void expect_failure(hr_env* env, side* s, int64_t examples, int64_t labels_too,
                           const char* words) {
  hr_tensor *x, *labels, *unused;
  make_examples(env, 2, (const int64_t[]){examples, FEATURES}, &x, &unused);
  hr_tensor_release(unused);
  make_examples(env, 2, (const int64_t[]){labels_too, FEATURES}, &unused, &labels);
  hr_tensor_release(unused);
  bind_examples(s, x, labels);
  FAILS(hr_call_run(s->call, NULL), HR_INVALID_ARGUMENT, words);
  hr_tensor_release(x);
  hr_tensor_release(labels);
}

static void test_errors(hr_env* env) {
  const int64_t features[1] = {FEATURES};
  side s = open_side(make_bounded_mlp(env, (bounds){.min = 2, .max = MOST}), "train", 0);
  side free_ = open_side(make_mlp(env), "train", 0);
  for (int before = 1; before >= 0; --before) { /* before the plan exists, and after */
    expect_failure(env, &s, MOST + 1, MOST + 1,
                   "got float32[41, 12]: dimension 'batch' is 41, the model wants 2 to 40");
    expect_failure(env, &s, 1, 1, "dimension 'batch' is 1, the model wants 2 to 40");
    expect_failure(env, &s, 4, 3, "dimension 'batch' is 3 here and 4 in 'x'");
    if (before) expect_same_run(env, &s, &free_, 2, features, 6, "loss");
  }
  expect_same_run(env, &s, &free_, 2, features, 7, "loss"); /* no harm done */
  EXPECT(plans(&s) == 1);
  close_side(&s);
  close_side(&free_);
}

/* Epochs that end in a smaller batch: the plan of the bound serves it. */
static void test_last_batch(hr_env* env) {
  const int64_t dims[2] = {36, FEATURES};
  hr_dataset_options options = {
      .struct_size = sizeof options, .batch = 16, .repeat = 3, .shuffle = 1, .seed = 5};
  side sides[2] = {open_side(make_bounded_mlp(env, (bounds){.min = 1, .max = 16}), "train", 0),
                   open_side(make_mlp(env), "train", 0)};
  hr_dataset* data[2];
  for (int i = 0; i < 2; ++i) {
    data[i] = make_dataset(env, 2, dims, &options);
    CHECK(hr_call_bind_dataset(sides[i].call, data[i]));
    CHECK(hr_call_bind_scalar(sides[i].call, "rate", 0.01));
  }
  while (!hr_dataset_done(data[0], NULL)) {
    for (int i = 0; i < 2; ++i) CHECK(hr_call_run(sides[i].call, NULL));
    expect_same_output(&sides[0], &sides[1], "loss");
  }
  EXPECT(plans(&sides[0]) == 1 && plans(&sides[1]) == 2);
  for (int i = 0; i < 2; ++i) {
    close_side(&sides[i]);
    hr_dataset_release(data[i]);
  }
}

static hr_graph* begin_graph(hr_env* env, int64_t max, hr_value* x) {
  hr_graph* graph;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, (const int64_t[]){-1, 2},
                       (const char* const[]){"n", NULL}, x));
  CHECK(hr_graph_bound(graph, "n", 1, max, 0, NULL));
  CHECK(hr_graph_signature_input(graph, "infer", "x", *x));
  return graph;
}

static side finish_graph(hr_graph* graph, hr_value y) {
  hr_model* model;
  CHECK(hr_graph_signature_output(graph, "infer", "y", y));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return open_side(model, "infer", 0);
}

/* Runs with x = 0, 1, 2, …; the output's element 1. */
static float run_counted(hr_env* env, side* s, int64_t n) {
  hr_tensor *x, *y;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 2, (const int64_t[]){n, 2}, &x));
  for (int64_t i = 0; i < 2 * n; ++i) ((float*)hr_tensor_data(x))[i] = (float)i;
  CHECK(hr_call_bind(s->call, "x", x));
  CHECK(hr_call_run(s->call, NULL));
  CHECK(hr_call_result(s->call, "y", &y));
  EXPECT(hr_tensor_elements(y) == 2 * n);
  float second = ((const float*)hr_tensor_data(y))[1];
  hr_tensor_release(x);
  hr_tensor_release(y);
  return second;
}

/* Weights are packed once for all sizes whose kernels read them alike: they need no more memory. */
static void test_packed_weights(hr_env* env) {
  enum { WIDTH = 64, LARGE = 40 };
  const int64_t square[2] = {WIDTH, WIDTH};
  hr_tensor *weights, *x, *y;
  hr_value in[2];
  long live = 0;
  hr_graph* graph;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, (const int64_t[]){-1, WIDTH},
                       (const char* const[]){"n", NULL}, &in[0]));
  CHECK(hr_graph_bound(graph, "n", 1, LARGE, 0, NULL));
  CHECK(hr_graph_signature_input(graph, "infer", "x", in[0]));
  CHECK(hr_tensor_create(env, HR_FLOAT32, 2, square, &weights));
  for (int i = 0; i < WIDTH * WIDTH; ++i) ((float*)hr_tensor_data(weights))[i] = (float)(i % 7);
  CHECK(hr_graph_constant(graph, "w", weights, &in[1]));
  hr_tensor_release(weights);
  side s = finish_graph(graph, op_of(graph, "MatMul", NULL, 2, in));
  for (int64_t n = 20; n <= LARGE; ++n) {
    CHECK(hr_tensor_create(env, HR_FLOAT32, 2, (const int64_t[]){n, WIDTH}, &x));
    for (int64_t i = 0; i < n * WIDTH; ++i)
      ((float*)hr_tensor_data(x))[i] = i % WIDTH == 3 ? (float)n : 0;
    CHECK(hr_call_bind(s.call, "x", x));
    hr_tensor_release(x);
    CHECK(hr_call_run(s.call, NULL));
    CHECK(hr_call_result(s.call, "y", &y));
    const float* last = (const float*)hr_tensor_data(y) + (n - 1) * WIDTH;
    for (int j = 0; j < WIDTH; ++j) EXPECT(last[j] == (float)(n * ((3 * WIDTH + j) % 7)));
    hr_tensor_release(y);
    const long now = host_live_bytes() - n * WIDTH * (long)sizeof(float); /* x is bound */
    if (n > 20) EXPECT(now == live);
    live = now;
  }
  EXPECT(session_words(&s, "\"kept_bytes\":0") == 0);
  close_side(&s);
}

/* Constants that are computed from shapes: y = reshape(transpose(x), shape(x)) * elements of x. */
static void test_shape_constants(hr_env* env) {
  hr_value x;
  hr_graph* graph = begin_graph(env, 9, &x);
  hr_value shape = op(graph, "Shape", NULL, 1, x);
  hr_value product = op(graph, "ReduceProd", "keepdims=0", 1, shape);
  hr_value count = op(graph, "Cast", "to=1", 1, product);
  hr_value turned = op(graph, "Transpose", "perm=1,0", 1, x);
  hr_value reshaped = op(graph, "Reshape", NULL, 2, turned, shape);
  side s = finish_graph(graph, op(graph, "Mul", NULL, 2, reshaped, count));
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 2; n <= 9; ++n) EXPECT(run_counted(env, &s, n) == 2 * 2 * (float)n);
  }
  EXPECT(plans(&s) == 1);
  close_side(&s);
}

/* A graph that does not exist at the bound: 7 rows are no pairs. Each size has a plan then. */
static void test_impossible_bound(hr_env* env) {
  const int64_t shape_dims[1] = {3}, pairs[3] = {-1, 2, 2};
  hr_value x, shape;
  hr_tensor* tensor;
  hr_graph* graph = begin_graph(env, 7, &x);
  CHECK(hr_tensor_create(env, HR_INT64, 1, shape_dims, &tensor));
  memcpy(hr_tensor_data(tensor), pairs, sizeof pairs);
  CHECK(hr_graph_constant(graph, "pairs", tensor, &shape));
  hr_tensor_release(tensor);
  side s = finish_graph(graph, op(graph, "Reshape", NULL, 2, x, shape));
  for (int64_t n = 2; n <= 6; n += 2) EXPECT(run_counted(env, &s, n) == 1);
  EXPECT(plans(&s) == 3);
  close_side(&s);
}

typedef struct worker {
  pthread_t thread;
  hr_session* session;
  hr_tensor *x[MOST + 1], *expected[MOST + 1];
  int first;
} worker;

static void* run_worker(void* context) {
  const char *feeds[1] = {"x"}, *fetches[1] = {"scores"};
  worker* w = context;
  for (int i = 0; i < 3 * MOST; ++i) {
    const int n = (w->first + 7 * i) % MOST + 1;
    const hr_tensor* x = w->x[n];
    hr_tensor* y;
    CHECK(hr_session_run(w->session, 1, feeds, &x, 1, fetches, 0, NULL, NULL, &y));
    EXPECT(hr_tensor_dims(y)[0] == n);
    EXPECT(memcmp(hr_tensor_data(y), hr_tensor_data(w->expected[n]),
                  (size_t)hr_tensor_elements(y) * sizeof(float)) == 0);
    hr_tensor_release(y);
  }
  return NULL;
}

/* Threads that run at sizes of their own, while the plan keeps only some of them. */
static void test_threads(hr_env* env) {
  worker workers[4] = {{.first = 0}};
  hr_tensor* labels;
  side s = open_side(make_bounded_mlp(env, (bounds){.min = 1, .max = MOST}), "infer", 5);
  side free_ = open_side(make_mlp(env), "infer", 0);
  for (int64_t n = 1; n <= MOST; ++n) {
    make_examples(env, 2, (const int64_t[]){n, FEATURES}, &workers[0].x[n], &labels);
    hr_tensor_release(labels);
    bind_examples(&free_, workers[0].x[n], NULL);
    CHECK(hr_call_run(free_.call, NULL));
    hr_tensor* result; /* in memory that a later run may use again */
    CHECK(hr_call_result(free_.call, "scores", &result));
    CHECK(hr_tensor_create(env, HR_FLOAT32, 2, hr_tensor_dims(result), &workers[0].expected[n]));
    memcpy(hr_tensor_data(workers[0].expected[n]), hr_tensor_data(result),
           (size_t)hr_tensor_elements(result) * sizeof(float));
    hr_tensor_release(result);
  }
  workers[0].session = s.session;
  for (int i = 0; i < 4; ++i) {
    workers[i] = workers[0];
    workers[i].first = 11 * i;
    EXPECT(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) == 0);
  }
  for (int i = 0; i < 4; ++i) pthread_join(workers[i].thread, NULL);
  EXPECT(plans(&s) == 1);
  for (int n = 1; n <= MOST; ++n) {
    hr_tensor_release(workers[0].x[n]);
    hr_tensor_release(workers[0].expected[n]);
  }
  close_side(&s);
  close_side(&free_);
}

const test tests[] = {{"a size of a range is what its own plan is", test_results},
                      {"one arena serves all sizes", test_memory},
                      {"each bucket has a plan", test_buckets},
                      {"a bounded number of sizes is kept", test_kept_sizes},
                      {"sizes beyond the bounds, and two for one name", test_errors},
                      {"the smaller last batch of a data set", test_last_batch},
                      {"weights are packed once", test_packed_weights},
                      {"threads at sizes of their own", test_threads},
                      {"constants that depend on a size", test_shape_constants},
                      {"a graph that is impossible at its bound", test_impossible_bound},
                      {NULL, NULL}};
