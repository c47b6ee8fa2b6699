#include "nodes.h"

#include <stdarg.h>

hr_value op(hr_graph* graph, const char* name, const char* attributes, size_t count, ...) {
  hr_value inputs[8];
  va_list list;
  EXPECT(count <= 8);
  va_start(list, count);
  for (size_t i = 0; i < count; ++i) inputs[i] = va_arg(list, hr_value);
  va_end(list);
  return op_of(graph, name, attributes, count, inputs);
}

hr_value op_of(hr_graph* graph, const char* name, const char* attributes, size_t count,
               const hr_value* inputs) {
  hr_value out;
  CHECK(hr_graph_op(graph, name, attributes, count, inputs, 1, &out));
  return out;
}
