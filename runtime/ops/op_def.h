// What an operator is: its arity and attributes, its type rule and its gradient rule. Kernels live
// in the backends; everything else about an operator stands in one entry of one family's file.
#pragma once

#include <span>
#include <string_view>

#include "runtime/base/strings.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/effects.h"

namespace hr::ops {

using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using graph::ValueType;

class InferContext;
class GradientContext;
class ComposeContext;

inline constexpr std::string_view kOnnx = "";
inline constexpr std::string_view kState = "headrace.state";
inline constexpr std::string_view kControl = "headrace.control";
inline constexpr std::string_view kSized = "headrace.sized";
inline constexpr std::string_view kTrain = "headrace.train";
inline constexpr std::string_view kGrad = "headrace.grad";
inline constexpr std::string_view kComm = "headrace.comm";
inline constexpr std::string_view kData = "headrace.data";

inline constexpr int16_t kUnlimited = INT16_MAX;

// How an operator with bodies is run; control.h has their layout.
enum class Control : uint8_t {
  kNone,
  kIf,    // the body that runs takes the node's place as soon as the condition is known
  kLoop,  // runs between the stages of a run
  kScan,  // becomes a Loop
  kCall,  // the body takes the node's place
};

struct Arity {
  int16_t min = 1;
  int16_t max = 1;
};

// In the order of graph::AttributeValue, and behind these what an integer may be.
enum class AttributeKind : uint8_t {
  kInt,
  kFloat,
  kString,
  kInts,
  kFloats,
  kStrings,
  kTensor,
  kGraph,
  kFlag,  // an integer that is 0 or 1
};

struct AttributeDef {
  Literal name;
  AttributeKind kind;
  bool required = false;
  AttributeEffect effect = {};  // kInt for a variable, kString for other resources
};

// Emits the nodes that compute the gradients of a node's inputs. A library without training has
// none, and so nothing that only they use.
class GradientRule {
 public:
  using Function = void (*)(GradientContext&);
#ifdef HEADRACE_WITHOUT_TRAINING
  constexpr GradientRule(Function) {}  // NOLINT: implicit on purpose
#else
  constexpr GradientRule(Function rule) : rule_(rule) {}  // NOLINT: implicit on purpose
#endif
  explicit operator bool() const { return rule_ != nullptr; }
  void operator()(GradientContext& context) const { rule_(context); }

 private:
  Function rule_ = nullptr;
};

// Plain data; it refers to static storage, or to the custom operator that owns it. That derives
// from OpDef, where its rules need more.
struct OpDef {
  Literal domain;
  Literal name;
  int since_version = 1;  // the operator set version that brought this definition
  Arity inputs;
  Arity outputs;
  // Bit i: of input i only the type is used, so its memory may be reused before this node runs.
  uint16_t type_only_inputs = 0;
  // Bit i: input i may be omitted, though the operator takes any number of inputs.
  uint16_t omissible_inputs = 0;
  Control control = Control::kNone;
  // Takes or gives sequences or optionals. These live between the stages of a run, and so does the
  // node if a value of that kind comes.
  bool containers = false;
  // Draws random numbers: never folded, merged or replayed; has the attribute "stream".
  bool random = false;
  bool custom = false;  // it is a CustomOp
  std::span<const AttributeDef> attributes;
  // Checks the inputs' types and sets the outputs'. Called while a graph is built, with what is
  // known, and again for each plan, with concrete shapes.
  Status (*infer)(InferContext&) = nullptr;
  // Null: not differentiable, gradients stop; a composed operator has those of its composition.
  GradientRule gradient = nullptr;
  // Emits the nodes that compute the outputs, if there is no kernel for them; see compose.h.
  void (*compose)(ComposeContext&) = nullptr;
  // Of a composed operator for which the CPU has kernels nevertheless: whether it has one for a
  // node of such types.
  bool (*has_kernel)(const graph::Graph&, const Node&) = nullptr;

  // Whether nodes can be emitted in its place, which need kernels; see compose.h and control.h.
  bool composed() const {
    return compose != nullptr || control == Control::kScan || control == Control::kCall;
  }
  // Whether they are, because the node itself has no kernel.
  bool is_composed(const graph::Graph& graph, const Node& node) const {
    return composed() && (has_kernel == nullptr || !has_kernel(graph, node));
  }
  // Whether the outputs follow from the inputs and attributes alone: no effect, no random numbers.
  bool foldable() const;
};

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
  int NewestVersion(std::string_view domain) const;

  std::vector<const OpDef*> defs_;  // sorted by domain, name, version
};

// Returns the definition of a node's operator, in a module that was checked before.
const OpDef& DefOf(const OpRegistry& registry, const graph::Module& module, const Node& node);

// Checks a node's arity and attributes against its definition.
Status CheckNode(const OpDef& def, const Node& node);
// INVALID_ARGUMENT, which lists those there are, where there is none of that name.
Result<const AttributeDef*> FindAttribute(const OpDef& def, std::string_view name);

// "an integer", "floats", …
std::string_view KindName(AttributeKind kind);

// UNIMPLEMENTED, which names every operator of the module that is not known.
Status CheckOperators(const OpRegistry& registry, const graph::Module& module);
// Definitions, arities, attributes and the variables that nodes refer to, for a whole module.
Status CheckModule(const OpRegistry& registry, const graph::Module& module);

}  // namespace hr::ops
