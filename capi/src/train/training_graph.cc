#include "headrace/training_graph.h"

#include "capi/src/graph_handle.h"
#include "runtime/train/adapter_file.h"
#include "runtime/transform/adapter.h"
#include "runtime/transform/average.h"
#include "runtime/transform/clip.h"
#include "runtime/transform/copy_signature.h"
#include "runtime/transform/metric.h"
#include "runtime/transform/minimize.h"
#include "runtime/transform/mirror.h"
#include "runtime/transform/schedule.h"

namespace hr::capi {
namespace {

Result<std::vector<transform::ParameterGroup>> GroupsFrom(size_t count,
                                                          const hr_parameter_group* groups) {
  HR_ASSIGN_OR_RETURN(auto&& copies, CopySizedArray(groups, count, "hr_parameter_group"));
  std::vector<transform::ParameterGroup> out;
  for (const hr_parameter_group& group : copies) {
    if (group.patterns == nullptr || group.optimizer == nullptr) {
      return InvalidArgument("hr_parameter_group ", out.size(), ": ",
                             group.patterns == nullptr ? "patterns" : "optimizer",
                             " must not be NULL");
    }
    out.push_back({group.patterns, group.optimizer, group.learning_rate});
  }
  return out;
}

}  // namespace
}  // namespace hr::capi

using hr::capi::Wrap;

extern "C" {

hr_status* hr_graph_schedule(hr_graph* graph, const char* signature, const char* description,
                             hr_value* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  HR_REQUIRE(description);
  HR_REQUIRE(out);
  return hr::capi::Give(out, hr::transform::AddSchedule(graph->rep, signature, description));
}

hr_status* hr_graph_clip_gradients(hr_graph* graph, const char* bounds, size_t count,
                                   hr_value* gradients, hr_value* out_norm) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(bounds);
  if (count != 0) HR_REQUIRE(gradients);
  HR_ASSIGN_OR_WRAP(const auto clipping, hr::transform::ParseClipping(bounds));
  std::vector<hr_value> clipped(gradients, gradients + count);
  HR_ASSIGN_OR_WRAP(const hr_value norm, graph->rep.AllOrNothing([&]() -> hr::Result<hr_value> {
    HR_RETURN_IF_ERROR(hr::transform::MarkGradients(graph->rep, clipped));
    return hr::transform::ClipGradients(graph->rep, clipping, out_norm != nullptr, clipped);
  }));
  std::copy(clipped.begin(), clipped.end(), gradients);
  if (out_norm != nullptr) *out_norm = norm;
  return nullptr;
}

hr_status* hr_graph_distribute(hr_graph* graph, const char* signature, const char* group,
                               const char* strategy) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  HR_REQUIRE(group);
  HR_REQUIRE(strategy);
  HR_ASSIGN_OR_WRAP(const auto options, hr::transform::ParseStrategy(strategy));
  return Wrap(hr::transform::Mirror(graph->rep, signature, group, options));
}

hr_status* hr_graph_set_trainable_matching(hr_graph* graph, const char* patterns, int trainable,
                                           size_t* out_count) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(patterns);
  HR_ASSIGN_OR_WRAP(const size_t count,
                    hr::transform::SetTrainable(graph->rep, patterns, trainable != 0));
  if (out_count != nullptr) *out_count = count;
  return nullptr;
}

hr_status* hr_graph_minimize_groups(hr_graph* graph, const char* signature, hr_value loss,
                                    size_t count, const hr_parameter_group* groups) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  if (count != 0) HR_REQUIRE(groups);
  HR_ASSIGN_OR_WRAP(const auto inner, hr::capi::GroupsFrom(count, groups));
  return Wrap(hr::transform::MinimizeGroups(graph->rep, signature, loss, inner));
}

hr_status* hr_graph_average_signature(hr_graph* graph, const char* from, const char* to) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(from);
  HR_REQUIRE(to);
  return Wrap(hr::transform::AverageSignature(graph->rep, from, to));
}

hr_status* hr_graph_swap_averages(hr_graph* graph, const char* signature) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  return Wrap(hr::transform::AddSwap(graph->rep, signature));
}

hr_status* hr_graph_copy_signature(hr_graph* graph, const char* from, const char* to) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(from);
  HR_REQUIRE(to);
  return Wrap(hr::transform::CopySignature(graph->rep, from, to, {}));
}

hr_status* hr_graph_metric(hr_graph* graph, const char* signature, const char* name,
                           const char* description, size_t count, const hr_value* inputs) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(signature);
  HR_REQUIRE(name);
  HR_REQUIRE(description);
  if (count != 0) HR_REQUIRE(inputs);
  return Wrap(
      hr::transform::AddMetric(graph->rep, signature, name, description, std::span(inputs, count)));
}

hr_status* hr_graph_add_lora(hr_graph* graph, const char* patterns, const char* settings,
                             const char* training, size_t* out_count) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(patterns);
  HR_ASSIGN_OR_WRAP(const auto options,
                    hr::transform::ParseAdapterOptions(settings == nullptr ? "" : settings));
  HR_ASSIGN_OR_WRAP(const size_t count,
                    hr::transform::AddAdapters(graph->rep, patterns, options,
                                               training == nullptr ? "" : training));
  if (out_count != nullptr) *out_count = count;
  return nullptr;
}

hr_status* hr_graph_load_adapters(hr_graph* graph, const char* path, size_t* out_count) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(path);
  HR_ASSIGN_OR_WRAP(const auto adapters, hr::train::ReadAdapters(path, graph->rep.allocator()));
  HR_ASSIGN_OR_WRAP(const size_t count, hr::transform::AttachAdapters(graph->rep, adapters));
  if (out_count != nullptr) *out_count = count;
  return nullptr;
}

}  // extern "C"
