/* Metrics of an evaluation against plain loops over all its batches, from one evaluation to the
 * next, and inputs that are none. */
#include <math.h>

#include "models.h"

enum { EXAMPLES = 53, BATCH = 8, KINDS = 6 };

/* Signature "eval" of given scores, labels, hits (0 or 1) and chances in [0, 1], with all metrics.
 */
static hr_graph* build(hr_env* env) {
  hr_graph* graph;
  hr_value in[4], scores_labels[2], pair[2], losses;
  static const char* const names[4] = {"scores", "labels", "chances", "hits"};
  const int64_t dims[2] = {-1, KINDS};
  CHECK(hr_graph_create(env, &graph));
  for (int i = 0; i < 4; ++i) {
    const hr_dtype dtype = i % 2 == 0 ? HR_FLOAT32 : HR_INT64;
    CHECK(hr_graph_input(graph, names[i], dtype, i == 0 ? 2 : 1, dims,
                         (const char* const[]){"batch", NULL}, &in[i]));
    CHECK(hr_graph_signature_input(graph, "eval", names[i], in[i]));
  }
  scores_labels[0] = in[0], scores_labels[1] = in[1];
  CHECK(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", "ignore_index=2", 2, scores_labels, 1,
                    &losses));
  CHECK(hr_graph_signature_output(graph, "eval", "loss", losses));
  pair[0] = losses, pair[1] = in[1];
  CHECK(hr_graph_metric(graph, "eval", "accuracy", "accuracy", 2, scores_labels));
  CHECK(hr_graph_metric(graph, "eval", "counted", "accuracy ignore_index=2", 2, scores_labels));
  CHECK(hr_graph_metric(graph, "eval", "top 3", "top_k k=3", 2, scores_labels));
  CHECK(hr_graph_metric(graph, "eval", "mean", "mean ignore_index=2", 2, pair));
  CHECK(hr_graph_metric(graph, "eval", "perplexity", "perplexity ignore_index=2", 2, pair));
  CHECK(hr_graph_metric(graph, "eval", "chance", "mean", 1, &in[2]));
  CHECK(hr_graph_metric(graph, "eval", "auc", "auc bins=64", 2, &in[2]));
  CHECK(hr_graph_metric(graph, "eval", "confusion", "confusion ignore_index=2", 2, scores_labels));
  return graph;
}

typedef struct examples {
  float scores[EXAMPLES][KINDS], chances[EXAMPLES];
  int64_t labels[EXAMPLES], hits[EXAMPLES];
} examples;

static examples draw(unsigned seed) {
  examples e;
  for (int i = 0; i < EXAMPLES; ++i) {
    for (int c = 0; c < KINDS; ++c) {
      seed = seed * 1664525u + 1013904223u;
      e.scores[i][c] = (float)(seed >> 8) / (1 << 22) - 2;
    }
    seed = seed * 1664525u + 1013904223u;
    e.labels[i] = (seed >> 16) % KINDS;
    e.hits[i] = (seed >> 20) % 3 == 0;
    e.chances[i] = (float)((seed >> 10) % 64) / 64 * (e.hits[i] ? 1 : 0.75f);
  }
  return e;
}

/* ---- The loops ---- */

typedef struct expected {
  double loss, accuracy, counted, top3, chance, auc;
  int64_t confusion[KINDS][KINDS];
} expected;

static expected expect_of(const examples* e) {
  expected x = {.loss = 0};
  double counted = 0, pairs = 0, won = 0;
  for (int i = 0; i < EXAMPLES; ++i) {
    const int64_t label = e->labels[i];
    double sum = 0;
    int better = 0, best = 0;
    for (int c = 0; c < KINDS; ++c) {
      sum += exp((double)e->scores[i][c]);
      better += e->scores[i][c] > e->scores[i][label];
      if (e->scores[i][c] > e->scores[i][best]) best = c;
    }
    x.accuracy += best == label;
    x.top3 += better < 3;
    x.chance += (double)e->chances[i];
    if (label != 2) {
      ++counted;
      x.loss += log(sum) - (double)e->scores[i][label];
      x.counted += best == label;
      ++x.confusion[label][best];
    }
    for (int j = 0; j < EXAMPLES; ++j) {
      if (!e->hits[i] || e->hits[j]) continue;
      const double a = floor(e->chances[i] * 64), b = floor(e->chances[j] * 64);
      ++pairs;
      won += a > b ? 1 : a == b ? 0.5 : 0;
    }
  }
  x.loss /= counted, x.counted /= counted, x.auc = won / pairs;
  x.accuracy /= EXAMPLES, x.top3 /= EXAMPLES, x.chance /= EXAMPLES;
  return x;
}

static hr_dataset* data_of(hr_env* env, const examples* e) {
  static const char* const names[4] = {"scores", "labels", "chances", "hits"};
  const void* const data[4] = {e->scores, e->labels, e->chances, e->hits};
  const int64_t dims[2] = {EXAMPLES, KINDS};
  const hr_dataset_options options = {.struct_size = sizeof options, .batch = BATCH};
  hr_tensor* tensors[4];
  hr_dataset* out;
  for (int i = 0; i < 4; ++i) {
    const hr_dtype dtype = i % 2 == 0 ? HR_FLOAT32 : HR_INT64;
    const size_t count = EXAMPLES * (i == 0 ? KINDS : 1);
    CHECK(hr_tensor_copy_of(env, dtype, i == 0 ? 2 : 1, dims, data[i], count * hr_dtype_size(dtype),
                            &tensors[i]));
  }
  CHECK(hr_dataset_from_tensors(env, 4, names, (const hr_tensor* const*)tensors, &options, &out));
  for (int i = 0; i < 4; ++i) hr_tensor_release(tensors[i]);
  return out;
}

/* ---- Evaluations ---- */

static double number_in(const char* json, const char* name) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\":", name);
  const char* at = strstr(json, key);
  if (at == NULL) {
    fprintf(stderr, "no %s in %s\n", name, json);
    exit(1);
  }
  return strtod(at + strlen(key), NULL);
}

static void expect_near(const char* json, const char* name, double expected) {
  const double got = number_in(json, name);
  if (fabs(got - expected) <= 1e-6 * (1 + fabs(expected))) return;
  fprintf(stderr, "%s: expected %.12g, got %.12g\n", name, expected, got);
  exit(1);
}

/* The second evaluation knows nothing of the first, and neither is a step. */
static void test_loops(hr_env* env) {
  hr_session* session = session_of(build(env));
  for (unsigned seed = 1; seed < 4; ++seed) {
    const examples e = draw(seed);
    const expected x = expect_of(&e);
    hr_dataset* data = data_of(env, &e);
    hr_text* text;
    hr_tensor* confusion;
    hr_train_report report = {.struct_size = sizeof report};
    CHECK(hr_evaluate_metrics(session, NULL, data, NULL, &text));
    const char* json = hr_text_data(text);
    expect_near(json, "accuracy", x.accuracy);
    expect_near(json, "counted", x.counted);
    expect_near(json, "top 3", x.top3);
    expect_near(json, "mean", x.loss);
    expect_near(json, "perplexity", exp(x.loss));
    expect_near(json, "chance", x.chance);
    expect_near(json, "auc", x.auc);
    EXPECT(strstr(json, "confusion") == NULL); /* it is no number */
    EXPECT(hr_session_step(session) == 0);
    CHECK(hr_session_get_variable(session, "eval/confusion/counts", NULL, &confusion));
    EXPECT(memcmp(hr_tensor_data(confusion), x.confusion, sizeof x.confusion) == 0);
    CHECK(hr_dataset_rewind(data, NULL));
    CHECK(hr_evaluate(session, "eval", data, NULL, &report));
    EXPECT(fabs(report.evaluation_accuracy - x.accuracy) < 1e-12);
    hr_tensor_release(confusion);
    hr_text_release(text);
    hr_dataset_release(data);
  }
  hr_session_release(session);
}

/* Labels that are no class are refused, not counted from the end. */
static void test_labels_beyond(hr_env* env) {
  for (int64_t label = -1; label <= KINDS; label += KINDS + 1) {
    examples e = draw(5);
    hr_text* text;
    hr_graph* graph;
    hr_value in[2];
    e.labels[20] = label;
    CHECK(hr_graph_create(env, &graph));
    CHECK(
        hr_graph_input(graph, "scores", HR_FLOAT32, 2, (const int64_t[]){-1, KINDS}, NULL, &in[0]));
    CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, (const int64_t[]){-1}, NULL, &in[1]));
    CHECK(hr_graph_signature_input(graph, "eval", "scores", in[0]));
    CHECK(hr_graph_signature_input(graph, "eval", "labels", in[1]));
    CHECK(hr_graph_metric(graph, "eval", "loss", "accuracy", 2, in));
    CHECK(hr_graph_metric(graph, "eval", "confusion", "confusion", 2, in));
    hr_session* session = session_of(graph);
    hr_dataset* data = data_of(env, &e);
    FAILS(hr_evaluate_metrics(session, NULL, data, NULL, &text), HR_OUT_OF_RANGE,
          "at position 4 lies outside [-36, 36)");
    hr_dataset_release(data);
    hr_session_release(session);
  }
}

/* ---- What is refused ---- */

static void test_wrong_inputs(hr_env* env) {
  hr_graph* graph;
  hr_value scores, labels, wide, flat, ints, in[3];
  hr_graph_info before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "scores", HR_FLOAT32, 2, (const int64_t[]){4, 5}, NULL, &scores));
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, (const int64_t[]){4}, NULL, &labels));
  CHECK(hr_graph_input(graph, "wide", HR_INT64, 1, (const int64_t[]){3}, NULL, &wide));
  CHECK(hr_graph_input(graph, "flat", HR_FLOAT32, 1, (const int64_t[]){4}, NULL, &flat));
  CHECK(hr_graph_input(graph, "ints", HR_INT64, 2, (const int64_t[]){4, 5}, NULL, &ints));
  CHECK(hr_graph_get(graph, &before));
  const struct {
    const char* text;
    size_t count;
    hr_value a, b;
    const char* words;
  } kWrong[] = {
      {"f1", 2, scores, labels, "there is no metric 'f1'; there are: accuracy, top_k"},
      {"accuracy", 1, scores, labels, "metric 'accuracy' takes 2 inputs, got 1"},
      {"accuracy k=1", 2, scores, labels, "has no setting 'k'; there are: ignore_index"},
      {"accuracy ignore_index=0.5", 2, scores, labels, "ignore_index is a label, got 0.5"},
      {"accuracy", 2, flat, labels, "with a known C, got float32[4]"},
      {"accuracy", 2, ints, labels, "of a floating type"},
      {"accuracy", 2, scores, wide, "for each vector of scores float32[4, 5], got int64[3]"},
      {"accuracy", 2, scores, flat, "takes labels of int64 or int32"},
      {"accuracy", 2, scores, 999, "no value #999"},
      {"top_k", 2, scores, labels, "k is a whole number from 1 to the number of classes, 5, got 0"},
      {"top_k k=6", 2, scores, labels, "5, got 6"},
      {"mean", 1, ints, ints, "takes values of a floating type"},
      {"mean", 2, scores, labels, "only with the mean of a batch"},
      {"auc", 2, flat, wide, "of the same shape, got float32[4] and int64[3]"},
      {"auc bins=1", 2, flat, labels, "bins is a whole number from 2"},
      {"confusion", 2, flat, labels, "with a known C"},
  };
  for (size_t i = 0; i < sizeof kWrong / sizeof *kWrong; ++i) {
    in[0] = kWrong[i].a, in[1] = kWrong[i].b;
    FAILS(hr_graph_metric(graph, "eval", "m", kWrong[i].text, kWrong[i].count, in),
          HR_INVALID_ARGUMENT, kWrong[i].words);
  }
  in[0] = scores, in[1] = labels;
  FAILS(hr_graph_metric(graph, "eval", "", "accuracy", 2, in), HR_INVALID_ARGUMENT, "a name");
  CHECK(hr_graph_get(graph, &after));
  EXPECT(before.node_count == after.node_count && after.variable_count == 0);
  CHECK(hr_graph_metric(graph, "eval", "m", "accuracy", 2, in));
  FAILS(hr_graph_metric(graph, "eval", "m", "accuracy", 2, in), HR_ALREADY_EXISTS,
        "signature 'eval' has an output 'm' already");
  hr_graph_release(graph);
}

const test tests[] = {{"loops", test_loops},
                      {"labels beyond", test_labels_beyond},
                      {"wrong inputs", test_wrong_inputs},
                      {NULL, NULL}};
