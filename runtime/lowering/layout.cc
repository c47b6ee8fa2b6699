#include "runtime/lowering/layout.h"

#include <map>

#include "runtime/lowering/target.h"
#include "runtime/ops/type_only.h"

namespace hr::lowering {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

namespace {

class Assigner {
 public:
  Assigner(Region& region, const Target& target, const ops::OpRegistry& operators)
      : region_(region), target_(target), operators_(operators) {}

  Status Run() {
    HR_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph::TopologicalOrder(region_.graph()));
    std::vector<NodeLayouts> layouts(region_.node_count());
    for (NodeId id : order) {
      layouts[id] = target_.LayoutsOf(region_, id);
      SetOutputs(id, layouts[id]);
    }
    for (NodeId id : order) ConvertInputs(id, layouts[id]);
    for (graph::Port& port : region_.module.signatures[0].outputs) {
      port.value = Converted(port.value, Layout::kPlain);
    }
    return {};
  }

 private:
  void SetOutputs(NodeId id, const NodeLayouts& layouts) {
    for (size_t i = 0; i < layouts.outputs.size(); ++i) {
      const ValueId output = region_.node(id).outputs[i];
      if (output != kNone && layouts.outputs[i] != Layout::kPlain) {
        region_.SetLayout(output, layouts.outputs[i]);
      }
    }
  }

  void ConvertInputs(NodeId id, const NodeLayouts& layouts) {
    for (size_t i = 0; i < region_.node(id).inputs.size(); ++i) {
      const ValueId input = region_.node(id).inputs[i];
      if (input == kNone || UsesTypeOnly(id, i)) continue;
      const Layout wanted = i < layouts.inputs.size() ? layouts.inputs[i] : Layout::kPlain;
      const ValueId converted = Converted(input, wanted);
      region_.graph().nodes[id].inputs[i] = converted;
    }
  }

  bool UsesTypeOnly(NodeId id, size_t input) const {
    const graph::Operator& op = region_.module.OperatorOf(region_.node(id));
    const ops::OpDef* def = operators_.Find(op.domain, op.name, op.version);
    return def != nullptr && ops::UsesTypeOnly(*def, input);
  }

  // Returns the value in the layout; one conversion serves all who need it.
  ValueId Converted(ValueId value, Layout layout) {
    const Layout written = region_.LayoutOf(value);
    if (written == layout) return value;
    const auto [known, added] = converted_.try_emplace({value, layout}, kNone);
    if (!added) return known->second;
    if (written != Layout::kPlain && layout != Layout::kPlain) {  // by way of the plain layout
      const ValueId plain = Converted(value, Layout::kPlain);
      return converted_[{value, layout}] = Converted(plain, layout);
    }
    const std::string name = region_.value(value).name + "/layout";
    const ValueId out = region_.AddValue(
        region_.DTypeOf(value), [value](const Region& region) { return region.DimsOf(value); },
        name);
    region_.SetLayout(out, layout);
    region_.AddNode(target_.ConversionOp(written, layout), {value}, {out}, {}, name);
    return known->second = out;
  }

  Region& region_;
  const Target& target_;
  const ops::OpRegistry& operators_;
  std::map<std::pair<ValueId, Layout>, ValueId> converted_;
};

}  // namespace

Status AssignLayouts(Region& region, const Target& target, const ops::OpRegistry& operators) {
  return Assigner(region, target, operators).Run();
}

}  // namespace hr::lowering
