/* write_events FOLDER: writes an event file with one of everything, for TensorBoard to read. */
#include <headrace/headrace.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void check(hr_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "%s\n", hr_status_message(status));
  exit(1);
}

static hr_tensor* make(hr_env* env, hr_dtype dtype, size_t rank, const int64_t* dims) {
  hr_tensor* tensor;
  check(hr_tensor_create(env, dtype, rank, dims, &tensor));
  return tensor;
}

/* 0, 0.37, 0.74, … folded into [-1, 1] by a sine: what the Python side computes too. */
static hr_tensor* wave(hr_env* env, hr_dtype dtype, int64_t count) {
  hr_tensor* tensor = make(env, dtype, 1, &count);
  for (int64_t i = 0; i < count; ++i) {
    const double value = sin(0.37 * (double)i);
    if (dtype == HR_FLOAT64) ((double*)hr_tensor_data(tensor))[i] = value;
    if (dtype == HR_FLOAT32) ((float*)hr_tensor_data(tensor))[i] = (float)value;
  }
  return tensor;
}

/* 0, 1, 2, …; of floats 255ths, and beyond 1. */
static hr_tensor* ramp(hr_env* env, hr_dtype dtype, size_t rank, const int64_t* dims) {
  hr_tensor* tensor = make(env, dtype, rank, dims);
  for (int64_t i = 0; i < hr_tensor_elements(tensor); ++i) {
    if (dtype == HR_UINT8) ((uint8_t*)hr_tensor_data(tensor))[i] = (uint8_t)i;
    if (dtype == HR_INT64) ((int64_t*)hr_tensor_data(tensor))[i] = i;
    if (dtype == HR_FLOAT32) ((float*)hr_tensor_data(tensor))[i] = (float)i / 255;
  }
  return tensor;
}

/* These release the tensor. */
static void histogram(hr_summary* events, const char* tag, hr_tensor* values) {
  check(hr_summary_histogram(events, tag, 7, values));
  hr_tensor_release(values);
}
static void images(hr_summary* events, const char* tag, hr_tensor* pixels, int64_t most) {
  check(hr_summary_images(events, tag, 8, pixels, most));
  hr_tensor_release(pixels);
}

static void write_scalars(hr_summary* events) {
  for (int64_t step = 0; step < 100; ++step)
    check(hr_summary_scalar(events, "train/loss", step, 1.0 / (double)(step + 1)));
  check(hr_summary_scalar(events, "odd", -3, NAN));
  check(hr_summary_scalar(events, "odd", INT64_MAX, -INFINITY));
}

static void write_histograms(hr_env* env, hr_summary* events) {
  const float odd[6] = {NAN, 1, INFINITY, 2, -INFINITY, 4};
  const int64_t six = 6;
  hr_tensor* tensor;
  histogram(events, "weights", wave(env, HR_FLOAT32, 1000));
  histogram(events, "weights64", wave(env, HR_FLOAT64, 1000));
  histogram(events, "single", wave(env, HR_FLOAT32, 1));
  histogram(events, "empty", wave(env, HR_FLOAT32, 0));
  histogram(events, "counts", ramp(env, HR_INT64, 1, &six));
  check(hr_tensor_copy_of(env, HR_FLOAT32, 1, &six, odd, sizeof odd, &tensor));
  histogram(events, "odd values", tensor);
}

static void write_images(hr_env* env, hr_summary* events) {
  const int64_t color[4] = {2, 3, 4, 5}, grey[3] = {1, 6, 7}, alpha[4] = {5, 4, 16, 16};
  images(events, "inputs", ramp(env, HR_UINT8, 4, color), 3);
  images(events, "grey", ramp(env, HR_UINT8, 3, grey), 3);
  images(events, "floats", ramp(env, HR_FLOAT32, 4, alpha), 2);
}

static hr_value node(hr_graph* graph, const char* op, const char* name, const char* device,
                     hr_value a, hr_value b) {
  hr_node_spec* spec;
  hr_value out;
  check(hr_node_spec_create(op, &spec));
  hr_node_spec_name(spec, name);
  hr_node_spec_device(spec, device);
  hr_node_spec_input(spec, a);
  if (b != HR_NONE) hr_node_spec_input(spec, b);
  if (device != NULL) hr_node_spec_ints(spec, "strides", 2, (const int64_t[]){2, 1});
  check(hr_graph_add(graph, spec, 1, &out, NULL));
  hr_node_spec_release(spec);
  return out;
}

static void write_graph(hr_env* env, hr_summary* events) {
  const int64_t image[4] = {-1, 1, 28, 28}, kernel[4] = {20, 1, 5, 5};
  hr_graph* graph;
  hr_model* model;
  hr_value x, filter;
  hr_tensor* weights = ramp(env, HR_FLOAT32, 4, kernel);
  check(hr_graph_create(env, &graph));
  check(hr_graph_input(graph, "images", HR_FLOAT32, 4, image, NULL, &x));
  check(hr_graph_constant(graph, "layer1/filter", weights, &filter));
  x = node(graph, "Conv", "layer1/conv", "CPU:0", x, filter);
  node(graph, "Relu", "layer1/relu", NULL, x, HR_NONE);
  check(hr_model_from_graph(graph, &model));
  check(hr_summary_graph(events, model));
  hr_model_release(model);
  hr_graph_release(graph);
  hr_tensor_release(weights);
}

int main(int argc, char** argv) {
  hr_env* env;
  hr_summary* events;
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  check(hr_env_create(NULL, &env));
  check(hr_summary_open(argv[1], &events));
  write_scalars(events);
  write_histograms(env, events);
  write_images(env, events);
  check(hr_summary_text(events, "notes", 9, "batch **64**, \xc3\xa4"));
  check(hr_summary_text(events, "nothing", 9, ""));
  write_graph(env, events);
  hr_summary_release(events); /* flushes */
  hr_env_release(env);
  return 0;
}
