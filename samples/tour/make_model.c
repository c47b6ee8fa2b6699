/* Makes the model file of the tour: a small classifier with random weights.
 *
 *   make_model MODEL                                              MODEL is written, see README.md
 */
#include <stdio.h>
#include <stdlib.h>

#include <headrace/headrace.h>

/* Prints a failure and ends the program. */
static void check(hr_status* status, const char* doing) {
  if (status == NULL) return;
  fprintf(stderr, "make_model: %s: %s: %s\n", doing, hr_code_name(hr_status_code(status)),
          hr_status_message(status));
  exit(1);
}
#define TRY(call) check((call), #call)

static hr_value op(hr_graph* graph, const char* name, const char* attributes, hr_value input) {
  hr_value out;
  TRY(hr_graph_op(graph, name, attributes, 1, &input, 1, &out));
  return out;
}

/* p = softmax(classes(features)), features = relu(hidden(x)) */
static void build(hr_graph* graph) {
  const int64_t dims[2] = {-1, 8};
  const char* symbols[2] = {"batch", NULL};
  hr_value x, features, scores;
  TRY(hr_graph_input(graph, "x", HR_FLOAT32, 2, dims, symbols, &x));
  TRY(hr_graph_dense(graph, "hidden", x, 16, &features));
  features = op(graph, "Relu", NULL, features);
  TRY(hr_graph_name_value(graph, features, "features"));
  TRY(hr_graph_dense(graph, "classes", features, 4, &scores));
  TRY(hr_graph_signature_input(graph, "infer", "x", x));
  TRY(hr_graph_signature_output(graph, "infer", "p", op(graph, "Softmax", "axis=1", scores)));
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: make_model MODEL\n");
    return 2;
  }
  const hr_session_options options = {.struct_size = sizeof options, .seed = 1};
  const char* signature = "infer";
  hr_env* env;
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  TRY(hr_env_create(NULL, &env));
  TRY(hr_graph_create(env, &graph));
  build(graph);
  TRY(hr_model_from_graph(graph, &model));
  TRY(hr_session_create(model, &options, NULL, &session)); /* computes the initial weights */
  TRY(hr_session_export(session, argv[1], 1, &signature, NULL, NULL));
  hr_session_release(session);
  hr_model_release(model);
  hr_graph_release(graph);
  hr_env_release(env);
  return 0;
}
