/* Weights that inference keeps in another order between runs follow every change of the variable.
 */
#include <math.h>

#include "support.h"

typedef struct product {
  hr_model* model;
  hr_session* session;
  hr_call *infer, *train;
  hr_tensor *x, *labels;
  int64_t rows, inner, columns;
} product;

/* scores = x * w + b; "train" moves w by one step of SGD. */
static product make_product(hr_env* env, int64_t rows, int64_t inner, int64_t columns) {
  product p = {.rows = rows, .inner = inner, .columns = columns};
  const int64_t x_dims[2] = {rows, inner}, label_dims[1] = {rows};
  hr_graph* graph;
  hr_value x, labels, rate, scores, loss;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, x_dims, NULL, &x));
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, label_dims, NULL, &labels));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  CHECK(hr_graph_dense(graph, "fc", x, columns, &scores));
  const hr_value in[2] = {scores, labels};
  CHECK(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, in, 1, &loss));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  CHECK(hr_graph_signature_output(graph, "infer", "scores", scores));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "labels", labels));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd", rate));
  CHECK(hr_model_from_graph(graph, &p.model));
  hr_graph_release(graph);
  CHECK(hr_session_create(p.model, NULL, NULL, &p.session));
  CHECK(hr_tensor_create(env, HR_FLOAT32, 2, x_dims, &p.x));
  CHECK(hr_tensor_create(env, HR_INT64, 1, label_dims, &p.labels));
  float* values = hr_tensor_data(p.x);
  for (int64_t i = 0; i < rows * inner; ++i) values[i] = (float)(i % 13 - 6) / 8;
  int64_t* classes = hr_tensor_data(p.labels);
  for (int64_t i = 0; i < rows; ++i) classes[i] = i % columns;
  CHECK(hr_call_create(p.session, "infer", &p.infer));
  CHECK(hr_call_bind(p.infer, "x", p.x));
  CHECK(hr_call_create(p.session, "train", &p.train));
  CHECK(hr_call_bind(p.train, "x", p.x));
  CHECK(hr_call_bind(p.train, "labels", p.labels));
  CHECK(hr_call_bind_scalar(p.train, "rate", 5));
  return p;
}

static void release_product(product* p) {
  hr_call_release(p->infer);
  hr_call_release(p->train);
  hr_tensor_release(p->x);
  hr_tensor_release(p->labels);
  hr_session_release(p->session);
  hr_model_release(p->model);
}

/* The variable of two axes is w, [columns, inner] or [inner, columns]; the other one is b. */
static const char* weights_name(const product* p) {
  for (size_t i = 0; i < hr_session_variable_count(p->session); ++i) {
    const char* name = hr_session_variable_name(p->session, i);
    hr_tensor* value;
    CHECK(hr_session_get_variable(p->session, name, NULL, &value));
    size_t rank = hr_tensor_rank(value);
    hr_tensor_release(value);
    if (rank == 2) return name;
  }
  return NULL;
}

/* Runs inference and compares the first row with what the variables say. */
static void expect_fresh(const product* p, float* scores) {
  hr_tensor* w;
  CHECK(
      hr_call_output(p->infer, "scores", scores, (size_t)(p->rows * p->columns) * sizeof *scores));
  CHECK(hr_call_run(p->infer, NULL));
  CHECK(hr_session_get_variable(p->session, weights_name(p), NULL, &w));
  const float *weights = hr_tensor_data(w), *x = hr_tensor_data(p->x);
  int transposed = hr_tensor_dims(w)[0] == p->columns;
  for (int64_t j = 1; j < p->columns; j += 7) {
    /* Rows differ by x alone, so b cancels. */
    double sum = 0;
    for (int64_t k = 0; k < p->inner; ++k) {
      double difference = x[p->inner + k] - (double)x[k];
      sum += difference * weights[transposed ? j * p->inner + k : k * p->columns + j];
    }
    EXPECT(fabs(scores[p->columns + j] - scores[j] - sum) < 1e-3);
  }
  hr_tensor_release(w);
}

static void follow_changes(hr_env* env, int64_t rows, int64_t inner, int64_t columns) {
  product p = make_product(env, rows, inner, columns);
  size_t count = (size_t)(rows * columns), bytes = count * sizeof(float);
  float *before = malloc(bytes), *after = malloc(bytes);
  hr_text* text;
  hr_tensor* w;
  expect_fresh(&p, before);
  CHECK(hr_call_describe(p.infer, &text));
  EXPECT(strstr(hr_text_data(text), "\"kept_bytes\":0,") == NULL); /* something is kept */
  hr_text_release(text);
  for (int step = 0; step < 3; ++step) { /* by runs that write it */
    CHECK(hr_call_run(p.train, NULL));
    expect_fresh(&p, after);
    EXPECT(memcmp(before, after, bytes) != 0);
    memcpy(before, after, bytes);
  }
  CHECK(hr_session_get_variable(p.session, weights_name(&p), NULL, &w)); /* by the host */
  float* weights = hr_tensor_data(w);
  for (int64_t i = 0; i < hr_tensor_elements(w); ++i) weights[i] = (float)(i % 5);
  CHECK(hr_session_set_variable(p.session, weights_name(&p), w, NULL));
  expect_fresh(&p, after);
  EXPECT(memcmp(before, after, bytes) != 0);
  hr_tensor_release(w);
  free(before);
  free(after);
  release_product(&p);
}

static void test_small(hr_env* env) { follow_changes(env, 16, 24, 40); }
/* Of few rows, for which every machine packs weights. */
static void test_large(hr_env* env) { follow_changes(env, 8, 520, 1100); }

/* A session of a model from a file, with its inference call; the weights are the file's. */
typedef struct reader {
  hr_session* session;
  hr_call* infer;
  float* scores;
} reader;

static reader open_reader(const hr_model* model, const product* p) {
  const size_t count = (size_t)(p->rows * p->columns);
  reader r = {.scores = malloc(count * sizeof(float))};
  CHECK(hr_session_create(model, NULL, NULL, &r.session));
  CHECK(hr_call_create(r.session, "infer", &r.infer));
  CHECK(hr_call_bind(r.infer, "x", p->x));
  CHECK(hr_call_output(r.infer, "scores", r.scores, count * sizeof(float)));
  CHECK(hr_call_run(r.infer, NULL));
  return r;
}

static void close_reader(reader* r) {
  hr_call_release(r->infer);
  hr_session_release(r->session);
  free(r->scores);
}

static int shares(const reader* r) {
  hr_text* text;
  CHECK(hr_call_describe(r->infer, &text));
  const int yes = strstr(hr_text_data(text), "\"shared_by_sessions\":true") != NULL;
  hr_text_release(text);
  return yes;
}

/* N sessions hold packed weights once, until one of them has weights of its own. */
static void sessions_share(hr_env* env) {
  product p = make_product(env, 8, 520, 1100);
  const size_t bytes = (size_t)(p.rows * p.columns) * sizeof(float);
  const long packed = (long)(p.inner * p.columns) * (long)sizeof(float);
  const char* signatures[1] = {"infer"};
  char* folder = make_folder();
  hr_model* model;
  hr_tensor* w;
  CHECK(hr_session_export(p.session, in_folder(folder, "product.hrg"), 1, signatures, NULL, NULL));
  CHECK(hr_model_load(env, in_folder(folder, "product.hrg"), NULL, &model));
  reader first = open_reader(model, &p);
  const long with_one = host_live_bytes();
  reader second = open_reader(model, &p);
  EXPECT(host_live_bytes() - with_one < packed / 4);
  EXPECT(memcmp(first.scores, second.scores, bytes) == 0);
  EXPECT(shares(&first) && shares(&second));

  const char* name = weights_name(&p);
  CHECK(hr_session_get_variable(second.session, name, NULL, &w));
  float* weights = hr_tensor_data(w);
  for (int64_t i = 0; i < hr_tensor_elements(w); ++i) weights[i] = -weights[i];
  CHECK(hr_session_set_variable(second.session, name, w, NULL));
  hr_tensor_release(w);
  CHECK(hr_call_run(second.infer, NULL));
  EXPECT(memcmp(first.scores, second.scores, bytes) != 0);
  EXPECT(!shares(&second));
  memcpy(second.scores, first.scores, bytes);
  CHECK(hr_call_run(first.infer, NULL)); /* undisturbed */
  EXPECT(memcmp(first.scores, second.scores, bytes) == 0);
  EXPECT(shares(&first));
  close_reader(&first);
  close_reader(&second);
  hr_model_release(model);
  remove_folder(folder);
  release_product(&p);
}

const test tests[] = {
    {"sessions share what is kept", sessions_share},
    {"packed weights of a small product follow the variable", test_small},
    {"packed weights of a large product follow the variable", test_large},
    {NULL, NULL},
};
