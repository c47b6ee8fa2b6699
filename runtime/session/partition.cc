#include "runtime/session/partition.h"

#include <algorithm>
#include <map>

namespace hr::session {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// Every node gets a depth: how often the longest way to it changes the device. Nodes of one device
// and depth are a part; edges lead from a part to deeper ones only, so no part waits for itself.
class Cutter {
 public:
  Cutter(const ops::OpRegistry& operators, const graph::Module& module,
         const std::vector<Device*>& devices)
      : operators_(operators),
        module_(module),
        graph_(module.main()),
        devices_(devices),
        depths_(graph_.nodes.size()),
        free_reads_(graph_.nodes.size(), kNone),
        writes_(graph_.nodes.size()),
        first_write_(module.variables.size(), UINT32_MAX),
        home_(graph_.values.size(), kNone) {}

  std::vector<Part> Run() {
    FindEffects();
    SetDepths();
    DelayWrites();
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (free_reads_[id] != kNone) {
        PlaceRead(id);
      } else {
        BinAt(devices_[id], depths_[id]).nodes.push_back(id);
      }
    }
    for (Bin& bin : bins_) Fill(bin);
    AddOutputs();
    for (Part& part : parts_) SetTargets(part);
    return std::move(parts_);
  }

 private:
  struct Bin {
    Device* device;
    uint32_t depth;
    std::vector<NodeId> nodes;
  };

  void FindEffects() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const graph::Node& node = graph_.nodes[id];
      const graph::Operator& op = module_.OperatorOf(node);
      for (const auto& use : ops::VariablesOf(operators_, module_, node)) {
        writes_[id] |= static_cast<char>(use.writes);
        if (op.name == "Read" && op.domain == ops::kState && node.controls.empty()) {
          free_reads_[id] = static_cast<uint32_t>(use.variable);
        }
      }
    }
  }

  // A read without control inputs stays at depth 0, so it comes before every write.
  void SetDepths() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      for (ValueId input : graph_.nodes[id].inputs) {
        if (input != kNone) Follow(graph_.values[input].producer, id);
      }
      for (NodeId control : graph_.nodes[id].controls) Follow(control, id);
    }
  }
  void Follow(NodeId before, NodeId id) {
    if (before == kNone) return;
    const uint32_t least = depths_[before] + (devices_[before] != devices_[id] ? 1 : 0);
    depths_[id] = std::max(depths_[id], least);
  }

  // Writes that nothing waits for go to the last part of their device.
  void DelayWrites() {
    graph::Marks awaited(graph_.nodes.size());
    for (const graph::Node& node : graph_.nodes) {
      for (NodeId control : node.controls) awaited[control] = true;
      for (ValueId input : node.inputs) {
        if (input != kNone && graph_.values[input].producer != kNone) {
          awaited[graph_.values[input].producer] = true;
        }
      }
    }
    std::map<const Device*, uint32_t> deepest;
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      uint32_t& depth = deepest[devices_[id]];
      depth = std::max(depth, depths_[id]);
    }
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (!writes_[id]) continue;
      if (!awaited[id]) depths_[id] = deepest[devices_[id]];
      for (const auto& use : ops::VariablesOf(operators_, module_, graph_.nodes[id])) {
        if (!use.writes) continue;
        uint32_t& first = first_write_[static_cast<size_t>(use.variable)];
        first = std::min(first, depths_[id]);
      }
    }
  }

  // Bins are ordered by depth.
  Bin& BinAt(Device* device, uint32_t depth) {
    auto at = bins_.begin();
    for (; at != bins_.end() && at->depth <= depth; ++at) {
      if (at->device == device && at->depth == depth) return *at;
    }
    return *bins_.insert(at, Bin{device, depth, {}});
  }

  // Reading costs nothing, so every part that uses the variable reads it itself, as long as it has
  // not been written before. Others get the value from a part of depth 0.
  void PlaceRead(NodeId id) {
    const ValueId value = graph_.nodes[id].outputs[0];
    bool elsewhere = IsFetched(value);
    for (NodeId user = 0; user < graph_.nodes.size(); ++user) {
      const auto& inputs = graph_.nodes[user].inputs;
      if (value == kNone || std::find(inputs.begin(), inputs.end(), value) == inputs.end())
        continue;
      if (devices_[user] == devices_[id] && depths_[user] <= first_write_[free_reads_[id]]) {
        AddOnce(BinAt(devices_[id], depths_[user]), id);
      } else {
        elsewhere = true;
      }
    }
    if (elsewhere) AddOnce(BinAt(devices_[id], 0), id);
  }
  static void AddOnce(Bin& bin, NodeId id) {
    if (std::find(bin.nodes.begin(), bin.nodes.end(), id) == bin.nodes.end()) {
      bin.nodes.push_back(id);
    }
  }
  bool IsFetched(ValueId value) const {
    const auto& outputs = module_.signatures[0].outputs;
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const graph::Port& port) { return port.value == value; });
  }

  void Fill(Bin& bin) {
    std::sort(bin.nodes.begin(), bin.nodes.end());
    const auto index = static_cast<uint32_t>(parts_.size());
    Part& part = parts_.emplace_back(Part{.device = bin.device});
    part.module.operators = module_.operators;
    part.module.opsets = module_.opsets;
    part.module.variables = module_.variables;
    part.module.signatures.push_back({.name = "run"});
    value_maps_.emplace_back(graph_.values.size(), kNone);
    std::vector<NodeId> renumbered(graph_.nodes.size(), kNone);
    for (NodeId id : bin.nodes) {
      graph::Node node = graph_.nodes[id];
      part.writes |= writes_[id] != 0;
      for (ValueId& input : node.inputs) input = Input(part, input);
      renumbered[id] = static_cast<NodeId>(part.module.main().nodes.size());
      for (ValueId& output : node.outputs) {
        if (output == kNone) continue;
        if (home_[output] == kNone) home_[output] = index;
        output = AddValue(part, output, renumbered[id]);
      }
      std::vector<NodeId> controls;
      for (NodeId control : node.controls) {
        if (renumbered[control] != kNone) controls.push_back(renumbered[control]);
      }
      node.controls = std::move(controls);
      for (graph::Attribute& attribute : node.attributes) {
        if (auto* tensor = std::get_if<graph::TensorIndex>(&attribute.value)) {
          tensor->index = Constant(part, tensor->index);
        }
      }
      part.module.main().nodes.push_back(std::move(node));
    }
  }

  ValueId AddValue(Part& part, ValueId id, NodeId producer) {
    auto& values = part.module.main().values;
    const auto local = static_cast<ValueId>(values.size());
    values.push_back(
        {.type = graph_.values[id].type, .producer = producer, .name = graph_.values[id].name});
    return value_maps_.back()[id] = local;
  }

  ValueId Input(Part& part, ValueId id) {
    if (id == kNone) return kNone;
    if (ValueId known = value_maps_.back()[id]; known != kNone) return known;
    const ValueId local = AddValue(part, id, kNone);
    if (uint32_t constant = graph_.values[id].constant; constant != kNone) {
      part.module.main().values[local].constant = Constant(part, constant);
      return local;
    }
    part.inputs.push_back(id);
    part.module.main().inputs.push_back(local);
    part.module.signatures[0].inputs.push_back({graph_.values[id].name, local});
    return local;
  }

  uint32_t Constant(Part& part, uint32_t index) {
    auto found = std::find(part.constants.begin(), part.constants.end(), index);
    if (found == part.constants.end()) {
      found = part.constants.insert(found, index);
      part.module.constants.push_back(module_.constants[index]);
    }
    return static_cast<uint32_t>(found - part.constants.begin());
  }

  // What other parts or the caller want of a part.
  void AddOutputs() {
    for (const Part& part : parts_) {
      for (ValueId input : part.inputs) AddOutput(input);
    }
    for (const graph::Port& port : module_.signatures[0].outputs) AddOutput(port.value);
  }
  void AddOutput(ValueId value) {
    if (home_[value] == kNone) return;  // fed or constant
    Part& part = parts_[home_[value]];
    if (std::find(part.outputs.begin(), part.outputs.end(), value) != part.outputs.end()) return;
    part.outputs.push_back(value);
    part.module.signatures[0].outputs.push_back(
        {graph_.values[value].name, value_maps_[home_[value]][value]});
  }

  // All nodes of a part are needed, so those that give nothing to others are its targets.
  static void SetTargets(Part& part) {
    const graph::Graph& graph = part.module.main();
    graph::Signature& run = part.module.signatures[0];
    graph::Marks used(graph.values.size());
    for (const graph::Node& node : graph.nodes) {
      for (ValueId input : node.inputs) {
        if (input != kNone) used[input] = true;
      }
    }
    for (const graph::Port& port : run.outputs) used[port.value] = true;
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const auto& outputs = graph.nodes[id].outputs;
      if (std::none_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return output != kNone && used[output]; })) {
        run.targets.push_back(id);
      }
    }
  }

  const ops::OpRegistry& operators_;
  const graph::Module& module_;
  const graph::Graph& graph_;
  const std::vector<Device*>& devices_;
  std::vector<uint32_t> depths_;
  std::vector<uint32_t> free_reads_;  // the variable, where a node is a read without control inputs
  graph::Marks writes_;
  std::vector<uint32_t> first_write_;  // depth at which a variable is first written
  std::vector<uint32_t> home_;         // the part that makes a value
  std::vector<Bin> bins_;
  std::vector<Part> parts_;
  std::vector<std::vector<ValueId>> value_maps_;  // of each part, from the whole's values
};

}  // namespace

Status SortNodes(graph::Module* module) {
  graph::Graph& graph = module->main();
  HR_ASSIGN_OR_RETURN(auto&& order, graph::TopologicalOrder(graph));
  std::vector<NodeId> place(order.size());
  std::vector<graph::Node> sorted;
  for (NodeId id : order) {
    place[id] = static_cast<NodeId>(sorted.size());
    sorted.push_back(std::move(graph.nodes[id]));
  }
  graph.nodes = std::move(sorted);
  for (graph::Node& node : graph.nodes) {
    for (NodeId& control : node.controls) control = place[control];
  }
  for (graph::Value& value : graph.values) {
    if (value.producer != kNone) value.producer = place[value.producer];
  }
  for (NodeId& target : module->signatures[0].targets) target = place[target];
  return {};
}

std::vector<Part> Cut(const ops::OpRegistry& operators, const graph::Module& module,
                      const std::vector<Device*>& devices) {
  return Cutter(operators, module, devices).Run();
}

}  // namespace hr::session
