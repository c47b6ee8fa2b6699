#include "runtime/lowering/region.h"

#include <algorithm>

#include "runtime/base/half.h"
#include "runtime/lowering/schedule.h"

namespace hr::lowering {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

Region::Region(graph::Module module, bool resizable)
    : module(std::move(module)), resizable_(resizable) {
  dead_.assign(node_count(), false);
}

bool Region::Is(NodeId id, std::string_view domain, std::string_view name) const {
  if (id == kNone || dead_[id]) return false;
  const graph::Operator& op = module.OperatorOf(node(id));
  return op.name == name && op.domain == domain;
}

void Region::IndexConsumers() const {
  if (indexed_) return;
  consumers_.assign(graph().values.size(), {});
  waited_for_.assign(node_count(), false);
  for (NodeId id = 0; id < node_count(); ++id) {
    if (dead_[id]) continue;
    for (NodeId control : node(id).controls) waited_for_[control] = true;
    for (ValueId input : node(id).inputs) {
      if (input == kNone) continue;
      auto& list = consumers_[input];
      if (list.empty() || list.back() != id) list.push_back(id);
    }
  }
  indexed_ = true;
}

std::vector<NodeId> Region::Consumers(ValueId value) const {
  if (value == kNone) return {};
  IndexConsumers();
  return consumers_[value];
}

NodeId Region::OnlyConsumer(ValueId value) const {
  auto consumers = Consumers(value);
  return consumers.size() == 1 && !IsFetched(value) ? consumers[0] : kNone;
}

bool Region::IsWaitedFor(NodeId id) const {
  IndexConsumers();
  return waited_for_[id];
}

bool Region::NeedOneOf(std::vector<NodeId> these, std::span<const NodeId> nodes) const {
  std::vector<bool> seen(node_count(), false);
  std::vector<NodeId> stack = std::move(these);
  for (NodeId id : stack) seen[id] = true;
  const auto add = [&](NodeId id) {
    if (seen[id]) return;
    seen[id] = true;
    stack.push_back(id);
  };
  while (!stack.empty()) {
    const graph::Node& next = node(stack.back());
    stack.pop_back();
    for (NodeId producer : Producers(next.inputs)) add(producer);
    for (NodeId control : next.controls) add(control);
  }
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return id != kNone && seen[id]; });
}

std::vector<NodeId> Region::Producers(std::span<const ValueId> values) const {
  std::vector<NodeId> out;
  for (ValueId value : values) {
    if (value != kNone && Producer(value) != kNone) out.push_back(Producer(value));
  }
  return out;
}

bool Region::MayJoin(std::initializer_list<NodeId> nodes) const {
  return MayJoin(std::span(nodes.begin(), nodes.size()));
}

bool Region::MayJoin(std::span<const NodeId> nodes) const {
  const auto among = [&](NodeId id) {
    return id == kNone || std::find(nodes.begin(), nodes.end(), id) != nodes.end();
  };
  if (std::none_of(nodes.begin(), nodes.end(),
                   [&](NodeId id) { return id != kNone && IsWaitedFor(id); })) {
    return true;
  }
  std::vector<NodeId> before;
  for (NodeId id : nodes) {
    if (id == kNone) continue;
    for (NodeId producer : Producers(node(id).inputs)) before.push_back(producer);
    for (NodeId control : node(id).controls) before.push_back(control);
  }
  std::erase_if(before, among);
  return !NeedOneOf(std::move(before), nodes);
}

const Tensor* Region::ConstantOf(ValueId value) const {
  const uint32_t constant = this->value(value).constant;
  return constant == kNone ? nullptr : &module.constants[constant];
}

std::optional<double> Region::ScalarOf(ValueId value) const {
  const Tensor* constant = ConstantOf(value);
  if (constant == nullptr || !constant->defined() || constant->elements() != 1) return std::nullopt;
  if (constant->dtype() == DType::kFloat32) return *constant->as<float>();
  if (constant->dtype() == DType::kFloat64) return *constant->as<double>();
  if (constant->dtype() == DType::kFloat16) return HalfToFloat(*constant->as<uint16_t>());
  if (constant->dtype() == DType::kBfloat16) return Bfloat16ToFloat(*constant->as<uint16_t>());
  return std::nullopt;
}

bool Region::IsFetched(ValueId value) const {
  const auto& outputs = module.signatures[0].outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const graph::Port& port) { return port.value == value; });
}

void Region::SetLayout(ValueId value, Layout layout) {
  if (layouts_.size() <= value) layouts_.resize(graph().values.size(), Layout::kPlain);
  layouts_[value] = layout;
}

ValueId Region::AddValue(DType dtype, ShapeRule shape, std::string name) {
  graph().values.push_back(
      {.type = graph::ValueType::Tensor(dtype, shape(*this)), .name = std::move(name)});
  indexed_ = false;
  const auto id = static_cast<ValueId>(graph().values.size() - 1);
  if (resizable_) added_.push_back({id, std::move(shape)});
  return id;
}

bool Region::Decide(Predicate predicate) {
  const bool outcome = predicate(*this);
  if (resizable_) decisions_.push_back({std::move(predicate), outcome});
  return outcome;
}

Region Region::At(const graph::Module& sized) const {
  Region out(module);
  auto& values = out.graph().values;
  for (ValueId id = 0; id < sized.main().values.size(); ++id) {
    values[id].type = sized.main().values[id].type;
  }
  out.module.constants = sized.constants;
  out.layouts_ = layouts_;
  for (const Added& added : added_) {
    graph::ValueType& type = values[added.value].type;
    type = graph::ValueType::Tensor(type.dtype, added.shape(out));
  }
  return out;
}

bool Region::FitsAt(const Region& sized) const {
  return std::all_of(decisions_.begin(), decisions_.end(), [&](const Decision& decision) {
    return decision.predicate(sized) == decision.outcome;
  });
}

NodeId Region::AddNode(std::string_view name, std::vector<ValueId> inputs,
                       std::vector<ValueId> outputs, std::vector<graph::Attribute> attributes,
                       std::string label) {
  auto id = static_cast<NodeId>(node_count());
  for (ValueId output : outputs) {
    if (output == kNone) continue;
    NodeId before = value(output).producer;
    if (before != kNone) {
      auto& old = graph().nodes[before].outputs;
      std::replace(old.begin(), old.end(), output, kNone);
    }
    graph().values[output].producer = id;
  }
  graph().nodes.push_back({.op = module.InternOperator(kLowered, name, 1),
                           .inputs = std::move(inputs),
                           .outputs = std::move(outputs),
                           .attributes = std::move(attributes),
                           .name = std::move(label)});
  dead_.push_back(false);
  indexed_ = false;
  return id;
}

void Region::ReplaceInput(NodeId id, ValueId from, ValueId to) {
  auto& inputs = graph().nodes[id].inputs;
  std::replace(inputs.begin(), inputs.end(), from, to);
  indexed_ = false;
}

void Region::Replace(NodeId id, NodeId by) {
  dead_[id] = true;
  graph().nodes[id].inputs.clear();
  indexed_ = false;
  for (graph::Node& node : graph().nodes) {
    std::replace(node.controls.begin(), node.controls.end(), id, by);
  }
  auto& controls = graph().nodes[by].controls;
  const auto& inherited = graph().nodes[id].controls;
  controls.insert(controls.end(), inherited.begin(), inherited.end());
  controls.erase(std::remove(controls.begin(), controls.end(), by), controls.end());
  auto& targets = module.signatures[0].targets;
  std::replace(targets.begin(), targets.end(), id, by);
}

// Nodes that the signature's outputs and targets need.
std::vector<bool> Region::Needed() const {
  std::vector<bool> needed(node_count(), false);
  std::vector<NodeId> stack;
  auto need = [&](NodeId id) {
    if (id == kNone || dead_[id] || needed[id]) return;
    needed[id] = true;
    stack.push_back(id);
  };
  for (const graph::Port& port : module.signatures[0].outputs) need(Producer(port.value));
  for (NodeId target : module.signatures[0].targets) need(target);
  while (!stack.empty()) {
    const graph::Node& node = this->node(stack.back());
    stack.pop_back();
    for (ValueId input : node.inputs) {
      if (input != kNone) need(Producer(input));
    }
    for (NodeId control : node.controls) need(control);
  }
  return needed;
}

void Region::Sweep() {
  const std::vector<bool> needed = Needed();
  std::vector<NodeId> renumbered(node_count(), kNone);
  std::vector<graph::Node> kept;
  for (NodeId id = 0; id < node_count(); ++id) {
    if (!needed[id]) continue;
    renumbered[id] = static_cast<NodeId>(kept.size());
    kept.push_back(std::move(graph().nodes[id]));
  }
  auto renumber = [&](std::vector<NodeId>& ids) {
    for (NodeId& id : ids) id = renumbered[id];
    ids.erase(std::remove(ids.begin(), ids.end(), kNone), ids.end());
  };
  for (graph::Node& node : kept) renumber(node.controls);
  renumber(module.signatures[0].targets);
  for (graph::Value& value : graph().values) {
    if (value.producer != kNone) value.producer = renumbered[value.producer];
  }
  graph().nodes = std::move(kept);
  dead_.assign(node_count(), false);
  indexed_ = false;
}

}  // namespace hr::lowering
