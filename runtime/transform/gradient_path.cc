#include "runtime/transform/gradient_path.h"

#include "runtime/base/errors.h"

namespace hr::transform {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kMostNamed = 12;  // nodes of a path

class PathFinder {
 public:
  PathFinder(const ops::OpRegistry& registry, const graph::Module& module)
      : registry_(registry), module_(module), seen_(module.main().nodes.size(), false) {}

  // The nodes of a shortest path to the loss, from one that reads a trainable variable; empty if
  // there is none.
  std::vector<NodeId> To(ValueId loss) {
    std::vector<NodeId> next(seen_.size(), kNone), queue;
    Reach(loss, kNone, &next, &queue);
    for (size_t i = 0; i < queue.size(); ++i) {
      if (TrainableOf(queue[i]) != nullptr) return PathFrom(queue[i], next);
      for (const ValueId input : module_.main().nodes[queue[i]].inputs) {
        Reach(input, queue[i], &next, &queue);
      }
    }
    return {};
  }

  const graph::Variable* TrainableOf(NodeId id) const {
    for (const auto& use : ops::VariablesOf(registry_, module_, module_.main().nodes[id])) {
      const graph::Variable& variable = module_.variables[use.variable];
      if (!use.writes && variable.trainable) return &variable;
    }
    return nullptr;
  }

  bool HasGradient(NodeId id) const {
    const ops::OpDef& def = ops::DefOf(registry_, module_, module_.main().nodes[id]);
    return def.gradient || def.composed() || def.control != ops::Control::kNone;
  }

 private:
  void Reach(ValueId value, NodeId from, std::vector<NodeId>* next, std::vector<NodeId>* queue) {
    if (value == kNone || value >= module_.main().values.size()) return;
    const NodeId producer = module_.main().values[value].producer;
    if (producer == kNone || seen_[producer]) return;
    seen_[producer] = true;
    (*next)[producer] = from;
    queue->push_back(producer);
  }

  static std::vector<NodeId> PathFrom(NodeId id, const std::vector<NodeId>& next) {
    std::vector<NodeId> path;
    for (; id != kNone; id = next[id]) path.push_back(id);
    return path;
  }

  const ops::OpRegistry& registry_;
  const graph::Module& module_;
  graph::Marks seen_;
};

std::string PathText(const graph::Module& module, std::span<const NodeId> path) {
  std::string text;
  for (size_t i = 1; i < path.size(); ++i) {  // behind the read
    const bool left_out = i >= kMostNamed / 2 && i + kMostNamed / 2 < path.size();
    if (!left_out)
      text += Cat(i == 1 ? "" : " -> ", graph::NodeText(module, module.main(), path[i]));
    if (left_out && i == kMostNamed / 2) text += " -> …";
  }
  return text;
}

}  // namespace

Status NoGradient(const ops::OpRegistry& registry, const graph::Module& module, ValueId loss) {
  PathFinder finder(registry, module);
  const std::vector<NodeId> path = finder.To(loss);
  for (size_t i = path.size(); i-- > 1;) {  // from the loss on
    if (finder.HasGradient(path[i])) continue;
    return FailedPrecondition(
               "the loss depends on no trainable variable through differentiable operators: on "
               "the ",
               "path of '", finder.TrainableOf(path[0])->name, "', ", PathText(module, path), ", ",
               module.OperatorOf(module.main().nodes[path[i]]).name, " has no gradient")
        .WithNode(graph::NodeText(module, module.main(), path[i]));
  }
  return FailedPrecondition(
      "the loss depends on no trainable variable through differentiable operators");
}

}  // namespace hr::transform
