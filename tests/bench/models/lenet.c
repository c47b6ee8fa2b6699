#include "models/lenet.h"

static const double kLearningRate = 0.05;

static const char* ReluPool(hr_graph* graph, hr_value* x) {
  BENCH_TRY(hr_graph_op(graph, "Relu", NULL, 1, x, 1, x));
  BENCH_TRY(hr_graph_op(graph, "MaxPool", "kernel_shape=2,2 strides=2,2", 1, x, 1, x));
  return NULL;
}

static const char* Scores(hr_graph* graph, hr_value images, hr_value* x) {
  BENCH_TRY(hr_graph_conv2d(graph, "conv1", images, 20, 5, NULL, x));
  BENCH_DO(ReluPool(graph, x));
  BENCH_TRY(hr_graph_conv2d(graph, "conv2", *x, 50, 5, NULL, x));
  BENCH_DO(ReluPool(graph, x));
  BENCH_TRY(hr_graph_op(graph, "Flatten", NULL, 1, x, 1, x));
  BENCH_TRY(hr_graph_dense(graph, "fc1", *x, 500, x));
  BENCH_TRY(hr_graph_op(graph, "Relu", NULL, 1, x, 1, x));
  BENCH_TRY(hr_graph_dense(graph, "fc2", *x, 10, x));
  return NULL;
}

static const char* Build(hr_graph* graph) {
  const char* const symbols[] = {"batch", NULL, NULL, NULL};
  hr_value images, labels, rate, scores, loss, classes;
  BENCH_TRY(hr_graph_input(graph, "images", HR_FLOAT32, 4, (const int64_t[]){-1, 1, 28, 28},
                           symbols, &images));
  BENCH_TRY(hr_graph_input(graph, "labels", HR_INT64, 1, (const int64_t[]){-1}, symbols, &labels));
  BENCH_TRY(hr_graph_input(graph, "learning_rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  BENCH_DO(Scores(graph, images, &scores));
  BENCH_TRY(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, (hr_value[]){scores, labels}, 1,
                        &loss));
  BENCH_TRY(hr_graph_op(graph, "ArgMax", "axis=1 keepdims=0", 1, &scores, 1, &classes));
  BENCH_TRY(hr_graph_minimize(graph, "train", loss, "sgd momentum=0.9", rate));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "images", images));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "labels", labels));
  BENCH_TRY(hr_graph_signature_input(graph, "train", "learning_rate", rate));
  BENCH_TRY(hr_graph_signature_output(graph, "train", "loss", loss));
  BENCH_TRY(hr_graph_signature_input(graph, "infer", "images", images));
  BENCH_TRY(hr_graph_signature_output(graph, "infer", "classes", classes));
  return NULL;
}

const char* lenet_model(hr_env* env, hr_model** out) {
  hr_graph* graph;
  BENCH_TRY(hr_graph_create(env, &graph));
  const char* error = Build(graph);
  if (error == NULL) error = bench_error(hr_model_from_graph(graph, out));
  hr_graph_release(graph);
  return error;
}

const char* lenet_training(hr_env* env, uint64_t seed, hr_session** session, hr_call** train) {
  hr_model* model;
  BENCH_DO(lenet_model(env, &model));
  hr_session_options options = {.struct_size = sizeof options, .seed = seed};
  const char* error = bench_error(hr_session_create(model, &options, NULL, session));
  hr_model_release(model);
  BENCH_DO(error);
  BENCH_TRY(hr_call_create(*session, "train", train));
  BENCH_TRY(hr_call_bind_scalar(*train, "learning_rate", kLearningRate));
  return NULL;
}
