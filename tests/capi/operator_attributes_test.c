/* What functions of a custom operator read of its node: attributes of all kinds, and what they get
 * if the node does not have one. The type rule sets an output of its own. */
#include "support.h"

enum { ROWS = 2, COLUMNS = 3 };

static const hr_operator_attribute attributes[] = {
    {sizeof(hr_operator_attribute), "size", HR_ATTRIBUTE_INTS, 1},
    {sizeof(hr_operator_attribute), "weights", HR_ATTRIBUTE_FLOATS, 0},
    {sizeof(hr_operator_attribute), "times", HR_ATTRIBUTE_INT, 0},
    {sizeof(hr_operator_attribute), "offset", HR_ATTRIBUTE_FLOAT, 0},
    {sizeof(hr_operator_attribute), "order", HR_ATTRIBUTE_STRING, 0}};

/* The output has the size that the attribute gives, whatever the input. */
static hr_status* infer(void* context, hr_op* op) {
  const int64_t* size;
  const size_t rank = hr_op_ints(op, "size", &size);
  (void)context;
  EXPECT(rank == 2 && size[0] == ROWS && size[1] == COLUMNS);
  FAILS(hr_op_set_output(op, 0, HR_UNDEFINED, 0, NULL), HR_INVALID_ARGUMENT, "no type 0");
  FAILS(hr_op_set_output(op, 0, HR_FLOAT32, 1, (const int64_t[]){-2}), HR_INVALID_ARGUMENT, "-2");
  return hr_op_set_output(op, 0, HR_FLOAT32, (int32_t)rank, size);
}

/* out[row, column] = times * weights[column] + offset; from the end if the order is "down". */
static hr_status* compute(void* context, hr_op* op) {
  const double* weights;
  const size_t count = hr_op_floats(op, "weights", &weights);
  const double times = (double)hr_op_int(op, "times", 7), offset = hr_op_float(op, "offset", 0.25);
  const char* order = hr_op_string(op, "order", NULL);
  float* out = hr_op_output_tensor(op, 0)->data;
  (void)context;
  EXPECT(hr_op_float(op, "no such attribute", 1.5) == 1.5);
  for (int i = 0; i < ROWS * COLUMNS; ++i) {
    const int from = order != NULL && strcmp(order, "down") == 0 ? ROWS * COLUMNS - 1 - i : i;
    const double weight = count == 0 ? 1 : weights[from % COLUMNS];
    out[i] = (float)(times * weight + offset);
  }
  return NULL;
}

static void add_operator(hr_env* env) {
  const hr_operator op = {.struct_size = sizeof op,
                          .name = "com.example.Table",
                          .min_inputs = 1,
                          .max_inputs = 1,
                          .min_outputs = 1,
                          .max_outputs = 1,
                          .attribute_count = sizeof attributes / sizeof attributes[0],
                          .attributes = attributes,
                          .infer = infer,
                          .compute = compute};
  CHECK(hr_env_add_operator(env, &op));
}

static void expect_table(hr_env* env, hr_node_spec* spec, const float* wanted) {
  const int64_t dims[1] = {1};
  hr_graph* graph;
  hr_model* model;
  hr_session* session;
  hr_tensor *x, *y;
  hr_value in, out;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &in));
  hr_node_spec_input(spec, in);
  CHECK(hr_graph_add(graph, spec, 1, &out, NULL));
  CHECK(hr_graph_name_value(graph, out, "y"));
  CHECK(hr_model_from_graph(graph, &model));
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_tensor_copy_of(env, HR_FLOAT32, 1, dims, (const float[]){0}, sizeof(float), &x));
  CHECK(hr_session_run(session, 1, (const char* const[]){"x"}, (const hr_tensor* const[]){x}, 1,
                       (const char* const[]){"y"}, 0, NULL, NULL, &y));
  EXPECT(hr_tensor_rank(y) == 2 && hr_tensor_dims(y)[0] == ROWS && hr_tensor_dims(y)[1] == COLUMNS);
  EXPECT(memcmp(hr_tensor_data(y), wanted, ROWS * COLUMNS * sizeof *wanted) == 0);
  hr_tensor_release(x);
  hr_tensor_release(y);
  hr_session_release(session);
  hr_model_release(model);
  hr_graph_release(graph);
}

static void test_given(hr_env* unused) {
  (void)unused;
  hr_env* env = make_env(1);
  hr_node_spec* spec;
  add_operator(env);
  CHECK(hr_node_spec_create("com.example.Table", &spec));
  hr_node_spec_ints(spec, "size", 2, (const int64_t[]){ROWS, COLUMNS});
  hr_node_spec_floats(spec, "weights", COLUMNS, (const double[]){1, 2, 3});
  hr_node_spec_int(spec, "times", 4);
  hr_node_spec_float(spec, "offset", 0.5);
  hr_node_spec_string(spec, "order", "down");
  expect_table(env, spec, (const float[]){12.5f, 8.5f, 4.5f, 12.5f, 8.5f, 4.5f});
  hr_node_spec_release(spec);
  hr_env_release(env);
}

static void test_left_out(hr_env* unused) {
  (void)unused;
  hr_env* env = make_env(1);
  hr_node_spec* spec;
  add_operator(env);
  CHECK(hr_node_spec_create("com.example.Table", &spec));
  hr_node_spec_ints(spec, "size", 2, (const int64_t[]){ROWS, COLUMNS});
  expect_table(env, spec, (const float[]){7.25f, 7.25f, 7.25f, 7.25f, 7.25f, 7.25f});
  hr_node_spec_release(spec);
  hr_env_release(env);
}

const test tests[] = {{"given", test_given}, {"left out", test_left_out}, {NULL, NULL}};
