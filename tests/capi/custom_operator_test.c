/* Operators of the host: in graphs, with gradients, in files, and all the ways to get them wrong.
 */
#include <math.h>

#include "support.h"

enum { N = 6 };

/* y = x * sigmoid(beta * x), as the host's own. */
typedef struct swish {
  int computed;
  int released;
  int fail; /* 1: compute fails; 2: infer sets nothing; 3: the gradient has another type */
} swish;

static hr_status* swish_infer(void* context, hr_op* op) {
  if (((swish*)context)->fail == 2) return NULL;
  int32_t rank;
  const int64_t* dims;
  hr_dtype dtype = hr_op_input_type(op, 0, &rank, &dims);
  if (dtype != HR_FLOAT32) return hr_status_create(HR_INVALID_ARGUMENT, "Swish takes float32");
  EXPECT(rank == 1 && (dims[0] == -1 || dims[0] == N));
  return hr_op_set_output_like(op, 0, 0);
}

typedef struct slice {
  const float* x;
  float* y;
  int64_t count;
  float beta;
  int tasks;
} slice;

static void swish_slice(void* context, int task) {
  const slice* s = context;
  for (int64_t i = task; i < s->count; i += s->tasks) {
    s->y[i] = s->x[i] / (1 + expf(-s->beta * s->x[i]));
  }
}

static hr_status* swish_compute(void* context, hr_op* op) {
  swish* self = context;
  const hr_op_tensor *in = hr_op_input_tensor(op, 0), *out = hr_op_output_tensor(op, 0);
  EXPECT(hr_op_input_tensor(op, 1) == NULL && hr_op_output_tensor(op, 1) == NULL);
  if (self->fail == 1) return hr_status_create(HR_OUT_OF_RANGE, "too much");
  EXPECT(hr_op_input_count(op) == 1 && hr_op_output_count(op) == 1);
  EXPECT(in->dtype == HR_FLOAT32 && in->rank == 1 && in->dims[0] == N);
  EXPECT(out->dims[0] == N && out->data != in->data);
  slice s = {in->data, out->data, N, (float)hr_op_float(op, "beta", 1), 2};
  hr_op_parallel_for(op, s.tasks, swish_slice, &s);
  hr_value none;
  if (self->computed++ != 0) return NULL;
  FAILS(hr_op_scalar(op, 1, 0, &none), HR_FAILED_PRECONDITION, "hr_op_scalar is for gradient");
  return NULL;
}

/* dy/dx = beta y + sigmoid(beta x) (1 - beta y), from built-in operators. */
static hr_status* swish_gradient(void* context, hr_op* op) {
  hr_value x = hr_op_input(op, 0), y = hr_op_output(op, 0), dy = hr_op_output_gradient(op, 0);
  hr_value beta, one, scaled, s, by, rest, product, slope, gradient;
  EXPECT(hr_op_wants_gradient(op, 0) && !hr_op_wants_gradient(op, 1));
  if (((swish*)context)->fail == 3) {
    CHECK(hr_op_add(op, "Cast", "to=11", 1, &dy, 1, &gradient));
    return hr_op_set_gradient(op, 0, gradient);
  }
  CHECK(hr_op_scalar(op, hr_op_float(op, "beta", 1), x, &beta));
  CHECK(hr_op_scalar(op, 1, x, &one));
  CHECK(hr_op_add(op, "Mul", NULL, 2, (hr_value[]){x, beta}, 1, &scaled));
  CHECK(hr_op_add(op, "Sigmoid", NULL, 1, &scaled, 1, &s));
  CHECK(hr_op_add(op, "Mul", NULL, 2, (hr_value[]){y, beta}, 1, &by));
  CHECK(hr_op_add(op, "Sub", NULL, 2, (hr_value[]){one, by}, 1, &rest));
  CHECK(hr_op_add(op, "Mul", NULL, 2, (hr_value[]){s, rest}, 1, &product));
  CHECK(hr_op_add(op, "Add", NULL, 2, (hr_value[]){by, product}, 1, &slope));
  CHECK(hr_op_add(op, "Mul", NULL, 2, (hr_value[]){slope, dy}, 1, &gradient));
  return hr_op_set_gradient(op, 0, gradient);
}

static void swish_release(void* context) { ++((swish*)context)->released; }

static const hr_operator_attribute swish_attributes[] = {
    {sizeof(hr_operator_attribute), "beta", HR_ATTRIBUTE_FLOAT, 0}};

static hr_operator swish_operator(swish* self) {
  return (hr_operator){.struct_size = sizeof(hr_operator),
                       .name = "org.example.Swish",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .min_outputs = 1,
                       .max_outputs = 1,
                       .attribute_count = 1,
                       .attributes = swish_attributes,
                       .context = self,
                       .release = swish_release,
                       .infer = swish_infer,
                       .compute = swish_compute,
                       .gradient = swish_gradient};
}

/* Signature "run": x → y = Swish(x), and dy/dx. */
static hr_graph* swish_graph(hr_env* env) {
  const int64_t dims[1] = {-1};
  hr_graph* graph;
  hr_value x, y, gradient;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT32, 1, dims, NULL, &x));
  CHECK(hr_graph_op(graph, "org.example.Swish", "beta=1.5", 1, &x, 1, &y));
  CHECK(hr_graph_add_gradients(graph, y, 1, &x, &gradient));
  CHECK(hr_graph_signature_input(graph, "run", "x", x));
  CHECK(hr_graph_signature_output(graph, "run", "y", y));
  CHECK(hr_graph_signature_output(graph, "run", "gradient", gradient));
  return graph;
}

static hr_call* call_of(const hr_model* model) {
  static float x[N] = {-3, -1, -0.25f, 0, 0.5f, 2};
  const int64_t dims[1] = {N};
  hr_session* session;
  hr_call* call;
  hr_tensor* tensor;
  CHECK(hr_session_create(model, NULL, NULL, &session));
  CHECK(hr_call_create(session, "run", &call));
  CHECK(hr_tensor_wrap(HR_FLOAT32, 1, dims, x, sizeof x, NULL, NULL, &tensor));
  CHECK(hr_call_bind(call, "x", tensor));
  hr_tensor_release(tensor);
  hr_session_release(session);
  return call;
}

static void expect_swish(hr_call* call) {
  const double x[N] = {-3, -1, -0.25, 0, 0.5, 2};
  static float y[N], gradient[N]; /* stay bound */
  CHECK(hr_call_output(call, "y", y, sizeof y));
  CHECK(hr_call_output(call, "gradient", gradient, sizeof gradient));
  CHECK(hr_call_run(call, NULL));
  for (int i = 0; i < N; ++i) {
    const double s = 1 / (1 + exp(-1.5 * x[i]));
    EXPECT(fabs(y[i] - x[i] * s) < 1e-6);
    EXPECT(fabs(gradient[i] - (s + 1.5 * x[i] * s * (1 - s))) < 1e-5);
  }
}

static void runs_from_graph_and_file(hr_env* unused) {
  (void)unused;
  swish self = {0};
  const hr_operator op = swish_operator(&self);
  char* folder = make_folder();
  hr_env* env = make_env(2);
  hr_model* model;
  CHECK(hr_env_add_operator(env, &op));
  hr_graph* graph = swish_graph(env);
  CHECK(hr_graph_save(graph, in_folder(folder, "swish.hrg"), NULL));
  CHECK(hr_model_from_graph(graph, &model));
  hr_graph_release(graph);
  hr_call* call = call_of(model);
  expect_swish(call);
  EXPECT(self.computed == 1);
  const long before = heap_allocations();
  CHECK(hr_call_run(call, NULL));
  EXPECT(heap_allocations() == before);
  hr_model_release(model);
  hr_env_release(env);
  EXPECT(self.released == 0);
  hr_call_release(call);
  EXPECT(self.released == 1);

  env = make_env(1);
  FAILS(hr_model_load(env, in_folder(folder, "swish.hrg"), NULL, &model), HR_UNIMPLEMENTED,
        "there is no operator org.example.Swish");
  hr_env_release(env);
  env = make_env(1);
  CHECK(hr_env_add_operator(env, &op));
  CHECK(hr_model_load(env, in_folder(folder, "swish.hrg"), NULL, &model));
  call = call_of(model);
  expect_swish(call);
  hr_call_release(call);
  hr_model_release(model);
  hr_env_release(env);
  remove_folder(folder);
}

static void failures_name_the_node(hr_env* unused) {
  (void)unused;
  swish self = {0};
  const hr_operator op = swish_operator(&self);
  hr_env* env = make_env(1);
  hr_model* model;
  CHECK(hr_env_add_operator(env, &op));
  hr_graph* graph = swish_graph(env);
  CHECK(hr_model_from_graph(graph, &model));
  hr_call* call = call_of(model);
  self.fail = 1;
  hr_status* status = hr_call_run(call, NULL);
  EXPECT(hr_status_code(status) == HR_OUT_OF_RANGE);
  EXPECT(strcmp(hr_status_message(status), "too much") == 0);
  EXPECT(strncmp(hr_status_node(status), "Swish", 5) == 0);
  hr_status_release(status);
  self.fail = 0;
  expect_swish(call);

  const int64_t dims[1] = {N};
  hr_value whole, x, y, gradient;
  CHECK(hr_graph_input(graph, "whole", HR_INT64, 1, dims, NULL, &whole));
  FAILS(hr_graph_op(graph, "org.example.Swish", NULL, 1, &whole, 1, &y), HR_INVALID_ARGUMENT,
        "Swish takes float32");
  CHECK(hr_graph_input(graph, "other", HR_FLOAT32, 1, dims, NULL, &x));
  FAILS(hr_graph_op(graph, "org.example.Swish", "alpha=2", 1, &x, 1, &y), HR_INVALID_ARGUMENT,
        "beta");
  self.fail = 2;
  FAILS(hr_graph_op(graph, "org.example.Swish", NULL, 1, &x, 1, &y), HR_INVALID_ARGUMENT,
        "did not set output 0");
  self.fail = 3;
  CHECK(hr_graph_op(graph, "org.example.Swish", NULL, 1, &x, 1, &y));
  FAILS(hr_graph_add_gradients(graph, y, 1, &x, &gradient), HR_INVALID_ARGUMENT,
        "the gradient of input 0 must be float32[6], got float64");
  hr_call_release(call);
  hr_model_release(model);
  hr_graph_release(graph);
  hr_env_release(env);
}

static void wrong_definitions(hr_env* env) {
  swish self = {0};
  const hr_operator good = swish_operator(&self);
  hr_operator op = good;
  op.name = "Swish";
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "needs a domain");
  op.name = "headrace.train.Swish";
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "needs a domain");
  op.name = "org.example.Swish@2";
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "hr_operator.version");
  op = good;
  op.compute = NULL;
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "compute");
  op = good;
  op.max_inputs = 0;
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT,
        "min_inputs and max_inputs are 1 and 0");
  op = good;
  op.attributes = (hr_operator_attribute[]){{sizeof(hr_operator_attribute), "beta", 9, 0}};
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "'beta' is of kind 9");
  op.attributes =
      (hr_operator_attribute[]){{sizeof(hr_operator_attribute), "beta", HR_ATTRIBUTE_TENSOR, 0}};
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "'beta' is of kind 6");
  op.attributes = (hr_operator_attribute[]){{0, "beta", HR_ATTRIBUTE_INT, 0}};
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "struct_size");
  op.attributes = NULL;
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "attributes is NULL");
  op.attributes =
      (hr_operator_attribute[]){{sizeof(hr_operator_attribute), "beta", HR_ATTRIBUTE_INT, 0},
                                {sizeof(hr_operator_attribute) - 8, "gamma", HR_ATTRIBUTE_INT, 0}};
  op.attribute_count = 2;
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "element 1 of an array");
  op.struct_size = 0;
  FAILS(hr_env_add_operator(env, &op), HR_INVALID_ARGUMENT, "struct_size");
  EXPECT(self.released == 0); /* what is not taken stays the host's */

  hr_env* own = make_env(1);
  CHECK(hr_env_add_operator(own, &good));
  FAILS(hr_env_add_operator(own, &good), HR_ALREADY_EXISTS, "Swish version 1");
  op = good;
  op.version = 2;
  CHECK(hr_env_add_operator(own, &op));
  hr_graph* graph = swish_graph(own);
  hr_model* model;
  CHECK(hr_model_from_graph(graph, &model));
  op.version = 3;
  FAILS(hr_env_add_operator(own, &op), HR_FAILED_PRECONDITION, "before the env's first model");
  hr_model_release(model);
  hr_graph_release(graph);
  hr_env_release(own);
  EXPECT(self.released == 2);
}

const test tests[] = {{"runs from graph and file", runs_from_graph_and_file},
                      {"failures name the node", failures_name_the_node},
                      {"wrong definitions", wrong_definitions},
                      {NULL, NULL}};
