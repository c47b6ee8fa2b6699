#include "models/resnet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double kLearningRate = 0.01;
enum { kClasses = 1000 };

typedef struct Net {
  hr_env* env;
  hr_graph* graph;
  int training;
  int layers;  // so far, for names
} Net;

static const char* Convolve(Net* net, int64_t inputs, int64_t outputs, int kernel, int stride,
                            hr_value* x) {
  char name[40], attributes[100];
  double bound = 1 / sqrt((double)(inputs * kernel * kernel));
  hr_variable weights;
  hr_value in[2] = {*x};
  snprintf(name, sizeof name, "conv%d/weight", ++net->layers);
  snprintf(attributes, sizeof attributes, "low=%g high=%g", -bound, bound);
  BENCH_TRY(hr_graph_variable_init(net->graph, name, HR_FLOAT32, 4,
                                   (const int64_t[]){outputs, inputs, kernel, kernel}, 1,
                                   "RandomUniform", attributes, &weights));
  BENCH_TRY(hr_graph_read(net->graph, weights, &in[1]));
  int pad = kernel / 2;
  snprintf(attributes, sizeof attributes, "strides=%d,%d pads=%d,%d,%d,%d", stride, stride, pad,
           pad, pad, pad);
  BENCH_TRY(hr_graph_op(net->graph, "Conv", attributes, 2, in, 1, x));
  return NULL;
}

// A variable of `count` equal elements.
static const char* Filled(Net* net, const char* what, int64_t count, float value, int trainable,
                          hr_value* out) {
  char name[40];
  hr_tensor* initial;
  hr_variable variable;
  snprintf(name, sizeof name, "norm%d/%s", net->layers, what);
  BENCH_TRY(hr_tensor_create(net->env, HR_FLOAT32, 1, &count, &initial));
  for (int64_t i = 0; i < count; ++i) ((float*)hr_tensor_data(initial))[i] = value;
  BENCH_TRY(hr_graph_variable(net->graph, name, initial, trainable, &variable));
  hr_tensor_release(initial);
  BENCH_TRY(hr_graph_read(net->graph, variable, out));
  return NULL;
}

static const char* Normalize(Net* net, int64_t channels, hr_value* x) {
  hr_value in[5] = {*x};
  BENCH_DO(Filled(net, "scale", channels, 1, 1, &in[1]));
  BENCH_DO(Filled(net, "bias", channels, 0, 1, &in[2]));
  BENCH_DO(Filled(net, "mean", channels, 0, 0, &in[3]));
  BENCH_DO(Filled(net, "variance", channels, 1, 0, &in[4]));
  BENCH_TRY(hr_graph_op(net->graph, "BatchNormalization", net->training ? "training_mode=1" : NULL,
                        5, in, 1, x));
  return NULL;
}

static const char* Layer(Net* net, int64_t inputs, int64_t outputs, int kernel, int stride,
                         hr_value* x) {
  BENCH_DO(Convolve(net, inputs, outputs, kernel, stride, x));
  return Normalize(net, outputs, x);
}

static const char* Block(Net* net, int64_t inputs, int64_t outputs, int stride, hr_value* x) {
  hr_value sides[2] = {*x, *x};
  BENCH_DO(Layer(net, inputs, outputs, 3, stride, &sides[0]));
  BENCH_TRY(hr_graph_op(net->graph, "Relu", NULL, 1, &sides[0], 1, &sides[0]));
  BENCH_DO(Layer(net, outputs, outputs, 3, 1, &sides[0]));
  if (stride != 1) BENCH_DO(Layer(net, inputs, outputs, 1, stride, &sides[1]));
  BENCH_TRY(hr_graph_op(net->graph, "Add", NULL, 2, sides, 1, x));
  BENCH_TRY(hr_graph_op(net->graph, "Relu", NULL, 1, x, 1, x));
  return NULL;
}

static const char* Scores(Net* net, hr_value* x) {
  BENCH_DO(Layer(net, 3, 64, 7, 2, x));
  BENCH_TRY(hr_graph_op(net->graph, "Relu", NULL, 1, x, 1, x));
  BENCH_TRY(
      hr_graph_op(net->graph, "MaxPool", "kernel_shape=3,3 strides=2,2 pads=1,1,1,1", 1, x, 1, x));
  for (int64_t channels = 64; channels <= 512; channels *= 2) {
    int64_t before = channels == 64 ? 64 : channels / 2;
    BENCH_DO(Block(net, before, channels, channels == 64 ? 1 : 2, x));
    BENCH_DO(Block(net, channels, channels, 1, x));
  }
  BENCH_TRY(hr_graph_op(net->graph, "GlobalAveragePool", NULL, 1, x, 1, x));
  BENCH_TRY(hr_graph_op(net->graph, "Flatten", NULL, 1, x, 1, x));
  BENCH_TRY(hr_graph_dense(net->graph, "fc", *x, kClasses, x));
  return NULL;
}

static const char* Train(Net* net, int64_t batch, hr_value scores) {
  hr_value labels, rate, loss;
  BENCH_TRY(hr_graph_input(net->graph, "labels", HR_INT64, 1, &batch, NULL, &labels));
  BENCH_TRY(hr_graph_input(net->graph, "learning_rate", HR_FLOAT32, 0, NULL, NULL, &rate));
  BENCH_TRY(hr_graph_op(net->graph, "SoftmaxCrossEntropyLoss", NULL, 2,
                        (hr_value[]){scores, labels}, 1, &loss));
  BENCH_TRY(hr_graph_minimize(net->graph, "run", loss, "sgd momentum=0.9", rate));
  BENCH_TRY(hr_graph_signature_input(net->graph, "run", "labels", labels));
  BENCH_TRY(hr_graph_signature_input(net->graph, "run", "learning_rate", rate));
  BENCH_TRY(hr_graph_signature_output(net->graph, "run", "loss", loss));
  return NULL;
}

static const char* Build(Net* net, int64_t batch) {
  hr_value x;
  BENCH_TRY(hr_graph_input(net->graph, "images", HR_FLOAT32, 4,
                           (const int64_t[]){batch, 3, kResnetSize, kResnetSize}, NULL, &x));
  BENCH_TRY(hr_graph_signature_input(net->graph, "run", "images", x));
  BENCH_DO(Scores(net, &x));
  if (net->training) return Train(net, batch, x);
  BENCH_TRY(hr_graph_signature_output(net->graph, "run", "scores", x));
  return NULL;
}

static const char* Bind(hr_env* env, hr_call* call, int64_t batch, int training) {
  hr_tensor *images, *labels;
  BENCH_TRY(hr_tensor_create(env, HR_FLOAT32, 4,
                             (const int64_t[]){batch, 3, kResnetSize, kResnetSize}, &images));
  float* pixels = hr_tensor_data(images);
  for (int64_t i = 0; i < hr_tensor_elements(images); ++i) pixels[i] = (float)(i * 37 % 256) / 255;
  BENCH_TRY(hr_call_bind(call, "images", images));
  hr_tensor_release(images);
  if (!training) return NULL;
  BENCH_TRY(hr_tensor_create(env, HR_INT64, 1, &batch, &labels));
  for (int64_t i = 0; i < batch; ++i) ((int64_t*)hr_tensor_data(labels))[i] = i % kClasses;
  BENCH_TRY(hr_call_bind(call, "labels", labels));
  hr_tensor_release(labels);
  BENCH_TRY(hr_call_bind_scalar(call, "learning_rate", kLearningRate));
  return NULL;
}

const char* resnet18_call(hr_env* env, int batch, int training, hr_call** out) {
  Net net = {.env = env, .training = training};
  BENCH_TRY(hr_graph_create(env, &net.graph));
  BENCH_DO(Build(&net, batch));
  BENCH_DO(bench_graph_call(net.graph, "run", out));
  return Bind(env, *out, batch, training);
}
