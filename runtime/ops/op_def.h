// What an operator is: its arity and attributes, its type rule and its gradient rule. Kernels live
// in the backends; everything else about an operator stands in one entry of one family's file.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "runtime/graph/graph.h"

namespace hr::ops {

using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using graph::ValueType;

class InferContext;
class GradientContext;

inline constexpr std::string_view kOnnx = "";
inline constexpr std::string_view kState = "headrace.state";
inline constexpr std::string_view kTrain = "headrace.train";
inline constexpr std::string_view kGrad = "headrace.grad";
inline constexpr std::string_view kComm = "headrace.comm";
inline constexpr std::string_view kData = "headrace.data";

inline constexpr int kUnlimited = INT32_MAX;

struct Arity {
  int min = 1;
  int max = 1;
};

enum class AttributeKind : uint8_t {
  kInt,
  kFloat,
  kString,
  kInts,
  kFloats,
  kStrings,
  kTensor,
  kGraph
};

struct AttributeDef {
  std::string_view name;
  AttributeKind kind;
  bool required = false;
};

// Plain data; the views refer to static storage, or to the custom operator that owns them.
struct OpDef {
  std::string_view domain;
  std::string_view name;
  int since_version = 1;  // the operator set version that brought this definition
  Arity inputs;
  Arity outputs;
  std::span<const AttributeDef> attributes;
  // Checks the inputs' types and sets the outputs'. Called while a graph is built, with what is
  // known, and again for each plan, with concrete shapes.
  Status (*infer)(InferContext&) = nullptr;
  // Emits the nodes that compute the inputs' gradients. Null: not differentiable, gradients stop.
  Status (*gradient)(GradientContext&) = nullptr;
  // Names of the kInt attributes that hold indices of variables.
  std::span<const std::string_view> reads = {};
  std::span<const std::string_view> writes = {};
  // Bit i: of input i only the type is used, so its memory may be reused before this node runs.
  uint32_t type_only_inputs = 0;
  // Draws random numbers: never folded, merged or replayed; has the attribute "stream".
  bool random = false;
  // For a custom operator's callbacks.
  const void* context = nullptr;

  bool has_effect() const { return !writes.empty(); }
  bool foldable() const { return reads.empty() && writes.empty() && !random; }
};

// Calls body(index, reads, writes) for each variable that the node names, once per attribute. The
// index is the attribute's own, so it can be changed where the node can.
template <typename AnyNode, typename Body>
void ForEachVariable(const OpDef& def, AnyNode& node, Body&& body) {
  for (auto& attribute : node.attributes) {
    auto among = [&](std::span<const std::string_view> names) {
      return std::find(names.begin(), names.end(), attribute.name) != names.end();
    };
    bool reads = among(def.reads);
    bool writes = among(def.writes);
    auto* index = std::get_if<int64_t>(&attribute.value);
    if ((reads || writes) && index != nullptr) body(*index, reads, writes);
  }
}

// Finds definitions by (domain, name, version). One belongs to each env; the built-in operators are
// there from the start. Add before the first use from a second thread; Find is thread-safe after.
class OpRegistry {
 public:
  OpRegistry();

  // The newest definition with since_version <= version, or null.
  const OpDef* Find(std::string_view domain, std::string_view name, int version) const;
  // As Find, but the failure names the closest known operator or version.
  Result<const OpDef*> Get(const graph::Operator& op) const;
  // The newest definition there is.
  const OpDef* Newest(std::string_view domain, std::string_view name) const;
  // ALREADY_EXISTS where (domain, name, since_version) is taken.
  Status Add(const OpDef& def);
  std::span<const OpDef* const> all() const { return defs_; }

 private:
  std::vector<const OpDef*> defs_;  // sorted by domain, name, version
};

// Checks a node's arity and attributes against its definition.
Status CheckNode(const OpDef& def, const Node& node);

// Definitions, arities, attributes and the variables that nodes refer to, for a whole module.
Status CheckModule(const OpRegistry& registry, const graph::Module& module);

}  // namespace hr::ops
