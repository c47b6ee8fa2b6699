/* Data sets that are mapped, filtered and cached, by calls and by the text of their address. */
#include "support.h"

enum { EXAMPLES = 10 };

/* "double": y = 2 x. "large": x > 3. "random": y is drawn. "sum": y is the sum over all examples.
 */
static void build(hr_env* env, hr_graph** graph) {
  hr_value x, y, large, two, three, drawn, sum;
  CHECK(hr_graph_create(env, graph));
  CHECK(hr_graph_input(*graph, "x", HR_FLOAT32, 1, (const int64_t[]){-1}, NULL, &x));
  CHECK(hr_graph_op(*graph, "Constant", "value_float=2", 0, NULL, 1, &two));
  CHECK(hr_graph_op(*graph, "Constant", "value_float=3", 0, NULL, 1, &three));
  CHECK(hr_graph_op(*graph, "Mul", NULL, 2, (const hr_value[]){x, two}, 1, &y));
  CHECK(hr_graph_op(*graph, "Greater", NULL, 2, (const hr_value[]){x, three}, 1, &large));
  CHECK(hr_graph_op(*graph, "RandomUniformLike", NULL, 1, &x, 1, &drawn));
  CHECK(hr_graph_op(*graph, "ReduceSum", "keepdims=0", 1, &x, 1, &sum));
  const char* names[4] = {"double", "large", "random", "sum"};
  const hr_value outputs[4] = {y, large, drawn, sum};
  for (int i = 0; i < 4; ++i) {
    CHECK(hr_graph_signature_input(*graph, names[i], "x", x));
    CHECK(hr_graph_signature_output(*graph, names[i], "y", outputs[i]));
  }
}

static hr_session* make_session(hr_env* env) {
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  build(env, &graph);
  CHECK(hr_model_from_graph(graph, &model));
  CHECK(hr_session_create(model, NULL, NULL, &session));
  hr_model_release(model);
  hr_graph_release(graph);
  return session;
}

/* x = 0, 1, 2, … beside n = 0, 10, 20, … */
static hr_dataset* make_tensors(hr_env* env) {
  const char* names[2] = {"x", "n"};
  const int64_t dims[1] = {EXAMPLES};
  const hr_dataset_options options = {.struct_size = sizeof options, .batch = 4, .prefetch = 1};
  hr_tensor *x, *n;
  hr_dataset* data;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 1, dims, &x));
  CHECK(hr_tensor_create(env, HR_INT64, 1, dims, &n));
  for (int i = 0; i < EXAMPLES; ++i) {
    ((float*)hr_tensor_data(x))[i] = (float)i;
    ((int64_t*)hr_tensor_data(n))[i] = 10 * i;
  }
  const hr_tensor* both[2] = {x, n};
  CHECK(hr_dataset_from_tensors(env, 2, names, both, &options, &data));
  hr_tensor_release(x);
  hr_tensor_release(n);
  return data;
}

/* Reads a pass; field `name` must have `first`, `first` + step, … in `count` examples. */
static void expect_pass(hr_dataset* data, const char* name, double first, double step, int count) {
  int seen = 0;
  while (!hr_dataset_done(data, NULL)) {
    hr_tensor* batch[4];
    const size_t fields = hr_dataset_field_count(data);
    CHECK(hr_dataset_next(data, NULL, batch));
    for (size_t f = 0; f < fields; ++f) {
      const int64_t examples = hr_tensor_elements(batch[f]);
      for (int64_t i = 0; strcmp(hr_dataset_field_name(data, f), name) == 0 && i < examples; ++i) {
        const double found = hr_tensor_dtype(batch[f]) == HR_INT64
                                 ? (double)((int64_t*)hr_tensor_data(batch[f]))[i]
                                 : (double)((float*)hr_tensor_data(batch[f]))[i];
        EXPECT(found == first + step * seen++);
      }
      hr_tensor_release(batch[f]);
    }
  }
  EXPECT(seen == count);
  CHECK(hr_dataset_rewind(data, NULL));
}

static void map_and_filter(hr_env* env) {
  hr_session* session = make_session(env);
  hr_dataset *data = make_tensors(env), *large, *both;
  CHECK(hr_dataset_filter(data, session, "large", NULL, &large));
  CHECK(hr_dataset_map(large, session, "double", NULL, &both));
  EXPECT(hr_dataset_batches(large) == 2);
  expect_pass(large, "n", 40, 10, 6);
  expect_pass(both, "y", 8, 2, 6);
  expect_pass(both, "n", 40, 10, 6);
  expect_pass(data, "x", 0, 1, EXAMPLES); /* stays as it is */
  hr_dataset_release(data);
  hr_dataset_release(large);
  hr_session_release(session);
  expect_pass(both, "y", 8, 2, 6); /* keeps what it needs */
  hr_dataset_release(both);
}

static void renamed(hr_env* env) {
  hr_session* session = make_session(env);
  hr_dataset *data = make_tensors(env), *mapped;
  CHECK(hr_dataset_rename(data, "x", "z"));
  FAILS(hr_dataset_map(data, session, "double", NULL, &mapped), HR_INVALID_ARGUMENT,
        "has an input 'x'");
  CHECK(hr_dataset_rename(data, "z", "x"));
  CHECK(hr_dataset_map(data, session, "double", NULL, &mapped));
  hr_dataset_release(mapped);
  hr_dataset_release(data);
  hr_session_release(session);
}

static void refused(hr_env* env) {
  hr_session* session = make_session(env);
  hr_dataset *data = make_tensors(env), *out;
  FAILS(hr_dataset_map(data, session, "random", NULL, &out), HR_INVALID_ARGUMENT,
        "draws random numbers");
  FAILS(hr_dataset_map(data, session, "sum", NULL, &out), HR_INVALID_ARGUMENT,
        "dimension 0 must count the examples");
  FAILS(hr_dataset_map(data, session, "none", NULL, &out), HR_NOT_FOUND, "none");
  FAILS(hr_dataset_filter(data, session, "double", NULL, &out), HR_INVALID_ARGUMENT, "one bool");
  hr_dataset_release(data);
  hr_session_release(session);
}

/* ---- Host data ---- */

static hr_status* next_batch(void* context, int64_t examples, size_t count, hr_tensor** out,
                             int32_t* out_end) {
  int64_t* at = context;
  EXPECT(count == 1 && examples == 5);
  *out_end = *at == EXAMPLES;
  if (*at == EXAMPLES) return NULL;
  for (int64_t i = 0; i < examples; ++i) ((float*)hr_tensor_data(out[0]))[i] = (float)(*at)++;
  return NULL;
}

static hr_status* seek(void* context, int64_t epoch, int64_t example) {
  (void)epoch;
  *(int64_t*)context = example;
  return NULL;
}

static hr_dataset* make_host(hr_env* env) {
  const int64_t dims[1] = {5};
  const hr_dataset_field field = {sizeof field, "x", HR_FLOAT32, 1, dims};
  const hr_dataset_callbacks callbacks = {.struct_size = sizeof callbacks,
                                          .context = calloc(1, sizeof(int64_t)),
                                          .next = next_batch,
                                          .seek = seek,
                                          .release = free};
  hr_dataset* data;
  CHECK(hr_dataset_from_callbacks(env, &callbacks, 1, &field, NULL, &data));
  return data;
}

static void host_data(hr_env* env) {
  hr_session* session = make_session(env);
  hr_dataset *host = make_host(env), *mapped, *cached, *filtered;
  FAILS(hr_dataset_filter(host, session, "large", NULL, &filtered), HR_INVALID_ARGUMENT, "cache");
  CHECK(hr_dataset_map(host, session, "double", NULL, &mapped));
  expect_pass(mapped, "y", 0, 2, EXAMPLES);
  const hr_dataset_options options = {.struct_size = sizeof options, .batch = 3};
  const hr_cache_options memory = {.struct_size = sizeof memory, .options = &options};
  CHECK(hr_dataset_cache(mapped, &memory, NULL, &cached));
  EXPECT(hr_dataset_batches(cached) == 4);
  CHECK(hr_dataset_rename(cached, "y", "x"));
  CHECK(hr_dataset_filter(cached, session, "large", NULL, &filtered));
  expect_pass(filtered, "x", 4, 2, 8);
  hr_dataset_release(filtered);
  hr_dataset_release(cached);
  hr_dataset_release(mapped);
  hr_dataset_release(host);
  hr_session_release(session);
}

/* ---- Files ---- */

static void put(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  EXPECT(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void cache_files(hr_env* env) {
  char* folder = make_folder();
  char path[8192];
  hr_dataset *data = make_tensors(env), *cached;
  snprintf(path, sizeof path, "%s", in_folder(folder, "cache"));
  hr_cache_options options = {.struct_size = sizeof options, .path = path};
  FAILS(hr_dataset_cache(data, &options, NULL, &cached), HR_INVALID_ARGUMENT,
        "hr_cache_options.key");
  options.key = "numbers 1";
  for (int i = 0; i < 2; ++i) {
    CHECK(hr_dataset_cache(data, &options, NULL, &cached));
    expect_pass(cached, "n", 0, 10, EXAMPLES);
    hr_dataset_release(cached);
  }
  put(path, "something else");
  FAILS(hr_dataset_cache(data, &options, NULL, &cached), HR_ALREADY_EXISTS, "no cache");
  hr_dataset_release(data);
  remove_folder(folder);
}

static void by_text(hr_env* env) {
  char* folder = make_folder();
  char uri[32768];
  hr_graph* graph;
  hr_dataset* data;
  build(env, &graph);
  CHECK(hr_graph_save(graph, in_folder(folder, "steps.hrg"), NULL));
  hr_graph_release(graph);
  put(in_folder(folder, "a.csv"), "a\n0\n1\n2\n3\n4\n5\n");
  for (int i = 0; i < 2; ++i) {
    snprintf(uri, sizeof uri,
             "csv:%s/a.csv?split=1&rename=a:x&filter=%s/steps.hrg:large&map=%s/steps.hrg:double&"
             "cache=%s/cache&batch=2",
             folder, folder, folder, folder);
    CHECK(hr_dataset_open(env, uri, &data));
    expect_pass(data, "y", 8, 2, 2);
    hr_dataset_release(data);
  }
  snprintf(uri, sizeof uri, "csv:%s/a.csv?split=1&map=%s/steps.hrg", folder, folder);
  FAILS(hr_dataset_open(env, uri, &data), HR_INVALID_ARGUMENT, "has 4 signatures");
  put(in_folder(folder, "a.csv"), "a\n5\n6\n7\n8\n9\n10\n11\n"); /* the cache is made anew */
  snprintf(uri, sizeof uri, "csv:%s/a.csv?split=1&rename=a:x&cache=%s/cache2", folder, folder);
  CHECK(hr_dataset_open(env, uri, &data));
  expect_pass(data, "x", 5, 1, 7);
  hr_dataset_release(data);
  put(in_folder(folder, "a.csv"), "a\n3\n4\n");
  CHECK(hr_dataset_open(env, uri, &data));
  expect_pass(data, "x", 3, 1, 2);
  hr_dataset_release(data);
  remove_folder(folder);
}

const test tests[] = {{"map and filter", map_and_filter},
                      {"names after renaming", renamed},
                      {"signatures that are refused", refused},
                      {"host data", host_data},
                      {"cache files", cache_files},
                      {"by text", by_text},
                      {NULL, NULL}};
