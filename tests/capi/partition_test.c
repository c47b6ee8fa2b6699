/* How kernels cut their work for sixteen threads, which no machine of the tests has: counted, not
 * timed. An executor of the test runs the tasks one after the other and looks after each what it
 * has written to memory that came from the allocator. */
#include "nodes.h"

enum { kThreads = 16, kLine = 64, kMostBlocks = 4096 };

/* ---- Memory, and what it was when it was last looked at ---- */

typedef struct block {
  unsigned char *data, *before;
  int32_t* writer; /* of each line, since the last `begin_phase`; -1: nobody */
  size_t bytes;
} block;

static struct {
  block blocks[kMostBlocks];
  size_t count;
  /* What was seen since the last `reset`. */
  size_t parallel, serial; /* bytes that were written in and between tasks */
  size_t longest;          /* the sum of what the largest task of each phase has written */
  size_t shared_lines;     /* lines that two tasks of one phase wrote */
  int phases;
} seen;

static void* allocate(void* context, size_t bytes, size_t alignment) {
  (void)context;
  const size_t lines = (bytes + kLine - 1) / kLine;
  block* added = &seen.blocks[seen.count++];
  EXPECT(seen.count <= kMostBlocks);
  added->bytes = bytes;
  added->data = aligned_alloc(alignment < kLine ? kLine : alignment, (lines + 1) * kLine);
  added->before = malloc(bytes + 1);
  added->writer = malloc((lines + 1) * sizeof *added->writer);
  EXPECT(added->data != NULL && added->before != NULL && added->writer != NULL);
  memset(added->data, 0xee, bytes);
  memcpy(added->before, added->data, bytes);
  return added->data;
}

static void deallocate(void* context, void* data, size_t bytes, size_t alignment) {
  (void)context, (void)bytes, (void)alignment;
  size_t i = 0;
  while (i < seen.count && seen.blocks[i].data != data) ++i;
  EXPECT(i < seen.count);
  free(seen.blocks[i].data);
  free(seen.blocks[i].before);
  free(seen.blocks[i].writer);
  seen.blocks[i] = seen.blocks[--seen.count];
}

static void begin_phase(void) {
  for (size_t i = 0; i < seen.count; ++i) {
    memset(seen.blocks[i].writer, 0xff, (seen.blocks[i].bytes + kLine - 1) / kLine * 4);
  }
}

/* Bytes of a line that changed. */
static size_t look_at_line(block* of, size_t line, int task) {
  const size_t from = line * kLine, left = of->bytes - from;
  const size_t bytes = left < kLine ? left : kLine;
  if (memcmp(of->data + from, of->before + from, bytes) == 0) return 0;
  size_t changed = 0;
  for (size_t i = from; i < from + bytes; ++i) {
    /* What is filled because it is dead does not count. */
    changed += of->data[i] != of->before[i] && (task >= 0 || of->data[i] != 0xff);
  }
  memcpy(of->before + from, of->data + from, bytes);
  if (of->writer[line] >= 0 && task >= 0) ++seen.shared_lines;
  of->writer[line] = task;
  return changed;
}

/* Bytes that changed since the last look. */
static size_t look(int task) {
  enum { kPage = 4096 };
  size_t changed = 0;
  for (size_t i = 0; i < seen.count; ++i) {
    block* of = &seen.blocks[i];
    for (size_t from = 0; from < of->bytes; from += kPage) {
      const size_t left = of->bytes - from, bytes = left < kPage ? left : kPage;
      if (memcmp(of->data + from, of->before + from, bytes) == 0) continue;
      for (size_t line = from / kLine; line * kLine < from + bytes; ++line) {
        changed += look_at_line(of, line, task);
      }
    }
  }
  return changed;
}

static void parallel_for(void* context, int32_t tasks, int32_t threads,
                         void (*fn)(void* fn_context, int task), void* fn_context) {
  (void)context, (void)threads;
  size_t longest = 0;
  seen.serial += look(-1);
  begin_phase();
  ++seen.phases;
  for (int32_t task = 0; task < tasks; ++task) {
    fn(fn_context, task);
    const size_t changed = look(task);
    seen.parallel += changed;
    if (changed > longest) longest = changed;
  }
  seen.longest += longest;
}

static void reset(void) {
  begin_phase();
  look(-1);
  seen.parallel = seen.serial = seen.longest = seen.shared_lines = 0;
  seen.phases = 0;
}

static hr_env* open_env(void) {
  const hr_allocator allocator = {sizeof allocator, NULL, allocate, deallocate, NULL};
  const hr_executor executor = {sizeof executor, NULL, kThreads, parallel_for, NULL};
  const hr_env_options options = {
      .struct_size = sizeof options, .allocator = &allocator, .executor = &executor};
  hr_env* env;
  CHECK(hr_env_create(&options, &env));
  return env;
}

/* ---- Layers ---- */

typedef struct layer {
  const char* name;
  hr_value (*build)(hr_graph* graph, hr_value x);
  size_t rank;
  int64_t dims[4];
  /* All that tasks write, over what the largest of each phase writes and what is written between:
   * how many threads it keeps busy. Steps of little data have fewer tasks than there are threads.
   */
  double least_at_once;
} layer;

static hr_value conv(hr_graph* graph, const char* name, hr_value x, int64_t channels,
                     int64_t kernel, const char* attributes) {
  CHECK(hr_graph_conv2d(graph, name, x, channels, kernel, attributes, &x));
  return x;
}
static hr_value conv_3x3(hr_graph* graph, hr_value x) {
  return op(graph, "Relu", NULL, 1, conv(graph, "a", x, 64, 3, "pads=1,1,1,1"));
}
static hr_value conv_1x1(hr_graph* graph, hr_value x) { return conv(graph, "a", x, 96, 1, NULL); }
static hr_value depthwise(hr_graph* graph, hr_value x) {
  return conv(graph, "a", x, 64, 3, "pads=1,1,1,1 group=64");
}
static hr_value few_channels(hr_graph* graph, hr_value x) {
  x = op(graph, "Relu", NULL, 1, conv(graph, "a", x, 20, 5, NULL));
  return op(graph, "MaxPool", "kernel_shape=2,2 strides=2,2", 1, x);
}
static hr_value dense(hr_graph* graph, hr_value x) {
  CHECK(hr_graph_dense(graph, "a", x, 512, &x));
  return op(graph, "Gelu", NULL, 1, x);
}
static hr_value norm(hr_graph* graph, hr_value x) {
  hr_node update;
  x = conv(graph, "a", x, 64, 1, NULL);
  CHECK(hr_graph_batch_norm(graph, "norm", x, 1, NULL, &x, &update));
  return op(graph, "Relu", NULL, 1, x);
}
static hr_value pools(hr_graph* graph, hr_value x) {
  x = conv(graph, "a", x, 64, 1, NULL);
  x = op(graph, "MaxPool", "kernel_shape=3,3 strides=2,2 pads=1,1,1,1", 1, x);
  return op(graph, "AveragePool", "kernel_shape=2,2 strides=2,2", 1, x);
}
static hr_value layer_norm(hr_graph* graph, hr_value x) {
  const hr_value ones = op(graph, "Constant", "value_float=1", 0);
  const hr_value shape = op(graph, "Shape", "start=1", 1, x);
  const hr_value scale = op(graph, "Expand", NULL, 2, ones, shape);
  x = op(graph, "Softmax", NULL, 1, op(graph, "LayerNormalization", NULL, 2, x, scale));
  CHECK(hr_graph_dense(graph, "a", x, 64, &x));
  return x;
}

static const layer kLayers[] = {
    {"3x3", conv_3x3, 4, {8, 64, 16, 16}, 10},
    {"one image", conv_3x3, 4, {1, 3, 64, 64}, 5},
    {"3x3 of full blocks", conv_3x3, 4, {32, 64, 16, 16}, 11},
    {"1x1", conv_1x1, 4, {8, 64, 16, 16}, 5},
    {"depthwise", depthwise, 4, {8, 64, 16, 16}, 6},
    {"few channels", few_channels, 4, {64, 1, 28, 28}, 7},
    {"dense", dense, 2, {256, 512}, 10},
    {"batch norm", norm, 4, {8, 64, 16, 16}, 4.5},
    {"pools", pools, 4, {8, 64, 32, 32}, 9},
    {"layer norm", layer_norm, 2, {256, 512}, 5.5},
};
/* So little that waking a thread would take longer. */
static const layer kSmall[] = {
    {"3x3", conv_3x3, 4, {1, 8, 4, 4}, 0},
    {"1x1", conv_1x1, 4, {1, 8, 4, 4}, 0},
    {"few channels", few_channels, 4, {16, 1, 8, 8}, 0},
    {"depthwise", depthwise, 4, {1, 64, 4, 4}, 0},
    {"dense", dense, 2, {2, 16}, 0},
    {"batch norm", norm, 4, {2, 8, 2, 2}, 0},
    {"pools", pools, 4, {1, 8, 8, 8}, 0},
    {"layer norm", layer_norm, 2, {4, 64}, 0},
};

static hr_call* train_call(hr_env* env, const layer* what) {
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  hr_call* call;
  hr_value x;
  hr_tensor* tensor;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, what->rank, what->dims, NULL, &x));
  const hr_value y = what->build(graph, x);
  const hr_value loss = op(graph, "ReduceMean", "keepdims=0", 1, op(graph, "Mul", NULL, 2, y, y));
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_output(graph, "train", "y", y));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  const hr_value rate = op(graph, "Constant", "value_float=0.1", 0);
  CHECK(hr_graph_minimize(graph, "train", loss, "adam", rate));
  CHECK(hr_model_from_graph(graph, &model));
  /* Memory that is dead is filled, so that all that is written shows. */
  const hr_session_options options = {.struct_size = sizeof options, .check_memory = 1};
  CHECK(hr_session_create(model, &options, NULL, &session));
  CHECK(hr_call_create(session, "train", &call));
  CHECK(hr_tensor_create(env, HR_FLOAT32, what->rank, what->dims, &tensor));
  for (int64_t i = 0; i < hr_tensor_elements(tensor); ++i) {
    ((float*)hr_tensor_data(tensor))[i] = (float)(i * 7919 % 1009) / 500 - 1;
  }
  CHECK(hr_call_bind(call, "x", tensor));
  hr_tensor_release(tensor);
  hr_graph_release(graph);
  hr_model_release(model);
  hr_session_release(session);
  return call;
}

static void run_counted(hr_env* env, const layer* what) {
  hr_call* call = train_call(env, what);
  CHECK(hr_call_run(call, NULL));
  reset();
  CHECK(hr_call_run(call, NULL));
  seen.serial += look(-1);
  hr_call_release(call);
}

static void test_parts(hr_env* unused) {
  (void)unused;
  hr_env* env = open_env();
  for (size_t i = 0; i < sizeof kLayers / sizeof *kLayers; ++i) {
    run_counted(env, &kLayers[i]);
    const double at_once = (double)seen.parallel / (double)(seen.longest + seen.serial);
    printf(
        "  %-18s %2d phases, %8zu bytes in tasks, %6zu between, %3zu lines of two, %.1f at once\n",
        kLayers[i].name, seen.phases, seen.parallel, seen.serial, seen.shared_lines, at_once);
    EXPECT(at_once >= kLayers[i].least_at_once);
    EXPECT(seen.serial * 25 <= seen.parallel);
    /* Some at the borders of parts, each written once. */
    EXPECT(seen.shared_lines * kLine * 50 <= seen.parallel);
  }
  hr_env_release(env);
}

static void test_small(hr_env* unused) {
  (void)unused;
  hr_env* env = open_env();
  for (size_t i = 0; i < sizeof kSmall / sizeof *kSmall; ++i) {
    run_counted(env, &kSmall[i]);
    if (seen.phases != 0) printf("  %s wakes threads %d times\n", kSmall[i].name, seen.phases);
    EXPECT(seen.phases == 0);
  }
  hr_env_release(env);
}

const test tests[] = {
    {"sixteen threads have even parts and lines of their own", test_parts},
    {"what is small is not cut", test_small},
    {NULL, NULL},
};
