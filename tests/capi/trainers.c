#include "trainers.h"

#include <math.h>

enum { IN = 5, MID = 7, MOST_EXAMPLES = 64 };

static hr_value op(hr_graph* graph, const char* name, const char* attributes, hr_value a,
                   hr_value b) {
  const hr_value in[2] = {a, b};
  hr_value out;
  CHECK(hr_graph_op(graph, name, attributes, b == HR_NONE ? 1 : 2, in, 1, &out));
  return out;
}

static double number(int64_t i) { return sin(12.9898 * (double)i + 78.233) * 0.5; }

hr_value weight(hr_env* env, hr_graph* graph, const char* name, int64_t rows, int64_t columns,
                int salt) {
  const int64_t dims[2] = {rows, columns};
  double values[MID * MID];
  hr_tensor* initial;
  hr_variable variable;
  hr_value now;
  for (int64_t i = 0; i < rows * columns; ++i) values[i] = number(i + 100 * salt);
  CHECK(
      hr_tensor_copy_of(env, HR_FLOAT64, 2, dims, values, (size_t)(8 * rows * columns), &initial));
  CHECK(hr_graph_variable(graph, name, initial, 1, &variable));
  CHECK(hr_graph_read(graph, variable, &now));
  hr_tensor_release(initial);
  return now;
}

static hr_value scalar(hr_graph* graph, const char* attributes, const char* type) {
  hr_value out;
  CHECK(hr_graph_op(graph, "Constant", attributes, 0, NULL, 1, &out));
  return op(graph, "Cast", type, out, HR_NONE);
}

static hr_value with_dropout(hr_graph* graph, hr_value x) {
  const hr_value in[3] = {x, scalar(graph, "value_float=0.3", "to=1"),
                          scalar(graph, "value_int=1", "to=9")};
  hr_value out;
  CHECK(hr_graph_op(graph, "Dropout", NULL, 3, in, 1, &out));
  return out;
}

/* Of each operator that draws for examples; one more for all of them together, and one that stands
 * behind a reshape to [batch * IN]. */
static hr_value with_noise(hr_graph* graph, hr_value x) {
  hr_value flat_shape, fixed;
  hr_value out = op(graph, "Add", NULL, x, op(graph, "RandomNormalLike", "scale=0.1", x, HR_NONE));
  out = op(graph, "Add", NULL, out, op(graph, "RandomUniformLike", "high=0.1", x, HR_NONE));
  const hr_value chance = op(graph, "Sigmoid", NULL, x, HR_NONE);
  out = op(graph, "Add", NULL, out, op(graph, "Bernoulli", NULL, chance, HR_NONE));
  const hr_value drawn = op(graph, "Multinomial", "sample_size=5", x, HR_NONE);
  out = op(graph, "Add", NULL, out, op(graph, "Cast", "to=11", drawn, HR_NONE));
  CHECK(hr_graph_op(graph, "RandomNormal", "shape=5 dtype=11 scale=0.1", 0, NULL, 1, &fixed));
  out = op(graph, "Add", NULL, out, fixed);
  CHECK(hr_graph_op(graph, "Constant", "value_ints=-1", 0, NULL, 1, &flat_shape));
  const hr_value flat = op(graph, "Reshape", NULL, out, flat_shape);
  const hr_value more = op(graph, "RandomUniformLike", "high=0.1", flat, HR_NONE);
  const hr_value shape = op(graph, "Shape", NULL, x, HR_NONE);
  return op(graph, "Add", NULL, out, op(graph, "Reshape", NULL, more, shape));
}

static hr_value with_norm(hr_graph* graph, hr_value x) {
  hr_value out;
  hr_node update;
  CHECK(hr_graph_batch_norm(graph, "norm", x, 1, NULL, &out, &update));
  CHECK(hr_graph_signature_target(graph, "train", update));
  return out;
}

hr_graph* make_network(hr_env* env, const char* layers, const char* optimizer) {
  const char* const fixed = strstr(layers, "batch=");
  const int64_t rows = fixed == NULL ? -1 : atoi(fixed + strlen("batch="));
  const int64_t x_dims[2] = {rows, IN}, y_dims[2] = {rows, 1};
  const char* const symbols[2] = {fixed == NULL ? "batch" : NULL, NULL};
  hr_graph* graph;
  hr_value x, y, rate, loss;
  CHECK(hr_graph_create(env, &graph));
  CHECK(hr_graph_input(graph, "x", HR_FLOAT64, 2, x_dims, symbols, &x));
  CHECK(hr_graph_input(graph, "y", HR_FLOAT64, 2, y_dims, symbols, &y));
  CHECK(hr_graph_input(graph, "rate", HR_FLOAT64, 0, NULL, NULL, &rate));
  hr_value in = x;
  if (strstr(layers, "noise") != NULL) in = with_noise(graph, x);
  hr_value h = op(graph, "MatMul", NULL, in, weight(env, graph, "w1", IN, MID, 0));
  if (strstr(layers, "norm") != NULL) h = with_norm(graph, h);
  h = op(graph, "Tanh", NULL, h, HR_NONE);
  if (strstr(layers, "dropout") != NULL) h = with_dropout(graph, h);
  h = op(graph, "MatMul", NULL, h, weight(env, graph, "w2", MID, MID, 1));
  h = op(graph, "MatMul", NULL, op(graph, "Tanh", NULL, h, HR_NONE),
         weight(env, graph, "w3", MID, 1, 2));
  const hr_value error = op(graph, "Sub", NULL, h, y);
  loss = op(graph, "ReduceMean", "keepdims=0", op(graph, "Mul", NULL, error, error), HR_NONE);
  CHECK(hr_graph_signature_input(graph, "train", "x", x));
  CHECK(hr_graph_signature_input(graph, "train", "y", y));
  CHECK(hr_graph_signature_input(graph, "train", "rate", rate));
  CHECK(hr_graph_signature_output(graph, "train", "loss", loss));
  CHECK(hr_graph_minimize(graph, "train", loss, optimizer, rate));
  return graph;
}

trainer open_trainer(hr_session* session) {
  trainer t = {.session = session};
  CHECK(hr_call_create(session, "train", &t.call));
  CHECK(hr_call_bind_scalar(t.call, "rate", 0.05));
  return t;
}

trainer open_mirrored(hr_env* env, hr_group* world, const char* layers, const char* optimizer,
                      const char* strategy) {
  hr_graph* graph = make_network(env, layers, optimizer);
  CHECK(hr_graph_distribute(graph, "train", "workers", strategy));
  trainer t = open_trainer(session_of(graph));
  CHECK(hr_session_bind_group(t.session, "workers", world, NULL));
  return t;
}

void close_trainer(trainer* t) {
  hr_call_release(t->call);
  hr_session_release(t->session);
}

static void bind_rows(hr_env* env, hr_call* call, const char* input, int64_t columns, int64_t first,
                      int64_t rows) {
  const int64_t dims[2] = {rows, columns};
  double values[MOST_EXAMPLES * IN];
  hr_tensor* tensor;
  for (int64_t i = 0; i < rows * columns; ++i)
    values[i] = number(3 * (first * columns + i) + columns);
  CHECK(hr_tensor_copy_of(env, HR_FLOAT64, 2, dims, values, (size_t)(8 * rows * columns), &tensor));
  CHECK(hr_call_bind(call, input, tensor));
  hr_tensor_release(tensor);
}

hr_status* step(hr_env* env, trainer* t, int64_t first, int64_t rows) {
  bind_rows(env, t->call, "x", IN, first, rows);
  bind_rows(env, t->call, "y", 1, first, rows);
  CHECK(hr_call_output(t->call, "loss", &t->loss, sizeof t->loss));
  return hr_call_run(t->call, NULL);
}

void expect_close(double a, double b) { EXPECT(fabs(a - b) <= 1e-10 * (1 + fabs(b))); }

void expect_equal_variable(hr_session* session, hr_session* reference, const char* name,
                           hr_group* world) {
  hr_tensor *own, *wanted;
  CHECK(hr_session_get_variable(session, name, NULL, &own));
  const size_t bytes = hr_tensor_bytes(own);
  unsigned char all[MOST_RANKS * MID * MID * 8];
  EXPECT(bytes * (size_t)hr_group_size(world) <= sizeof all);
  CHECK(hr_all_gather(world, hr_tensor_data(own), all, bytes, HR_UINT8, NULL));
  for (int r = 0; r < hr_group_size(world); ++r) {
    EXPECT(memcmp(all + r * bytes, hr_tensor_data(own), bytes) == 0);
  }
  CHECK(hr_session_get_variable(reference, name, NULL, &wanted));
  const double *a = hr_tensor_data(own), *b = hr_tensor_data(wanted);
  for (size_t k = 0; hr_tensor_dtype(own) == HR_FLOAT64 && k < bytes / 8; ++k) {
    expect_close(a[k], b[k]);
  }
  hr_tensor_release(own);
  hr_tensor_release(wanted);
}

void expect_equal_variables(hr_session* session, hr_session* reference, hr_group* world) {
  for (size_t i = 0; i < hr_session_variable_count(session); ++i) {
    expect_equal_variable(session, reference, hr_session_variable_name(session, i), world);
  }
}
