#include "models.h"
#include "nodes.h"

static hr_value dense(hr_graph* graph, const char* name, hr_value x, int64_t units) {
  hr_value out;
  CHECK(hr_graph_dense(graph, name, x, units, &out));
  return out;
}

static hr_value block(hr_graph* graph, const char* name, hr_value x, int64_t channels) {
  CHECK(hr_graph_conv2d(graph, name, x, channels, 3, NULL, &x));
  x = op(graph, "Relu", NULL, 1, x);
  return op(graph, "MaxPool", "kernel_shape=2,2 strides=2,2", 1, x);
}

static hr_value mlp_scores(hr_graph* graph, hr_value x) {
  x = op(graph, "Tanh", NULL, 1, dense(graph, "fc1", x, HIDDEN));
  return dense(graph, "fc2", x, CLASSES);
}

static hr_value lenet_scores(hr_graph* graph, hr_value x) {
  x = block(graph, "conv2", block(graph, "conv1", x, 5), 7);
  x = dense(graph, "fc1", op(graph, "Flatten", NULL, 1, x), HIDDEN);
  x = op(graph, "Relu", NULL, 1, x);
  return dense(graph, "fc2", x, CLASSES);
}

static hr_graph* build(hr_env* env, size_t rank, const int64_t* dims,
                       hr_value (*scores_of)(hr_graph*, hr_value), const char* optimizer) {
  const int64_t label_dims[1] = {-1};
  const char* symbols[4] = {"batch", NULL, NULL, NULL};
  hr_graph* graph;
  hr_value x, labels, rate, loss;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, rank, dims, symbols, &x));
  CHECK(hr_graph_input(graph, "labels", HR_INT64, 1, label_dims, symbols, &labels));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  const hr_value in[2] = {scores_of(graph, x), labels};
  CHECK(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, in, 1, &loss));
  CHECK(hr_graph_name_value(graph, in[0], "scores"));
  CHECK(hr_graph_name_value(graph, loss, "loss"));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  CHECK(hr_graph_signature_output(graph, "infer", "scores", in[0]));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "labels", labels));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, optimizer, rate));
  return graph;
}

static hr_model* model_of(hr_graph* graph) {
  hr_model* model;
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  return model;
}

static hr_graph* build_lenet(hr_env* env) {
  return build(env, 4, (const int64_t[]){-1, 1, 12, 12}, lenet_scores, "sgd momentum=0.9");
}

static hr_graph* build_mlp(hr_env* env) {
  return build(env, 2, (const int64_t[]){-1, FEATURES}, mlp_scores, "adam");
}

static hr_model* bounded(hr_graph* graph, bounds batch) {
  CHECK(hr_graph_bound(graph, "batch", batch.min, batch.max, batch.count, batch.buckets));
  return model_of(graph);
}

hr_model* make_mlp(hr_env* env) { return model_of(build_mlp(env)); }

hr_model* make_bounded_mlp(hr_env* env, bounds batch) { return bounded(build_mlp(env), batch); }

hr_model* make_bounded_lenet(hr_env* env, bounds batch) { return bounded(build_lenet(env), batch); }

hr_model* make_lenet(hr_env* env) { return model_of(build_lenet(env)); }

void save_lenet(hr_env* env, const char* path) {
  hr_graph* graph = build_lenet(env);
  CHECK(hr_graph_save(graph, path, NULL));
  hr_graph_release(graph);
}

void make_examples(hr_env* env, size_t rank, const int64_t* dims, hr_tensor** x,
                   hr_tensor** labels) {
  CHECK(hr_tensor_create(env, HR_FLOAT32, rank, dims, x));
  CHECK(hr_tensor_create(env, HR_INT64, 1, dims, labels));
  int64_t size = hr_tensor_elements(*x) / dims[0];
  for (int64_t i = 0; i < dims[0]; ++i) {
    ((int64_t*)hr_tensor_data(*labels))[i] = i % CLASSES;
    for (int64_t j = 0; j < size; ++j) {
      ((float*)hr_tensor_data(*x))[i * size + j] = (float)((i * 7 + j * (i % CLASSES)) % 11) / 11;
    }
  }
}

hr_dataset* make_dataset(hr_env* env, size_t rank, const int64_t* dims,
                         const hr_dataset_options* options) {
  const char* names[2] = {"x", "labels"};
  hr_tensor* tensors[2];
  hr_dataset* data;
  make_examples(env, rank, dims, &tensors[0], &tensors[1]);
  CHECK(hr_dataset_from_tensors(env, 2, names, (const hr_tensor* const*)tensors, options, &data));
  hr_tensor_release(tensors[0]);
  hr_tensor_release(tensors[1]);
  return data;
}

static hr_tensor* filled(hr_env* env, size_t rank, int64_t width, float value) {
  hr_tensor* tensor;
  CHECK(hr_tensor_create(env, HR_FLOAT32, rank, &width, &tensor));
  for (int64_t i = 0; i < hr_tensor_elements(tensor); ++i)
    ((float*)hr_tensor_data(tensor))[i] = value;
  return tensor;
}

/* The gradient of the sum is 1 everywhere, the rate is -1. */
hr_model* make_counters(hr_env* env, int64_t width) {
  const char* names[2] = {"a", "b"};
  hr_graph* graph;
  hr_value now[2], sum, rate;
  hr_tensor *zeros = filled(env, 1, width, 0), *minus_one = filled(env, 0, 1, -1);
  CHECK(hr_graph_create(env, &graph));
  for (int i = 0; i < 2; ++i) {
    hr_variable variable;
    CHECK(hr_graph_variable(graph, names[i], zeros, 1, &variable));
    CHECK(hr_graph_read(graph, variable, &now[i]));
    CHECK(hr_graph_signature_output(graph, "look", names[i], now[i]));
  }
  CHECK(hr_graph_op(graph, "Add", NULL, 2, now, 1, &sum));
  sum = op(graph, "ReduceSum", "keepdims=0", 1, sum);
  CHECK(hr_graph_constant(graph, "rate", minus_one, &rate));
  CHECK(hr_graph_minimize(graph, "step", sum, "sgd", rate));
  CHECK(hr_graph_signature_output(graph, "step", "sum", sum));
  CHECK(hr_graph_name_value(graph, sum, "sum"));
  hr_tensor_release(zeros);
  hr_tensor_release(minus_one);
  return model_of(graph);
}

counting open_counting(hr_env* env, int64_t width, char* folder) {
  counting opened = {.model = make_counters(env, width), .folder = folder};
  CHECK(hr_session_create(opened.model, NULL, NULL, &opened.session));
  CHECK(hr_call_create(opened.session, "step", &opened.step));
  return opened;
}

void close_counting(counting* opened) {
  hr_call_release(opened->step);
  hr_session_release(opened->session);
  hr_model_release(opened->model);
}

hr_session* session_of(hr_graph* graph) {
  hr_session* session;
  hr_model* model = model_of(graph);
  CHECK(hr_session_create(model, NULL, NULL, &session));
  hr_model_release(model);
  return session;
}
