/* Models with operators that run as what they are composed of: sizes of a range, files, training.
 */
#include "nodes.h"

enum { MOST = 9, POSITIONS = 4, FEATURES = 6, CLASSES = 3 };

static hr_value unary(hr_graph* graph, const char* name, const char* attributes, hr_value x) {
  return op_of(graph, name, attributes, 1, &x);
}

static hr_value integers(hr_env* env, hr_graph* graph, size_t count, const int64_t* values) {
  hr_tensor* tensor;
  hr_value out;
  CHECK(hr_tensor_create(env, HR_INT64, 1, (const int64_t[]){(int64_t)count}, &tensor));
  memcpy(hr_tensor_data(tensor), values, count * sizeof *values);
  CHECK(hr_graph_constant(graph, NULL, tensor, &out));
  hr_tensor_release(tensor);
  return out;
}

static hr_value learned(hr_graph* graph, const char* name, int64_t count, const char* range) {
  hr_variable variable;
  hr_value out;
  CHECK(hr_graph_variable_init(graph, name, HR_FLOAT32, 1, &count, 1, "RandomUniform", range,
                               &variable));
  CHECK(hr_graph_read(graph, variable, &out));
  return out;
}

/* ---- What is computed of x [n, POSITIONS, FEATURES] ---- */

static hr_value attention(hr_env* env, hr_graph* graph, hr_value x) {
  (void)env;
  return op(graph, "Attention", "q_num_heads=2 kv_num_heads=2 is_causal=1", 3, x, x, x);
}
static hr_value shared_heads(hr_env* env, hr_graph* graph, hr_value x) {
  const hr_value k = op_of(graph, "Slice", NULL, 4,
                           (const hr_value[]){x, integers(env, graph, 1, (const int64_t[]){0}),
                                              integers(env, graph, 1, (const int64_t[]){2}),
                                              integers(env, graph, 1, (const int64_t[]){2})});
  return op(graph, "Attention", "q_num_heads=3 kv_num_heads=1", 3, x, k, k);
}
static hr_value normalizations(hr_env* env, hr_graph* graph, hr_value x) {
  (void)env;
  x = op(graph, "RMSNormalization", NULL, 2, x,
         learned(graph, "rms", FEATURES, "low=0.5 high=1.5"));
  x = op(graph, "InstanceNormalization", NULL, 3, x,
         learned(graph, "scale", POSITIONS, "low=0.5 high=1.5"),
         learned(graph, "shift", POSITIONS, "low=-1 high=1"));
  return unary(graph, "LpNormalization", "axis=1", unary(graph, "LRN", "size=3 alpha=0.5", x));
}
static hr_value older(hr_env* env, hr_graph* graph, hr_value x) {
  (void)env;
  x = unary(graph, "Unsqueeze@11", "axes=1", unary(graph, "Softmax@1", NULL, x));
  return unary(graph, "Pad@2", "pads=0,0,1,0,0,0,0,2", unary(graph, "Clip@6", "max=0.2", x));
}
static hr_value images(hr_env* env, hr_graph* graph, hr_value x) {
  const hr_value square =
      op_of(graph, "CenterCropPad", "axes=1,2", 2,
            (const hr_value[]){x, integers(env, graph, 2, (const int64_t[]){6, 4})});
  x = unary(graph, "SpaceToDepth", "blocksize=2", unary(graph, "Unsqueeze@11", "axes=1", square));
  const hr_value w =
      op_of(graph, "Reshape", NULL, 2,
            (const hr_value[]){learned(graph, "w", 4 * 2 * 9, "low=-1 high=1"),
                               integers(env, graph, 4, (const int64_t[]){4, 2, 3, 3})});
  return op(graph, "ConvTranspose", "strides=2,2 pads=1,0,0,1", 2, x, w);
}
static hr_value signals(hr_env* env, hr_graph* graph, hr_value x) {
  const hr_value real =
      op_of(graph, "Unsqueeze", NULL, 2,
            (const hr_value[]){x, integers(env, graph, 1, (const int64_t[]){-1})});
  return unary(graph, "DFT@17", "axis=2 onesided=1", real);
}
static hr_value bytes(hr_env* env, hr_graph* graph, hr_value x) {
  hr_value quantized[3];
  (void)env;
  CHECK(hr_graph_op(graph, "DynamicQuantizeLinear", NULL, 1, &x, 3, quantized));
  return op_of(graph, "DequantizeLinear", NULL, 3, quantized);
}
/* Sixteen bits, widened around the kernels of softmax and of products. */
static hr_value halves(hr_env* env, hr_graph* graph, hr_value x) {
  (void)env;
  const hr_value half = unary(graph, "Softmax", NULL, unary(graph, "Cast", "to=10", x));
  const hr_value turned = unary(graph, "Transpose", "perm=0,2,1", half);
  const hr_value product = op(graph, "MatMul", NULL, 2, half, turned);
  return unary(graph, "Cast", "to=1", product);
}

typedef hr_value (*layers)(hr_env* env, hr_graph* graph, hr_value x);

static hr_graph* begin(hr_env* env, int bounded, hr_value* x) {
  hr_graph* graph;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 3, (const int64_t[]){-1, POSITIONS, FEATURES},
                       (const char* const[]){"n", NULL, NULL}, x));
  if (bounded) CHECK(hr_graph_bound(graph, "n", 1, MOST, 0, NULL));
  CHECK(hr_graph_signature_input(graph, "infer", "x", *x));
  return graph;
}

static hr_graph* make_graph(hr_env* env, layers make, int bounded) {
  hr_value x;
  hr_graph* graph = begin(env, bounded, &x);
  CHECK(hr_graph_signature_output(graph, "infer", "y", make(env, graph, x)));
  return graph;
}

typedef struct side {
  hr_model* model;
  hr_session* session;
  hr_call* call;
} side;

/* The model is the side's. */
static side open_model(hr_model* model, const char* signature) {
  side s = {.model = model};
  CHECK(hr_session_create(model, NULL, NULL, &s.session));
  CHECK(hr_call_create(s.session, signature, &s.call));
  return s;
}
static side open_graph(hr_graph* graph, const char* signature) {
  hr_model* model;
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return open_model(model, signature);
}
static void close_side(side* s) {
  hr_call_release(s->call);
  hr_session_release(s->session);
  hr_model_release(s->model);
}

static int plans(const side* s) {
  hr_text* text;
  int count = 0;
  CHECK(hr_session_describe(s->session, &text));
  for (const char* at = hr_text_data(text); (at = strstr(at, "\"idle_instances\"")) != NULL; ++at)
    ++count;
  hr_text_release(text);
  return count;
}

static hr_tensor* run(hr_env* env, side* s, int64_t n, const char* output) {
  hr_tensor *x, *y;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 3, (const int64_t[]){n, POSITIONS, FEATURES}, &x));
  for (int64_t i = 0; i < n * POSITIONS * FEATURES; ++i)
    ((float*)hr_tensor_data(x))[i] = (float)((i * 7 + i / 5) % 23) / 11 - 1;
  CHECK(hr_call_bind(s->call, "x", x));
  CHECK(hr_call_run(s->call, NULL));
  CHECK(hr_call_result(s->call, output, &y));
  hr_tensor_release(x);
  return y;
}

static void expect_same(hr_env* env, side* a, side* b, int64_t n, const char* output) {
  hr_tensor *left = run(env, a, n, output), *right = run(env, b, n, output);
  EXPECT(hr_tensor_rank(left) == hr_tensor_rank(right));
  for (size_t i = 0; i < hr_tensor_rank(left); ++i)
    EXPECT(hr_tensor_dims(left)[i] == hr_tensor_dims(right)[i]);
  EXPECT(hr_tensor_elements(left) > 0);
  EXPECT(memcmp(hr_tensor_data(left), hr_tensor_data(right),
                (size_t)hr_tensor_elements(left) * sizeof(float)) == 0);
  hr_tensor_release(left);
  hr_tensor_release(right);
}

static const layers kLayers[] = {attention, shared_heads, normalizations, older,
                                 images,    signals,      bytes,          halves};

/* One plan serves all sizes, and gives the bits of one for the shape alone. */
static void test_ranges(hr_env* env) {
  const int64_t sizes[] = {3, 1, MOST, 2, 8, 3};
  for (size_t i = 0; i < sizeof kLayers / sizeof *kLayers; ++i) {
    side bounded = open_graph(make_graph(env, kLayers[i], 1), "infer");
    side free_ = open_graph(make_graph(env, kLayers[i], 0), "infer");
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; ++j)
      expect_same(env, &bounded, &free_, sizes[j], "y");
    EXPECT(plans(&bounded) == 1);
    EXPECT(plans(&free_) == 5);
    close_side(&bounded);
    close_side(&free_);
  }
}

static int file_has(const char* path, const char* word) {
  static char bytes_of_file[1 << 16];
  FILE* file = fopen(path, "rb");
  EXPECT(file != NULL);
  const size_t size = fread(bytes_of_file, 1, sizeof bytes_of_file, file);
  fclose(file);
  EXPECT(size > 0 && size < sizeof bytes_of_file);
  for (size_t i = 0; i + strlen(word) <= size; ++i) {
    if (memcmp(bytes_of_file + i, word, strlen(word)) == 0) return 1;
  }
  return 0;
}

/* Files have the operator itself, also those of a graph that goes on from a model. */
static void test_files(hr_env* env) {
  char* folder = make_folder();
  const char* path = in_folder(folder, "model.hrg");
  for (size_t i = 0; i < sizeof kLayers / sizeof *kLayers; ++i) {
    hr_graph* graph = make_graph(env, kLayers[i], 0);
    CHECK(hr_graph_save(graph, path, NULL));
    side built = open_graph(graph, "infer");
    if (kLayers[i] == attention) {
      EXPECT(file_has(path, "Attention") && !file_has(path, "Softmax"));
      CHECK(hr_graph_from_model(built.model, &graph));
      CHECK(hr_graph_save(graph, path, NULL));
      hr_graph_release(graph);
      EXPECT(file_has(path, "Attention") && !file_has(path, "Softmax"));
    }
    hr_model* model;
    CHECK(hr_model_load(env, path, NULL, &model));
    side loaded = open_model(model, "infer");
    expect_same(env, &built, &loaded, 3, "y");
    close_side(&built);
    close_side(&loaded);
  }
  remove_folder(folder);
}

static hr_graph* make_classifier(hr_env* env, int bounded) {
  hr_value x, rate, scores, loss;
  hr_graph* graph = begin(env, bounded, &x);
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  hr_value y = unary(graph, "Swish", NULL, normalizations(env, graph, attention(env, graph, x)));
  CHECK(hr_graph_dense(graph, "fc", y, CLASSES, &scores));
  /* The target of every example is class 1. */
  y = unary(graph, "LogSoftmax@11", NULL, scores);
  y = op_of(graph, "Gather", "axis=1", 2,
            (const hr_value[]){y, integers(env, graph, 1, (const int64_t[]){1})});
  loss = unary(graph, "Neg", NULL, unary(graph, "ReduceMean", "keepdims=0", y));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, "sgd momentum=0.5", rate));
  return graph;
}

static float train(hr_env* env, side* s, int64_t n) {
  CHECK(hr_call_bind_scalar(s->call, "rate", 0.05));
  hr_tensor* loss = run(env, s, n, "loss");
  const float out = *(const float*)hr_tensor_data(loss);
  hr_tensor_release(loss);
  return out;
}

/* Steps of any size lower the loss, the same with and without bounds. */
static void test_training(hr_env* env) {
  side bounded = open_graph(make_classifier(env, 1), "train");
  side free_ = open_graph(make_classifier(env, 0), "train");
  const float first = train(env, &bounded, 4);
  EXPECT(first == train(env, &free_, 4));
  float last = first;
  for (int step = 0; step < 30; ++step) {
    last = train(env, &bounded, 1 + step % MOST);
    EXPECT(last == train(env, &free_, 1 + step % MOST));
  }
  EXPECT(last < first * 0.5F);
  EXPECT(plans(&bounded) == 1);
  close_side(&bounded);
  close_side(&free_);
}

/* The image that says how large the result of a ConvTranspose is: nobody reads its zeros. They are
 * too many to be a constant of the plan. */
static void test_types_alone(hr_env* env) {
  side s = open_graph(make_graph(env, images, 0), "infer");
  hr_text* plan;
  hr_tensor_release(run(env, &s, 20000, "y"));
  CHECK(hr_call_describe(s.call, &plan));
  EXPECT(strstr(hr_text_data(plan), "conv_grad_input") != NULL);
  EXPECT(strstr(hr_text_data(plan), "expand") == NULL);
  hr_text_release(plan);
  close_side(&s);
}

const test tests[] = {{"one plan serves a range of sizes", test_ranges},
                      {"what is used for its type is not computed", test_types_alone},
                      {"files keep the operators", test_files},
                      {"steps of training", test_training},
                      {NULL, NULL}};
