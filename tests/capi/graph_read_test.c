/* Reading a graph while it is built: what each call gives, for how long, and what it refuses. */
#include "models.h"

#define DESCRIBED(type, name) type name = {.struct_size = sizeof name}

/* x float32 [batch, 3, 8, 8] → Conv "conv" on CPU:0 with weights [4, 3, 3, 3] → Relu "activation";
 * a counter, and a node that adds 1 to it after "conv". */
typedef struct sample {
  hr_graph* graph;
  hr_value x, weights, y, act, one;
  hr_variable kernel, count;
  hr_node conv, add;
} sample;

static hr_tensor* filled(hr_env* env, hr_dtype dtype, size_t rank, const int64_t* dims) {
  hr_tensor* tensor;
  CHECK(hr_tensor_create(env, dtype, rank, dims, &tensor));
  for (int64_t i = 0; i < hr_tensor_elements(tensor); ++i) {
    if (dtype == HR_FLOAT32) ((float*)hr_tensor_data(tensor))[i] = (float)i / 8;
    if (dtype == HR_INT64) ((int64_t*)hr_tensor_data(tensor))[i] = i + 1;
  }
  return tensor;
}

static sample build(hr_env* env) {
  sample s;
  hr_node_spec* spec;
  hr_tensor *weights = filled(env, HR_FLOAT32, 4, (const int64_t[]){4, 3, 3, 3}),
            *one = filled(env, HR_INT64, 0, NULL);
  CHECK(hr_graph_create(env, &s.graph));
  CHECK(hr_graph_input(s.graph, "x", HR_FLOAT32, 4, (const int64_t[]){-1, 3, 8, 8},
                       (const char* const[]){"batch", NULL, NULL, NULL}, &s.x));
  CHECK(hr_graph_variable(s.graph, "kernel", weights, 1, &s.kernel));
  CHECK(hr_graph_read(s.graph, s.kernel, &s.weights));
  CHECK(hr_node_spec_create("Conv", &spec));
  hr_node_spec_name(spec, "conv");
  hr_node_spec_device(spec, "CPU:0");
  hr_node_spec_input(spec, s.x);
  hr_node_spec_input(spec, s.weights);
  hr_node_spec_input(spec, HR_NONE);
  hr_node_spec_ints(spec, "strides", 2, (const int64_t[]){2, 1});
  hr_node_spec_string(spec, "auto_pad", "VALID");
  hr_node_spec_int(spec, "group", 1);
  CHECK(hr_graph_add(s.graph, spec, 1, &s.y, &s.conv));
  hr_node_spec_release(spec);
  CHECK(hr_graph_op(s.graph, "Relu", NULL, 1, &s.y, 1, &s.act));
  CHECK(hr_graph_name_value(s.graph, s.act, "activation"));
  CHECK(hr_graph_constant(s.graph, "one", one, &s.one));
  CHECK(hr_graph_variable(s.graph, "count", one, 0, &s.count));
  CHECK(hr_node_spec_create("headrace.state.AssignAdd", &spec));
  hr_node_spec_name(spec, "add");
  hr_node_spec_input(spec, s.one);
  hr_node_spec_int(spec, "variable", s.count);
  hr_node_spec_control(spec, s.conv);
  CHECK(hr_graph_add(s.graph, spec, 0, NULL, &s.add));
  hr_node_spec_release(spec);
  CHECK(hr_graph_signature_input(s.graph, "run", "images", s.x));
  CHECK(hr_graph_signature_output(s.graph, "run", "scores", s.act));
  CHECK(hr_graph_signature_output(s.graph, "run", "raw", s.y));
  CHECK(hr_graph_signature_target(s.graph, "run", s.add));
  hr_tensor_release(weights);
  hr_tensor_release(one);
  return s;
}

static int same(const char* a, const char* b) { return strcmp(a, b) == 0; }

/* ---- What is there ---- */

static void test_counts_and_names(hr_env* env) {
  sample s = build(env);
  DESCRIBED(hr_graph_info, info);
  CHECK(hr_graph_get(s.graph, &info));
  EXPECT(info.value_count == 5 && info.node_count == 4 && info.variable_count == 2);
  EXPECT(info.signature_count == 1 && info.input_count == 1 && info.inputs[0] == s.x);
  uint32_t number;
  size_t index;
  CHECK(hr_graph_find_value(s.graph, "activation", &number));
  EXPECT(number == s.act);
  CHECK(hr_graph_find_node(s.graph, "conv", &number));
  EXPECT(number == s.conv);
  CHECK(hr_graph_find_variable(s.graph, "count", &number));
  EXPECT(number == s.count);
  CHECK(hr_graph_find_signature(s.graph, "run", &index));
  EXPECT(index == 0);
  FAILS(hr_graph_find_value(s.graph, "activatoin", &number), HR_NOT_FOUND,
        "the graph has no value 'activatoin'; did you mean 'activation'?");
  FAILS(hr_graph_find_node(s.graph, "conn", &number), HR_NOT_FOUND, "did you mean 'conv'?");
  FAILS(hr_graph_find_variable(s.graph, "kernels", &number), HR_NOT_FOUND, "'kernel'?");
  FAILS(hr_graph_find_signature(s.graph, "x", &index), HR_NOT_FOUND, "there are: run");
  FAILS(hr_graph_find_value(s.graph, "", &number), HR_NOT_FOUND, "no value ''");
  hr_graph_release(s.graph);
}

static void test_values(hr_env* env) {
  sample s = build(env);
  DESCRIBED(hr_value_info, x);
  DESCRIBED(hr_value_info, y);
  DESCRIBED(hr_value_info, one);
  CHECK(hr_graph_get_value(s.graph, s.x, &x));
  CHECK(hr_graph_get_value(s.graph, s.y, &y));
  CHECK(hr_graph_get_value(s.graph, s.one, &one));
  EXPECT(same(x.name, "x") && x.dtype == HR_FLOAT32 && x.rank == 4 && x.producer == HR_NONE);
  EXPECT(x.dims[0] == -1 && x.dims[1] == 3 && !x.is_constant);
  EXPECT(same(x.symbols[0], "batch") && x.symbols[1] == NULL);
  EXPECT(same(y.name, "conv:0") && y.producer == s.conv && same(y.symbols[0], "batch"));
  EXPECT(y.dims[1] == 4 && y.dims[2] == 3 && y.dims[3] == 6);
  EXPECT(one.is_constant && one.rank == 0 && one.dtype == HR_INT64 && one.producer == HR_NONE);
  hr_tensor *tensor, *none;
  CHECK(hr_graph_value_tensor(s.graph, s.one, &tensor));
  CHECK(hr_graph_value_tensor(s.graph, s.y, &none));
  EXPECT(*(const int64_t*)hr_tensor_data(tensor) == 1 && none == NULL);
  hr_graph_release(s.graph); /* the tensor stays */
  EXPECT(*(const int64_t*)hr_tensor_data(tensor) == 1);
  hr_tensor_release(tensor);
}

static void test_nodes(hr_env* env) {
  sample s = build(env);
  DESCRIBED(hr_node_info, conv);
  DESCRIBED(hr_node_info, add);
  CHECK(hr_graph_get_node(s.graph, s.conv, &conv));
  CHECK(hr_graph_get_node(s.graph, s.add, &add));
  EXPECT(same(conv.name, "conv") && same(conv.op, "Conv") && same(conv.device, "CPU:0"));
  EXPECT(conv.version >= 1 && conv.input_count == 3 && conv.inputs[0] == s.x);
  EXPECT(conv.inputs[1] == s.weights && conv.inputs[2] == HR_NONE);
  EXPECT(conv.output_count == 1 && conv.outputs[0] == s.y && conv.control_count == 0);
  EXPECT(same(add.op, "headrace.state.AssignAdd") && same(add.device, ""));
  EXPECT(add.output_count == 0 && add.control_count == 1 && add.controls[0] == s.conv);
  hr_graph_release(s.graph);
}

static void test_attributes(hr_env* env) {
  sample s = build(env);
  DESCRIBED(hr_node_info, conv);
  CHECK(hr_graph_get_node(s.graph, s.conv, &conv));
  EXPECT(conv.attribute_count == 3);
  const char* const names[3] = {"strides", "auto_pad", "group"};
  const hr_attribute_kind kinds[3] = {HR_ATTRIBUTE_INTS, HR_ATTRIBUTE_STRING, HR_ATTRIBUTE_INT};
  for (size_t i = 0; i < 3; ++i) {
    DESCRIBED(hr_attribute_info, attribute);
    CHECK(hr_graph_get_attribute(s.graph, s.conv, i, &attribute));
    EXPECT(same(attribute.name, names[i]) && attribute.kind == kinds[i]);
  }
  const int64_t* strides;
  const char* text;
  const double* floats;
  size_t count;
  int64_t number;
  double real;
  CHECK(hr_graph_node_ints(s.graph, s.conv, "strides", &count, &strides));
  EXPECT(count == 2 && strides[0] == 2 && strides[1] == 1);
  CHECK(hr_graph_node_ints(s.graph, s.conv, "pads", &count, &strides));
  EXPECT(count == 0);
  CHECK(hr_graph_node_string(s.graph, s.conv, "auto_pad", "none", &text));
  EXPECT(same(text, "VALID"));
  CHECK(hr_graph_node_string(s.graph, s.conv, "other", "none", &text));
  EXPECT(same(text, "none"));
  CHECK(hr_graph_node_int(s.graph, s.conv, "group", 7, &number));
  EXPECT(number == 1);
  CHECK(hr_graph_node_int(s.graph, s.conv, "groups", 7, &number));
  EXPECT(number == 7);
  CHECK(hr_graph_node_int(s.graph, s.add, "variable", 7, &number));
  EXPECT(number == s.count);
  CHECK(hr_graph_node_float(s.graph, s.conv, "epsilon", 0.5, &real));
  EXPECT(real == 0.5);
  FAILS(hr_graph_node_float(s.graph, s.conv, "strides", 0, &real), HR_INVALID_ARGUMENT,
        "attribute 'strides' of node 'conv' is integers, not a float");
  FAILS(hr_graph_node_floats(s.graph, s.conv, "group", &count, &floats), HR_INVALID_ARGUMENT,
        "is an integer, not floats");
  hr_graph_release(s.graph);
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

static void test_lists_and_tensors(hr_env* env) {
  const hr_operator_attribute attributes[2] = {
      {.struct_size = sizeof *attributes, .name = "words", .kind = HR_ATTRIBUTE_STRINGS},
      {.struct_size = sizeof *attributes, .name = "factors", .kind = HR_ATTRIBUTE_FLOATS}};
  const hr_operator words = {.struct_size = sizeof words,
                             .name = "com.example.Words",
                             .version = 3,
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .min_outputs = 1,
                             .max_outputs = 1,
                             .attribute_count = 2,
                             .attributes = attributes,
                             .infer = infer_like,
                             .compute = compute_nothing};
  CHECK(hr_env_add_operator(env, &words));
  sample s = build(env);
  hr_node_spec* spec;
  hr_value out;
  hr_node node, constant;
  hr_tensor *tensor = filled(env, HR_FLOAT32, 1, (const int64_t[]){4}), *got;
  CHECK(hr_node_spec_create("com.example.Words", &spec));
  hr_node_spec_input(spec, s.x);
  hr_node_spec_strings(spec, "words", 2, (const char* const[]){"one", "two words"});
  hr_node_spec_floats(spec, "factors", 2, (const double[]){0.5, -2});
  CHECK(hr_graph_add(s.graph, spec, 1, &out, &node));
  hr_node_spec_release(spec);
  CHECK(hr_node_spec_create("Constant", &spec));
  hr_node_spec_tensor(spec, "value", tensor);
  CHECK(hr_graph_add(s.graph, spec, 1, &out, &constant));
  hr_node_spec_release(spec);
  const char* const* texts;
  const double* factors;
  size_t count;
  DESCRIBED(hr_node_info, info);
  CHECK(hr_graph_get_node(s.graph, node, &info));
  EXPECT(same(info.op, "com.example.Words") && info.version == 3);
  CHECK(hr_graph_node_strings(s.graph, node, "words", &count, &texts));
  EXPECT(count == 2 && same(texts[0], "one") && same(texts[1], "two words"));
  CHECK(hr_graph_node_floats(s.graph, node, "factors", &count, &factors));
  EXPECT(count == 2 && factors[0] == 0.5 && factors[1] == -2);
  CHECK(hr_graph_node_strings(s.graph, node, "more", &count, &texts));
  EXPECT(count == 0);
  CHECK(hr_graph_node_tensor(s.graph, constant, "value", &got));
  EXPECT(hr_tensor_data(got) == hr_tensor_data(tensor) && hr_tensor_dims(got)[0] == 4);
  hr_tensor_release(got);
  CHECK(hr_graph_node_tensor(s.graph, constant, "other", &got));
  EXPECT(got == NULL);
  hr_tensor_release(tensor);
  hr_graph_release(s.graph);
}

static void test_variables_and_signatures(hr_env* env) {
  sample s = build(env);
  DESCRIBED(hr_variable_info, kernel);
  DESCRIBED(hr_signature_info, run);
  CHECK(hr_graph_get_variable(s.graph, s.kernel, &kernel));
  EXPECT(same(kernel.name, "kernel") && kernel.dtype == HR_FLOAT32 && kernel.rank == 4);
  EXPECT(kernel.dims[0] == 4 && kernel.dims[3] == 3 && kernel.trainable == 1);
  CHECK(hr_graph_set_trainable(s.graph, s.kernel, 0));
  CHECK(hr_graph_get_variable(s.graph, s.kernel, &kernel));
  EXPECT(kernel.trainable == 0);
  CHECK(hr_graph_get_signature(s.graph, 0, &run));
  EXPECT(same(run.name, "run") && run.input_count == 1 && same(run.input_names[0], "images"));
  EXPECT(run.inputs[0] == s.x && run.output_count == 2 && same(run.output_names[1], "raw"));
  EXPECT(run.outputs[0] == s.act && run.outputs[1] == s.y);
  EXPECT(run.target_count == 1 && run.targets[0] == s.add);
  hr_tensor* initial;
  CHECK(hr_graph_variable_tensor(s.graph, s.kernel, &initial));
  EXPECT(((const float*)hr_tensor_data(initial))[3] == 0.375f);
  hr_tensor_release(initial);
  hr_variable random;
  CHECK(hr_graph_variable_init(s.graph, "random", HR_FLOAT32, 1, (const int64_t[]){2}, 1,
                               "RandomUniform", NULL, &random));
  CHECK(hr_graph_variable_tensor(s.graph, random, &initial));
  EXPECT(initial == NULL);
  hr_graph_release(s.graph);
}

/* ---- How long, and how much ---- */

/* What is read of everything stays while the rest is read. */
static void test_pointers_live_until_a_change(hr_env* env) {
  sample s = build(env);
  DESCRIBED(hr_value_info, x);
  DESCRIBED(hr_node_info, add);
  DESCRIBED(hr_signature_info, run);
  CHECK(hr_graph_get_value(s.graph, s.x, &x));
  CHECK(hr_graph_get_node(s.graph, s.add, &add));
  CHECK(hr_graph_get_signature(s.graph, 0, &run));
  for (hr_value value = 0; value < 5; ++value) {
    DESCRIBED(hr_value_info, other);
    CHECK(hr_graph_get_value(s.graph, value, &other));
  }
  DESCRIBED(hr_value_info, again);
  CHECK(hr_graph_get_value(s.graph, s.x, &again));
  EXPECT(again.dims == x.dims && again.symbols == x.symbols); /* made once */
  EXPECT(x.dims[0] == -1 && same(x.symbols[0], "batch") && same(run.input_names[0], "images"));
  EXPECT(same(add.op, "headrace.state.AssignAdd"));
  /* After a change all is read anew. */
  CHECK(hr_graph_signature_input(s.graph, "run", "kernel", s.weights));
  CHECK(hr_graph_name_value(s.graph, s.x, "a long name that needs memory of its own"));
  CHECK(hr_graph_get_signature(s.graph, 0, &run));
  CHECK(hr_graph_get_value(s.graph, s.x, &x));
  EXPECT(run.input_count == 2 && same(run.input_names[1], "kernel") && run.inputs[1] == s.weights);
  EXPECT(same(x.name, "a long name that needs memory of its own"));
  hr_graph_release(s.graph);
}

static void test_sizes_of_structs(hr_env* env) {
  sample s = build(env);
  hr_value_info info;
  struct {
    hr_value_info known;
    int64_t later;
  } newer = {.known.struct_size = sizeof newer, .later = 42};
  memset(&info, 0xEE, sizeof info);
  info.struct_size = offsetof(hr_value_info, rank); /* an older program's */
  CHECK(hr_graph_get_value(s.graph, s.x, &info));
  EXPECT(same(info.name, "x") && info.dtype == HR_FLOAT32);
  EXPECT(info.struct_size == offsetof(hr_value_info, rank));
  EXPECT((uint32_t)info.rank == 0xEEEEEEEE);
  CHECK(hr_graph_get_value(s.graph, s.x, &newer.known));
  EXPECT(newer.known.struct_size == sizeof(hr_value_info) && newer.later == 42);
  info.struct_size = 0;
  FAILS(hr_graph_get_value(s.graph, s.x, &info), HR_INVALID_ARGUMENT, "sizeof(hr_value_info)");
  hr_graph_release(s.graph);
}

static void test_wrong_numbers(hr_env* env) {
  sample s = build(env);
  DESCRIBED(hr_value_info, value);
  DESCRIBED(hr_node_info, node);
  DESCRIBED(hr_variable_info, variable);
  DESCRIBED(hr_signature_info, signature);
  DESCRIBED(hr_attribute_info, attribute);
  hr_tensor* tensor;
  int64_t number;
  FAILS(hr_graph_get_value(s.graph, 5, &value), HR_INVALID_ARGUMENT, "value 5");
  FAILS(hr_graph_get_value(s.graph, HR_NONE, &value), HR_INVALID_ARGUMENT, "which has 5");
  FAILS(hr_graph_get_node(s.graph, 4, &node), HR_INVALID_ARGUMENT, "node 4");
  FAILS(hr_graph_get_variable(s.graph, 2, &variable), HR_INVALID_ARGUMENT, "variable 2");
  FAILS(hr_graph_get_signature(s.graph, 1, &signature), HR_INVALID_ARGUMENT, "signature 1");
  FAILS(hr_graph_get_attribute(s.graph, s.conv, 3, &attribute), HR_INVALID_ARGUMENT,
        "attribute 3; the node has 3");
  FAILS(hr_graph_get_attribute(s.graph, 4, 0, &attribute), HR_INVALID_ARGUMENT, "node 4");
  FAILS(hr_graph_node_int(s.graph, 4, "a", 0, &number), HR_INVALID_ARGUMENT, "node 4");
  FAILS(hr_graph_value_tensor(s.graph, 5, &tensor), HR_INVALID_ARGUMENT, "value 5");
  FAILS(hr_graph_variable_tensor(s.graph, 2, &tensor), HR_INVALID_ARGUMENT, "variable 2");
  FAILS(hr_graph_set_trainable(s.graph, 2, 1), HR_INVALID_ARGUMENT, "variable 2");
  hr_graph_release(s.graph);
}

/* Nothing of a call that fails is left: names and random numbers of later nodes are the same. */
static void test_failures_leave_nothing(hr_env* env) {
  hr_text* texts[2];
  for (int failing = 0; failing < 2; ++failing) {
    sample s = build(env);
    hr_model* model;
    hr_value out;
    hr_node node;
    for (int i = 0; i < failing; ++i) {
      FAILS(hr_graph_op(s.graph, "RandomUniform", "shape=2", 1, &s.x, 1, &out), HR_INVALID_ARGUMENT,
            "RandomUniform");
      FAILS(hr_graph_op(s.graph, "Relu", NULL, 0, NULL, 1, &out), HR_INVALID_ARGUMENT, "Relu");
      FAILS(hr_graph_assign(s.graph, s.count, s.x, &node), HR_INVALID_ARGUMENT, "Assign");
    }
    CHECK(hr_graph_op(s.graph, "RandomUniform", "shape=2", 0, NULL, 1, &out));
    CHECK(hr_graph_op(s.graph, "Relu", NULL, 1, &out, 1, &out));
    CHECK(hr_graph_assign(s.graph, s.count, s.one, &node));
    CHECK(hr_model_from_graph(s.graph, &model));
    CHECK(hr_model_graph_text(model, "json", &texts[failing]));
    hr_model_release(model);
    hr_graph_release(s.graph);
  }
  EXPECT(strcmp(hr_text_data(texts[0]), hr_text_data(texts[1])) == 0);
  for (int i = 0; i < 2; ++i) hr_text_release(texts[i]);
}

const test tests[] = {{"counts and names", test_counts_and_names},
                      {"values", test_values},
                      {"nodes", test_nodes},
                      {"attributes", test_attributes},
                      {"lists and tensors", test_lists_and_tensors},
                      {"variables and signatures", test_variables_and_signatures},
                      {"pointers live until a change", test_pointers_live_until_a_change},
                      {"sizes of structs", test_sizes_of_structs},
                      {"wrong numbers", test_wrong_numbers},
                      {"failures leave nothing", test_failures_leave_nothing},
                      {NULL, NULL}};
