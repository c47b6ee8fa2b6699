/* Graphs node by node, for tests that would otherwise check each call. */
#ifndef HEADRACE_TESTS_CAPI_NODES_H_
#define HEADRACE_TESTS_CAPI_NODES_H_

#include "support.h"

/* The one output of a new node. Inputs, as hr_value, after `count`. */
hr_value op(hr_graph* graph, const char* name, const char* attributes, size_t count, ...);
/* The same with the inputs in an array. */
hr_value op_of(hr_graph* graph, const char* name, const char* attributes, size_t count,
               const hr_value* inputs);

#endif
