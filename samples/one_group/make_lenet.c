/* Makes the model file of one_group: LeNet, whose gradients and updates are two signatures.
 *
 *   make_lenet MODEL                                              MODEL is written, see README.md
 */
#include <stdio.h>
#include <stdlib.h>

#include <headrace/headrace.h>

enum { LAYERS = 4, VARIABLES = 2 * LAYERS };

/* Prints a failure and ends the program. */
static void check(hr_status* status, const char* doing) {
  if (status == NULL) return;
  fprintf(stderr, "make_lenet: %s: %s: %s\n", doing, hr_code_name(hr_status_code(status)),
          hr_status_message(status));
  exit(1);
}
#define TRY(call) check((call), #call)

static hr_value op(hr_graph* graph, const char* name, const char* attributes, hr_value input) {
  hr_value out;
  TRY(hr_graph_op(graph, name, attributes, 1, &input, 1, &out));
  return out;
}

static hr_value block(hr_graph* graph, const char* name, hr_value x, int64_t channels) {
  TRY(hr_graph_conv2d(graph, name, x, channels, 5, NULL, &x));
  return op(graph, "MaxPool", "kernel_shape=2,2 strides=2,2", op(graph, "Relu", NULL, x));
}

/* Adds the inputs "images" and "labels" to the signature "gradients", and returns the loss. */
static hr_value build_loss(hr_graph* graph) {
  const int64_t image_dims[4] = {-1, 1, 28, 28}, label_dims[1] = {-1};
  const char* symbols[4] = {"batch", NULL, NULL, NULL};
  hr_value images, labels, x, loss;
  TRY(hr_graph_input(graph, "images", HR_FLOAT32, 4, image_dims, symbols, &images));
  TRY(hr_graph_input(graph, "labels", HR_INT64, 1, label_dims, symbols, &labels));
  x = block(graph, "conv2", block(graph, "conv1", images, 20), 50);
  TRY(hr_graph_dense(graph, "fc1", x, 500, &x));
  TRY(hr_graph_dense(graph, "fc2", op(graph, "Relu", NULL, x), 10, &x));
  const hr_value inputs[2] = {x, labels};
  TRY(hr_graph_op(graph, "SoftmaxCrossEntropyLoss", NULL, 2, inputs, 1, &loss));
  TRY(hr_graph_signature_input(graph, "gradients", "images", images));
  TRY(hr_graph_signature_input(graph, "gradients", "labels", labels));
  TRY(hr_graph_signature_output(graph, "gradients", "loss", loss));
  return loss;
}

/* "gradients" has an output for each variable, "apply" an input, both of the variable's name. */
static void build(hr_graph* graph) {
  const hr_value loss = build_loss(graph);
  hr_variable variables[VARIABLES];
  hr_value gradients[VARIABLES], averages[VARIABLES], rate;
  for (hr_variable i = 0; i < VARIABLES; ++i) variables[i] = i;
  TRY(hr_graph_variable_gradients(graph, loss, VARIABLES, variables, gradients));
  for (int i = 0; i < VARIABLES; ++i) {
    hr_variable_info about = {.struct_size = sizeof about};
    char name[64];
    TRY(hr_graph_get_variable(graph, variables[i], &about));
    snprintf(name, sizeof name, "average/%s", about.name);
    TRY(hr_graph_signature_output(graph, "gradients", about.name, gradients[i]));
    TRY(hr_graph_input(graph, name, about.dtype, (size_t)about.rank, about.dims, NULL,
                       &averages[i]));
    TRY(hr_graph_get_variable(graph, variables[i], &about));
    TRY(hr_graph_signature_input(graph, "apply", about.name, averages[i]));
  }
  TRY(hr_graph_op(graph, "Constant", "value_float=0.1", 0, NULL, 1, &rate));
  TRY(hr_graph_apply_gradients(graph, "apply", "sgd", rate, VARIABLES, variables, averages));
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: make_lenet MODEL\n");
    return 2;
  }
  hr_env* env;
  hr_graph* graph;
  TRY(hr_env_create(NULL, &env));
  TRY(hr_graph_create(env, &graph));
  build(graph);
  TRY(hr_graph_save(graph, argv[1], NULL));
  hr_graph_release(graph);
  hr_env_release(env);
  return 0;
}
