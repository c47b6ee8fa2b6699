#include "bodies.h"

#include <math.h>

hr_graph* new_graph(hr_env* env) {
  hr_graph* graph;
  CHECK(hr_graph_create(env, &graph));
  return graph;
}

hr_value input(hr_graph* graph, const char* name, hr_dtype dtype, size_t rank) {
  static const int64_t unknown[4] = {-1, -1, -1, -1};
  hr_value out;
  CHECK(hr_graph_input(graph, name, dtype, rank, unknown, NULL, &out));
  return out;
}

hr_value number(hr_graph* graph, float value) {
  char text[64];
  snprintf(text, sizeof text, "value_float=%.9g", (double)value);
  return op(graph, "Constant", text, 0);
}

hr_value int_number(hr_graph* graph, int64_t value) {
  char text[64];
  snprintf(text, sizeof text, "value_int=%lld", (long long)value);
  return op(graph, "Constant", text, 0);
}

hr_value int_list(hr_graph* graph, size_t count, const int64_t* values) {
  char text[256] = "value_ints=";
  for (size_t i = 0; i < count; ++i) {
    snprintf(text + strlen(text), sizeof text - strlen(text), i == 0 ? "%lld" : ",%lld",
             (long long)values[i]);
  }
  return op(graph, "Constant", text, 0);
}

void takes(hr_graph* graph, const char* name, hr_value value) {
  CHECK(hr_graph_signature_input(graph, "run", name, value));
}

void gives(hr_graph* graph, const char* name, hr_value value) {
  CHECK(hr_graph_signature_output(graph, "run", name, value));
}

hr_body body_of(hr_graph* graph, hr_graph* body) {
  hr_body out;
  CHECK(hr_graph_body(graph, body, "run", &out));
  hr_graph_release(body);
  return out;
}

hr_call* call_of(hr_graph* graph, hr_session** session) {
  hr_model* model;
  hr_call* call;
  CHECK(hr_model_from_graph(graph, &model));
  CHECK(hr_session_create(model, NULL, NULL, session));
  hr_model_release(model);
  hr_graph_release(graph);
  CHECK(hr_call_create(*session, "run", &call));
  return call;
}

hr_tensor* floats(hr_env* env, size_t rank, const int64_t* dims, const float* values) {
  hr_tensor* tensor;
  CHECK(hr_tensor_create(env, HR_FLOAT32, rank, dims, &tensor));
  memcpy(hr_tensor_data(tensor), values, hr_tensor_bytes(tensor));
  return tensor;
}

void bind_floats(hr_env* env, hr_call* call, const char* name, size_t rank, const int64_t* dims,
                 const float* values) {
  hr_tensor* tensor = floats(env, rank, dims, values);
  CHECK(hr_call_bind(call, name, tensor));
  hr_tensor_release(tensor);
}

static void bind_one(hr_env* env, hr_call* call, const char* name, hr_dtype dtype,
                     const void* value) {
  hr_tensor* tensor;
  CHECK(hr_tensor_create(env, dtype, 0, NULL, &tensor));
  memcpy(hr_tensor_data(tensor), value, hr_tensor_bytes(tensor));
  CHECK(hr_call_bind(call, name, tensor));
  hr_tensor_release(tensor);
}

void bind_bool(hr_env* env, hr_call* call, const char* name, int value) {
  const unsigned char byte = value != 0;
  bind_one(env, call, name, HR_BOOL, &byte);
}

void bind_int(hr_env* env, hr_call* call, const char* name, int64_t value) {
  bind_one(env, call, name, HR_INT64, &value);
}

static size_t expect_shape(const hr_tensor* tensor, size_t rank, const int64_t* dims) {
  size_t count = 1;
  EXPECT(hr_tensor_rank(tensor) == rank);
  for (size_t i = 0; i < rank; ++i) {
    EXPECT(hr_tensor_dims(tensor)[i] == dims[i]);
    count *= (size_t)dims[i];
  }
  return count;
}

void expect_floats(hr_call* call, const char* name, size_t rank, const int64_t* dims,
                   const float* values) {
  hr_tensor* got;
  CHECK(hr_call_result(call, name, &got));
  const size_t count = expect_shape(got, rank, dims);
  for (size_t i = 0; i < count; ++i) {
    const float is = ((const float*)hr_tensor_data(got))[i];
    if (fabsf(is - values[i]) > 1e-5f * (1 + fabsf(values[i]))) {
      fprintf(stderr, "%s[%zu] is %g, expected %g\n", name, i, (double)is, (double)values[i]);
      exit(1);
    }
  }
  hr_tensor_release(got);
}

void expect_ints(hr_call* call, const char* name, size_t rank, const int64_t* dims,
                 const int64_t* values) {
  hr_tensor* got;
  CHECK(hr_call_result(call, name, &got));
  const size_t count = expect_shape(got, rank, dims);
  for (size_t i = 0; i < count; ++i) {
    EXPECT(((const int64_t*)hr_tensor_data(got))[i] == values[i]);
  }
  hr_tensor_release(got);
}
