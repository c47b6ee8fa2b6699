#include "runtime/session/placement.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::session {
namespace {

using graph::kNone;
using graph::NodeId;

class Placer {
 public:
  Placer(Env& env, const graph::Module& module)
      : env_(env),
        module_(module),
        nodes_(module.main().nodes),
        devices_(nodes_.size()),
        variable_of_(nodes_.size(), kNone),
        leader_(module.variables.size()) {
    for (uint32_t i = 0; i < leader_.size(); ++i) leader_[i] = i;
  }

  Result<std::vector<Device*>> Run(std::string_view default_device) {
    Device* otherwise = &env_.cpu();
    if (!default_device.empty()) {
      HR_ASSIGN_OR_RETURN(otherwise, env_.FindDevice(default_device));
    }
    JoinVariables();
    HR_RETURN_IF_ERROR(TakeWishes());
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      const uint32_t group = GroupOf(id);
      if (group != kNone && wishes_[group].node != kNone) devices_[id] = wishes_[group].device;
      if (devices_[id] == nullptr) devices_[id] = otherwise;
    }
    HR_RETURN_IF_ERROR(FallBack());
    return std::move(devices_);
  }

 private:
  // What the users of a group of variables ask for.
  struct Wish {
    Device* device = nullptr;
    NodeId node = kNone;  // who asks
  };

  uint32_t Leader(uint32_t variable) {
    while (leader_[variable] != variable) variable = leader_[variable] = leader_[leader_[variable]];
    return variable;
  }
  // The group of variables that the node uses.
  uint32_t GroupOf(NodeId id) {
    return variable_of_[id] == kNone ? kNone : Leader(variable_of_[id]);
  }

  // Variables that one node uses belong together.
  void JoinVariables() {
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      for (const auto& use : ops::VariablesOf(env_.operators(), module_, nodes_[id])) {
        const auto variable = static_cast<uint32_t>(use.variable);
        if (variable_of_[id] == kNone) variable_of_[id] = variable;
        leader_[Leader(variable)] = Leader(variable_of_[id]);
      }
    }
  }

  Status TakeWishes() {
    wishes_.resize(leader_.size());
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      if (nodes_[id].device.empty()) continue;
      auto device = env_.FindDevice(nodes_[id].device);
      if (!device.ok()) return std::move(device).status().WithNode(NameOf(id));
      devices_[id] = *device;
      const uint32_t group = GroupOf(id);
      if (group == kNone) continue;
      Wish& wish = wishes_[group];
      if (wish.node == kNone) wish = {*device, id};
      if (wish.device == *device) continue;
      return InvalidArgument("variable '", module_.variables[variable_of_[id]].name,
                             "' cannot be on ", nodes_[id].device, " for this node and on ",
                             wish.device->info().name, " for '", NameOf(wish.node),
                             "': give nodes that share variables one device")
          .WithNode(NameOf(id));
    }
    return {};
  }

  // Moves to the CPU what its device does not take.
  Status FallBack() {
    graph::Marks refused(nodes_.size());
    graph::Marks refused_groups(leader_.size());
    for (const auto& backend : env_.backends()) {
      for (const auto& device : backend->devices()) {
        if (device.get() == &env_.cpu()) continue;
        if (std::find(devices_.begin(), devices_.end(), device.get()) == devices_.end()) continue;
        auto takes = device->Supports(module_);
        if (!takes.ok()) return std::move(takes).status().WithContext(device->info().name);
        for (NodeId id = 0; id < nodes_.size(); ++id) {
          if (devices_[id] != device.get() || (*takes)[id]) continue;
          refused[id] = true;
          if (uint32_t group = GroupOf(id); group != kNone) refused_groups[group] = true;
        }
      }
    }
    for (NodeId id = 0; id < nodes_.size(); ++id) {
      const uint32_t group = GroupOf(id);
      if (refused[id] || (group != kNone && refused_groups[group])) devices_[id] = &env_.cpu();
    }
    return {};
  }

  std::string NameOf(NodeId id) const { return graph::NodeText(module_, module_.main(), id); }

  Env& env_;
  const graph::Module& module_;
  const std::vector<graph::Node>& nodes_;
  std::vector<Device*> devices_;
  std::vector<uint32_t> variable_of_;  // one that the node uses
  std::vector<uint32_t> leader_;       // of variables that belong together
  std::vector<Wish> wishes_;           // by leader
};

}  // namespace

bool WantsPlacement(const graph::Module& module, std::string_view default_device) {
  const auto& nodes = module.main().nodes;
  return !default_device.empty() ||
         std::any_of(nodes.begin(), nodes.end(),
                     [](const graph::Node& node) { return !node.device.empty(); });
}

Result<std::vector<Device*>> Place(Env& env, const graph::Module& module,
                                   std::string_view default_device) {
  return Placer(env, module).Run(default_device);
}

}  // namespace hr::session
