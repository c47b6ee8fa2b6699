#include "runtime/lowering/schedule.h"

#include <algorithm>

#include "runtime/lowering/communication.h"
#include "runtime/lowering/region.h"

namespace hr::lowering {

using graph::NodeId;

std::vector<uint32_t> WrittenVariables(const ops::OpRegistry& operators,
                                       const graph::Module& module, const graph::Node& node) {
  const graph::Operator& op = module.OperatorOf(node);
  std::vector<uint32_t> out;
  auto add = [&](int64_t variable) {
    out.push_back(variable < 0 ? graph::kNone : static_cast<uint32_t>(variable));
  };
  if (op.domain == kLowered) {
    for (int64_t variable : node.Ints("variables")) add(variable);
  } else if (const ops::OpDef* def = operators.Find(op.domain, op.name, op.version)) {
    for (const ops::AttributeDef& attribute : def->attributes) {
      const bool variable = attribute.effect.kind == ops::ResourceKind::kVariable;
      if (variable && attribute.effect.writes) add(node.Int(attribute.name, -1));
    }
  }
  return out;
}

namespace {

// Lets operations of groups start as soon as they can.
class Hoister {
 public:
  Hoister(const graph::Module& module, const std::vector<NodeId>& order)
      : module_(module), graph_(module.main()), order_(order), done_(graph_.nodes.size(), false) {}

  // `late`: nodes that write variables, or follow a write.
  std::vector<NodeId> Run(const std::vector<bool>& late) {
    // Before a write: what the first one needs, and it, then what the next one needs beyond that.
    for (NodeId id : order_) {
      if (!Communicates(id)) continue;
      late[id] ? waiting_.push_back(id) : AddWithNeeded(id);
    }
    // After it, as soon as the operands are there.
    for (NodeId id : order_) {
      if (done_[id] || Communicates(id)) continue;
      Add(id);
      AddReady();
    }
    return std::move(out_);
  }

 private:
  bool Communicates(NodeId id) const { return IsCommunication(module_, graph_.nodes[id]); }

  template <typename Visit>
  void ForNeeded(NodeId id, const Visit& visit) const {
    for (graph::ValueId input : graph_.nodes[id].inputs) {
      const NodeId producer = input == graph::kNone ? graph::kNone : graph_.values[input].producer;
      if (producer != graph::kNone && !done_[producer]) visit(producer);
    }
    for (NodeId control : graph_.nodes[id].controls) {
      if (!done_[control]) visit(control);
    }
  }

  void Add(NodeId id) {
    done_[id] = true;
    out_.push_back(id);
  }

  void AddWithNeeded(NodeId id) {
    if (done_[id]) return;
    graph::Marks needed(graph_.nodes.size(), false);
    needed[id] = true;
    const auto end = std::find(order_.begin(), order_.end(), id) + 1;
    for (auto at = std::make_reverse_iterator(end); at != order_.rend(); ++at) {
      if (needed[*at]) ForNeeded(*at, [&](NodeId one) { needed[one] = true; });
    }
    for (auto at = order_.begin(); at != end; ++at) {
      if (needed[*at]) Add(*at);
    }
  }

  void AddReady() {
    for (size_t i = 0; i < waiting_.size();) {
      bool ready = true;
      ForNeeded(waiting_[i], [&](NodeId) { ready = false; });
      if (!ready) {
        ++i;
        continue;
      }
      Add(waiting_[i]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;  // others may have waited for it
    }
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  const std::vector<NodeId>& order_;
  graph::Marks done_;
  std::vector<NodeId> waiting_;
  std::vector<NodeId> out_;
};

}  // namespace

Result<std::vector<NodeId>> Schedule(const ops::OpRegistry& operators,
                                     const graph::Module& module) {
  const graph::Graph& graph = module.main();
  HR_ASSIGN_OR_RETURN(std::vector<NodeId> order, graph::TopologicalOrder(graph));
  // A node is late if it writes or follows a write; late nodes keep their order among
  // themselves.
  std::vector<bool> late(graph.nodes.size(), false);
  for (NodeId id : order) {
    const graph::Node& node = graph.nodes[id];
    bool is_late = !WrittenVariables(operators, module, node).empty();
    for (graph::ValueId input : node.inputs) {
      if (input == graph::kNone || graph.values[input].producer == graph::kNone) continue;
      is_late |= late[graph.values[input].producer];
    }
    for (NodeId control : node.controls) is_late |= late[control];
    late[id] = is_late;
  }
  std::stable_partition(order.begin(), order.end(), [&](NodeId id) { return !late[id]; });
  const bool communicates = std::any_of(order.begin(), order.end(), [&](NodeId id) {
    return IsCommunication(module, graph.nodes[id]);
  });
  return communicates ? Hoister(module, order).Run(late) : order;
}

}  // namespace hr::lowering
