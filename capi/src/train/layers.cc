// Layers, as graph.h declares them.
#include "runtime/transform/layers.h"

#include "capi/src/graph_handle.h"

using hr::capi::Give;
using hr::capi::SpecFor;

extern "C" {

hr_status* hr_graph_dense(hr_graph* graph, const char* name, hr_value x, int64_t units,
                          hr_value* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  return Give(out, hr::transform::Dense(graph->rep, name, x, units));
}

hr_status* hr_graph_conv2d(hr_graph* graph, const char* name, hr_value x, int64_t channels,
                           int64_t kernel, const char* attributes, hr_value* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto&& spec, SpecFor(graph->rep.registry(), "Conv", attributes));
  return Give(out, hr::transform::Conv2d(graph->rep, name, x, channels, kernel,
                                         std::move(spec.attributes)));
}

hr_status* hr_graph_batch_norm(hr_graph* graph, const char* name, hr_value x, int training,
                               const char* attributes, hr_value* out, hr_node* out_update) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  if (training != 0) HR_REQUIRE(out_update);
  // Version 9 has the attributes of the layer: epsilon and momentum.
  HR_ASSIGN_OR_WRAP(auto&& spec,
                    SpecFor(graph->rep.registry(), "BatchNormalization@9", attributes));
  HR_ASSIGN_OR_WRAP(auto&& layer,
                    hr::transform::BatchNorm(graph->rep, name, x, training != 0, spec.attributes));
  *out = layer.value;
  if (out_update != nullptr) *out_update = layer.update;
  return nullptr;
}

}  // extern "C"
