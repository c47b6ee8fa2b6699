/* What a training step does around its optimizer: clipping, accumulation, averages, groups of
 * variables. The gradients are what the test feeds, so that plain loops can follow. */
#include <math.h>

#include "models.h"
#include "nodes.h"

enum { A = 3, B = 2, ALL = A + B };

/* Variables a [3] and b [2], and a loss whose gradients are the inputs ga and gb. */
typedef struct problem {
  hr_graph* graph;
  hr_variable variables[2];
  hr_value rate, loss, gradients[2];
} problem;

static const float kInitial[ALL] = {1, -2, 0.5f, 3, -0.25f};

static problem begin(hr_env* env) {
  problem p = {.graph = NULL};
  static const char* const names[2] = {"a", "b"};
  static const char* const inputs[2] = {"ga", "gb"};
  hr_value parts[2];
  CHECK(hr_graph_create(env, &p.graph));
  CHECK(hr_graph_input(p.graph, "rate", HR_FLOAT32, 0, NULL, NULL, &p.rate));
  CHECK(hr_graph_signature_input(p.graph, "train", "rate", p.rate));
  for (int i = 0; i < 2; ++i) {
    const int64_t size = i == 0 ? A : B;
    hr_tensor* initial;
    hr_value now;
    CHECK(
        hr_tensor_copy_of(env, HR_FLOAT32, 1, &size, kInitial + i * A, 4 * (size_t)size, &initial));
    CHECK(hr_graph_variable(p.graph, names[i], initial, 1, &p.variables[i]));
    hr_tensor_release(initial);
    CHECK(hr_graph_read(p.graph, p.variables[i], &now));
    CHECK(hr_graph_input(p.graph, inputs[i], HR_FLOAT32, 1, &size, NULL, &p.gradients[i]));
    CHECK(hr_graph_signature_input(p.graph, "train", inputs[i], p.gradients[i]));
    CHECK(hr_graph_signature_output(p.graph, "look", names[i], now));
    parts[i] = op(p.graph, "Mul", NULL, 2, now, p.gradients[i]);
    CHECK(hr_graph_op(p.graph, "ReduceSum", "keepdims=0", 1, &parts[i], 1, &parts[i]));
  }
  p.loss = op(p.graph, "Add", NULL, 2, parts[0], parts[1]);
  CHECK(hr_graph_signature_output(p.graph, "train", "loss", p.loss));
  return p;
}

/* The gradients of step t. */
static void gradients_at(int t, float out[ALL]) {
  for (int i = 0; i < ALL; ++i) out[i] = (float)((t * 7 + i * 5) % 11 - 5) / 4;
}

/* Runs the signature for the steps from `begin` to `end`. */
static void train(hr_env* env, hr_session* session, int begin, int end) {
  hr_call* call;
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_bind_scalar(call, "rate", 0.125));
  for (int t = begin; t < end; ++t) {
    float g[ALL];
    gradients_at(t, g);
    for (int i = 0; i < 2; ++i) {
      const int64_t size = i == 0 ? A : B;
      hr_tensor* tensor;
      CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, &size, g + i * A, 4 * (size_t)size, &tensor));
      CHECK(hr_call_bind(call, i == 0 ? "ga" : "gb", tensor));
      hr_tensor_release(tensor);
    }
    CHECK(hr_call_run(call, NULL));
  }
  hr_call_release(call);
}

static void read_two(hr_session* session, const char* a, const char* b, float out[ALL]) {
  const char* const names[2] = {a, b};
  for (int i = 0; i < 2; ++i) {
    hr_tensor* tensor;
    CHECK(hr_session_get_variable(session, names[i], NULL, &tensor));
    memcpy(out + i * A, hr_tensor_data(tensor), hr_tensor_bytes(tensor));
    hr_tensor_release(tensor);
  }
}

static void expect_near(const float got[ALL], const double expected[ALL], const char* what) {
  for (int i = 0; i < ALL; ++i) {
    if (fabs(got[i] - expected[i]) <= 1e-5 * (1 + fabs(expected[i]))) continue;
    fprintf(stderr, "%s: element %d, expected %g, got %g\n", what, i, expected[i], got[i]);
    exit(1);
  }
}

/* ---- Clipping ---- */

static void clip_value(double g[ALL], double bound) {
  for (int i = 0; i < ALL; ++i) g[i] = fmin(fmax(g[i], -bound), bound);
}
static void scale_down(double* g, int count, double bound) {
  double squares = 0;
  for (int i = 0; i < count; ++i) squares += g[i] * g[i];
  if (sqrt(squares) <= bound) return;
  for (int i = 0; i < count; ++i) g[i] *= bound / sqrt(squares);
}
static void clip(double g[ALL], double value, double norm, double global_norm) {
  if (value != 0) clip_value(g, value);
  if (norm != 0) scale_down(g, A, norm), scale_down(g + A, B, norm);
  if (global_norm != 0) scale_down(g, ALL, global_norm);
}

static void test_clipping(hr_env* env) {
  static const struct {
    const char* settings;
    double value, norm, global_norm;
  } kCases[] = {{"sgd clip_value=0.75", 0.75, 0, 0},
                {"sgd clip_norm=1", 0, 1, 0},
                {"sgd clip_global_norm=1.5", 0, 0, 1.5},
                {"sgd clip_global_norm=1e9", 0, 0, 1e9},
                {"sgd clip_value=1 clip_norm=1.25 clip_global_norm=1.5", 1, 1.25, 1.5}};
  for (size_t c = 0; c < sizeof kCases / sizeof *kCases; ++c) {
    double w[ALL], g[ALL];
    float got[ALL], fed[ALL];
    problem p = begin(env);
    CHECK(hr_graph_minimize(p.graph, "train", p.loss, kCases[c].settings, p.rate));
    hr_session* session = session_of(p.graph);
    train(env, session, 0, 9);
    for (int i = 0; i < ALL; ++i) w[i] = kInitial[i];
    for (int t = 0; t < 9; ++t) {
      gradients_at(t, fed);
      for (int i = 0; i < ALL; ++i) g[i] = fed[i];
      clip(g, kCases[c].value, kCases[c].norm, kCases[c].global_norm);
      for (int i = 0; i < ALL; ++i) w[i] -= 0.125 * g[i];
    }
    read_two(session, "a", "b", got);
    expect_near(got, w, kCases[c].settings);
    hr_session_release(session);
  }
}

/* As values, with the norm before the bound. */
static void test_clipped_values(hr_env* env) {
  problem p = begin(env);
  hr_value clipped[3] = {p.gradients[0], HR_NONE, p.gradients[1]}, norm;
  hr_call* call;
  float out[ALL], before;
  const float fed[ALL] = {3, 0, 0, 0, 4};
  CHECK(hr_graph_clip_gradients(p.graph, "global_norm=1", 3, clipped, &norm));
  EXPECT(clipped[1] == HR_NONE && clipped[0] != p.gradients[0]);
  CHECK(hr_graph_signature_output(p.graph, "clip", "a", clipped[0]));
  CHECK(hr_graph_signature_output(p.graph, "clip", "b", clipped[2]));
  CHECK(hr_graph_signature_output(p.graph, "clip", "norm", norm));
  CHECK(hr_graph_signature_input(p.graph, "clip", "ga", p.gradients[0]));
  CHECK(hr_graph_signature_input(p.graph, "clip", "gb", p.gradients[1]));
  hr_session* session = session_of(p.graph);
  CHECK(hr_call_create(session, "clip", &call));
  for (int i = 0; i < 2; ++i) {
    const int64_t size = i == 0 ? A : B;
    hr_tensor* tensor;
    CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, &size, fed + i * A, 4 * (size_t)size, &tensor));
    CHECK(hr_call_bind(call, i == 0 ? "ga" : "gb", tensor));
    hr_tensor_release(tensor);
  }
  CHECK(hr_call_output(call, "a", out, 4 * A));
  CHECK(hr_call_output(call, "b", out + A, 4 * B));
  CHECK(hr_call_output(call, "norm", &before, 4));
  CHECK(hr_call_run(call, NULL));
  EXPECT(before == 5);
  expect_near(out, (const double[ALL]){0.6, 0, 0, 0, 0.8}, "clipped");
  hr_call_release(call);
  hr_session_release(session);
}

/* ---- Accumulation and averages ---- */

static void test_accumulation(hr_env* env) {
  double w[ALL], sum[ALL] = {0}, velocity[ALL] = {0};
  float got[ALL], fed[ALL];
  problem p = begin(env);
  CHECK(hr_graph_minimize(p.graph, "train", p.loss,
                          "sgd momentum=0.5 accumulate=3 clip_global_norm=0.5", p.rate));
  hr_session* session = session_of(p.graph);
  for (int i = 0; i < ALL; ++i) w[i] = kInitial[i];
  for (int t = 0; t < 11; ++t) {
    train(env, session, t, t + 1);
    gradients_at(t, fed);
    for (int i = 0; i < ALL; ++i) sum[i] += fed[i];
    if (t % 3 == 2) {
      double g[ALL];
      for (int i = 0; i < ALL; ++i) g[i] = sum[i] / 3, sum[i] = 0;
      clip(g, 0, 0, 0.5);
      for (int i = 0; i < ALL; ++i) w[i] -= 0.125 * (velocity[i] = 0.5 * velocity[i] + g[i]);
    }
    read_two(session, "a", "b", got);
    expect_near(got, w, "accumulated");
  }
  hr_session_release(session);
}

static void test_averages(hr_env* env) {
  for (int every = 1; every < 3; ++every) {
    double w[ALL], mean[ALL], sum[ALL] = {0};
    float got[ALL], fed[ALL], swapped[ALL];
    char settings[64];
    hr_call* call;
    problem p = begin(env);
    snprintf(settings, sizeof settings, "sgd average=0.75 accumulate=%d", every);
    CHECK(hr_graph_minimize(p.graph, "train", p.loss, settings, p.rate));
    CHECK(hr_graph_average_signature(p.graph, "look", "look at averages"));
    CHECK(hr_graph_swap_averages(p.graph, "swap"));
    hr_session* session = session_of(p.graph);
    for (int i = 0; i < ALL; ++i) mean[i] = w[i] = kInitial[i];
    for (int t = 0; t < 7; ++t) {
      train(env, session, t, t + 1);
      gradients_at(t, fed);
      for (int i = 0; i < ALL; ++i) sum[i] += fed[i];
      if ((t + 1) % every == 0) {
        for (int i = 0; i < ALL; ++i) {
          w[i] -= 0.125 * sum[i] / every;
          sum[i] = 0;
          mean[i] = 0.75 * mean[i] + 0.25 * w[i];
        }
      }
      read_two(session, "a/average", "b/average", got);
      expect_near(got, mean, "averages");
    }
    CHECK(hr_call_create(session, "look at averages", &call));
    CHECK(hr_call_output(call, "a", got, 4 * A));
    CHECK(hr_call_output(call, "b", got + A, 4 * B));
    CHECK(hr_call_run(call, NULL));
    expect_near(got, mean, "what is computed of averages");
    hr_call_release(call);
    CHECK(hr_call_create(session, "swap", &call));
    for (int times = 1; times <= 2; ++times) {
      CHECK(hr_call_run(call, NULL));
      read_two(session, "a", "b", swapped);
      expect_near(swapped, times == 1 ? mean : w, "swapped weights");
      read_two(session, "a/average", "b/average", swapped);
      expect_near(swapped, times == 1 ? w : mean, "swapped averages");
    }
    hr_call_release(call);
    hr_session_release(session);
  }
}

/* Everything at once, saved in the middle of an accumulation. */
static void test_resumed(hr_env* env) {
  static const char kSettings[] =
      "adam weight_decay=0.01 decoupled=1 accumulate=3 clip_global_norm=1 average=0.9";
  char* folder = make_folder();
  hr_session* sessions[2];
  for (int i = 0; i < 2; ++i) {
    problem p = begin(env);
    CHECK(hr_graph_minimize(p.graph, "train", p.loss, kSettings, p.rate));
    sessions[i] = session_of(p.graph);
  }
  train(env, sessions[0], 0, 7);
  CHECK(hr_session_save(sessions[0], folder, NULL, NULL));
  train(env, sessions[0], 7, 20);
  CHECK(hr_session_restore(sessions[1], folder, NULL, NULL, NULL));
  train(env, sessions[1], 7, 20);
  for (size_t v = 0; v < hr_session_variable_count(sessions[0]); ++v) {
    hr_tensor* values[2];
    for (int s = 0; s < 2; ++s)
      CHECK(hr_session_get_variable(sessions[s], hr_session_variable_name(sessions[s], v), NULL,
                                    &values[s]));
    EXPECT(memcmp(hr_tensor_data(values[0]), hr_tensor_data(values[1]),
                  hr_tensor_bytes(values[0])) == 0);
    for (int s = 0; s < 2; ++s) hr_tensor_release(values[s]);
  }
  for (int s = 0; s < 2; ++s) hr_session_release(sessions[s]);
  remove_folder(folder);
}

/* ---- Groups and freezing ---- */

static hr_value number(hr_graph* graph, const char* attributes) {
  hr_value out;
  CHECK(hr_graph_op(graph, "Constant", attributes, 0, NULL, 1, &out));
  return out;
}

static void test_groups(hr_env* env) {
  problem p = begin(env);
  double w[ALL];
  float got[ALL], fed[ALL];
  const hr_parameter_group groups[2] = {
      {sizeof *groups, "b", "sgd clip_value=0.5", number(p.graph, "value_float=0.5")},
      {sizeof *groups, "*", "sgd weight_decay=0.5", p.rate}};
  CHECK(hr_graph_minimize_groups(p.graph, "train", p.loss, 2, groups));
  hr_session* session = session_of(p.graph);
  train(env, session, 3, 4);
  gradients_at(3, fed);
  for (int i = 0; i < A; ++i) w[i] = kInitial[i] - 0.125 * (fed[i] + 0.5 * kInitial[i]);
  for (int i = A; i < ALL; ++i) w[i] = kInitial[i] - 0.5 * fmin(fmax(fed[i], -0.5), 0.5);
  read_two(session, "a", "b", got);
  expect_near(got, w, "groups");
  hr_session_release(session);
}

static void test_freezing(hr_env* env) {
  problem p = begin(env);
  size_t count;
  float got[ALL];
  CHECK(hr_graph_set_trainable_matching(p.graph, "a*", 0, &count));
  EXPECT(count == 1);
  CHECK(hr_graph_minimize(p.graph, "train", p.loss, "sgd", p.rate));
  hr_session* session = session_of(p.graph);
  train(env, session, 0, 1);
  read_two(session, "a", "b", got);
  EXPECT(memcmp(got, kInitial, 4 * A) == 0 && memcmp(got + A, kInitial + A, 4 * B) != 0);
  hr_session_release(session);
}

/* ---- What is refused ---- */

static size_t saved(const hr_graph* graph, char* folder, char bytes[1 << 16]) {
  CHECK(hr_graph_save(graph, in_folder(folder, "graph.hrg"), NULL));
  FILE* file = fopen(in_folder(folder, "graph.hrg"), "rb");
  EXPECT(file != NULL);
  const size_t size = fread(bytes, 1, 1 << 16, file);
  fclose(file);
  return size;
}

static void test_failures_change_nothing(hr_env* env) {
  static char before[1 << 16], after[1 << 16];
  static const struct {
    const char *settings, *words;
  } kWrong[] = {{"sgd clip_value=0", "clipped to a value above 0, got 0"},
                {"sgd clip_norm=-1", "clipped to a norm above 0"},
                {"sgd clip_global_norm=inf", "clipped to a global_norm above 0, got inf"},
                {"sgd accumulate=0", "accumulate is a whole number of runs from 1 on, got 0"},
                {"sgd accumulate=1.5", "accumulate is a whole number"},
                {"sgd average=1", "above 0 and below 1, got 1"},
                {"sgd clip=1", "optimizer 'sgd' has no setting 'clip'"}};
  char* folder = make_folder();
  problem p = begin(env);
  size_t count, size = saved(p.graph, folder, before);
  hr_value gradients[2] = {p.gradients[0], p.gradients[1]}, norm;
  for (size_t i = 0; i < sizeof kWrong / sizeof *kWrong; ++i)
    FAILS(hr_graph_minimize(p.graph, "train", p.loss, kWrong[i].settings, p.rate),
          HR_INVALID_ARGUMENT, kWrong[i].words);
  FAILS(hr_graph_clip_gradients(p.graph, "", 2, gradients, &norm), HR_INVALID_ARGUMENT,
        "expected a bound");
  FAILS(hr_graph_clip_gradients(p.graph, "norms=1", 2, gradients, &norm), HR_INVALID_ARGUMENT,
        "by value, norm or global_norm, got 'norms'");
  gradients[1] = 999;
  FAILS(hr_graph_clip_gradients(p.graph, "norm=1", 2, gradients, NULL), HR_INVALID_ARGUMENT,
        "no value #999");
  EXPECT(gradients[0] == p.gradients[0]);
  FAILS(hr_graph_set_trainable_matching(p.graph, "a,c*", 0, &count), HR_NOT_FOUND,
        "no variable fits the pattern 'c*'; there are: a, b");
  FAILS(hr_graph_set_trainable_matching(p.graph, ",", 0, &count), HR_INVALID_ARGUMENT,
        "expected patterns");
  hr_parameter_group groups[2] = {{sizeof *groups, "b", "sgd", p.rate},
                                  {sizeof *groups, "x", "sgd", p.rate}};
  FAILS(hr_graph_minimize_groups(p.graph, "train", p.loss, 1, groups), HR_FAILED_PRECONDITION,
        "no group has a; end with a group whose pattern is '*', or freeze them");
  FAILS(hr_graph_minimize_groups(p.graph, "train", p.loss, 2, groups), HR_NOT_FOUND,
        "no trainable variable fits the pattern 'x'");
  groups[1].patterns = NULL;
  FAILS(hr_graph_minimize_groups(p.graph, "train", p.loss, 2, groups), HR_INVALID_ARGUMENT,
        "hr_parameter_group 1: patterns must not be NULL");
  FAILS(hr_graph_average_signature(p.graph, "look", "averages"), HR_FAILED_PRECONDITION,
        "no variable has an average");
  FAILS(hr_graph_swap_averages(p.graph, "swap"), HR_FAILED_PRECONDITION,
        "no variable has an average");
  FAILS(hr_graph_copy_signature(p.graph, "lok", "copy"), HR_NOT_FOUND, "did you mean 'look'?");
  FAILS(hr_graph_copy_signature(p.graph, "look", "train"), HR_ALREADY_EXISTS, "'train'");
  EXPECT(saved(p.graph, folder, after) == size && memcmp(before, after, size) == 0);
  CHECK(hr_graph_minimize(p.graph, "train", p.loss, "sgd average=0.5", p.rate));
  FAILS(hr_graph_minimize(p.graph, "other", p.loss, "sgd average=0.5", p.rate), HR_ALREADY_EXISTS,
        "'a/average'");
  FAILS(hr_graph_copy_signature(p.graph, "train", "copy"), HR_FAILED_PRECONDITION,
        "only a signature that changes none can be copied");
  hr_graph_release(p.graph);
  remove_folder(folder);
}

const test tests[] = {{"clipping", test_clipping},
                      {"clipped values", test_clipped_values},
                      {"accumulation", test_accumulation},
                      {"averages", test_averages},
                      {"resumed", test_resumed},
                      {"groups", test_groups},
                      {"freezing", test_freezing},
                      {"failures change nothing", test_failures_change_nothing},
                      {NULL, NULL}};
