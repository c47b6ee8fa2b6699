/* Small graphs for the tests of control flow. */
#ifndef HEADRACE_TESTS_CAPI_BODIES_H_
#define HEADRACE_TESTS_CAPI_BODIES_H_

#include "nodes.h"

hr_graph* new_graph(hr_env* env);
/* Inputs of unknown sizes. */
hr_value input(hr_graph* graph, const char* name, hr_dtype dtype, size_t rank);
hr_value number(hr_graph* graph, float value);
hr_value int_number(hr_graph* graph, int64_t value);
hr_value int_list(hr_graph* graph, size_t count, const int64_t* values);

/* Adds inputs and outputs to the signature "run", which bodies and models of the tests have. */
void takes(hr_graph* graph, const char* name, hr_value value);
void gives(hr_graph* graph, const char* name, hr_value value);
/* Adds the signature "run" of `body`, which is released, as a body of `graph`. */
hr_body body_of(hr_graph* graph, hr_graph* body);

/* A session of the graph, which is released; and a call of its signature "run". */
hr_call* call_of(hr_graph* graph, hr_session** session);
hr_tensor* floats(hr_env* env, size_t rank, const int64_t* dims, const float* values);
void bind_floats(hr_env* env, hr_call* call, const char* name, size_t rank, const int64_t* dims,
                 const float* values);
void bind_bool(hr_env* env, hr_call* call, const char* name, int value);
void bind_int(hr_env* env, hr_call* call, const char* name, int64_t value);
/* Fails unless the output of the last run is of this shape and has these values. */
void expect_floats(hr_call* call, const char* name, size_t rank, const int64_t* dims,
                   const float* values);
void expect_ints(hr_call* call, const char* name, size_t rank, const int64_t* dims,
                 const int64_t* values);

#endif
