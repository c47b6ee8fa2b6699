#include "runtime/lowering/widen.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/ops/op_def.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

bool Narrow(const Target& target, const graph::Module& module, const graph::Operator& op,
            ValueId value) {
  if (value == kNone) return false;
  const DType dtype = module.main().values[value].type.dtype;
  return target.ComputeType(op, dtype) != dtype;
}

bool AnyNarrow(const Target& target, const graph::Module& module) {
  const auto& nodes = module.main().nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](const graph::Node& node) {
    const auto narrow = [&](ValueId value) {
      return Narrow(target, module, module.OperatorOf(node), value);
    };
    return std::any_of(node.inputs.begin(), node.inputs.end(), narrow) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), narrow);
  });
}

class Widener {
 public:
  Widener(const Target& target, graph::Module& module) : target_(target), module_(module) {}

  void Widen(NodeId id) {
    const graph::Operator op = module_.OperatorOf(main().nodes[id]);
    for (size_t i = 0; i < main().nodes[id].inputs.size(); ++i) {
      const ValueId input = main().nodes[id].inputs[i];
      if (Narrow(target_, module_, op, input)) main().nodes[id].inputs[i] = WideCopy(op, input);
    }
    for (size_t i = 0; i < main().nodes[id].outputs.size(); ++i) {
      const ValueId output = main().nodes[id].outputs[i];
      if (Narrow(target_, module_, op, output))
        main().nodes[id].outputs[i] = WideSource(op, id, output);
    }
  }

 private:
  graph::Graph& main() { return module_.main(); }
  DType TypeOf(ValueId value) { return main().values[value].type.dtype; }

  ValueId AddWide(const graph::Operator& op, ValueId narrow) {
    graph::Value wide = {.type = main().values[narrow].type};
    wide.type.dtype = target_.ComputeType(op, wide.type.dtype);
    main().values.push_back(std::move(wide));
    return static_cast<ValueId>(main().values.size() - 1);
  }

  void AddCast(ValueId from, ValueId to) {
    graph::Node cast = {.op = module_.InternOperator(ops::kOnnx, "Cast", kCastVersion)};
    cast.inputs = {from};
    cast.outputs = {to};
    cast.attributes = graph::Attributes({{"to", static_cast<int64_t>(TypeOf(to))}});
    main().values[to].producer = static_cast<NodeId>(main().nodes.size());
    main().nodes.push_back(std::move(cast));
  }

  // Each value is widened once.
  ValueId WideCopy(const graph::Operator& op, ValueId narrow) {
    auto [found, added] = copies_.try_emplace(narrow, kNone);
    if (added) {
      found->second = AddWide(op, narrow);
      AddCast(narrow, found->second);
    }
    return found->second;
  }

  ValueId WideSource(const graph::Operator& op, NodeId producer, ValueId narrow) {
    const ValueId wide = AddWide(op, narrow);
    main().values[wide].producer = producer;
    AddCast(wide, narrow);
    return wide;
  }

  static constexpr int32_t kCastVersion = 9;

  const Target& target_;
  graph::Module& module_;
  std::unordered_map<ValueId, ValueId> copies_;
};

}  // namespace

std::optional<graph::Module> Widened(const Target& target, const graph::Module& module) {
  if (!AnyNarrow(target, module)) return std::nullopt;
  graph::Module widened = module;
  Widener widener(target, widened);
  for (NodeId id = 0; id < module.main().nodes.size(); ++id) widener.Widen(id);
  return widened;
}

}  // namespace hr::lowering
