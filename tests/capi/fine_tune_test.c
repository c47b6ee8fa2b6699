/* Fine-tuning from end to end: an exported file without a training signature gets a new head, the
 * rest is frozen, the head learns, and what is saved and exported has the old weights, bit by bit.
 */
#include "models.h"

enum { BATCH = 24, FINE_CLASSES = 3, STEPS = 100 };

static const int64_t image_dims[4] = {BATCH, 1, 12, 12};

static hr_model* load(hr_env* env, const char* path) {
  hr_model* model;
  CHECK(hr_model_load(env, path, NULL, &model));
  return model;
}

static hr_session* session_for(hr_model* model) {
  hr_session* session;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  hr_model_release(model);
  return session;
}

static int is_head(const char* name) { return strncmp(name, "head/", 5) == 0; }

/* Images of `classes` classes: a bright row for each, and noise. */
static void images(hr_env* env, int64_t classes, hr_tensor** x, hr_tensor** labels) {
  CHECK(hr_tensor_create(env, HR_FLOAT32, 4, image_dims, x));
  CHECK(hr_tensor_create(env, HR_INT64, 1, image_dims, labels));
  for (int64_t i = 0; i < BATCH; ++i) {
    ((int64_t*)hr_tensor_data(*labels))[i] = i % classes;
    for (int64_t p = 0; p < 144; ++p) {
      const int lit = p / 12 / 3 == i % classes;
      ((float*)hr_tensor_data(*x))[i * 144 + p] = (float)lit + (float)((i * 31 + p * 17) % 13) / 26;
    }
  }
}

/* Trains and returns the first and the last loss. */
static void train(hr_env* env, hr_session* session, int64_t classes, int steps, float losses[2]) {
  hr_call* step;
  float loss;
  hr_tensor *x, *labels;
  images(env, classes, &x, &labels);
  CHECK(hr_call_create(session, "train", &step));
  CHECK(hr_call_bind(step, "x", x));
  CHECK(hr_call_bind(step, "labels", labels));
  CHECK(hr_call_bind_scalar(step, "rate", 0.05));
  CHECK(hr_call_output(step, "loss", &loss, sizeof loss));
  for (int i = 0; i < steps; ++i) {
    CHECK(hr_call_run(step, NULL));
    if (i == 0) losses[0] = loss;
  }
  losses[1] = loss;
  hr_call_release(step);
  hr_tensor_release(x);
  hr_tensor_release(labels);
}

/* A trained LeNet without its training signature. */
static void make_base(hr_env* env, const char* path) {
  float losses[2];
  hr_session* session = session_for(make_lenet(env));
  train(env, session, CLASSES, 40, losses);
  CHECK(hr_session_export(session, path, 1, (const char* const[]){"infer"}, NULL, NULL));
  hr_session_release(session);
}

/* All but the layer that gives the scores, with a head of FINE_CLASSES. */
static hr_graph* with_new_head(hr_env* env, const char* path) {
  hr_graph* graph;
  hr_value x, features, labels, rate, scores, loss;
  hr_graph_info info = {.struct_size = sizeof info};
  hr_node_info last = {.struct_size = sizeof last};
  hr_node fc2;
  hr_model* model = load(env, path);
  CHECK(hr_graph_from_model(model, &graph));
  hr_model_release(model);
  CHECK(hr_graph_get(graph, &info));
  for (hr_variable v = 0; v < info.variable_count; ++v) CHECK(hr_graph_set_trainable(graph, v, 0));
  CHECK(hr_graph_find_value(graph, "x", &x));
  CHECK(hr_graph_find_node(graph, "fc2", &fc2));
  CHECK(hr_graph_get_node(graph, fc2, &last));
  features = last.inputs[0]; /* what the old head takes */
  CHECK(hr_graph_dense(graph, "head", features, FINE_CLASSES, &scores));
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, (const int64_t[]){-1},
                       (const char* const[]){"batch"}, &labels));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  CHECK(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, (const hr_value[]){scores, labels},
                    1, &loss));
  CHECK(hr_graph_remove_signature(graph, "infer"));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  CHECK(hr_graph_signature_output(graph, "infer", "scores", scores));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "labels", labels));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd momentum=0.9", rate));
  CHECK(hr_graph_prune(graph));
  return graph;
}

static hr_tensor* value_of(hr_session* session, const char* name) {
  hr_tensor* tensor;
  CHECK(hr_session_get_variable(session, name, NULL, &tensor));
  return tensor;
}

static int same_bits(hr_session* a, hr_session* b, const char* name) {
  hr_tensor *left = value_of(a, name), *right = value_of(b, name);
  EXPECT(hr_tensor_bytes(left) == hr_tensor_bytes(right));
  const int same = memcmp(hr_tensor_data(left), hr_tensor_data(right), hr_tensor_bytes(left)) == 0;
  hr_tensor_release(left);
  hr_tensor_release(right);
  return same;
}

/* Of the variables of `session`, those of the head are its own, the others the base's. */
static int compare_with_base(hr_session* session, hr_session* base) {
  int frozen = 0;
  for (size_t v = 0; v < hr_session_variable_count(session); ++v) {
    const char* name = hr_session_variable_name(session, v);
    if (is_head(name)) continue;
    EXPECT(same_bits(session, base, name));
    ++frozen;
  }
  return frozen;
}

static hr_tensor* scores_of(hr_env* env, hr_session* session) {
  const char *feeds[1] = {"x"}, *fetches[1] = {"head:0"};
  hr_tensor *x, *labels, *scores;
  images(env, FINE_CLASSES, &x, &labels);
  CHECK(hr_session_run(session, 1, feeds, (const hr_tensor* const*)&x, 1, fetches, 0, NULL, NULL,
                       &scores));
  hr_tensor_release(x);
  hr_tensor_release(labels);
  return scores;
}

static void test_fine_tuning(hr_env* env) {
  char* folder = make_folder();
  char base_path[4096], new_path[4096];
  float losses[2];
  strcpy(base_path, in_folder(folder, "base.hrg"));
  strcpy(new_path, in_folder(folder, "new.hrg"));
  make_base(env, base_path);
  hr_session* base = session_for(load(env, base_path));
  EXPECT(hr_session_variable_count(base) == 8);

  hr_graph* graph = with_new_head(env, base_path);
  hr_variable old;
  FAILS(hr_graph_find_variable(graph, "fc2/weight", &old), HR_NOT_FOUND, "fc1/weight");
  CHECK(hr_graph_save(graph, in_folder(folder, "training.hrg"), NULL));
  hr_session *session = session_of(graph),
             *untrained = session_for(load(env, in_folder(folder, "training.hrg")));
  EXPECT(hr_session_variable_count(session) == 6 + 2 + 2); /* the head's have momentum */
  train(env, session, FINE_CLASSES, STEPS, losses);
  printf("loss %g, then %g\n", (double)losses[0], (double)losses[1]);
  EXPECT(losses[1] < losses[0] / 2);
  EXPECT(compare_with_base(session, base) == 6);

  CHECK(hr_session_save(session, in_folder(folder, "checkpoints"), NULL, NULL));
  CHECK(hr_session_restore(untrained, in_folder(folder, "checkpoints"), NULL, NULL, NULL));
  EXPECT(same_bits(untrained, session, "head/weight"));
  EXPECT(same_bits(untrained, session, "head/weight/momentum"));
  EXPECT(compare_with_base(untrained, base) == 6);
  hr_session_release(untrained);

  untrained = session_for(load(env, in_folder(folder, "training.hrg")));
  CHECK(hr_session_export(session, new_path, 1, (const char* const[]){"infer"}, NULL, NULL));
  hr_session* loaded = session_for(load(env, new_path));
  EXPECT(hr_session_variable_count(loaded) == 8);
  EXPECT(compare_with_base(loaded, base) == 6);
  EXPECT(same_bits(loaded, session, "head/weight") && same_bits(loaded, session, "head/bias"));
  EXPECT(!same_bits(loaded, untrained, "head/weight"));
  hr_tensor *expected = scores_of(env, session), *got = scores_of(env, loaded);
  EXPECT(memcmp(hr_tensor_data(expected), hr_tensor_data(got), hr_tensor_bytes(got)) == 0);
  hr_tensor_release(expected);
  hr_tensor_release(got);
  hr_session_release(untrained);
  hr_session_release(loaded);
  hr_session_release(session);
  hr_session_release(base);
  remove_folder(folder);
}

const test tests[] = {{"fine-tuning", test_fine_tuning}, {NULL, NULL}};
