/* Wrong feeds, names and data, and a session that failed half-way: what each is told. */
#include "models.h"

static hr_model* model;
static hr_session* session;

static void open_session(hr_env* env) {
  model = make_mlp(env);
  CHECK(hr_session_create(model, NULL, NULL, &session));
}

static void close_session(void) {
  hr_session_release(session);
  hr_model_release(model);
}

static hr_tensor* zeros(hr_env* env, hr_dtype dtype, size_t rank, const int64_t* dims) {
  hr_tensor* tensor;
  CHECK(hr_tensor_create(env, dtype, rank, dims, &tensor));
  memset(hr_tensor_data(tensor), 0, hr_tensor_bytes(tensor));
  return tensor;
}

/* ---- Names ---- */

static void test_names(hr_env* env) {
  const char garbage[] = "this is no graph file, it is a sentence that is long enough";
  const int64_t dims[2] = {2, FEATURES};
  hr_call* call;
  hr_model* other;
  hr_text* text;
  open_session(env);
  hr_tensor* x = zeros(env, HR_FLOAT32, 2, dims);
  FAILS(hr_call_create(session, "tran", &call), HR_NOT_FOUND, "did you mean 'train'");
  CHECK(hr_call_create(session, "train", &call));
  FAILS(hr_call_run(call, NULL), HR_INVALID_ARGUMENT, "'x'");
  FAILS(hr_call_bind(call, "y", x), HR_NOT_FOUND, "x, labels, rate");
  FAILS(hr_call_bind_scalar(call, "lr", 1), HR_NOT_FOUND, "x, labels, rate");
  FAILS(hr_call_bind(call, "y\xff\xc3\xa9", x), HR_NOT_FOUND, "'y\\xff\xc3\xa9'"); /* UTF-8 */
  FAILS(hr_call_output(call, "lss", x, 4), HR_NOT_FOUND, "it has: loss");
  FAILS(hr_session_get_variable(session, "fc1/weigth", NULL, &x), HR_NOT_FOUND, "did you mean");
  FAILS(hr_model_graph_text(model, "svg", &text), HR_INVALID_ARGUMENT, "svg");
  FAILS(hr_model_load(env, "/no/such/file.hrg", NULL, &other), HR_NOT_FOUND, "/no/such/file.hrg");
  FAILS(hr_model_load_memory(env, garbage, sizeof garbage, NULL, NULL, NULL, &other),
        HR_INVALID_ARGUMENT, "");
  hr_call_release(call);
  hr_tensor_release(x);
  close_session();
}

/* Where there is nothing to name, the sentence says so. */
static void test_names_of_nothing(hr_env* env) {
  int64_t dims[1] = {2};
  const char* none = "none";
  hr_call* call;
  hr_graph* graph;
  hr_tensor* x = zeros(env, HR_FLOAT32, 1, dims);
  hr_model* counters = make_counters(env, 2);
  CHECK(hr_session_create(counters, NULL, NULL, &session));
  CHECK(hr_call_create_custom(session, 0, NULL, 0, NULL, 0, NULL, &call));
  FAILS(hr_call_bind(call, "x", x), HR_NOT_FOUND, "the call has no input 'x'; it has none");
  FAILS(hr_call_output(call, "y", &dims, 8), HR_NOT_FOUND,
        "the call has no output 'y'; it has none");
  hr_call_release(call);
  hr_session_release(session);
  hr_model_release(counters);
  CHECK(hr_graph_create(env, &graph));
  session = session_of(graph);
  FAILS(hr_call_create(session, none, &call), HR_NOT_FOUND, "no signature 'none'; there are none");
  FAILS(hr_session_export(session, "never.hrg", 1, &none, NULL, NULL), HR_NOT_FOUND,
        "no signature 'none'; there are none");
  hr_session_release(session);
  hr_tensor_release(x);
}

static void test_attributes(hr_env* env) {
  hr_graph* graph;
  hr_value x, y;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 0, NULL, NULL, &x));
  FAILS(hr_graph_op(graph, "Relu", "alpha=1", 1, &x, 1, &y), HR_INVALID_ARGUMENT,
        "Relu has no attribute 'alpha'; it has none");
  FAILS(hr_graph_op(graph, "LeakyRelu", "beta=1", 1, &x, 1, &y), HR_INVALID_ARGUMENT,
        "it has alpha");
  hr_graph_release(graph);
}

/* ---- Feeds ---- */

static void nothing(hr_dlpack* self) { (void)self; }

/* Its two rows are 2^62 elements apart: the bytes between them do not fit into 64 bits. */
static void test_far_strides(hr_env* env) {
  int64_t dims[2] = {2, 1}, strides[2] = {(int64_t)1 << 62, 1};
  hr_dlpack managed = {.version = {1, 0}, .deleter = nothing};
  hr_tensor* tensor;
  (void)env;
  managed.dl_tensor = (hr_dlpack_tensor){.data = (void*)64,
                                         .device = {1, 0},
                                         .ndim = 2,
                                         .dtype = {2, 32, 1},
                                         .shape = dims,
                                         .strides = strides};
  FAILS(hr_tensor_from_dlpack(&managed, &tensor), HR_INVALID_ARGUMENT, "strides overflow");
}

/* Memory that claims to lie on another device. */
static hr_tensor* elsewhere(int64_t* dims) {
  static hr_dlpack managed;
  hr_tensor* tensor;
  managed = (hr_dlpack){.version = {1, 0}, .deleter = nothing};
  managed.dl_tensor = (hr_dlpack_tensor){
      .data = (void*)64, .device = {2, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = dims};
  CHECK(hr_tensor_from_dlpack(&managed, &tensor));
  return tensor;
}

static void expect_feed_fails(hr_tensor* x, hr_code code, const char* words) {
  const char *feeds[1] = {"x"}, *fetches[1] = {"scores"};
  const hr_tensor* const given[1] = {x};
  hr_tensor* scores;
  FAILS(hr_session_run(session, 1, feeds, given, 1, fetches, 0, NULL, NULL, &scores), code, words);
  hr_tensor_release(x);
}

static void test_feeds(hr_env* env) {
  const int64_t wide[2] = {2, FEATURES + 1}, flat[1] = {FEATURES};
  int64_t dims[2] = {2, FEATURES};
  const char* feeds[2] = {"x", "x"};
  const char* fetches[1] = {"scores"};
  const char* nodes[1] = {"no node"};
  float small[3];
  hr_call* call;
  hr_tensor* scores;
  open_session(env);
  expect_feed_fails(zeros(env, HR_FLOAT32, 2, wide), HR_INVALID_ARGUMENT, "float32[2, 13]");
  expect_feed_fails(zeros(env, HR_FLOAT32, 1, flat), HR_INVALID_ARGUMENT, "float32[12]");
  expect_feed_fails(zeros(env, HR_FLOAT64, 2, dims), HR_INVALID_ARGUMENT, "float64[2, 12]");
  expect_feed_fails(elsewhere(dims), HR_INVALID_ARGUMENT, "CUDA:0; copy it to the host first");
  hr_tensor* x = zeros(env, HR_FLOAT32, 2, dims);
  const hr_tensor* const twice[2] = {x, x};
  FAILS(hr_session_run(session, 2, feeds, twice, 1, fetches, 0, NULL, NULL, &scores),
        HR_INVALID_ARGUMENT, "twice");
  FAILS(hr_session_run(session, 0, NULL, NULL, 0, NULL, 1, nodes, NULL, NULL), HR_NOT_FOUND,
        "no node 'no node'");
  FAILS(hr_session_set_variable(session, "fc1/weight", x, NULL), HR_INVALID_ARGUMENT,
        "is float32[16, 12], got float32[2, 12]");
  CHECK(hr_call_create(session, "infer", &call));
  hr_tensor* far = elsewhere(dims);
  FAILS(hr_call_bind(call, "x", far), HR_INVALID_ARGUMENT,
        "input 'x': expected a tensor in memory");
  hr_tensor_release(far);
  CHECK(hr_call_bind(call, "x", x));
  CHECK(hr_call_output(call, "scores", small, sizeof small));
  FAILS(hr_call_run(call, NULL), HR_INVALID_ARGUMENT, "needs 32 bytes, the bound memory has 12");
  FAILS(hr_call_result(call, "scores", &scores), HR_FAILED_PRECONDITION, "memory of the caller");
  hr_call_release(call);
  hr_tensor_release(x);
  close_session();
}

static void test_tensors(hr_env* env) {
  const int64_t huge[2] = {INT64_MAX / 2, 3}, negative[1] = {-3}, large[1] = {(int64_t)1 << 50};
  const int64_t dims[1] = {4};
  _Alignas(8) char data[17];
  hr_tensor* out;
  FAILS(hr_tensor_create(env, HR_FLOAT32, 2, huge, &out), HR_INVALID_ARGUMENT, "");
  FAILS(hr_tensor_create(env, HR_FLOAT32, 1, negative, &out), HR_INVALID_ARGUMENT, "-3");
  FAILS(hr_tensor_create(env, HR_FLOAT32, 100, huge, &out), HR_INVALID_ARGUMENT, "at most 64");
  FAILS(hr_tensor_create(env, (hr_dtype)99, 1, dims, &out), HR_INVALID_ARGUMENT, "99");
  FAILS(hr_tensor_create(env, HR_FLOAT64, 1, large, &out), HR_RESOURCE_EXHAUSTED, "bytes");
  FAILS(hr_tensor_copy_of(env, HR_FLOAT32, 1, dims, data, 15, &out), HR_INVALID_ARGUMENT,
        "needs 16 bytes, got 15");
  FAILS(hr_tensor_wrap(HR_FLOAT32, 1, dims, data + 1, 16, NULL, NULL, &out), HR_INVALID_ARGUMENT,
        "not aligned");
}

/* ---- Graphs ---- */

static void test_graphs(hr_env* env) {
  const int64_t dims[2] = {-1, -1};
  const char* symbols[2] = {"batch", "length"};
  hr_graph* graph;
  hr_value x, y;
  CHECK(hr_graph_create(env, &graph));
  FAILS(hr_graph_bound(graph, "batch", 1, 8, 0, NULL), HR_NOT_FOUND,
        "no input has a dimension 'batch' yet; there are none");
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 2, dims, symbols, &x));
  FAILS(hr_graph_bound(graph, "bacth", 1, 8, 0, NULL), HR_NOT_FOUND,
        "no input has a dimension 'bacth' yet; there are: batch, length");
  FAILS(hr_graph_bound(graph, "", 1, 8, 0, NULL), HR_NOT_FOUND, "dimension ''");
  CHECK(hr_graph_bound(graph, "length", 1, 8, 0, NULL));
  FAILS(hr_graph_op(graph, "Relu@1000", NULL, 1, &x, 1, &y), HR_UNIMPLEMENTED,
        "operator Relu is known up to version 27, got 1000");
  FAILS(hr_graph_op(graph, "headrace.state.Read@2", "variable=0", 0, NULL, 1, &y), HR_UNIMPLEMENTED,
        "operator headrace.state.Read is known up to version 1, got 2");
  CHECK(hr_graph_op(graph, "Relu@27", NULL, 1, &x, 1, &y));
  hr_graph_release(graph);
}

/* Its 2^62 elements have 2^64 bytes, which a size takes for none. Its shape is known with that of
 * x: [1] times [2^31, 2^31]. */
static void test_huge_values(hr_env* env) {
  const int64_t one[1] = {1}, two[1] = {2}, open[1] = {-1};
  hr_graph* graph;
  hr_value x, in[2], shape, large, most;
  hr_call* call;
  float result = 0;
  hr_tensor* factors = zeros(env, HR_INT64, 1, two);
  for (int i = 0; i < 2; ++i) ((int64_t*)hr_tensor_data(factors))[i] = (int64_t)1 << 31;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, open, NULL, &x));
  CHECK(hr_graph_constant(graph, NULL, factors, &in[1]));
  FAILS(hr_graph_op(graph, "Expand", NULL, 2, (hr_value[]){x, in[1]}, 1, &large),
        HR_INVALID_ARGUMENT, "a tensor of shape [2147483648, 2147483648] is too large");
  CHECK(hr_graph_op(graph, "Shape", NULL, 1, &x, 1, &in[0]));
  CHECK(hr_graph_op(graph, "Mul", NULL, 2, in, 1, &shape));
  CHECK(hr_graph_op(graph, "Expand", NULL, 2, (hr_value[]){x, shape}, 1, &large));
  CHECK(hr_graph_op(graph, "ReduceMax", "keepdims=0", 1, &large, 1, &most));
  CHECK(hr_graph_signature_input(graph, "infer", "x", x));
  CHECK(hr_graph_signature_output(graph, "infer", "most", most));
  session = session_of(graph);
  hr_tensor* value = zeros(env, HR_FLOAT32, 1, one);
  CHECK(hr_call_create(session, "infer", &call));
  CHECK(hr_call_bind(call, "x", value));
  CHECK(hr_call_output(call, "most", &result, sizeof result));
  FAILS(hr_call_run(call, NULL), HR_INVALID_ARGUMENT,
        "Expand:0: a tensor of shape [2147483648, 2147483648] is too large");
  hr_call_release(call);
  hr_tensor_release(value);
  hr_tensor_release(factors);
  hr_session_release(session);
}

/* ---- Data sets ---- */

static int calls_of_release;
static void count_release(void* context) {
  (void)context;
  ++calls_of_release;
}

typedef struct script {
  hr_env* env;
  int batches; /* before the end, or the failure */
  int fails;
  int64_t width;
} script;

static hr_status* next_batch(void* context, int64_t examples, size_t count, hr_tensor** out,
                             int32_t* out_end) {
  script* s = context;
  const int64_t dims[2] = {2, s->width};
  EXPECT(examples == 2 && count == 1);
  if (s->batches-- == 0) {
    *out_end = !s->fails;
    return s->fails ? hr_status_create(HR_ABORTED, "no more ink") : NULL;
  }
  hr_tensor_release(out[0]);
  out[0] = zeros(s->env, HR_FLOAT32, 2, dims);
  return NULL;
}

/* A call that draws its x from the script. */
static hr_call* scripted(hr_env* env, script* s) {
  const int64_t dims[2] = {2, FEATURES};
  const hr_dataset_field field = {
      .struct_size = sizeof field, .name = "x", .dtype = HR_FLOAT32, .rank = 2, .dims = dims};
  const hr_dataset_callbacks callbacks = {.struct_size = sizeof callbacks,
                                          .context = s,
                                          .next = next_batch,
                                          .release = count_release,
                                          .examples = -1};
  hr_dataset* data;
  hr_call* call;
  s->env = env;
  CHECK(hr_dataset_from_callbacks(env, &callbacks, 1, &field, NULL, &data));
  CHECK(hr_call_create(session, "infer", &call));
  CHECK(hr_call_bind_dataset(call, data));
  hr_dataset_release(data);
  return call;
}

static void test_data(hr_env* env) {
  script ends = {.batches = 1, .width = FEATURES};
  script fails = {.batches = 1, .fails = 1, .width = FEATURES};
  script lies = {.batches = 1, .width = FEATURES + 1};
  open_session(env);
  hr_call* call = scripted(env, &ends);
  const int64_t dims[1] = {1};
  const char* stranger = "z";
  hr_tensor* z;
  hr_dataset* other;
  CHECK(hr_tensor_create(env, HR_FLOAT32, 1, dims, &z));
  CHECK(hr_dataset_from_tensors(env, 1, &stranger, (const hr_tensor* const*)&z, NULL, &other));
  FAILS(hr_call_bind_dataset(call, other), HR_INVALID_ARGUMENT, "no name is in both");
  hr_dataset_release(other);
  hr_tensor_release(z);
  CHECK(hr_call_run(call, NULL)); /* with the data set of before */
  FAILS(hr_call_run(call, NULL), HR_OUT_OF_RANGE, "rewind it or let it repeat");
  hr_call_release(call);
  call = scripted(env, &fails);
  CHECK(hr_call_run(call, NULL));
  FAILS(hr_call_run(call, NULL), HR_ABORTED, "failed to make a batch: no more ink");
  hr_call_release(call);
  call = scripted(env, &lies);
  FAILS(hr_call_run(call, NULL), HR_INVALID_ARGUMENT, "declared field 'x' as float32[2, 12]");
  hr_call_release(call);
  EXPECT(calls_of_release == 3);
  close_session();
}

/* A call that fails does not take over what it was given. */
static void test_release_functions(hr_env* env) {
  const hr_dataset_callbacks callbacks = {
      .struct_size = sizeof callbacks, .next = next_batch, .release = count_release};
  const hr_dataset_field field = {.struct_size = sizeof field, .name = "x", .dtype = HR_FLOAT32};
  char* folder = make_folder();
  static _Alignas(64) char bytes[1 << 20];
  hr_dataset* data;
  hr_model* loaded;
  calls_of_release = 0;
  FAILS(hr_dataset_from_callbacks(env, &callbacks, 1, &field, NULL, &data), HR_INVALID_ARGUMENT,
        "dimension 0 is the batch");
  FAILS(hr_model_load_memory(env, bytes, 100, count_release, NULL, NULL, &loaded),
        HR_INVALID_ARGUMENT, "");
  EXPECT(calls_of_release == 0);
  save_lenet(env, in_folder(folder, "model.hrg"));
  FILE* file = fopen(in_folder(folder, "model.hrg"), "rb");
  EXPECT(file != NULL);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  CHECK(hr_model_load_memory(env, bytes, size, count_release, NULL, NULL, &loaded));
  EXPECT(calls_of_release == 0);
  hr_model_release(loaded);
  EXPECT(calls_of_release == 1);
  remove_folder(folder);
}

/* Services of an env: each is released once, after its last user. */
typedef struct service {
  int released;
  const char* failure; /* of reads */
} service;

static void release_service(void* context) { ++((service*)context)->released; }

static void* allocate(void* context, size_t bytes, size_t alignment) {
  EXPECT(((service*)context)->released == 0);
  return aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}

static void deallocate(void* context, void* data, size_t bytes, size_t alignment) {
  (void)bytes, (void)alignment;
  EXPECT(((service*)context)->released == 0);
  free(data);
}

static void say(void* context, hr_log_level level, const char* message) {
  (void)context, (void)level, (void)message;
}

static int64_t now(void* context) {
  (void)context;
  return 1;
}

static void in_turn(void* context, int32_t tasks, int32_t threads,
                    void (*fn)(void* fn_context, int task), void* fn_context) {
  (void)context, (void)threads;
  for (int task = 0; task < tasks; ++task) fn(fn_context, task);
}

static void test_services(hr_env* unused) {
  enum { MEMORY, LOG, CLOCK, THREADS, SERVICES };
  service used[SERVICES] = {{0}};
  hr_allocator memory = {sizeof memory, &used[MEMORY], allocate, deallocate, release_service};
  const hr_log_sink log = {sizeof log, &used[LOG], say, release_service};
  const hr_clock clock = {sizeof clock, &used[CLOCK], now, release_service};
  hr_executor threads = {sizeof threads, &used[THREADS], 0, in_turn, release_service};
  const hr_env_options options = {.struct_size = sizeof options,
                                  .allocator = &memory,
                                  .log = &log,
                                  .clock = &clock,
                                  .executor = &threads};
  const int64_t dims[1] = {3};
  hr_env* env;
  (void)unused;
  FAILS(hr_env_create(&options, &env), HR_INVALID_ARGUMENT, "hr_executor");
  for (int i = 0; i < SERVICES; ++i) EXPECT(used[i].released == 0);
  threads.concurrency = 2;
  CHECK(hr_env_create(&options, &env));
  hr_model* model = make_mlp(env);
  hr_tensor* tensor = zeros(env, HR_FLOAT32, 1, dims);
  hr_env_release(env);
  for (int i = 0; i < SERVICES; ++i) EXPECT(used[i].released == 0);
  hr_model_release(model);
  for (int i = 0; i < SERVICES; ++i) EXPECT(used[i].released == (i == MEMORY ? 0 : 1));
  hr_tensor_release(tensor);
  EXPECT(used[MEMORY].released == 1);
}

/* ---- A reader of the host ---- */

typedef struct tape {
  service service;
  unsigned char bytes[1 << 20];
  size_t size;
} tape;

static hr_status* read_tape(void* context, uint64_t offset, void* out, size_t bytes) {
  tape* t = context;
  if (t->service.failure != NULL) return hr_status_create(HR_UNAUTHENTICATED, t->service.failure);
  EXPECT(offset + bytes <= t->size);
  memcpy(out, t->bytes + offset, bytes);
  return NULL;
}

static void test_reader(hr_env* env) {
  static tape t;
  char* folder = make_folder();
  hr_model* loaded;
  save_lenet(env, in_folder(folder, "model.hrg"));
  FILE* file = fopen(in_folder(folder, "model.hrg"), "rb");
  EXPECT(file != NULL);
  t.size = fread(t.bytes, 1, sizeof t.bytes, file);
  fclose(file);
  const hr_reader reader = {sizeof reader, &t, t.size, read_tape, release_service};
  t.service.failure = "the key is lost";
  FAILS(hr_model_load_callback(env, &reader, NULL, &loaded), HR_UNAUTHENTICATED,
        "at 0: the key is lost");
  EXPECT(t.service.released == 0);
  t.service.failure = NULL;
  CHECK(hr_model_load_callback(env, &reader, NULL, &loaded));
  EXPECT(t.service.released == 1);
  hr_model_release(loaded);
  EXPECT(t.service.released == 1);
  remove_folder(folder);
}

/* ---- A run that fails after its update ---- */

/* "step": w becomes w + 1, and then `row` of it is taken, which may be out of range. */
static hr_model* make_fragile(hr_env* env) {
  const int64_t dims[1] = {4};
  hr_graph* graph;
  hr_model* made;
  hr_tensor *zero = zeros(env, HR_FLOAT32, 1, dims), *one = zeros(env, HR_FLOAT32, 1, dims),
            *rate = zeros(env, HR_FLOAT32, 0, NULL);
  hr_variable w;
  hr_value row, in[3], taken;
  hr_node_spec* spec;
  hr_node update;
  for (int i = 0; i < 4; ++i) ((float*)hr_tensor_data(one))[i] = 1;
  *(float*)hr_tensor_data(rate) = -1;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_variable(graph, "w", zero, 1, &w));
  CHECK(hr_graph_input(graph, "row", HR_INT64, 0, NULL, NULL, &row));
  CHECK(hr_graph_constant(graph, NULL, one, &in[0]));
  CHECK(hr_graph_constant(graph, NULL, rate, &in[1]));
  CHECK(hr_node_spec_create("headrace.train.SGD", &spec));
  hr_node_spec_input(spec, in[1]);
  hr_node_spec_input(spec, in[0]);
  hr_node_spec_int(spec, "variable", w);
  CHECK(hr_graph_add(graph, spec, 0, NULL, &update));
  hr_node_spec_release(spec);
  CHECK(hr_node_spec_create("Gather", &spec));
  hr_node_spec_input(spec, in[0]);
  hr_node_spec_input(spec, row);
  hr_node_spec_control(spec, update);
  CHECK(hr_graph_add(graph, spec, 1, &taken, NULL));
  hr_node_spec_release(spec);
  CHECK(hr_graph_signature_input(graph, "step", "row", row));
  CHECK(hr_graph_signature_output(graph, "step", "taken", taken));
  CHECK(hr_graph_signature_target(graph, "step", update));
  CHECK(hr_model_from_graph(graph, &made));
  hr_graph_release(graph);
  hr_tensor_release(zero);
  hr_tensor_release(one);
  hr_tensor_release(rate);
  return made;
}

static void test_tainted(hr_env* env) {
  char* folder = make_folder();
  hr_call* call;
  hr_tensor* w;
  model = make_fragile(env);
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "step", &call));
  CHECK(hr_call_bind_scalar(call, "row", 3));
  CHECK(hr_call_run(call, NULL));
  CHECK(hr_session_save(session, folder, NULL, NULL));
  CHECK(hr_call_bind_scalar(call, "row", 4));
  FAILS(hr_call_run(call, NULL), HR_OUT_OF_RANGE, "4");
  CHECK(hr_call_bind_scalar(call, "row", 0));
  FAILS(hr_call_run(call, NULL), HR_TAINTED, "restore a checkpoint to go on");
  FAILS(hr_session_save(session, folder, NULL, NULL), HR_TAINTED, "half updated");
  CHECK(hr_session_restore(session, folder, NULL, NULL, NULL));
  CHECK(hr_session_get_variable(session, "w", NULL, &w));
  EXPECT(((float*)hr_tensor_data(w))[0] == 1 && hr_session_step(session) == 1);
  hr_tensor_release(w);
  CHECK(hr_call_run(call, NULL));
  EXPECT(hr_session_step(session) == 2);
  hr_call_release(call);
  close_session();
  remove_folder(folder);
}

const test tests[] = {{"names", test_names},
                      {"names of nothing", test_names_of_nothing},
                      {"attributes", test_attributes},
                      {"feeds", test_feeds},
                      {"far strides", test_far_strides},
                      {"tensors", test_tensors},
                      {"graphs", test_graphs},
                      {"huge values", test_huge_values},
                      {"data", test_data},
                      {"release functions", test_release_functions},
                      {"services", test_services},
                      {"readers", test_reader},
                      {"tainted sessions", test_tainted},
                      {NULL, NULL}};
