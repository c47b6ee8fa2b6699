#include "runtime/lowering/fuse_updates.h"

#include <algorithm>
#include <map>

#include "runtime/lowering/schedule.h"
#include "runtime/ops/optimizer.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// Steps may be joined if these agree.
struct Key {
  uint32_t op;
  ValueId learning_rate;
  ValueId when;
  DType dtype;
  std::string settings;
  auto operator<=>(const Key&) const = default;
};

class Joiner {
 public:
  Joiner(Region& region, const ops::OpRegistry& operators)
      : region_(region), operators_(operators) {}

  void Run() {
    std::map<Key, std::vector<NodeId>> groups;
    CountWriters();
    for (NodeId id = 0; id < region_.node_count(); ++id) {
      // If a node waits for one step and another step waits for that node, joining the two steps
      // would make a cycle.
      if (IsStep(id) && !region_.IsWaitedFor(id) && WritesAlone(id)) {
        groups[KeyOf(id)].push_back(id);
      }
    }
    for (const auto& [key, steps] : groups) Join(steps);
    region_.Sweep();
  }

 private:
  bool IsStep(NodeId id) const {
    const graph::Operator& op = region_.module.OperatorOf(region_.node(id));
    return op.domain == ops::kTrain && ops::FindOptimizerOfOp(op.name) != nullptr;
  }

  std::vector<uint32_t> Written(NodeId id) const {
    return WrittenVariables(operators_, region_.module, region_.node(id));
  }

  void CountWriters() {
    writers_.assign(region_.module.variables.size(), 0);
    for (NodeId id = 0; id < region_.node_count(); ++id) {
      if (!IsStep(id)) continue;
      for (uint32_t v : Written(id))
        if (v != kNone) ++writers_[v];
    }
  }

  // The tensors of a joined step are updated at once, so none may be written twice. Two steps might
  // share a counter, for example.
  bool WritesAlone(NodeId id) const {
    const std::vector<uint32_t> written = Written(id);
    return std::all_of(written.begin(), written.end(),
                       [&](uint32_t v) { return v == kNone || writers_[v] == 1; });
  }

  std::vector<graph::Attribute> Settings(const graph::Node& node) const {
    std::vector<graph::Attribute> out;
    for (const graph::Attribute& attribute : node.attributes) {
      if (!attribute.name.ends_with("variable")) out.push_back(attribute);
    }
    return out;
  }

  static ValueId WhenOf(const graph::Node& node) {
    return node.inputs.size() > 2 ? node.inputs[2] : kNone;
  }

  Key KeyOf(NodeId id) const {
    const graph::Node& node = region_.node(id);
    std::string settings;
    for (const graph::Attribute& attribute : Settings(node)) {
      settings += Cat(attribute.name, "=");
      if (const auto* number = std::get_if<double>(&attribute.value)) settings += Cat(*number, " ");
      if (const auto* number = std::get_if<int64_t>(&attribute.value))
        settings += Cat(*number, " ");
    }
    return {node.op, node.inputs[0], WhenOf(node), region_.DTypeOf(node.inputs[1]),
            std::move(settings)};
  }

  void Join(const std::vector<NodeId>& steps) {
    const graph::Node first = region_.node(steps[0]);
    std::vector<ValueId> inputs = {first.inputs[0]};
    std::vector<int64_t> variables;
    for (NodeId id : steps) {
      inputs.push_back(region_.node(id).inputs[1]);
      for (uint32_t v : Written(id)) {
        variables.push_back(v == kNone ? -1 : static_cast<int64_t>(v));
      }
    }
    if (WhenOf(first) != kNone) inputs.push_back(WhenOf(first));
    std::vector<graph::Attribute> attributes = Settings(first);
    attributes.push_back({"variables", std::move(variables)});
    const std::string name = region_.module.OperatorOf(first).name;
    NodeId joined = region_.AddNode(name, std::move(inputs), {}, std::move(attributes), "update");
    for (NodeId id : steps) region_.Replace(id, joined);
    auto& targets = region_.module.signatures[0].targets;
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  }

  Region& region_;
  const ops::OpRegistry& operators_;
  std::vector<int> writers_;  // steps that write it, by variable
};

}  // namespace

void FuseUpdates(Region& region, const ops::OpRegistry& operators) {
  Joiner(region, operators).Run();
}

}  // namespace hr::lowering
