/* A graph belongs to one thread at a time: a second one is told so, and nothing else happens. */
#include <pthread.h>
#include <stdatomic.h>

#include "models.h"

enum { THREADS = 16, ROUNDS = 200 };

/* ---- Sixteen threads in one graph ---- */

typedef struct worker {
  hr_graph* graph;
  hr_value x;
  int number;
  long added; /* nodes */
  long refused;
} worker;

/* NULL is success; what is refused says why. */
static int refused(worker* w, hr_status* status) {
  if (status == NULL) return 0;
  EXPECT(hr_status_code(status) == HR_FAILED_PRECONDITION);
  EXPECT(strstr(hr_status_message(status), "another call is using the graph") != NULL);
  hr_status_release(status);
  ++w->refused;
  return 1;
}

static void read_once(worker* w) {
  hr_graph_info info = {.struct_size = sizeof info};
  hr_value_info value = {.struct_size = sizeof value};
  hr_value found;
  hr_text* text = NULL;
  if (!refused(w, hr_graph_get(w->graph, &info))) EXPECT(info.input_count == 1);
  if (!refused(w, hr_graph_get_value(w->graph, w->x, &value))) EXPECT(value.rank == 1);
  if (!refused(w, hr_graph_find_value(w->graph, "x", &found))) EXPECT(found == w->x);
  if (!refused(w, hr_graph_type_of(w->graph, w->x, &text))) hr_text_release(text);
}

static void* work(void* context) {
  worker* w = context;
  for (int i = 0; i < ROUNDS; ++i) {
    hr_value y = 0;
    if (!refused(w, hr_graph_op(w->graph, "Relu", NULL, 1, &w->x, 1, &y))) ++w->added;
    if (w->number % 2 == 0) read_once(w);
    if (w->number % 4 == 1) refused(w, hr_graph_set_metadata(w->graph, "author", "a thread"));
    if (w->number % 8 == 3 && i % 50 == 0) {
      hr_model* model = NULL;
      if (!refused(w, hr_model_from_graph(w->graph, &model))) hr_model_release(model);
    }
  }
  return NULL;
}

static void test_sixteen_threads(hr_env* env) {
  const int64_t dims[1] = {4};
  worker workers[THREADS];
  pthread_t threads[THREADS];
  hr_graph* graph;
  hr_value x;
  long added = 0, told = 0;
  hr_graph_info info = {.struct_size = sizeof info};
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &x));
  for (int i = 0; i < THREADS; ++i) {
    workers[i] = (worker){.graph = graph, .x = x, .number = i};
    EXPECT(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < THREADS; ++i) {
    EXPECT(pthread_join(threads[i], NULL) == 0);
    added += workers[i].added;
    told += workers[i].refused;
  }
  printf("%ld nodes added, %ld calls refused\n", added, told);
  CHECK(hr_graph_get(graph, &info)); /* nobody is left in it */
  EXPECT((long)info.node_count == added && (long)info.value_count == added + 1);
  hr_graph_release(graph);
}

/* ---- For sure: a call that lasts until another was refused ---- */

typedef struct stage {
  hr_graph* graph;
  hr_value x;
  atomic_int inside, leave;
} stage;

static hr_status* infer_slowly(void* context, hr_op* op) {
  stage* s = context;
  atomic_store(&s->inside, 1);
  while (!atomic_load(&s->leave)) {
  }
  return hr_op_set_output_like(op, 0, 0);
}
static hr_status* compute_nothing(void* context, hr_op* op) {
  (void)context;
  (void)op;
  return NULL;
}

static void* add_slow_node(void* context) {
  stage* s = context;
  hr_value y;
  CHECK(hr_graph_op(s->graph, "com.example.Slow", NULL, 1, &s->x, 1, &y));
  return NULL;
}

#define TOLD(call) FAILS(call, HR_FAILED_PRECONDITION, "another call is using the graph")

/* Each call on the graph, while another one has it. */
static void expect_all_refused(hr_graph* graph, hr_value x, const hr_tensor* tensor,
                               const hr_node_spec* spec) {
  const int64_t dims[1] = {4};
  hr_graph_info graph_info = {.struct_size = sizeof graph_info};
  hr_value_info value_info = {.struct_size = sizeof value_info};
  hr_node_info node_info = {.struct_size = sizeof node_info};
  hr_variable_info variable_info = {.struct_size = sizeof variable_info};
  hr_signature_info signature_info = {.struct_size = sizeof signature_info};
  hr_attribute_info attribute_info = {.struct_size = sizeof attribute_info};
  hr_value value = x;
  hr_variable variable = 0;
  hr_node node = 0;
  hr_tensor* out;
  hr_text* text;
  hr_model* model;
  size_t count;
  int64_t whole;
  double real;
  const char* string;
  const int64_t* ints;
  const double* floats;
  const char* const* strings;
  TOLD(hr_graph_input(graph, "y", HR_FLOAT32, 1, dims, NULL, &value));
  TOLD(hr_graph_bound(graph, "n", 1, 2, 0, NULL));
  TOLD(hr_graph_constant(graph, NULL, tensor, &value));
  TOLD(hr_graph_variable(graph, "v", tensor, 1, &variable));
  TOLD(
      hr_graph_variable_init(graph, "v", HR_FLOAT32, 1, dims, 1, "RandomUniform", NULL, &variable));
  TOLD(hr_graph_set_trainable(graph, 0, 1));
  TOLD(hr_graph_read(graph, 0, &value));
  TOLD(hr_graph_assign(graph, 0, x, &node));
  TOLD(hr_graph_assign_add(graph, 0, x, &node));
  TOLD(hr_graph_op(graph, "Relu", NULL, 1, &x, 1, &value));
  TOLD(hr_graph_add(graph, spec, 1, &value, NULL));
  TOLD(hr_graph_device(graph, NULL));
  TOLD(hr_graph_name_value(graph, x, "z"));
  TOLD(hr_graph_type_of(graph, x, &text));
  TOLD(hr_graph_dense(graph, "d", x, 2, &value));
  TOLD(hr_graph_conv2d(graph, "c", x, 2, 3, NULL, &value));
  TOLD(hr_graph_batch_norm(graph, "b", x, 0, NULL, &value, NULL));
  TOLD(hr_graph_add_gradients(graph, x, 1, &x, &value));
  TOLD(hr_graph_variable_gradients(graph, x, 1, &variable, &value));
  TOLD(hr_graph_apply_gradients(graph, "s", "sgd", x, 1, &variable, &value));
  TOLD(hr_graph_minimize(graph, "s", x, "sgd", x));
  TOLD(hr_graph_signature_input(graph, "s", "x", x));
  TOLD(hr_graph_signature_output(graph, "s", "x", x));
  TOLD(hr_graph_signature_target(graph, "s", 0));
  TOLD(hr_graph_remove_signature(graph, "s"));
  TOLD(hr_graph_prune(graph));
  TOLD(hr_graph_set_metadata(graph, "k", "v"));
  TOLD(hr_graph_save(graph, "/nowhere/graph.hrg", NULL));
  TOLD(hr_model_from_graph(graph, &model));
  TOLD(hr_graph_get(graph, &graph_info));
  TOLD(hr_graph_get_value(graph, 0, &value_info));
  TOLD(hr_graph_get_node(graph, 0, &node_info));
  TOLD(hr_graph_get_variable(graph, 0, &variable_info));
  TOLD(hr_graph_get_signature(graph, 0, &signature_info));
  TOLD(hr_graph_get_attribute(graph, 0, 0, &attribute_info));
  TOLD(hr_graph_find_value(graph, "x", &value));
  TOLD(hr_graph_find_node(graph, "x", &node));
  TOLD(hr_graph_find_variable(graph, "x", &variable));
  TOLD(hr_graph_find_signature(graph, "x", &count));
  TOLD(hr_graph_node_int(graph, 0, "a", 0, &whole));
  TOLD(hr_graph_node_float(graph, 0, "a", 0, &real));
  TOLD(hr_graph_node_string(graph, 0, "a", NULL, &string));
  TOLD(hr_graph_node_ints(graph, 0, "a", &count, &ints));
  TOLD(hr_graph_node_floats(graph, 0, "a", &count, &floats));
  TOLD(hr_graph_node_strings(graph, 0, "a", &count, &strings));
  TOLD(hr_graph_node_tensor(graph, 0, "a", &out));
  TOLD(hr_graph_value_tensor(graph, 0, &out));
  TOLD(hr_graph_variable_tensor(graph, 0, &out));
}

static void test_each_call_is_refused(hr_env* env) {
  const int64_t dims[1] = {4};
  stage s = {.graph = NULL};
  const hr_operator slow = {.struct_size = sizeof slow,
                            .name = "com.example.Slow",
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .min_outputs = 1,
                            .max_outputs = 1,
                            .context = &s,
                            .infer = infer_slowly,
                            .compute = compute_nothing};
  hr_graph_info info = {.struct_size = sizeof info};
  hr_tensor* tensor;
  hr_node_spec* spec;
  pthread_t thread;
  CHECK(hr_env_add_operator(env, &slow));
  CHECK(hr_tensor_create(env, HR_FLOAT32, 1, dims, &tensor));
  memset(hr_tensor_data(tensor), 0, hr_tensor_bytes(tensor));
  CHECK(hr_graph_create(env, &s.graph));
  CHECK(hr_graph_input(s.graph, "x", HR_FLOAT32, 1, dims, NULL, &s.x));
  CHECK(hr_node_spec_create("Relu", &spec));
  hr_node_spec_input(spec, s.x);
  EXPECT(pthread_create(&thread, NULL, add_slow_node, &s) == 0);
  while (!atomic_load(&s.inside)) {
  }
  expect_all_refused(s.graph, s.x, tensor, spec);
  atomic_store(&s.leave, 1);
  EXPECT(pthread_join(thread, NULL) == 0);
  CHECK(hr_graph_get(s.graph, &info));
  EXPECT(info.node_count == 1 && info.value_count == 2 && info.variable_count == 0);
  hr_node_spec_release(spec);
  hr_tensor_release(tensor);
  hr_graph_release(s.graph);
}

const test tests[] = {{"sixteen threads", test_sixteen_threads},
                      {"each call is refused", test_each_call_is_refused},
                      {NULL, NULL}};
