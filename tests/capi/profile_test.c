/* hr_call_profile: what a run did, step by step. */
#include "models.h"

enum { kBatch = 400 };

static hr_call* make_call(hr_session* session, const char* signature, hr_env* env) {
  const int64_t dims[] = {kBatch, 1, 12, 12};
  hr_call* call;
  hr_tensor *x, *labels;
  make_examples(env, 4, dims, &x, &labels);
  CHECK(hr_call_create(session, signature, &call));
  CHECK(hr_call_bind(call, "x", x));
  if (strcmp(signature, "train") == 0) {
    CHECK(hr_call_bind(call, "labels", labels));
    CHECK(hr_call_bind_scalar(call, "rate", 0.01));
  }
  hr_tensor_release(x);
  hr_tensor_release(labels);
  return call;
}

/* The number behind the next `"key":` from *at on, which moves there; -1 if there is none. */
static double next_number(const char** at, const char* key) {
  char quoted[40];
  snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const char* found = strstr(*at, quoted);
  if (found == NULL) return -1;
  *at = found + strlen(quoted);
  return strtod(*at, NULL);
}

static int count(const char* text, const char* word) {
  int found = 0;
  while ((text = strstr(text, word)) != NULL) text += strlen(word), ++found;
  return found;
}

static double sum_of(const char* text, const char* key) {
  double sum = 0;
  for (double one; (one = next_number(&text, key)) >= 0;) sum += one;
  return sum;
}

/* Steps follow each other within the run, and what threads did for them lies within the steps. */
static void expect_order(const char* text) {
  const double all = next_number(&text, "nanoseconds");
  double before = 0;
  EXPECT(next_number(&text, "threads") >= 1);
  const char* step = strstr(text, "\"node\":");
  EXPECT(step != NULL);
  while (step != NULL) {
    const char* at = step;
    const char* next = strstr(step + 1, "\"node\":");
    const double begin = next_number(&at, "begin"), end = next_number(&at, "end");
    EXPECT(before <= begin && begin <= end && end <= all);
    EXPECT(next_number(&at, "bytes") > 0);
    while (next_number(&at, "thread") >= 0 && (next == NULL || at < next)) {
      const double first = next_number(&at, "begin"), last = next_number(&at, "end");
      const double busy = next_number(&at, "busy");
      EXPECT(begin <= first && last <= end && busy >= 0 && busy <= last - first);
    }
    before = end;
    step = next;
  }
}

/* conv1 5 of 3x3 from 1, of 10x10 results; conv2 7 of 3x3 from 5, of 3x3, of which its pooling
 * takes 2x2; two dense layers. */
static double lenet_operations(void) {
  const double conv1 = 5 * 9 * 100, conv2 = 7 * 45 * 4, dense = 7 * HIDDEN + HIDDEN * CLASSES;
  return 2.0 * kBatch * (conv1 + conv2 + dense);
}

static void test_inference(hr_env* env) {
  hr_model* model = make_lenet(env);
  hr_session* session;
  hr_text *profile, *plan;
  hr_tensor* scores;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  hr_call* call = make_call(session, "infer", env);
  for (int run = 0; run < 2; ++run) { /* the first one compiles and packs */
    CHECK(hr_call_profile(call, NULL, &profile));
    CHECK(hr_call_describe(call, &plan));
    const char* text = hr_text_data(profile);
    expect_order(text);
    EXPECT(count(text, "\"node\":") == count(hr_text_data(plan), "\"kernel\":"));
    EXPECT(sum_of(text, "operations") == lenet_operations());
    EXPECT(sum_of(text, "live_bytes") > 0);
    hr_text_release(profile);
    hr_text_release(plan);
  }
  CHECK(hr_call_result(call, "scores", &scores)); /* it was a run as any other */
  EXPECT(hr_tensor_elements(scores) == kBatch * CLASSES);
  hr_tensor_release(scores);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
}

static void test_training(hr_env* env) {
  hr_model* model = make_lenet(env);
  hr_session* session;
  hr_text* profile;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  hr_call* call = make_call(session, "train", env);
  CHECK(hr_call_profile(call, NULL, &profile));
  const char* text = hr_text_data(profile);
  expect_order(text);
  /* Backward about twice as much; the first layer's input needs no gradient. */
  const double operations = sum_of(text, "operations") / lenet_operations();
  EXPECT(operations > 2 && operations < 3);
  hr_text_release(profile);
  hr_text* described;
  CHECK(hr_session_describe(session, &described));
  EXPECT(strstr(hr_text_data(described), "\"step\":1,") != NULL); /* it has trained */
  hr_text_release(described);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
}

static void test_threads(hr_env* env) {
  (void)env;
  hr_env* two = make_env(2);
  hr_model* model = make_lenet(two);
  hr_session* session;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  hr_call* call = make_call(session, "infer", two);
  int helped = 0;
  for (int run = 0; run < 1000 && !helped; ++run) { /* the other thread may be late */
    hr_text* profile;
    CHECK(hr_call_profile(call, NULL, &profile));
    helped = strstr(hr_text_data(profile), "\"thread\":1") != NULL;
    EXPECT(strstr(hr_text_data(profile), "\"thread\":2") == NULL);
    hr_text_release(profile);
  }
  EXPECT(helped);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  hr_env_release(two);
}

static void test_failures(hr_env* env) {
  hr_model* model = make_lenet(env);
  hr_session* session;
  hr_call* call;
  hr_text* profile = NULL;
  hr_limits limits = {.struct_size = sizeof limits};
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "infer", &call));
  FAILS(hr_call_profile(call, NULL, &profile), HR_INVALID_ARGUMENT, "x");
  EXPECT(profile == NULL);
  FAILS(hr_call_profile(NULL, &limits, &profile), HR_INVALID_ARGUMENT, "call");
  FAILS(hr_call_profile(call, &limits, NULL), HR_INVALID_ARGUMENT, "out");
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
}

const test tests[] = {
    {"the steps of an inference", test_inference},
    {"a training step", test_training},
    {"what two threads did", test_threads},
    {"a profile that cannot be made", test_failures},
    {NULL, NULL},
};
