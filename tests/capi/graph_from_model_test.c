/* Going on from a loaded model: everything is kept, in the memory of the file, and what is added
 * comes after what is there. */
#include <dirent.h>

#include "models.h"

#define FILES HEADRACE_SOURCE_DIR "/tests/files"
#define DESCRIBED(type, name) type name = {.struct_size = sizeof name}

static hr_graph* graph_of(const hr_model* model) {
  hr_graph* graph;
  CHECK(hr_graph_from_model(model, &graph));
  return graph;
}

static hr_model* load(hr_env* env, const char* path) {
  hr_model* model;
  CHECK(hr_model_load(env, path, NULL, &model));
  return model;
}

static hr_graph* graph_of_file(hr_env* env, const char* path) {
  hr_model* model = load(env, path);
  hr_graph* graph = graph_of(model);
  hr_model_release(model);
  return graph;
}

/* ---- The same model ---- */

static void expect_same_text(hr_text* a, hr_text* b) {
  EXPECT(strcmp(hr_text_data(a), hr_text_data(b)) == 0);
  hr_text_release(a);
  hr_text_release(b);
}

static void expect_same_model(const hr_model* a, const hr_model* b) {
  hr_text* texts[2];
  CHECK(hr_model_describe(a, &texts[0]));
  CHECK(hr_model_describe(b, &texts[1]));
  expect_same_text(texts[0], texts[1]);
  CHECK(hr_model_graph_text(a, "json", &texts[0]));
  CHECK(hr_model_graph_text(b, "json", &texts[1]));
  expect_same_text(texts[0], texts[1]);
}

/* The outputs and the variables of three runs of each signature have equal bits. */
static void expect_same_runs(hr_env* env, const hr_model* a, const hr_model* b) {
  const hr_model* models[2] = {a, b};
  hr_graph* graph = graph_of(a);
  DESCRIBED(hr_graph_info, info);
  CHECK(hr_graph_get(graph, &info));
  hr_session* sessions[2];
  for (int m = 0; m < 2; ++m)
    CHECK(hr_session_create((hr_model*)models[m], NULL, NULL, &sessions[m]));
  for (size_t s = 0; s < info.signature_count; ++s) {
    DESCRIBED(hr_signature_info, signature);
    CHECK(hr_graph_get_signature(graph, s, &signature));
    hr_call* calls[2];
    for (int m = 0; m < 2; ++m) CHECK(hr_call_create(sessions[m], signature.name, &calls[m]));
    for (size_t i = 0; i < signature.input_count; ++i) {
      DESCRIBED(hr_value_info, input);
      CHECK(hr_graph_get_value(graph, signature.inputs[i], &input));
      int64_t dims[8];
      for (int32_t d = 0; d < input.rank; ++d) dims[d] = input.dims[d] < 0 ? 2 : input.dims[d];
      hr_tensor* tensor;
      CHECK(hr_tensor_create(env, input.dtype, (size_t)input.rank, dims, &tensor));
      for (int64_t e = 0; e < hr_tensor_elements(tensor); ++e) {
        if (input.dtype == HR_INT64) ((int64_t*)hr_tensor_data(tensor))[e] = e % CLASSES;
        if (input.dtype == HR_FLOAT32) ((float*)hr_tensor_data(tensor))[e] = (float)(e % 7) / 16;
      }
      for (int m = 0; m < 2; ++m) CHECK(hr_call_bind(calls[m], signature.input_names[i], tensor));
      hr_tensor_release(tensor);
    }
    for (int run = 0; run < 3; ++run) {
      for (int m = 0; m < 2; ++m) CHECK(hr_call_run(calls[m], NULL));
      for (size_t i = 0; i < signature.output_count; ++i) {
        hr_tensor* outputs[2];
        for (int m = 0; m < 2; ++m)
          CHECK(hr_call_result(calls[m], signature.output_names[i], &outputs[m]));
        EXPECT(hr_tensor_bytes(outputs[0]) == hr_tensor_bytes(outputs[1]));
        EXPECT(memcmp(hr_tensor_data(outputs[0]), hr_tensor_data(outputs[1]),
                      hr_tensor_bytes(outputs[0])) == 0);
        for (int m = 0; m < 2; ++m) hr_tensor_release(outputs[m]);
      }
    }
    for (int m = 0; m < 2; ++m) hr_call_release(calls[m]);
  }
  for (size_t v = 0; v < hr_session_variable_count(sessions[0]); ++v) {
    const char* name = hr_session_variable_name(sessions[0], v);
    hr_tensor* values[2];
    for (int m = 0; m < 2; ++m) CHECK(hr_session_get_variable(sessions[m], name, NULL, &values[m]));
    EXPECT(memcmp(hr_tensor_data(values[0]), hr_tensor_data(values[1]),
                  hr_tensor_bytes(values[0])) == 0);
    for (int m = 0; m < 2; ++m) hr_tensor_release(values[m]);
  }
  for (int m = 0; m < 2; ++m) hr_session_release(sessions[m]);
  hr_graph_release(graph);
}

/* The graph that goes on from the file saves to a file that is equivalent. */
static void expect_kept(hr_env* env, const char* path, const char* folder) {
  hr_model* before = load(env, path);
  hr_graph* graph = graph_of(before);
  CHECK(hr_graph_save(graph, in_folder(folder, "again.hrg"), NULL));
  hr_graph_release(graph);
  hr_model* after = load(env, in_folder(folder, "again.hrg"));
  expect_same_model(before, after);
  expect_same_runs(env, before, after);
  hr_model_release(before);
  hr_model_release(after);
}

/* ---- Files ---- */

static void expect_refused(hr_env* env, const char* path, const char* words) {
  const hr_load_options options = {.struct_size = sizeof options, .inspect_only = 1};
  hr_model* model;
  hr_graph* graph;
  CHECK(hr_model_load(env, path, &options, &model));
  FAILS(hr_graph_from_model(model, &graph), HR_UNIMPLEMENTED, words);
  hr_model_release(model);
}

static void test_kept_files(hr_env* env) {
  char* folder = make_folder();
  DIR* directory = opendir(FILES);
  struct dirent* entry;
  int kept = 0, refused = 0;
  EXPECT(directory != NULL);
  while ((entry = readdir(directory)) != NULL) {
    char path[4096];
    hr_model* model;
    const size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 4, ".hrg") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", FILES, entry->d_name);
    hr_status* status = hr_model_load(env, path, NULL, &model);
    if (status == NULL) {
      hr_model_release(model);
      expect_kept(env, path, folder);
      ++kept;
    } else {
      hr_status_release(status);
      expect_refused(env, path, "Gemm has no attribute 'negative_zero'");
      ++refused;
    }
  }
  closedir(directory);
  EXPECT(kept >= 1 && refused >= 1);
  remove_folder(folder);
}

static hr_status* infer_like(void* context, hr_op* op) {
  (void)context;
  return hr_op_set_output_like(op, 0, 0);
}
static hr_status* compute_nothing(void* context, hr_op* op) {
  (void)context;
  (void)op;
  return NULL;
}

/* All of them are named at once. */
static void test_unknown_operators(hr_env* env) {
  const char* names[2] = {"com.example.First", "com.example.Second"};
  char* folder = make_folder();
  hr_graph* graph;
  hr_value x;
  for (int i = 0; i < 2; ++i) {
    const hr_operator op = {.struct_size = sizeof op,
                            .name = names[i],
                            .version = i + 1,
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .min_outputs = 1,
                            .max_outputs = 1,
                            .infer = infer_like,
                            .compute = compute_nothing};
    CHECK(hr_env_add_operator(env, &op));
  }
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 0, NULL, NULL, &x));
  CHECK(hr_graph_op(graph, names[0], NULL, 1, &x, 1, &x));
  CHECK(hr_graph_op(graph, "Relu", NULL, 1, &x, 1, &x));
  CHECK(hr_graph_op(graph, names[1], NULL, 1, &x, 1, &x));
  CHECK(hr_graph_save(graph, in_folder(folder, "custom.hrg"), NULL));
  hr_graph_release(graph);
  graph = graph_of_file(env, in_folder(folder, "custom.hrg")); /* here they are known */
  hr_graph_release(graph);
  hr_env* other = make_env(1);
  expect_refused(other, in_folder(folder, "custom.hrg"),
                 "not known: com.example.First (version 1), com.example.Second (version 2); those "
                 "of the host must be added before");
  hr_env_release(other);
  remove_folder(folder);
}

static size_t bytes_of(const char* path, char** out) {
  FILE* file = fopen(path, "rb");
  *out = malloc(1 << 20);
  EXPECT(file != NULL && *out != NULL);
  size_t size = fread(*out, 1, 1 << 20, file);
  fclose(file);
  return size;
}

static void expect_same_bytes(const char* folder, const char* a, const char* b) {
  char *left, *right;
  size_t size = bytes_of(in_folder(folder, a), &left);
  EXPECT(bytes_of(in_folder(folder, b), &right) == size && memcmp(left, right, size) == 0);
  free(left);
  free(right);
}

/* With bounds, metadata and a training signature; with names and without. */
static void test_nothing_is_lost(hr_env* env) {
  char* folder = make_folder();
  const int64_t buckets[2] = {2, 4};
  hr_model* model = make_bounded_mlp(env, (bounds){1, 8, 2, buckets});
  hr_graph* graph = graph_of(model);
  CHECK(hr_graph_set_metadata(graph, "author", "the tests"));
  for (int strip = 0; strip < 2; ++strip) {
    const hr_save_options options = {.struct_size = sizeof options, .strip_names = strip};
    CHECK(hr_graph_save(graph, in_folder(folder, "first.hrg"), &options));
    expect_kept(env, strcpy((char[4096]){0}, in_folder(folder, "first.hrg")), folder);
    expect_same_bytes(folder, "first.hrg", "again.hrg");
  }
  hr_graph_release(graph);
  hr_value nameless; /* the second file has no names */
  graph = graph_of_file(env, in_folder(folder, "first.hrg"));
  FAILS(hr_graph_find_value(graph, "", &nameless), HR_NOT_FOUND, "no value ''");
  hr_graph_release(graph);
  hr_model_release(model);
  remove_folder(folder);
}

static hr_tensor* initial_of(const hr_graph* graph, const char* name) {
  hr_variable variable;
  hr_tensor* tensor;
  CHECK(hr_graph_find_variable(graph, name, &variable));
  CHECK(hr_graph_variable_tensor(graph, variable, &tensor));
  EXPECT(tensor != NULL);
  return tensor;
}

/* Trains a few steps, and writes what "infer" needs. */
static void export_lenet(hr_env* env, const char* path) {
  const int64_t dims[4] = {4, 1, 12, 12};
  hr_model* model = make_lenet(env);
  hr_session* session;
  hr_call* step;
  hr_tensor *x, *labels;
  make_examples(env, 4, dims, &x, &labels);
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "train", &step));
  CHECK(hr_call_bind(step, "x", x));
  CHECK(hr_call_bind(step, "labels", labels));
  CHECK(hr_call_bind_scalar(step, "rate", 0.05));
  for (int i = 0; i < 3; ++i) CHECK(hr_call_run(step, NULL));
  CHECK(hr_session_export(session, path, 1, (const char* const[]){"infer"}, NULL, NULL));
  hr_tensor_release(x);
  hr_tensor_release(labels);
  hr_call_release(step);
  hr_session_release(session);
  hr_model_release(model);
}

static void test_exported(hr_env* env) {
  char* folder = make_folder();
  export_lenet(env, in_folder(folder, "lenet.hrg"));
  expect_kept(env, strcpy((char[4096]){0}, in_folder(folder, "lenet.hrg")), folder);
  expect_same_bytes(folder, "lenet.hrg", "again.hrg");
  remove_folder(folder);
}

/* Two graphs of one model have the file's memory, which outlives the model and the file's name. */
static void test_memory_is_shared(hr_env* env) {
  char* folder = make_folder();
  export_lenet(env, in_folder(folder, "lenet.hrg"));
  hr_model* model = load(env, in_folder(folder, "lenet.hrg"));
  const long bytes = host_live_bytes();
  hr_graph *first = graph_of(model), *second = graph_of(model);
  EXPECT(host_live_bytes() == bytes);
  hr_tensor *a = initial_of(first, "fc1/weight"), *b = initial_of(second, "fc1/weight");
  EXPECT(hr_tensor_data(a) == hr_tensor_data(b));
  const float weight = ((const float*)hr_tensor_data(a))[7];
  hr_model_release(model);
  remove_folder(folder);
  hr_graph_release(first);
  hr_tensor_release(a);
  EXPECT(((const float*)hr_tensor_data(b))[7] == weight && weight != 0);
  hr_session* session = session_of(second);
  hr_tensor* value;
  CHECK(hr_session_get_variable(session, "fc1/weight", NULL, &value));
  EXPECT(((const float*)hr_tensor_data(value))[7] == weight);
  hr_tensor_release(value);
  hr_tensor_release(b);
  hr_session_release(session);
}

/* ---- Effects ---- */

/* The first element of the output, of one run of the signature. */
static float run(hr_session* session, const char* signature, const char* output) {
  hr_call* call;
  hr_tensor* tensor;
  CHECK(hr_call_create(session, signature, &call));
  CHECK(hr_call_run(call, NULL));
  CHECK(hr_call_result(call, output, &tensor));
  const float value = *(const float*)hr_tensor_data(tensor);
  hr_tensor_release(tensor);
  hr_call_release(call);
  return value;
}

static hr_graph* saved_counters(hr_env* env) {
  char* folder = make_folder();
  hr_model* model = make_counters(env, 3);
  hr_graph* graph = graph_of(model);
  CHECK(hr_graph_save(graph, in_folder(folder, "counters.hrg"), NULL));
  hr_graph_release(graph);
  hr_model_release(model);
  graph = graph_of_file(env, in_folder(folder, "counters.hrg"));
  remove_folder(folder);
  return graph;
}

/* A read in the graph of a file comes after the file's update; pruned, there is none. */
static void test_effects_come_after(hr_env* env) {
  hr_variable a;
  hr_value now;
  hr_graph* graph = saved_counters(env);
  CHECK(hr_graph_find_variable(graph, "a", &a));
  CHECK(hr_graph_read(graph, a, &now));
  CHECK(hr_graph_signature_output(graph, "step", "after", now));
  hr_session* session = session_of(graph);
  EXPECT(run(session, "step", "after") == 1 && run(session, "step", "after") == 2);
  hr_session_release(session);
}

static void test_pruned(hr_env* env) {
  hr_variable a;
  hr_value now;
  hr_node update;
  hr_graph* graph = saved_counters(env);
  DESCRIBED(hr_graph_info, before);
  DESCRIBED(hr_graph_info, after);
  CHECK(hr_graph_get(graph, &before));
  FAILS(hr_graph_remove_signature(graph, "stop"), HR_NOT_FOUND,
        "the graph has no signature 'stop'; did you mean 'step'?");
  CHECK(hr_graph_remove_signature(graph, "step"));
  CHECK(hr_graph_find_node(graph, "a/update", &update)); /* until then */
  CHECK(hr_graph_prune(graph));
  FAILS(hr_graph_find_node(graph, "a/update", &update), HR_NOT_FOUND, "a/update");
  CHECK(hr_graph_get(graph, &after));
  EXPECT(before.signature_count == 2 && after.signature_count == 1);
  EXPECT(after.node_count == 2 && before.node_count > 2 && after.value_count == 2);
  EXPECT(after.variable_count == 2);
  CHECK(hr_graph_find_variable(graph, "a", &a));
  CHECK(hr_graph_read(graph, a, &now));
  CHECK(hr_graph_signature_output(graph, "look", "again", now));
  CHECK(hr_graph_get(graph, &after));
  EXPECT(after.node_count == 2); /* the read that is there */
  hr_session* session = session_of(graph);
  EXPECT(run(session, "look", "again") == 0 && run(session, "look", "again") == 0);
  hr_session_release(session);
}

const test tests[] = {{"kept files", test_kept_files},
                      {"unknown operators", test_unknown_operators},
                      {"nothing is lost", test_nothing_is_lost},
                      {"exported", test_exported},
                      {"memory is shared", test_memory_is_shared},
                      {"effects come after", test_effects_come_after},
                      {"pruned", test_pruned},
                      {NULL, NULL}};
