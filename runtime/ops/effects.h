// What operators touch besides their operands. An attribute names the resource; the operator's
// definition says of which kind it is and what happens to it.
//
// Effects on one resource keep their order, which control edges write down; nothing that has an
// effect is folded or merged with an equal node, nor runs at the same time as another node that
// touches the resource, unless both only read it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/strings.h"

namespace hr::graph {
struct Module;
struct Node;
}  // namespace hr::graph

namespace hr::ops {

struct OpDef;
class OpRegistry;

// A variable's attribute holds its index in the module; others hold a name.
enum class ResourceKind : uint8_t { kVariable, kGroup, kTable, kData };

// What an operator does with the resource that an attribute names. Neither: the attribute names
// none.
struct AttributeEffect {
  ResourceKind kind = ResourceKind::kVariable;
  bool reads = false;
  bool writes = false;
  constexpr explicit operator bool() const { return reads || writes; }
};
constexpr AttributeEffect Reads(ResourceKind kind) { return {kind, true, false}; }
constexpr AttributeEffect Writes(ResourceKind kind) { return {kind, false, true}; }
constexpr AttributeEffect Changes(ResourceKind kind) { return {kind, true, true}; }

struct Resource {
  ResourceKind kind = ResourceKind::kVariable;
  int64_t variable = -1;  // of kVariable
  std::string name;       // of the other kinds
  friend auto operator<=>(const Resource&, const Resource&) = default;
};

// An effect of one node.
struct Effect {
  Literal attribute;
  Resource resource;
  bool reads;
  bool writes;
};

// Returns the effects of a node; those of optional attributes only if they are given.
std::vector<Effect> EffectsOf(const OpDef& def, const graph::Node& node);

struct VariableUse {
  Literal attribute;
  int64_t variable;
  bool reads;
  bool writes;
};
// Returns the effects on variables alone.
std::vector<VariableUse> VariablesOf(const OpDef& def, const graph::Node& node);
// The same for a node of a module that was checked before.
std::vector<VariableUse> VariablesOf(const OpRegistry& registry, const graph::Module& module,
                                     const graph::Node& node);

}  // namespace hr::ops
