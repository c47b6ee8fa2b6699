// The order of effects in a graph under construction.
#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// A file may list its nodes in any order; the order of their edges counts. What is not ordered has
// the order of the file.
void GraphBuilder::IndexEffects() {
  resources_.clear();
  auto order = graph::TopologicalOrder(module_.main());
  if (!order.ok()) return;  // not verified; saving it says so
  for (const NodeId id : *order) {
    const graph::Node& node = module_.main().nodes[id];
    const graph::Operator& op = module_.OperatorOf(node);
    const ops::OpDef* def = registry_->Find(op.domain, op.name, op.version);
    if (def == nullptr) continue;
    for (const ops::Effect& effect : ops::EffectsOf(*def, node)) NoteEffect(effect, id);
    if (op.domain == ops::kState && op.name == "Read") NoteRead(node);
  }
}

Result<ValueId> GraphBuilder::Read(uint32_t variable) {
  HR_RETURN_IF_ERROR(CheckVariable(variable));
  ResourceState& state = resources_[{.variable = variable}];
  if (state.last_write == kNone) return ReadAtStart(variable);
  if (state.current_read != kNone) return state.current_read;
  HR_ASSIGN_OR_RETURN(state.current_read,
                      EmitOne(ops::kState, "Read", {}, {{"variable", int64_t{variable}}},
                              UniqueName(Cat(module_.variables[variable].name, "/read"))));
  return state.current_read;
}

Result<ValueId> GraphBuilder::ReadAtStart(uint32_t variable) {
  HR_RETURN_IF_ERROR(CheckVariable(variable));
  ValueId& value = resources_[{.variable = variable}].start_read;
  if (value != kNone) return value;
  HR_ASSIGN_OR_RETURN(
      NodeId node, AddNode({.domain = std::string(ops::kState),
                            .op = "Read",
                            .attributes = graph::Attributes({{"variable", int64_t{variable}}}),
                            .chained = false,
                            .name = UniqueName(Cat(module_.variables[variable].name, "/read"))}));
  return value = current().nodes[node].outputs[0];
}

Result<NodeId> GraphBuilder::Assign(std::string_view op, uint32_t variable, ValueId value,
                                    NodeId after) {
  HR_RETURN_IF_ERROR(CheckVariable(variable));
  NodeSpec spec{.domain = std::string(ops::kState),
                .op = std::string(op),
                .inputs = {value},
                .outputs = 0,
                .attributes = graph::Attributes({{"variable", int64_t{variable}}}),
                .name = UniqueName(Cat(module_.variables[variable].name, "/assign"))};
  if (after != kNone) spec.controls.push_back(after);
  return AddNode(std::move(spec));
}

// Further reads of the variable may use the value of one that comes after the last write.
void GraphBuilder::NoteRead(const graph::Node& node) {
  ResourceState& state = resources_[{.variable = node.Int("variable", -1)}];
  if (node.controls.empty()) {
    state.start_read = node.outputs[0];
  } else if (std::find(node.controls.begin(), node.controls.end(), state.last_write) !=
             node.controls.end()) {
    state.current_read = node.outputs[0];
  }
}

void GraphBuilder::NoteEffect(const ops::Effect& effect, NodeId id) {
  ResourceState& state = resources_[effect.resource];
  // A read of a variable without control inputs is of the start of the step, whatever comes later.
  const bool unordered =
      effect.resource.kind == ops::ResourceKind::kVariable && current().nodes[id].controls.empty();
  if (effect.writes) {
    state = {.last_write = id, .start_read = state.start_read};
  } else if (!unordered) {
    state.reads.push_back(id);
  }
}

void GraphBuilder::ChainEffects(const ops::OpDef& def, NodeId id, bool chained) {
  if (current_ != 0) return;
  graph::Node& node = current().nodes[id];
  auto after = [&](NodeId earlier) {
    if (!chained || earlier == kNone || earlier == id) return;
    if (std::find(node.controls.begin(), node.controls.end(), earlier) == node.controls.end()) {
      node.controls.push_back(earlier);
    }
  };
  for (const ops::Effect& effect : ops::EffectsOf(def, node)) {
    const ResourceState& state = resources_[effect.resource];
    after(state.last_write);
    if (effect.writes) {
      for (NodeId read : state.reads) after(read);
    }
    NoteEffect(effect, id);
  }
}

}  // namespace hr::transform
