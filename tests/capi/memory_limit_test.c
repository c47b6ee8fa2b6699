/* Sessions with a limit of working memory compute values again in place of keeping them: with the
 * bits of a session that keeps them, random numbers and statistics included. */
#include "nodes.h"

enum { kBatch = 40, kStages = 5, kChannels = 16, kSize = 16, kClasses = 4, kSteps = 3 };

/* A residual network with normalizations and dropout. */
static hr_value scores_of(hr_graph* graph, hr_value x) {
  const hr_value ratio = op(graph, "Constant", "value_float=0.25", 0);
  const hr_value yes = op(graph, "Cast", "to=9", 1, op(graph, "Constant", "value_int=1", 0));
  CHECK(hr_graph_conv2d(graph, "first", x, kChannels, 3, "pads=1,1,1,1", &x));
  for (int i = 0; i < kStages; ++i) {
    char name[16];
    hr_node update;
    hr_value y;
    snprintf(name, sizeof name, "conv%d", i);
    CHECK(hr_graph_conv2d(graph, name, x, kChannels, 3, "pads=1,1,1,1", &y));
    snprintf(name, sizeof name, "norm%d", i);
    CHECK(hr_graph_batch_norm(graph, name, y, 1, NULL, &y, &update));
    CHECK(hr_graph_signature_target(graph, "train", update));
    y = op(graph, "Dropout", NULL, 3, op(graph, "Relu", NULL, 1, y), ratio, yes);
    x = op(graph, "Add", NULL, 2, x, y);
  }
  x = op(graph, "Flatten", NULL, 1, op(graph, "GlobalAveragePool", NULL, 1, x));
  CHECK(hr_graph_dense(graph, "last", x, kClasses, &x));
  return x;
}

static hr_model* make_model(hr_env* env, int64_t batch) {
  hr_graph* graph;
  hr_model* model;
  hr_value x, labels, loss;
  CHECK(hr_graph_create(env, &graph));
  const char* symbols[] = {batch < 0 ? "batch" : NULL, NULL, NULL, NULL};
  const int64_t x_dims[] = {batch, 3, kSize, kSize};
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 4, x_dims, symbols, &x));
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, x_dims, symbols, &labels));
  const hr_value scores = scores_of(graph, x);
  loss = op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, scores, labels);
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "labels", labels));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_signature_input(graph, "scores", "x", x));
  CHECK(hr_graph_signature_output(graph, "scores", "scores", scores));
  const hr_value rate = op(graph, "Constant", "value_float=0.1", 0);
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd momentum=0.9", rate));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return model;
}

static hr_session* open_session(hr_model* model, uint64_t limit) {
  const hr_session_options options = {
      .struct_size = sizeof options, .seed = 5, .memory_limit = limit};
  hr_session* session;
  CHECK(hr_session_create(model, &options, NULL, &session));
  return session;
}

static void bind(hr_call* call, hr_env* env, int64_t batch) {
  const int64_t dims[] = {batch, 3, kSize, kSize};
  hr_tensor *x, *labels;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 4, dims, &x));
  CHECK(hr_tensor_create(env, HR_INT64, 1, dims, &labels));
  for (int64_t i = 0; i < hr_tensor_elements(x); ++i) {
    ((float*)hr_tensor_data(x))[i] = (float)(i * 7 % 23) / 23;
  }
  for (int64_t i = 0; i < batch; ++i) ((int64_t*)hr_tensor_data(labels))[i] = i % kClasses;
  CHECK(hr_call_bind(call, "x", x));
  CHECK(hr_call_bind(call, "labels", labels));
  hr_tensor_release(x);
  hr_tensor_release(labels);
}

/* The whole number behind "NAME":, the first in the text. */
static uint64_t number_of(const hr_text* text, const char* name) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\":", name);
  const char* at = strstr(hr_text_data(text), key);
  EXPECT(at != NULL);
  return strtoull(at + strlen(key), NULL, 10);
}

static uint64_t arena_of(hr_call* call) {
  hr_text* plan;
  CHECK(hr_call_describe(call, &plan));
  const uint64_t bytes = number_of(plan, "arena_bytes");
  hr_text_release(plan);
  return bytes;
}

/* Some steps, with the losses and the variables afterwards: of every training the same bits. */
typedef struct trained {
  float losses[kSteps];
  uint64_t arena;
  int again; /* steps that are done again */
  float sum_of_bits;
} trained;

static void add_variables(hr_session* session, trained* out) {
  uint32_t sum = 0;
  for (size_t i = 0; i < hr_session_variable_count(session); ++i) {
    hr_tensor* value;
    CHECK(hr_session_get_variable(session, hr_session_variable_name(session, i), NULL, &value));
    for (int64_t j = 0; j < hr_tensor_elements(value); ++j) {
      sum = sum * 31 + ((const uint32_t*)hr_tensor_data(value))[j];
    }
    hr_tensor_release(value);
  }
  memcpy(&out->sum_of_bits, &sum, sizeof sum);
}

static trained train(hr_env* env, hr_model* model, uint64_t limit) {
  trained out = {{0}, 0, 0, 0};
  hr_session* session = open_session(model, limit);
  hr_call* call;
  hr_text* plan;
  CHECK(hr_call_create(session, "train", &call));
  for (int i = 0; i < kSteps; ++i) {
    bind(call, env, kBatch - i % 2); /* another size of its range, too */
    CHECK(hr_call_output(call, "loss", &out.losses[i], sizeof(float)));
    CHECK(hr_call_run(call, NULL));
  }
  out.arena = arena_of(call);
  CHECK(hr_call_describe(call, &plan));
  for (const char* at = hr_text_data(plan); (at = strstr(at, "\"again\":true")) != NULL; ++at) {
    ++out.again;
  }
  hr_text_release(plan);
  hr_call_release(call);
  add_variables(session, &out);
  hr_session_release(session);
  return out;
}

static void test_same_bits(hr_env* env) {
  for (int bounded = 0; bounded < 2; ++bounded) {
    hr_model* model = make_model(env, -1);
    if (bounded) {
      hr_graph* graph;
      CHECK(hr_graph_from_model(model, &graph));
      CHECK(hr_graph_bound(graph, "batch", 1, kBatch, 0, NULL));
      hr_model_release(model);
      CHECK(hr_model_from_graph(graph, &model));
      hr_graph_release(graph);
    }
    const trained whole = train(env, model, 0);
    EXPECT(whole.again == 0);
    int before = 0;
    for (int percent = 90; percent >= 70; percent -= 10) {
      const uint64_t limit = whole.arena * (uint64_t)percent / 100;
      const trained limited = train(env, model, limit);
      printf("  %llu bytes of %llu: %d steps again\n", (unsigned long long)limited.arena,
             (unsigned long long)whole.arena, limited.again);
      EXPECT(limited.arena <= limit);
      EXPECT(limited.again > before);
      before = limited.again;
      EXPECT(memcmp(limited.losses, whole.losses, sizeof whole.losses) == 0);
      EXPECT(memcmp(&limited.sum_of_bits, &whole.sum_of_bits, sizeof(float)) == 0);
    }
    hr_model_release(model);
  }
}

/* The sentence says how little is possible, and so much is enough. */
static void test_refusal(hr_env* env) {
  hr_model* model = make_model(env, -1);
  hr_session* session = open_session(model, 1000);
  hr_call* call;
  CHECK(hr_call_create(session, "train", &call));
  bind(call, env, kBatch);
  hr_status* status = hr_call_run(call, NULL);
  EXPECT(status != NULL && hr_status_code(status) == HR_RESOURCE_EXHAUSTED);
  const char* message = hr_status_message(status);
  printf("  %s\n", message);
  EXPECT(strstr(message, "memory_limit is 1000 bytes") != NULL);
  EXPECT(strstr(message, "in use; allow so much") != NULL);
  const char* needs = strstr(message, "needs ");
  EXPECT(needs != NULL);
  const uint64_t least = strtoull(needs + 6, NULL, 10);
  hr_status_release(status);
  hr_call_release(call);
  hr_session_release(session);
  EXPECT(train(env, model, least).arena <= least);
  hr_model_release(model);
}

/* Plans of a session that do not run at one time have their working memory in common. */
static void test_shared_arena(hr_env* env) {
  hr_model* model = make_model(env, kBatch);
  hr_session* session = open_session(model, 0);
  hr_call *step, *scores;
  hr_text* described;
  float loss;
  CHECK(hr_call_create(session, "train", &step));
  bind(step, env, kBatch);
  CHECK(hr_call_output(step, "loss", &loss, sizeof loss));
  CHECK(hr_call_create(session, "scores", &scores));
  const int64_t dims[] = {kBatch, 3, kSize, kSize};
  hr_tensor* x;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 4, dims, &x));
  memset(hr_tensor_data(x), 0, hr_tensor_bytes(x));
  CHECK(hr_call_bind(scores, "x", x));
  hr_tensor_release(x);
  CHECK(hr_call_run(scores, NULL));
  CHECK(hr_call_run(step, NULL));
  const long before = host_allocations();
  for (int i = 0; i < 3; ++i) {
    CHECK(hr_call_run(scores, NULL));
    CHECK(hr_call_run(step, NULL));
  }
  EXPECT(host_allocations() == before);
  CHECK(hr_session_describe(session, &described));
  EXPECT(number_of(described, "idle_arena_bytes") == arena_of(step));
  EXPECT(arena_of(scores) > 0);
  hr_text_release(described);
  const long live = host_live_bytes();
  hr_session_trim(session);
  EXPECT(live - host_live_bytes() >= (long)arena_of(step));
  CHECK(hr_call_run(step, NULL));
  hr_call_release(step);
  hr_call_release(scores);
  hr_session_release(session);
  hr_model_release(model);
}

const test tests[] = {
    {"limited sessions compute the same bits", test_same_bits},
    {"a limit that cannot be met is refused with what can", test_refusal},
    {"plans lend each other one arena", test_shared_arena},
    {NULL, NULL},
};
