// What makes a graph one that trains.
#include "runtime/transform/gradients.h"

#include "capi/src/graph_handle.h"
#include "runtime/transform/minimize.h"

extern "C" {

hr_status* hr_graph_add_gradients(hr_graph* graph, hr_value y, size_t count, const hr_value* xs,
                                  hr_value* out_gradients) {
  HR_USE_GRAPH(graph);
  if (count == 0) return nullptr;
  HR_REQUIRE(xs);
  HR_REQUIRE(out_gradients);
  HR_ASSIGN_OR_WRAP(auto&& gradients, hr::transform::AddGradients(graph->rep, std::span(&y, 1),
                                                                  std::span(xs, count)));
  std::copy(gradients.begin(), gradients.end(), out_gradients);
  return nullptr;
}

hr_status* hr_graph_variable_gradients(hr_graph* graph, hr_value loss, size_t count,
                                       const hr_variable* variables, hr_value* out_gradients) {
  HR_USE_GRAPH(graph);
  if (count == 0) return nullptr;
  HR_REQUIRE(variables);
  HR_REQUIRE(out_gradients);
  HR_ASSIGN_OR_WRAP(auto&& gradients, hr::transform::VariableGradients(
                                          graph->rep, loss, std::span(variables, count)));
  std::copy(gradients.begin(), gradients.end(), out_gradients);
  return nullptr;
}

hr_status* hr_graph_apply_gradients(hr_graph* graph, const char* signature, const char* optimizer,
                                    hr_value learning_rate, size_t count,
                                    const hr_variable* variables, const hr_value* gradients) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  HR_REQUIRE(optimizer);
  if (count != 0) {
    HR_REQUIRE(variables);
    HR_REQUIRE(gradients);
  }
  return hr::capi::Wrap(hr::transform::ApplyGradients(graph->rep, signature, optimizer,
                                                      learning_rate, std::span(variables, count),
                                                      std::span(gradients, count)));
}

hr_status* hr_graph_minimize(hr_graph* graph, const char* signature, hr_value loss,
                             const char* optimizer, hr_value learning_rate) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  HR_REQUIRE(optimizer);
  return hr::capi::Wrap(
      hr::transform::Minimize(graph->rep, signature, loss, optimizer, learning_rate));
}

}  // extern "C"
