/* NULL where the generated test (write_null_test.py) does not put it: in arrays, in structs, in
 * specs, and as a status. Also structs whose struct_size is wrong or which have more than the
 * library knows. */
#include "models.h"

static void test_statuses(hr_env* env) {
  (void)env;
  EXPECT(hr_status_code(NULL) == HR_OK && hr_status_message(NULL)[0] == '\0');
  EXPECT(hr_status_node(NULL)[0] == '\0');
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

static void test_elements_and_fields(hr_env* env) {
  const char* names[1] = {NULL};
  const hr_tensor* none[1] = {NULL};
  hr_train_options options = {.struct_size = sizeof options};
  hr_model *model = make_mlp(env), *other;
  hr_session* session;
  hr_dataset* data;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  FAILS(hr_session_run(session, 1, names, none, 0, NULL, 0, NULL, NULL, NULL), HR_INVALID_ARGUMENT,
        "'feed_names[0]' must not be NULL");
  names[0] = "x";
  FAILS(hr_session_run(session, 1, names, none, 0, NULL, 0, NULL, NULL, NULL), HR_INVALID_ARGUMENT,
        "'feeds[0]' must not be NULL");
  FAILS(hr_dataset_from_tensors(env, 1, names, none, NULL, &data), HR_INVALID_ARGUMENT,
        "'tensors[0]' must not be NULL");
  FAILS(hr_model_load_callback(env, &(hr_reader){.struct_size = sizeof(hr_reader)}, NULL, &other),
        HR_INVALID_ARGUMENT, "hr_reader.read must not be NULL");
  FAILS(hr_train(session, &options, NULL, NULL), HR_INVALID_ARGUMENT,
        "train_data must not be NULL");
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
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "infer", &call));
  FAILS(hr_env_create(&(hr_env_options){0}, &made), HR_INVALID_ARGUMENT, "sizeof(hr_env_options)");
  FAILS(hr_model_load(env, "p", &(hr_load_options){0}, &other), HR_INVALID_ARGUMENT,
        "sizeof(hr_load_options)");
  FAILS(hr_session_create(model, &(hr_session_options){0}, NULL, &session), HR_INVALID_ARGUMENT,
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
  FAILS(hr_session_create(model, &options.known, NULL, &session), HR_UNIMPLEMENTED,
        "hr_session_options has options that this library");
  hr_call_release(call);
  hr_session_release(session);
  hr_dataset_release(data);
  hr_model_release(model);
}

const test tests[] = {{"statuses", test_statuses},
                      {"node specs", test_node_specs},
                      {"elements and fields", test_elements_and_fields},
                      {"struct sizes", test_struct_sizes},
                      {NULL, NULL}};
