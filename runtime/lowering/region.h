// A region while it is rewritten: the module, plus the layout of each value, plus what has to be
// known to have the result for other sizes, too.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/lowering/layout.h"

namespace hr::lowering {

// The domain of operators that rewriting makes. They have no definition; they list the variables
// that they write in the attribute "variables".
inline constexpr std::string_view kLowered = "lowered";

class Region {
 public:
  // `resizable`: notes decisions, for FitsAt.
  explicit Region(graph::Module module, bool resizable = false);

  graph::Module module;

  graph::Graph& graph() { return module.main(); }
  const graph::Graph& graph() const { return module.main(); }
  const graph::Node& node(graph::NodeId id) const { return graph().nodes[id]; }
  const graph::Value& value(graph::ValueId id) const { return graph().values[id]; }
  size_t node_count() const { return graph().nodes.size(); }

  bool Is(graph::NodeId node, std::string_view domain, std::string_view name) const;
  // The node that makes the value; kNone for inputs and constants.
  graph::NodeId Producer(graph::ValueId value) const { return this->value(value).producer; }
  // Nodes that take the value as an input, each once; empty for kNone.
  std::vector<graph::NodeId> Consumers(graph::ValueId value) const;
  // The only consumer of a value that is not fetched; kNone otherwise.
  graph::NodeId OnlyConsumer(graph::ValueId value) const;
  bool IsFetched(graph::ValueId value) const;
  // Whether another node lists it in its controls.
  bool IsWaitedFor(graph::NodeId node) const;
  // Whether one of the nodes is among `these` or has run before they do.
  bool NeedOneOf(std::vector<graph::NodeId> these, std::span<const graph::NodeId> nodes) const;
  // The nodes that make the values.
  std::vector<graph::NodeId> Producers(std::span<const graph::ValueId> values) const;
  // Whether nodes whose results nobody but them takes, unless that of the last one, may become one
  // node; kNone is no node. They may not if one of them waits for another node, or takes what it
  // makes, that itself waits for one of them.
  bool MayJoin(std::initializer_list<graph::NodeId> nodes) const;
  bool MayJoin(std::span<const graph::NodeId> nodes) const;
  // A value's constant; null if it has none.
  const Tensor* ConstantOf(graph::ValueId value) const;
  // The number of a constant of one element of a floating type, unless it is of 8 bits.
  std::optional<double> ScalarOf(graph::ValueId value) const;
  // The concrete shape.
  Dims DimsOf(graph::ValueId value) const { return *this->value(value).type.FixedDims(); }
  DType DTypeOf(graph::ValueId value) const { return this->value(value).type.dtype; }

  Layout LayoutOf(graph::ValueId value) const {
    return value < layouts_.size() ? layouts_[value] : Layout::kPlain;
  }
  void SetLayout(graph::ValueId value, Layout layout);

  // A value whose shape follows from those of others.
  using ShapeRule = std::function<Dims(const Region&)>;
  graph::ValueId AddValue(DType dtype, ShapeRule shape, std::string name);
  // Adds a node of the domain kLowered. Outputs that were made by other nodes are taken over from
  // them.
  graph::NodeId AddNode(std::string_view name, std::vector<graph::ValueId> inputs,
                        std::vector<graph::ValueId> outputs,
                        std::vector<graph::Attribute> attributes, std::string label);
  // Makes every consumer take `to` in place of `from`.
  void ReplaceInput(graph::NodeId node, graph::ValueId from, graph::ValueId to);
  // Marks a node that `by` stands for from now on: whoever waited for it waits for `by`. Sweep
  // removes it.
  void Replace(graph::NodeId node, graph::NodeId by);
  bool IsDead(graph::NodeId node) const { return dead_[node]; }
  // What a pass decides by the sizes of values. The predicate holds values and attributes, but no
  // nodes, whose numbers change.
  using Predicate = std::function<bool(const Region&)>;
  bool Decide(Predicate predicate);
  // The rewritten region with the types and constants of `module`, which is the original one at
  // other sizes.
  Region At(const graph::Module& module) const;
  // Whether the passes would have rewritten `sized`, a result of At, as they did this region.
  bool FitsAt(const Region& sized) const;
  // Removes dead nodes and whatever only they needed. Nodes are renumbered; values, constants and
  // variables, and so the region's slots, are not.
  void Sweep();

 private:
  void IndexConsumers() const;
  std::vector<bool> Needed() const;

  struct Added {
    graph::ValueId value;
    ShapeRule shape;
  };
  struct Decision {
    Predicate predicate;
    bool outcome;
  };
  bool resizable_;
  std::vector<Added> added_;
  std::vector<Decision> decisions_;
  std::vector<Layout> layouts_;
  std::vector<bool> dead_;
  mutable bool indexed_ = false;
  mutable std::vector<std::vector<graph::NodeId>> consumers_;
  mutable std::vector<bool> waited_for_;
};

}  // namespace hr::lowering
