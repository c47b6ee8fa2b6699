#include "capi/src/graph_text.h"
#include "capi/src/train/handles.h"

namespace hr::capi {
namespace {

std::vector<train::EventGraphNode> EventGraph(const graph::Module& module) {
  const graph::Graph& graph = module.main();
  std::vector<train::EventGraphNode> out;
  auto shape_of = [&](graph::ValueId value) {
    Dims dims;
    for (const graph::Dim& dim : graph.values[value].type.dims) dims.push_back(dim.size);
    return dims;
  };
  for (graph::ValueId id = 0; id < graph.values.size(); ++id) {
    const graph::Value& value = graph.values[id];
    if (value.producer != graph::kNone) continue;
    out.push_back({.name = graph::ValueText(graph, id),
                   .op = value.constant == graph::kNone ? "Placeholder" : "Const",
                   .output_shapes = {shape_of(id)}});
  }
  for (graph::NodeId id = 0; id < graph.nodes.size(); ++id) {
    const graph::Node& node = graph.nodes[id];
    train::EventGraphNode entry{.name = graph::NodeText(module, graph, id),
                                .op = module.OperatorOf(node).name,
                                .device = node.device};
    for (graph::ValueId input : node.inputs) {
      if (input == graph::kNone) continue;
      graph::NodeId producer = graph.values[input].producer;
      if (producer == graph::kNone) {
        entry.inputs.push_back(graph::ValueText(graph, input));
        continue;
      }
      const auto& outputs = graph.nodes[producer].outputs;
      auto index = std::find(outputs.begin(), outputs.end(), input) - outputs.begin();
      std::string name = graph::NodeText(module, graph, producer);
      entry.inputs.push_back(index == 0 ? name : Cat(name, ":", index));
    }
    for (const graph::Attribute& attribute : node.attributes) {
      JsonWriter json;
      WriteAttribute(json, attribute.value);
      entry.attributes.emplace_back(attribute.name, json.Take());
    }
    for (graph::NodeId control : node.controls) {
      entry.inputs.push_back(Cat("^", graph::NodeText(module, graph, control)));
    }
    for (graph::ValueId output : node.outputs) {
      if (output != graph::kNone) entry.output_shapes.push_back(shape_of(output));
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace
}  // namespace hr::capi

using hr::capi::Wrap;

extern "C" {

hr_status* hr_summary_open(const char* directory, hr_summary** out) {
  HR_REQUIRE(directory);
  HR_REQUIRE(out);
  return hr::capi::WrapInto(out, hr::train::EventWriter::Open(directory, {}));
}

void hr_summary_release(hr_summary* events) { delete events; }

hr_status* hr_summary_scalar(hr_summary* events, const char* tag, int64_t step, double value) {
  HR_REQUIRE(events);
  HR_REQUIRE(tag);
  return Wrap(events->rep->AddScalar(tag, step, value));
}

hr_status* hr_summary_histogram(hr_summary* events, const char* tag, int64_t step,
                                const hr_tensor* values) {
  HR_REQUIRE(events);
  HR_REQUIRE(tag);
  HR_REQUIRE(values);
  HR_WRAP_IF_ERROR(hr::CheckHostMemory(values->rep));
  return Wrap(events->rep->AddHistogram(tag, step, values->rep));
}

hr_status* hr_summary_images(hr_summary* events, const char* tag, int64_t step,
                             const hr_tensor* images, int64_t most) {
  HR_REQUIRE(events);
  HR_REQUIRE(tag);
  HR_REQUIRE(images);
  HR_WRAP_IF_ERROR(hr::CheckHostMemory(images->rep));
  return Wrap(events->rep->AddImages(tag, step, images->rep, most));
}

hr_status* hr_summary_text(hr_summary* events, const char* tag, int64_t step, const char* text) {
  HR_REQUIRE(events);
  HR_REQUIRE(tag);
  HR_REQUIRE(text);
  return Wrap(events->rep->AddText(tag, step, text));
}

hr_status* hr_summary_graph(hr_summary* events, const hr_model* model) {
  HR_REQUIRE(events);
  HR_REQUIRE(model);
  return Wrap(events->rep->AddGraph(hr::capi::EventGraph(model->rep->module())));
}

hr_status* hr_summary_flush(hr_summary* events) {
  HR_REQUIRE(events);
  return Wrap(events->rep->Flush());
}

}  // extern "C"
