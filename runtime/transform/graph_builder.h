// Builds a Module node by node, with types inferred as it grows.
//
// Effects on one variable are chained in program order by control edges; reading a variable that
// nothing has written yet gives its value at the start of the step. What may fail half-way runs in
// AllOrNothing. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ops/gradient.h"
#include "runtime/ops/op_def.h"

namespace hr::transform {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

struct NodeSpec {
  std::string domain;
  std::string op;
  int version = 0;  // 0: the newest known
  std::vector<ValueId> inputs;
  size_t outputs = 1;
  std::vector<graph::Attribute> attributes;
  std::vector<NodeId> controls;
  bool chained = true;  // after all earlier effects on its variables; else after `controls` alone
  std::string name;     // empty: made from the operator's name
  std::string device;
};

class GraphBuilder final : public ops::Emitter {
 public:
  // Both must outlive the builder and what it builds.
  GraphBuilder(Allocator& allocator, const ops::OpRegistry& registry);
  // Continues a module, e.g. one loaded from a file.
  GraphBuilder(Allocator& allocator, const ops::OpRegistry& registry, graph::Module module);

  // Returns the index of the symbol, the known one where the name is taken.
  uint32_t AddSymbol(std::string_view name);
  // Of a symbol that was added.
  Status SetSymbolBounds(std::string_view name, int64_t min, int64_t max,
                         std::vector<int64_t> buckets);

  Result<ValueId> AddInput(std::string_view name, graph::ValueType type);
  Result<ValueId> Constant(Tensor value) override;
  Result<ValueId> AddConstant(std::string_view name, Tensor value);

  // Variables start as a constant or as the output of an initializer node without inputs.
  Result<uint32_t> AddVariable(std::string_view name, Tensor initial, bool trainable);
  Result<uint32_t> AddVariable(std::string_view name, DType dtype, Dims dims, bool trainable,
                               NodeSpec initializer);
  // A variable of the type and with the initial value of another, in the same memory; not trained.
  Result<uint32_t> AddVariableLike(std::string_view name, uint32_t other);
  Status SetTrainable(uint32_t variable, bool trainable);
  // INVALID_ARGUMENT if there is no such variable.
  Status CheckVariable(uint32_t variable) const;
  Status CheckValue(ValueId value) const;
  // The variable's value here, in program order.
  Result<ValueId> Read(uint32_t variable);
  // The variable's value at the start of the step, whatever writes it before.
  Result<ValueId> ReadAtStart(uint32_t variable);
  // Writes the variable here, in program order, and after the node `after` if that is not kNone.
  // `op`: "Assign" or "AssignAdd" of headrace.state.
  Result<NodeId> Assign(std::string_view op, uint32_t variable, ValueId value,
                        NodeId after = kNone);

  Result<NodeId> AddNode(NodeSpec spec);
  Result<std::vector<ValueId>> Emit(std::string_view domain, std::string_view name,
                                    std::span<const ValueId> inputs, size_t outputs,
                                    std::vector<graph::Attribute> attributes) override;
  // The output of a new node that has one; an empty name is made from the operator's.
  Result<ValueId> EmitOne(std::string_view domain, std::string_view op,
                          std::initializer_list<ValueId> inputs,
                          std::initializer_list<graph::AttributeInit> attributes = {},
                          std::string name = {});
  // Gives a node more outputs (optional ones that a gradient rule asks for); returns output
  // `index`.
  Result<ValueId> RequireOutput(NodeId node, size_t index) override;

  // What is added until EndBody goes into a new body of the module. Bodies may be nested; each
  // BeginBody is followed by its EndBody, also after a failure. Values belong to one body.
  uint32_t BeginBody();
  // `outer`: the graph that nodes are added to again.
  void EndBody(uint32_t outer, std::vector<ValueId> outputs);
  // The graph that nodes are added to now.
  uint32_t current_graph() const { return current_; }
  // Adds the main graph of `part`, an extracted module whose signature says in which order its
  // inputs and outputs stand, as a body; returns its index. UNIMPLEMENTED if it touches variables.
  Result<uint32_t> AddBody(graph::Module part);
  // Emits what a body does, with `arguments` in the place of its inputs, and returns its outputs.
  // `salt`: a number that makes its random numbers others than those of other places where it
  // stands; 0: they are the body's own.
  Result<std::vector<ValueId>> EmitBody(uint32_t body, std::span<const ValueId> arguments,
                                        int64_t salt = 0);
  // Gives a node of the graph other attributes.
  void SetAttributes(NodeId node, std::vector<graph::Attribute> attributes);

  Status AddSignature(graph::Signature signature);
  // The signature with this name, new where there is none. Valid until the next one is added.
  graph::Signature& SignatureNamed(std::string_view name);
  // Leaves what only this signature needs, until Prune.
  Status RemoveSignature(std::string_view name);
  void SetMetadata(std::string_view key, std::string_view value);
  Status RenameValue(ValueId value, std::string_view name);
  // `wanted` below the scope, with a number behind it where a node or value is called so already.
  std::string UniqueName(std::string_view wanted);
  // Nodes emitted while it is set are called "scope/…". Returns the one before.
  std::string SetScope(std::string scope) { return std::exchange(scope_, std::move(scope)); }
  // The device of nodes that are added without one of their own from now on; returns the one
  // before.
  std::string SetDevice(std::string device) { return std::exchange(device_, std::move(device)); }

  const graph::Module& module() const override { return module_; }
  const graph::Graph& graph() const override { return module_.graphs[current_]; }
  Allocator& allocator() override { return *allocator_; }
  const ops::OpRegistry& registry() const { return *registry_; }

  // Calls body(), which returns a Status or a Result, and rolls back what it did if that fails. May
  // be nested. The body may add to the module, to the outputs of nodes and to signatures, may
  // redirect nodes, and may set attributes, the scope and the device; it changes nothing else of
  // what was there before.
  template <typename Body>
  auto AllOrNothing(Body body) {
    Savepoint before = MakeSavepoint();
    auto result = body();
    if (!result.ok()) RollBack(std::move(before));
    return result;
  }

  // Makes a node an Identity of the first of `values`, and adds an Identity for each other one:
  // they give the node's outputs from now on.
  void Redirect(NodeId node, std::span<const ValueId> values);

  // Gives a node another value as its input, of the type that it had; or an optional one that it
  // did not have.
  void SetInput(NodeId node, size_t input, ValueId value);
  // Lets a node run after another one, too.
  void AddControl(NodeId node, NodeId before);
  // Infers a node's types again, whose inputs have others now.
  Status InferAgain(NodeId node);
  // Makes a variable that starts as zeros one of so many elements. FAILED_PRECONDITION if it starts
  // as something else.
  Status DivideVariable(uint32_t variable, int64_t elements);

  // Lets all that uses `from` use `to` instead: nodes, but for those that `to` is computed by, and
  // outputs of signatures. Inputs of signatures that nothing uses any more go. INVALID_ARGUMENT if
  // the types do not fit. Not to be rolled back: the last thing in AllOrNothing.
  Status ReplaceValue(ValueId from, ValueId to);

  // Removes what no signature needs, and gives new numbers to all that stays.
  void Prune();

  // The module as it is. The builder is empty afterwards.
  graph::Module Take() && { return std::move(module_); }
  // The module, verified. The builder is empty afterwards.
  Result<graph::Module> Finish();

 private:
  // Nodes that touched a resource, for chaining effects.
  struct ResourceState {
    NodeId last_write = kNone;
    std::vector<NodeId> reads;     // since the last write, but for those of the start of the step
    ValueId current_read = kNone;  // of a variable
    ValueId start_read = kNone;    // of a variable at the start of the step
  };

  // What RollBack needs: how much there is of what only grows, and a copy of what is small.
  struct Savepoint {
    size_t operators, symbols, graphs, variables, constants, nodes, values;
    std::map<std::string, int32_t, std::less<>> opsets;
    std::vector<graph::Signature> signatures;
    std::string scope, device;
    int64_t next_stream;
    size_t replaced, retyped, divided;
  };
  // What SetAttributes and Redirect have changed, as it was.
  struct Replaced {
    uint32_t graph;
    NodeId id;
    graph::Node node;
  };
  struct Retyped {
    ValueId value;
    graph::ValueType type;
  };
  struct Divided {
    uint32_t index;
    graph::Variable variable;
    Tensor initial;
  };
  void NoteReplaced(NodeId node) { replaced_.push_back({current_, node, current().nodes[node]}); }
  Savepoint MakeSavepoint() const;
  void RollBack(Savepoint before);

  graph::Graph& current() { return module_.graphs[current_]; }
  Result<ValueId> AddValue(graph::Value value);
  void ChainEffects(const ops::OpDef& def, NodeId node, bool chained);
  void NoteEffect(const ops::Effect& effect, NodeId node);
  void NoteRead(const graph::Node& node);
  void IndexNames();
  void IndexEffects();

  Allocator* allocator_;
  const ops::OpRegistry* registry_;
  graph::Module module_;
  uint32_t current_ = 0;
  std::string scope_;
  std::string device_;
  std::map<ops::Resource, ResourceState> resources_;  // those that were touched
  // Every name, with the last number that was put behind it to make another.
  std::map<std::string, int32_t, std::less<>> names_;
  int64_t next_stream_ = 0;
  std::vector<Replaced> replaced_;
  std::vector<Retyped> retyped_;  // of the main graph, as it was
  std::vector<Divided> divided_;
};

}  // namespace hr::transform
