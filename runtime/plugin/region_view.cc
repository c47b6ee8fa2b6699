#include "runtime/plugin/region_view.h"

#include "runtime/format/region.h"
#include "runtime/plugin/status.h"

namespace hr::plugin {
namespace {

hr_plugin_region_tensor View(const char* name, DType dtype, const Dims& dims,
                             const void* host_data) {
  return {.name = name,
          .dtype = static_cast<hr_dtype>(dtype),
          .rank = dims.size(),
          .dims = dims.data(),
          .host_data = host_data};
}

}  // namespace

RegionView::RegionView(const graph::Module& module) : module_(module) {
  const graph::Graph& graph = module.main();
  for (const graph::Node& node : graph.nodes) AddNode(node);
  for (const graph::Value& value : graph.values) {
    values_.push_back({.dtype = static_cast<hr_dtype>(value.type.dtype),
                       .rank = value.type.dims.size(),
                       .dims = KeepDims(value.type),
                       .constant = value.constant});
  }
  for (const Tensor& constant : module.constants) {
    constants_.push_back(plugin::View("", constant.dtype(), constant.dims(), constant.data()));
  }
  for (const graph::Variable& variable : module.variables) {
    variables_.push_back(
        plugin::View(variable.name.c_str(), variable.dtype, variable.dims, nullptr));
  }
  for (const graph::Port& port : module.signatures[0].outputs) outputs_.push_back(port.value);
  region_ = {.struct_size = sizeof region_,
             .node_count = nodes_.size(),
             .nodes = nodes_.data(),
             .value_count = values_.size(),
             .values = values_.data(),
             .input_count = graph.inputs.size(),
             .inputs = graph.inputs.data(),
             .output_count = outputs_.size(),
             .outputs = outputs_.data(),
             .constant_count = constants_.size(),
             .constants = constants_.data(),
             .variable_count = variables_.size(),
             .variables = variables_.data(),
             .flatbuffer = Serialize,
             .context = this};
}

void RegionView::AddNode(const graph::Node& node) {
  std::vector<hr_plugin_region_attribute>& attributes = attributes_.emplace_back();
  for (const graph::Attribute& attribute : node.attributes) attributes.push_back(View(attribute));
  const graph::Operator& op = module_.OperatorOf(node);
  nodes_.push_back({.name = node.name.c_str(),
                    .domain = op.domain.c_str(),
                    .op = op.name.c_str(),
                    .version = op.version,
                    .input_count = node.inputs.size(),
                    .inputs = node.inputs.data(),
                    .output_count = node.outputs.size(),
                    .outputs = node.outputs.data(),
                    .control_count = node.controls.size(),
                    .controls = node.controls.data(),
                    .attribute_count = attributes.size(),
                    .attributes = attributes.data()});
}

// The variant's alternatives stand in the order of hr_attribute_kind.
hr_plugin_region_attribute RegionView::View(const graph::Attribute& attribute) {
  const graph::AttributeValue& value = attribute.value;
  hr_plugin_region_attribute view{.name = attribute.name.c_str(),
                                  .kind = static_cast<hr_attribute_kind>(value.index()),
                                  .count = 1};
  if (auto* one = std::get_if<int64_t>(&value)) view.ints = one;
  if (auto* one = std::get_if<double>(&value)) view.floats = one;
  if (auto* one = std::get_if<std::string>(&value)) view.strings = KeepStrings({one, 1});
  if (auto* all = std::get_if<std::vector<int64_t>>(&value)) {
    view.ints = all->data(), view.count = all->size();
  }
  if (auto* all = std::get_if<std::vector<double>>(&value)) {
    view.floats = all->data(), view.count = all->size();
  }
  if (auto* all = std::get_if<std::vector<std::string>>(&value)) {
    view.strings = KeepStrings(*all), view.count = all->size();
  }
  if (auto* tensor = std::get_if<graph::TensorIndex>(&value)) view.index = tensor->index;
  if (auto* graph = std::get_if<graph::GraphIndex>(&value)) view.index = graph->index;
  return view;
}

const int64_t* RegionView::KeepDims(const graph::ValueType& type) {
  Dims& dims = dims_.emplace_back();
  for (const graph::Dim& dim : type.dims) dims.push_back(dim.size);
  return dims.data();
}

const char* const* RegionView::KeepStrings(std::span<const std::string> strings) {
  std::vector<const char*>& kept = strings_.emplace_back();
  for (const std::string& string : strings) kept.push_back(string.c_str());
  return kept.data();
}

hr_status* RegionView::Serialize(const hr_plugin_region* region, const void** data, size_t* bytes) {
  auto& view = *static_cast<RegionView*>(region->context);
  if (view.flatbuffer_.empty()) {
    auto written = format::WriteRegion(view.module_);
    if (!written.ok()) return ToC(std::move(written).status());
    view.flatbuffer_ = std::move(written).value();
  }
  *data = view.flatbuffer_.data();
  *bytes = view.flatbuffer_.size();
  return nullptr;
}

}  // namespace hr::plugin
