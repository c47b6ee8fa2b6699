/* Every argument that must be given, missing: each call says which, and nothing crashes. Also
 * structs whose struct_size is wrong or which have more than the library knows. */
#include "models.h"

#define MISSING(call, argument) FAILS(call, HR_INVALID_ARGUMENT, "'" argument "' must not be NULL")

static hr_text* text;

static hr_tensor* four(hr_env* env) {
  const int64_t dims[1] = {4};
  hr_tensor* tensor;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 1, dims, &tensor));
  return tensor;
}

static void test_env_and_tensors(hr_env* env) {
  hr_tensor* tensor = four(env);
  const int64_t dims[1] = {4};
  hr_tensor* out;
  hr_dlpack* managed;
  MISSING(hr_env_create(NULL, NULL), "out");
  MISSING(hr_env_describe(NULL, &text), "env");
  MISSING(hr_env_describe(env, NULL), "out");
  MISSING(hr_cancel_create(NULL), "out");
  MISSING(hr_tensor_create(NULL, HR_FLOAT32, 1, dims, &out), "env");
  MISSING(hr_tensor_create(env, HR_FLOAT32, 1, NULL, &out), "dims");
  MISSING(hr_tensor_create(env, HR_FLOAT32, 1, dims, NULL), "out");
  MISSING(hr_tensor_copy_of(NULL, HR_FLOAT32, 1, dims, dims, 16, &out), "env");
  MISSING(hr_tensor_copy_of(env, HR_FLOAT32, 1, dims, NULL, 16, &out), "data");
  MISSING(hr_tensor_copy_of(env, HR_FLOAT32, 1, dims, dims, 16, NULL), "out");
  MISSING(hr_tensor_wrap(HR_FLOAT32, 1, dims, NULL, 16, NULL, NULL, &out), "data");
  MISSING(hr_tensor_wrap(HR_FLOAT32, 1, dims, (void*)dims, 16, NULL, NULL, NULL), "out");
  MISSING(hr_tensor_share(NULL, &out), "tensor");
  MISSING(hr_tensor_share(tensor, NULL), "out");
  MISSING(hr_tensor_from_dlpack(NULL, &out), "managed");
  MISSING(hr_tensor_to_dlpack(NULL, &managed), "tensor");
  EXPECT(hr_tensor_dtype(NULL) == HR_UNDEFINED && hr_tensor_rank(NULL) == 0);
  EXPECT(hr_tensor_dims(NULL) == NULL && hr_tensor_strides(NULL) == NULL);
  EXPECT(hr_tensor_elements(NULL) == 0 && hr_tensor_bytes(NULL) == 0);
  EXPECT(hr_tensor_data(NULL) == NULL);
  EXPECT(hr_status_code(NULL) == HR_OK && hr_status_message(NULL)[0] == '\0');
  EXPECT(hr_status_node(NULL)[0] == '\0' && hr_text_size(NULL) == 0);
  EXPECT(hr_text_data(NULL)[0] == '\0');
  EXPECT(hr_dtype_size((hr_dtype)99) == 0);
  hr_tensor_release(tensor);
}

static void test_releases(hr_env* env) {
  (void)env;
  hr_status_release(NULL);
  hr_text_release(NULL);
  hr_cancel_trigger(NULL);
  hr_cancel_release(NULL);
  hr_env_release(NULL);
  hr_tensor_release(NULL);
  hr_graph_release(NULL);
  hr_node_spec_release(NULL);
  hr_model_release(NULL);
  hr_session_close(NULL);
  hr_session_trim(NULL);
  hr_session_release(NULL);
  hr_call_release(NULL);
  hr_dataset_release(NULL);
  hr_summary_release(NULL);
  hr_progress_update(NULL, 1, 1, NULL, 0);
  hr_progress_message(NULL, "");
  hr_progress_release(NULL);
}

static void test_graphs(hr_env* env) {
  hr_tensor* tensor = four(env);
  const int64_t dims[1] = {4};
  hr_graph* graph;
  hr_value value;
  hr_variable variable;
  hr_node_spec* spec;
  hr_model* model;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &value));
  MISSING(hr_graph_create(NULL, &graph), "env");
  MISSING(hr_graph_create(env, NULL), "out");
  MISSING(hr_graph_input(NULL, "y", HR_FLOAT32, 1, dims, NULL, &value), "graph");
  MISSING(hr_graph_input(graph, NULL, HR_FLOAT32, 1, dims, NULL, &value), "name");
  MISSING(hr_graph_input(graph, "y", HR_FLOAT32, 1, NULL, NULL, &value), "dims");
  MISSING(hr_graph_input(graph, "y", HR_FLOAT32, 1, dims, NULL, NULL), "out");
  MISSING(hr_graph_bound(NULL, "s", 1, 2, 0, NULL), "graph");
  MISSING(hr_graph_bound(graph, NULL, 1, 2, 0, NULL), "symbol");
  MISSING(hr_graph_bound(graph, "s", 1, 2, 1, NULL), "buckets");
  MISSING(hr_graph_constant(NULL, "c", tensor, &value), "graph");
  MISSING(hr_graph_constant(graph, "c", NULL, &value), "tensor");
  MISSING(hr_graph_constant(graph, "c", tensor, NULL), "out");
  MISSING(hr_graph_variable(NULL, "v", tensor, 1, &variable), "graph");
  MISSING(hr_graph_variable(graph, NULL, tensor, 1, &variable), "name");
  MISSING(hr_graph_variable(graph, "v", NULL, 1, &variable), "initial");
  MISSING(hr_graph_variable(graph, "v", tensor, 1, NULL), "out");
  MISSING(
      hr_graph_variable_init(graph, "v", HR_FLOAT32, 1, NULL, 1, "RandomUniform", NULL, &variable),
      "dims");
  MISSING(hr_graph_variable_init(graph, "v", HR_FLOAT32, 1, dims, 1, NULL, NULL, &variable), "op");
  MISSING(hr_graph_read(NULL, 0, &value), "graph");
  MISSING(hr_graph_read(graph, 0, NULL), "out");
  MISSING(hr_graph_op(NULL, "Relu", NULL, 1, &value, 1, &value), "graph");
  MISSING(hr_graph_op(graph, NULL, NULL, 1, &value, 1, &value), "op");
  MISSING(hr_graph_op(graph, "Relu", NULL, 1, NULL, 1, &value), "inputs");
  MISSING(hr_graph_op(graph, "Relu", NULL, 1, &value, 1, NULL), "outputs");
  MISSING(hr_node_spec_create(NULL, &spec), "op");
  MISSING(hr_node_spec_create("Relu", NULL), "out");
  MISSING(hr_graph_add(graph, NULL, 0, NULL, NULL), "spec");
  MISSING(hr_graph_name_value(graph, value, NULL), "name");
  MISSING(hr_graph_type_of(graph, value, NULL), "out");
  MISSING(hr_graph_add_gradients(graph, value, 1, NULL, &value), "xs");
  MISSING(hr_graph_add_gradients(graph, value, 1, &value, NULL), "out_gradients");
  MISSING(hr_graph_dense(graph, NULL, value, 2, &value), "name");
  MISSING(hr_graph_conv2d(graph, "c", value, 2, 3, NULL, NULL), "out");
  MISSING(hr_graph_minimize(graph, NULL, value, "sgd", value), "signature");
  MISSING(hr_graph_minimize(graph, "s", value, NULL, value), "optimizer");
  MISSING(hr_graph_signature_input(graph, "s", NULL, value), "name");
  MISSING(hr_graph_signature_output(graph, NULL, "o", value), "signature");
  MISSING(hr_graph_signature_target(graph, NULL, 0), "signature");
  MISSING(hr_graph_set_metadata(graph, "k", NULL), "value");
  MISSING(hr_graph_save(graph, NULL, NULL), "path");
  MISSING(hr_graph_save(NULL, "p", NULL), "graph");
  MISSING(hr_model_from_graph(NULL, &model), "graph");
  MISSING(hr_model_from_graph(graph, NULL), "out");

  hr_graph_release(graph);
  hr_tensor_release(tensor);
}

static void test_reading_graphs(hr_env* env) {
  const int64_t dims[1] = {4};
  hr_graph* graph;
  hr_value value;
  uint32_t number;
  size_t count;
  const int64_t* ints;
  const double* floats;
  const char* const* strings;
  const char* string;
  int64_t whole;
  double real;
  hr_tensor* tensor;
  hr_graph_info info;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &value));
  MISSING(hr_graph_from_model(NULL, &graph), "model");
  MISSING(hr_graph_get(NULL, &info), "graph");
  MISSING(hr_graph_get(graph, NULL), "out");
  MISSING(hr_graph_get_value(graph, value, NULL), "out");
  MISSING(hr_graph_get_node(graph, 0, NULL), "out");
  MISSING(hr_graph_get_variable(graph, 0, NULL), "out");
  MISSING(hr_graph_get_signature(graph, 0, NULL), "out");
  MISSING(hr_graph_get_attribute(graph, 0, 0, NULL), "out");
  MISSING(hr_graph_find_value(graph, NULL, &number), "name");
  MISSING(hr_graph_find_value(graph, "x", NULL), "out");
  MISSING(hr_graph_find_node(graph, NULL, &number), "name");
  MISSING(hr_graph_find_variable(graph, NULL, &number), "name");
  MISSING(hr_graph_find_signature(graph, NULL, &count), "name");
  MISSING(hr_graph_node_int(graph, 0, NULL, 0, &whole), "name");
  MISSING(hr_graph_node_int(graph, 0, "a", 0, NULL), "out");
  MISSING(hr_graph_node_float(graph, 0, NULL, 0, &real), "name");
  MISSING(hr_graph_node_string(graph, 0, NULL, NULL, &string), "name");
  MISSING(hr_graph_node_ints(graph, 0, "a", NULL, &ints), "out_count");
  MISSING(hr_graph_node_floats(graph, 0, NULL, &count, &floats), "name");
  MISSING(hr_graph_node_strings(graph, 0, "a", &count, NULL), "out_values");
  MISSING(hr_graph_node_strings(graph, 0, NULL, &count, &strings), "name");
  MISSING(hr_graph_node_tensor(graph, 0, NULL, &tensor), "name");
  MISSING(hr_graph_value_tensor(graph, value, NULL), "out");
  MISSING(hr_graph_variable_tensor(graph, 0, NULL), "out");
  hr_graph_release(graph);
}

static void test_changing_graphs(hr_env* env) {
  const int64_t dims[1] = {4};
  hr_graph* graph;
  hr_value value;
  hr_variable variable = 0;
  hr_node node;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &value));
  MISSING(hr_graph_set_trainable(NULL, 0, 1), "graph");
  MISSING(hr_graph_remove_signature(graph, NULL), "signature");
  MISSING(hr_graph_prune(NULL), "graph");
  MISSING(hr_graph_assign(NULL, 0, value, &node), "graph");
  MISSING(hr_graph_assign(graph, 0, value, NULL), "out");
  MISSING(hr_graph_assign_add(graph, 0, value, NULL), "out");
  MISSING(hr_graph_batch_norm(graph, NULL, value, 0, NULL, &value, NULL), "name");
  MISSING(hr_graph_batch_norm(graph, "n", value, 0, NULL, NULL, NULL), "out");
  MISSING(hr_graph_batch_norm(graph, "n", value, 1, NULL, &value, NULL), "out_update");
  MISSING(hr_graph_variable_gradients(graph, value, 1, NULL, &value), "variables");
  MISSING(hr_graph_variable_gradients(graph, value, 1, &variable, NULL), "out_gradients");
  MISSING(hr_graph_apply_gradients(graph, NULL, "sgd", value, 1, &variable, &value), "signature");
  MISSING(hr_graph_apply_gradients(graph, "s", NULL, value, 1, &variable, &value), "optimizer");
  MISSING(hr_graph_apply_gradients(graph, "s", "sgd", value, 1, NULL, &value), "variables");
  MISSING(hr_graph_apply_gradients(graph, "s", "sgd", value, 1, &variable, NULL), "gradients");
  hr_graph_release(graph);
}

/* Specs have no status of their own: adding the node tells. */
static void test_node_specs(hr_env* env) {
  const int64_t dims[1] = {4};
  const char* const holes[2] = {"a", NULL};
  hr_graph* graph;
  hr_value value;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &value));
  for (int fault = 0; fault < 5; ++fault) {
    const char* words[5] = {"attribute of Relu", "'values'", "'values'", "'values[1]'", "'value'"};
    hr_node_spec* spec;
    CHECK(hr_node_spec_create("Relu", &spec));
    hr_node_spec_input(spec, value);
    if (fault == 0) hr_node_spec_int(spec, NULL, 1);
    if (fault == 1) hr_node_spec_ints(spec, "a", 2, NULL);
    if (fault == 2) hr_node_spec_floats(spec, "a", 2, NULL);
    if (fault == 3) hr_node_spec_strings(spec, "a", 2, holes);
    if (fault == 4) hr_node_spec_string(spec, "a", NULL);
    FAILS(hr_graph_add(graph, spec, 1, &value, NULL), HR_INVALID_ARGUMENT, words[fault]);
    hr_node_spec_release(spec);
  }
  hr_graph_release(graph);
}

static void test_models_and_sessions(hr_env* env) {
  hr_tensor* tensor = four(env);
  const char* names[1] = {NULL};
  const hr_tensor* none[1] = {NULL};
  hr_model *model = make_mlp(env), *other;
  hr_session *session, *created;
  hr_tensor* got;
  hr_call *call, *made;
  CHECK(hr_session_create(model, NULL, &session));
  CHECK(hr_call_create(session, "train", &call));
  MISSING(hr_model_load(NULL, "p", NULL, &other), "env");
  MISSING(hr_model_load(env, NULL, NULL, &other), "path");
  MISSING(hr_model_load(env, "p", NULL, NULL), "out");
  MISSING(hr_model_load_memory(env, NULL, 9, NULL, NULL, NULL, &other), "data");
  MISSING(hr_model_load_callback(env, NULL, NULL, &other), "reader");
  FAILS(hr_model_load_callback(env, &(hr_reader){.struct_size = sizeof(hr_reader)}, NULL, &other),
        HR_INVALID_ARGUMENT, "hr_reader.read must not be NULL");
  MISSING(hr_model_describe(NULL, &text), "model");
  MISSING(hr_model_graph_text(model, NULL, &text), "format");
  MISSING(hr_session_create(NULL, NULL, &created), "model");
  MISSING(hr_session_create(model, NULL, NULL), "out");
  MISSING(hr_session_run(NULL, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL), "session");
  MISSING(hr_session_run(session, 1, NULL, none, 0, NULL, 0, NULL, NULL, NULL), "feed_names");
  MISSING(hr_session_run(session, 1, names, NULL, 0, NULL, 0, NULL, NULL, NULL), "feeds");
  MISSING(hr_session_run(session, 1, names, none, 0, NULL, 0, NULL, NULL, NULL), "feed_names[0]");
  MISSING(hr_session_run(session, 0, NULL, NULL, 1, names, 0, NULL, NULL, NULL), "outputs");
  MISSING(hr_session_run(session, 0, NULL, NULL, 0, NULL, 1, NULL, NULL, NULL), "target_names");
  MISSING(hr_session_get_variable(session, NULL, NULL, &got), "name");
  MISSING(hr_session_get_variable(session, "fc1/weight", NULL, NULL), "out");
  MISSING(hr_session_set_variable(session, "fc1/weight", NULL, NULL), "value");
  MISSING(hr_session_describe(session, NULL), "out");
  MISSING(hr_session_save(session, NULL, NULL, NULL), "directory");
  MISSING(hr_session_restore(NULL, "p", NULL, NULL, NULL), "session");
  MISSING(hr_session_export(session, NULL, 0, NULL, NULL, NULL), "path");
  MISSING(hr_session_export(session, "p", 1, NULL, NULL, NULL), "signatures");
  MISSING(hr_checkpoint_describe(NULL, &text), "path");
  MISSING(hr_call_create(session, NULL, &made), "signature");
  MISSING(hr_call_create(session, "train", NULL), "out");
  MISSING(hr_call_create_custom(session, 0, NULL, 1, NULL, 0, NULL, &made), "fetch_names");
  MISSING(hr_call_bind(call, NULL, tensor), "input");
  MISSING(hr_call_bind(NULL, "x", tensor), "call");
  MISSING(hr_call_bind_scalar(call, NULL, 1), "input");
  MISSING(hr_call_output(call, NULL, tensor, 4), "output");
  MISSING(hr_call_bind_output(NULL, "loss", tensor), "call");
  MISSING(hr_call_bind_output(call, NULL, tensor), "output");
  MISSING(hr_call_output_type(NULL, "loss", NULL, NULL, NULL), "call");
  MISSING(hr_call_output_type(call, NULL, NULL, NULL, NULL), "output");
  MISSING(hr_call_take_result(NULL, "loss", &tensor), "call");
  MISSING(hr_call_take_result(call, "loss", NULL), "out");
  MISSING(hr_call_run(NULL, NULL), "call");
  MISSING(hr_call_result(call, "loss", NULL), "out");
  MISSING(hr_call_describe(call, NULL), "out");
  MISSING(hr_call_bind_dataset(NULL, NULL), "call");
  EXPECT(hr_session_variable_count(NULL) == 0 && hr_session_variable_name(NULL, 0) == NULL);
  EXPECT(hr_session_variable_name(session, 9999) == NULL && hr_session_step(NULL) == 0);
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(model);
  hr_tensor_release(tensor);
}

static void test_training(hr_env* env) {
  hr_tensor* tensor;
  const char* names[1] = {"x"};
  const hr_tensor* none[1] = {NULL};
  hr_dataset* data;
  hr_summary* events;
  hr_train_options options = {.struct_size = sizeof options};
  hr_model* model = make_mlp(env);
  hr_session* session;
  CHECK(hr_session_create(model, NULL, &session));
  MISSING(hr_dataset_open(env, NULL, &data), "uri");
  MISSING(hr_dataset_from_tensors(env, 1, NULL, none, NULL, &data), "names");
  MISSING(hr_dataset_from_tensors(env, 1, names, NULL, NULL, &data), "tensors");
  MISSING(hr_dataset_from_callbacks(env, NULL, 0, NULL, NULL, &data), "callbacks");
  MISSING(hr_dataset_next(NULL, NULL, &tensor), "dataset");
  MISSING(hr_dataset_rewind(NULL, NULL), "dataset");
  MISSING(hr_dataset_describe(NULL, &text), "dataset");
  MISSING(hr_dataset_position(NULL, &text), "dataset");
  MISSING(hr_dataset_seek(NULL, "{}", NULL), "dataset");
  EXPECT(hr_dataset_field_count(NULL) == 0 && hr_dataset_field_name(NULL, 0) == NULL);
  EXPECT(hr_dataset_done(NULL, NULL) == 1 && hr_dataset_batches(NULL) == -1);
  MISSING(hr_train(session, NULL, NULL, NULL), "options");
  FAILS(hr_train(session, &options, NULL, NULL), HR_INVALID_ARGUMENT,
        "train_data must not be NULL");
  MISSING(hr_evaluate(session, NULL, NULL, NULL, NULL), "data");
  MISSING(hr_summary_open(NULL, &events), "directory");
  MISSING(hr_summary_scalar(NULL, "t", 1, 1), "events");
  MISSING(hr_summary_graph(NULL, model), "events");
  MISSING(hr_summary_flush(NULL), "events");
  MISSING(hr_progress_create(NULL, NULL, 0, 1, NULL), "out");
  hr_session_release(session);
  hr_model_release(model);
}

/* ---- struct_size ---- */

/* A struct as a newer header might have it. */
#define NEWER(type, name) \
  struct {                \
    type known;           \
    int64_t new_option;   \
  } name = {.known.struct_size = sizeof name, .new_option = 1}

static void test_struct_sizes(hr_env* env) {
  const int64_t dims[2] = {4, FEATURES};
  hr_model *model = make_mlp(env), *other;
  hr_session* session;
  hr_call* call;
  hr_env* made;
  hr_dataset* data = make_dataset(env, 2, dims, NULL);
  hr_tensor* batch[2];
  CHECK(hr_session_create(model, NULL, &session));
  CHECK(hr_call_create(session, "infer", &call));
  FAILS(hr_env_create(&(hr_env_options){0}, &made), HR_INVALID_ARGUMENT, "sizeof(hr_env_options)");
  FAILS(hr_model_load(env, "p", &(hr_load_options){0}, &other), HR_INVALID_ARGUMENT,
        "sizeof(hr_load_options)");
  FAILS(hr_session_create(model, &(hr_session_options){0}, &session), HR_INVALID_ARGUMENT,
        "sizeof(hr_session_options)");
  FAILS(hr_call_run(call, &(hr_limits){0}), HR_INVALID_ARGUMENT, "sizeof(hr_limits)");
  FAILS(hr_session_run(session, 0, NULL, NULL, 0, NULL, 0, NULL, &(hr_limits){0}, NULL),
        HR_INVALID_ARGUMENT, "sizeof(hr_limits)");
  FAILS(hr_dataset_next(data, &(hr_limits){0}, batch), HR_INVALID_ARGUMENT, "sizeof(hr_limits)");
  FAILS(hr_session_save(session, "p", &(hr_checkpoint_options){0}, NULL), HR_INVALID_ARGUMENT,
        "sizeof(hr_checkpoint_options)");
  FAILS(hr_session_export(session, "p", 0, NULL, &(hr_save_options){0}, NULL), HR_INVALID_ARGUMENT,
        "sizeof(hr_save_options)");
  FAILS(hr_train(session, &(hr_train_options){0}, NULL, NULL), HR_INVALID_ARGUMENT,
        "sizeof(hr_train_options)");
  FAILS(hr_evaluate(session, NULL, data, NULL, &(hr_train_report){0}), HR_INVALID_ARGUMENT,
        "sizeof(hr_train_report)");
  NEWER(hr_limits, limits);
  FAILS(hr_call_run(call, &limits.known), HR_UNIMPLEMENTED, "use a newer library");
  NEWER(hr_session_options, options);
  FAILS(hr_session_create(model, &options.known, &session), HR_UNIMPLEMENTED,
        "hr_session_options has options that this library");
  hr_call_release(call);
  hr_session_release(session);
  hr_dataset_release(data);
  hr_model_release(model);
}

const test tests[] = {{"env and tensors", test_env_and_tensors},
                      {"releasing NULL", test_releases},
                      {"graphs", test_graphs},
                      {"reading graphs", test_reading_graphs},
                      {"changing graphs", test_changing_graphs},
                      {"node specs", test_node_specs},
                      {"models and sessions", test_models_and_sessions},
                      {"training", test_training},
                      {"struct sizes", test_struct_sizes},
                      {NULL, NULL}};
