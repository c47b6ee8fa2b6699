#include "runtime/ops/effects.h"

#include "runtime/ops/op_def.h"

namespace hr::ops {

std::vector<Effect> EffectsOf(const OpDef& def, const Node& node) {
  std::vector<Effect> out;
  for (const AttributeDef& attribute : def.attributes) {
    const AttributeEffect& effect = attribute.effect;
    if (!effect || node.Find(attribute.name) == nullptr) continue;
    Resource resource{.kind = effect.kind};
    if (effect.kind == ResourceKind::kVariable) {
      resource.variable = node.Int(attribute.name, -1);
    } else {
      resource.name = node.String(attribute.name, "");
    }
    out.push_back({attribute.name, std::move(resource), effect.reads, effect.writes});
  }
  return out;
}

std::vector<VariableUse> VariablesOf(const OpDef& def, const Node& node) {
  std::vector<VariableUse> out;
  for (const AttributeDef& attribute : def.attributes) {
    const AttributeEffect& effect = attribute.effect;
    if (!effect || effect.kind != ResourceKind::kVariable) continue;
    if (node.Find(attribute.name) == nullptr) continue;
    out.push_back({attribute.name, node.Int(attribute.name, -1), effect.reads, effect.writes});
  }
  return out;
}

std::vector<VariableUse> VariablesOf(const OpRegistry& registry, const graph::Module& module,
                                     const Node& node) {
  return VariablesOf(DefOf(registry, module, node), node);
}

}  // namespace hr::ops
