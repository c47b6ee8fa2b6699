#include "runtime/ops/op_def.h"

#include <algorithm>
#include <tuple>

#include "runtime/base/errors.h"
#include "runtime/ops/builtin.h"

namespace hr::ops {
namespace {

// The operator set of the ONNX release whose tests judge the operators.
constexpr int kNewestOnnxOpset = 27;

using Key = std::tuple<std::string_view, std::string_view, int>;

Key KeyOf(const OpDef& def) { return {def.domain, def.name, def.since_version}; }
bool Before(const OpDef* a, const OpDef* b) { return KeyOf(*a) < KeyOf(*b); }

AttributeKind KindOf(const graph::AttributeValue& value) {
  return static_cast<AttributeKind>(value.index());
}

Status CheckAttribute(const OpDef& def, const graph::Attribute& attribute) {
  HR_ASSIGN_OR_RETURN(const AttributeDef* known, FindAttribute(def, attribute.name));
  const AttributeKind kind = KindOf(attribute.value);
  if (known->kind == kind) return {};
  if (known->kind != AttributeKind::kFlag || kind != AttributeKind::kInt) {
    return InvalidArgument(def.name, "'s attribute '", attribute.name, "' is ",
                           KindName(known->kind), ", got ", KindName(kind));
  }
  const int64_t value = std::get<int64_t>(attribute.value);
  if (value == 0 || value == 1) return {};
  return InvalidArgument(def.name, "'s attribute '", attribute.name, "' is 0 or 1, got ", value);
}

Status CheckArity(Literal what, const Arity& arity, size_t count, Literal op) {
  bool limited = arity.max != kUnlimited;
  bool fits = !limited || count <= static_cast<size_t>(arity.max);
  if (fits && count >= static_cast<size_t>(arity.min)) return {};
  if (!limited) {
    return InvalidArgument(op, " takes at least ", arity.min, " ", what, ", got ", count);
  }
  if (arity.min == arity.max) {
    return InvalidArgument(op, " takes ", arity.min, " ", what, ", got ", count);
  }
  return InvalidArgument(op, " takes ", arity.min, " to ", arity.max, " ", what, ", got ", count);
}

Status CheckVariables(const OpDef& def, const graph::Module& module, const Node& node) {
  for (const VariableUse& use : VariablesOf(def, node)) {
    if (use.variable < 0 || static_cast<size_t>(use.variable) >= module.variables.size()) {
      return InvalidArgument("attribute '", use.attribute, "' names variable ", use.variable,
                             ", there are ", module.variables.size());
    }
  }
  return {};
}

}  // namespace

std::string_view KindName(AttributeKind kind) {
  constexpr std::string_view kNames[] = {"an integer",        "a float", "a string",
                                         "integers",          "floats",  "strings",
                                         "a constant tensor", "a graph", "0 or 1"};
  return kNames[static_cast<size_t>(kind)];
}

Result<const AttributeDef*> FindAttribute(const OpDef& def, std::string_view name) {
  for (const AttributeDef& attribute : def.attributes) {
    if (attribute.name == name) return &attribute;
  }
  std::vector<std::string_view> known;
  for (const AttributeDef& attribute : def.attributes) known.push_back(attribute.name);
  return InvalidArgument(def.name, " has no attribute '", name, "'; it has ",
                         known.empty() ? "none" : Join(known));
}

bool OpDef::foldable() const {
  return !random && std::none_of(attributes.begin(), attributes.end(), [](const auto& attribute) {
    return static_cast<bool>(attribute.effect);
  });
}

const OpDef& DefOf(const OpRegistry& registry, const graph::Module& module, const Node& node) {
  return *registry.Get(module.OperatorOf(node)).value();
}

OpRegistry::OpRegistry() {
  for (const OpFamily& family : BuiltinFamilies()) {
    for (const OpDef& def : family) Add(def).IgnoreError();  // they differ, which a test checks
  }
}

const OpDef* OpRegistry::Find(std::string_view domain, std::string_view name, int version) const {
  auto after = std::upper_bound(defs_.begin(), defs_.end(), Key(domain, name, version),
                                [](const Key& key, const OpDef* def) { return key < KeyOf(*def); });
  if (after == defs_.begin()) return nullptr;
  const OpDef* found = *std::prev(after);
  return found->domain == domain && found->name == name ? found : nullptr;
}

const OpDef* OpRegistry::Newest(std::string_view domain, std::string_view name) const {
  return Find(domain, name, INT32_MAX);
}

// Operators go by the versions of their domain's operator sets, and change in few of them.
int OpRegistry::NewestVersion(std::string_view domain) const {
  if (domain == kOnnx) return kNewestOnnxOpset;
  int newest = 1;
  for (const OpDef* def : defs_) {
    if (def->domain == domain) newest = std::max(newest, def->since_version);
  }
  return newest;
}

Result<const OpDef*> OpRegistry::Get(const graph::Operator& op) const {
  const OpDef* def = Find(op.domain, op.name, op.version);
  const bool found = def != nullptr;
  if (found && op.version <= def->since_version) return def;
  const int newest_version = NewestVersion(op.domain);
  if (found && op.version <= newest_version) return def;
  const std::string full = op.domain.empty() ? op.name : Cat(op.domain, ".", op.name);
  if (found) {
    return Unimplemented("operator ", full, " is known up to version ", newest_version, ", got ",
                         op.version);
  }
  // Nothing is as old as what is asked for, so the first definition of that name is newer.
  const auto oldest =
      std::lower_bound(defs_.begin(), defs_.end(), Key(op.domain, op.name, op.version),
                       [](const OpDef* def, const Key& key) { return KeyOf(*def) < key; });
  if (oldest != defs_.end() && (*oldest)->domain == op.domain && (*oldest)->name == op.name) {
    return Unimplemented("operator ", full, " is known, but not in version ", op.version,
                         "; the oldest known is not older than ", (*oldest)->since_version);
  }
  if (kReduced && (op.domain.empty() || op.domain.starts_with("headrace.") ||
                   op.domain.starts_with("ai.onnx"))) {
    return Unimplemented("there is no operator ", full, kHowToAdd);
  }
  std::vector<std::string> names;
  for (const OpDef* known : defs_) {
    if (known->domain == op.domain) names.emplace_back(known->name);
  }
  std::string_view close = ClosestWord(op.name, names);
  if (close.empty()) {
    return Unimplemented("there is no operator ", full,
                         "; one of the host's own must be added before its model is loaded");
  }
  return Unimplemented("there is no operator ", full, "; did you mean ", close, "?");
}

Status OpRegistry::Add(const OpDef& def) {
  auto at = std::lower_bound(defs_.begin(), defs_.end(), &def, Before);
  if (at != defs_.end() && KeyOf(**at) == KeyOf(def)) {
    return AlreadyExists("operator ", def.domain, ".", def.name, " version ", def.since_version,
                         " is already defined");
  }
  defs_.insert(at, &def);
  return {};
}

Status CheckNode(const OpDef& def, const Node& node) {
  HR_RETURN_IF_ERROR(CheckArity("inputs", def.inputs, node.inputs.size(), def.name));
  HR_RETURN_IF_ERROR(CheckArity("outputs", def.outputs, node.outputs.size(), def.name));
  // If an operator takes any number of inputs, few of them can be omitted.
  size_t needed =
      def.inputs.max == kUnlimited ? node.inputs.size() : static_cast<size_t>(def.inputs.min);
  for (size_t i = 0; i < needed; ++i) {
    const bool omissible = i < 16 && (def.omissible_inputs >> i & 1) != 0;
    if (node.inputs[i] == kNone && !omissible)
      return InvalidArgument(def.name, " needs its input ", i);
  }
  for (const graph::Attribute& attribute : node.attributes) {
    HR_RETURN_IF_ERROR(CheckAttribute(def, attribute));
  }
  for (const AttributeDef& attribute : def.attributes) {
    if (attribute.required && node.Find(attribute.name) == nullptr) {
      return InvalidArgument(def.name, " needs its attribute '", attribute.name, "'");
    }
  }
  return {};
}

Status CheckOperators(const OpRegistry& registry, const graph::Module& module) {
  std::vector<std::string> unknown;
  for (const graph::Operator& op : module.operators) {
    if (registry.Get(op).ok()) continue;
    const std::string dot = op.domain.empty() ? "" : ".";
    unknown.push_back(Cat(op.domain, dot, op.name, " (version ", op.version, ")"));
  }
  if (unknown.empty()) return {};
  return Unimplemented("the model has operators that are not known: ", Join(unknown),
                       kReduced ? kHowToAdd : Literal(""),
                       "; those of the host must be added before its model is loaded");
}

Status CheckModule(const OpRegistry& registry, const graph::Module& module) {
  std::vector<const OpDef*> defs;
  for (const graph::Operator& op : module.operators) {
    HR_ASSIGN_OR_RETURN(const OpDef* def, registry.Get(op));
    defs.push_back(def);
  }
  for (const graph::Graph& graph : module.graphs) {
    for (const Node& node : graph.nodes) {
      HR_RETURN_IF_ERROR(CheckNode(*defs[node.op], node).WithNode(node.name));
      HR_RETURN_IF_ERROR(CheckVariables(*defs[node.op], module, node).WithNode(node.name));
    }
  }
  return {};
}

}  // namespace hr::ops
