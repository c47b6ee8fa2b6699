/* Learning rates that a graph computes: every schedule against its formula, step by step, across a
 * checkpoint, and what makes no schedule. */
#include <math.h>

#include "models.h"

/* ---- The formulas, once more ---- */

static double cosine_between(double from, double to, double progress) {
  return to + (from - to) * (1 + cos(acos(-1) * progress)) / 2;
}

static double constant(double t) { return t < 4 ? 0.3 * t / 4 : 0.3; }
static double constant_from(double t) { return t < 4 ? 0.3 * (0.5 + 0.5 * t / 4) : 0.3; }
static double steps_down(double t) { return 0.2 * pow(0.5, floor(t / 3)); }
static double exponential(double t) { return t < 2 ? 0.2 * t / 2 : 0.2 * pow(0.9, (t - 2) / 4); }
static double linear(double t) { return 0.02 + 0.18 * (1 - fmin(t / 10, 1)); }
static double polynomial(double t) {
  return t < 5 ? 0.2 * t / 5 : 0.02 + 0.18 * pow(1 - fmin((t - 5) / 10, 1), 1.5);
}
static double cosine(double t) {
  return t < 5 ? 0.1 * t / 5 : cosine_between(0.1, 0.01, fmin((t - 5) / 15, 1));
}
static double one_cycle(double t) {
  const double peak = 0.25 * 16 - 1;
  if (t <= peak) return cosine_between(0.1 / 10, 0.1, t / peak);
  return cosine_between(0.1, 0.1 / 10 / 100, fmin((t - peak) / (15 - peak), 1));
}
static double piecewise(double t) {
  if (t < 2) return 1.0 * t / 2;
  return t < 5 ? 1 : t < 9 ? 0.5 : 0.1;
}

static const struct {
  const char* text;
  double (*rate)(double step);
} kSchedules[] = {
    {"constant base=0.3 warmup=4", constant},
    {"constant base=0.3 warmup=4 start=0.5", constant_from},
    {"step base=0.2 every=3 factor=0.5", steps_down},
    {"exponential base=0.2 factor=0.9 every=4 warmup=2", exponential},
    {"linear base=0.2 steps=10 end=0.02", linear},
    {"polynomial base=0.2 steps=15 end=0.02 power=1.5 warmup=5", polynomial},
    {"cosine base=0.1 end=0.01 warmup=5 steps=20", cosine},
    {"one-cycle base=0.1 steps=16 share=0.25 divide=10 final_divide=100", one_cycle},
    {"piecewise at=5,9 rates=1,0.5,0.1 warmup=2", piecewise},
};
enum { SCHEDULES = sizeof kSchedules / sizeof *kSchedules, STEPS = 24 };

/* A signature "train" whose gradient is 1: the variable "w" falls by the rate. */
static hr_graph* graph_with(hr_env* env, const char* schedule) {
  hr_graph* graph;
  hr_tensor* zero;
  hr_variable w;
  hr_value now, rate;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_tensor_create(env, HR_FLOAT64, 0, NULL, &zero));
  *(double*)hr_tensor_data(zero) = 0;
  CHECK(hr_graph_variable(graph, "w", zero, 1, &w));
  CHECK(hr_graph_read(graph, w, &now));
  CHECK(hr_graph_schedule(graph, "train", schedule, &rate));
  CHECK(hr_graph_signature_output(graph, "train", "w", now));
  CHECK(hr_graph_minimize(graph, "train", now, "sgd", rate));
  hr_tensor_release(zero);
  return graph;
}

static int is_near(double a, double b) { return fabs(a - b) <= 1e-13 * (1 + fabs(b)); }

/* The rates of the steps from `begin` on. */
static void rates_of(hr_session* session, int begin, int count, double* out) {
  hr_call* call;
  double rate;
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_output(call, "learning_rate", &rate, sizeof rate));
  for (int t = 0; t < count; ++t) {
    CHECK(hr_call_run(call, NULL));
    out[begin + t] = rate;
  }
  hr_call_release(call);
}

static void test_formulas(hr_env* env) {
  for (int s = 0; s < SCHEDULES; ++s) {
    double rates[STEPS], sum = 0;
    hr_tensor* w;
    hr_session* session = session_of(graph_with(env, kSchedules[s].text));
    rates_of(session, 0, STEPS, rates);
    for (int t = 0; t < STEPS; ++t) {
      const double expected = kSchedules[s].rate(t);
      sum += expected;
      if (!is_near(rates[t], expected)) {
        fprintf(stderr, "%s: step %d, expected %.17g, got %.17g\n", kSchedules[s].text, t, expected,
                rates[t]);
        exit(1);
      }
    }
    CHECK(hr_session_get_variable(session, "w", NULL, &w));
    EXPECT(is_near(*(double*)hr_tensor_data(w), -sum)); /* the update used it */
    hr_tensor_release(w);
    hr_session_release(session);
  }
}

static void test_resumed(hr_env* env) {
  char* folder = make_folder();
  double whole[STEPS], parts[STEPS];
  hr_session* session = session_of(graph_with(env, kSchedules[6].text));
  rates_of(session, 0, STEPS, whole);
  hr_session_release(session);
  session = session_of(graph_with(env, kSchedules[6].text));
  rates_of(session, 0, 7, parts);
  CHECK(hr_session_save(session, folder, NULL, NULL));
  hr_session_release(session);
  session = session_of(graph_with(env, kSchedules[6].text));
  CHECK(hr_session_restore(session, folder, NULL, NULL, NULL));
  rates_of(session, 7, STEPS - 7, parts);
  hr_session_release(session);
  EXPECT(memcmp(whole, parts, sizeof whole) == 0);
  remove_folder(folder);
}

/* One counter for both, of which the first is the output. */
static void test_two_of_a_signature(hr_env* env) {
  hr_graph* graph = graph_with(env, "constant base=0.25");
  hr_value second;
  hr_call* call;
  double rates[2];
  CHECK(hr_graph_schedule(graph, "train", "linear base=1 steps=4", &second));
  CHECK(hr_graph_signature_output(graph, "train", "second", second));
  hr_session* session = session_of(graph);
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_call_output(call, "learning_rate", &rates[0], 8));
  CHECK(hr_call_output(call, "second", &rates[1], 8));
  for (int t = 0; t < 6; ++t) {
    CHECK(hr_call_run(call, NULL));
    EXPECT(rates[0] == 0.25 && rates[1] == 1 - fmin(t / 4.0, 1));
  }
  hr_call_release(call);
  hr_session_release(session);
}

/* An input of a model gives way to a schedule. */
static void test_in_place_of_an_input(hr_env* env) {
  hr_graph* graph;
  hr_value now, input, rate, wide;
  hr_variable w;
  hr_tensor* zero;
  hr_signature_info info = {.struct_size = sizeof info};
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_tensor_create(env, HR_FLOAT32, 0, NULL, &zero));
  *(float*)hr_tensor_data(zero) = 0;
  CHECK(hr_graph_variable(graph, "w", zero, 1, &w));
  CHECK(hr_graph_read(graph, w, &now));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &input));
  CHECK(hr_graph_minimize(graph, "train", now, "sgd", input));
  CHECK(hr_graph_signature_input(graph, "train", "rate", input));
  CHECK(hr_graph_schedule(graph, "train", "step base=0.5 every=1 factor=0.5", &wide));
  FAILS(hr_graph_replace(graph, input, wide), HR_INVALID_ARGUMENT,
        "'rate' is float32[], and cannot be replaced by a value of type float64[]");
  FAILS(hr_graph_replace(graph, 999, wide), HR_INVALID_ARGUMENT, "no value #999");
  CHECK(hr_graph_op(graph, "Cast", "to=1", 1, &wide, 1, &rate));
  CHECK(hr_graph_replace(graph, input, rate));
  CHECK(hr_graph_get_signature(graph, 0, &info));
  EXPECT(info.input_count == 0);
  hr_session* session = session_of(graph);
  double rates[3];
  hr_tensor* value;
  rates_of(session, 0, 3, rates);
  CHECK(hr_session_get_variable(session, "w", NULL, &value));
  EXPECT(*(float*)hr_tensor_data(value) == -0.875f);
  hr_tensor_release(value);
  hr_tensor_release(zero);
  hr_session_release(session);
}

static void test_what_is_no_schedule(hr_env* env) {
  static const struct {
    const char *text, *words;
  } kWrong[] = {
      {"cosin base=1", "there is no schedule 'cosin'; there are: constant, step"},
      {"", "there is no schedule ''"},
      {"cosine base=0.1", "schedule 'cosine': needs steps=…"},
      {"cosine steps=10", "schedule 'cosine': needs base=…"},
      {"cosine base=0.1 steps=100 warmup=100", "steps counts the warm-up"},
      {"cosine base=0.1 steps=10.5", "steps must be a whole number of at least 1, got 10.5"},
      {"cosine base=0.1 steps=0", "steps must be a whole number of at least 1, got 0"},
      {"cosine base=-1 steps=10", "base must be at least 0"},
      {"cosine base=nan steps=10", "base must be at least 0"},
      {"cosine base=0.1 steps=10 power=2", "there is no setting 'power'; there are: base, steps"},
      {"cosine base=0.1 base=0.2 steps=10", "'base' is given twice"},
      {"cosine base=0.1,0.2 steps=10", "base takes one number, got 2"},
      {"cosine base= steps=10", "'base' takes a number, got none"},
      {"cosine base=x steps=10", "'base' takes a number, got 'x'"},
      {"cosine base", "expected name=value, got 'base'"},
      {"step base=1 every=0", "every must be a whole number of at least 1"},
      {"one-cycle base=1 steps=2", "the rise wants more than one of the steps"},
      {"one-cycle base=1 steps=10 share=1", "share must be above 0 and below 1"},
      {"piecewise at=5,9 rates=1,2", "wants one more of rates than of at, got 2 and 2"},
      {"piecewise at=9,5 rates=1,2,3", "at must be whole numbers that ascend"},
      {"piecewise at=5 rates=1,2 warmup=5", "above warmup=5"},
      {"piecewise at=5 rates=1,inf", "rates must be finite numbers"},
  };
  hr_graph* graph;
  hr_value rate;
  hr_graph_info info = {.struct_size = sizeof info};
  hr_tensor* zero;
  hr_variable taken;
  CHECK(hr_graph_create(env, &graph));
  for (size_t i = 0; i < sizeof kWrong / sizeof *kWrong; ++i)
    FAILS(hr_graph_schedule(graph, "train", kWrong[i].text, &rate), HR_INVALID_ARGUMENT,
          kWrong[i].words);
  FAILS(hr_graph_schedule(graph, "", "constant base=1", &rate), HR_INVALID_ARGUMENT,
        "the runs of a signature");
  CHECK(hr_graph_get(graph, &info));
  EXPECT(info.node_count == 0 && info.variable_count == 0 && info.signature_count == 0);
  CHECK(hr_tensor_create(env, HR_FLOAT32, 0, NULL, &zero));
  CHECK(hr_graph_variable(graph, "train/step", zero, 1, &taken));
  FAILS(hr_graph_schedule(graph, "train", "constant base=1", &rate), HR_ALREADY_EXISTS,
        "a variable of that name is float32[]");
  hr_tensor_release(zero);
  hr_graph_release(graph);
}

const test tests[] = {{"formulas", test_formulas},
                      {"resumed", test_resumed},
                      {"two of a signature", test_two_of_a_signature},
                      {"in place of an input", test_in_place_of_an_input},
                      {"what is no schedule", test_what_is_no_schedule},
                      {NULL, NULL}};
