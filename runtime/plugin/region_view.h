// A region as the plain structs that a plugin reads.
#pragma once

#include <string>
#include <vector>

#include "headrace/plugin_backend.h"
#include "runtime/graph/graph.h"

namespace hr::plugin {

// Refers to the module, which must outlive it and keep its nodes in topological order.
class RegionView {
 public:
  explicit RegionView(const graph::Module& module);
  RegionView(const RegionView&) = delete;
  const hr_plugin_region* get() const { return &region_; }

 private:
  void AddNode(const graph::Node& node);
  hr_plugin_region_attribute View(const graph::Attribute& attribute);
  const int64_t* KeepDims(const graph::ValueType& type);
  const char* const* KeepStrings(std::span<const std::string> strings);
  static hr_status* Serialize(const hr_plugin_region* region, const void** data, size_t* bytes);

  const graph::Module& module_;
  hr_plugin_region region_{};
  std::string flatbuffer_;
  std::vector<hr_plugin_region_node> nodes_;
  std::vector<hr_plugin_region_value> values_;
  std::vector<hr_plugin_region_tensor> constants_;
  std::vector<hr_plugin_region_tensor> variables_;
  std::vector<uint32_t> outputs_;
  // Whose elements the above points to.
  std::vector<std::vector<hr_plugin_region_attribute>> attributes_;
  std::vector<std::vector<const char*>> strings_;
  std::vector<Dims> dims_;
};

}  // namespace hr::plugin
