// Writes the graph of a module, with its bodies, as messages of ONNX.
#pragma once

#include <map>
#include <set>
#include <string>

#include "converters/onnx/problems.h"
#include "converters/onnx/rope.h"
#include "runtime/base/cancel.h"
#include "runtime/graph/graph.h"

namespace hr::onnx {

class GraphWriter {
 public:
  // Writes the bytes of a tensor as fields of a TensorProto: within it or in another file.
  using DataWriter = FunctionRef<void(const Tensor&, Rope&)>;

  // What `signature` needs must be all that there is. The module must outlive what is written.
  GraphWriter(const graph::Module& module, const graph::Signature& signature, DataWriter data,
              const CallLimits* limits, Problems& problems);

  // The GraphProto. It is of no use if there are problems.
  Rope Write();
  // The operators that were written, by index in the module.
  const graph::Marks& used() const { return used_; }
  size_t nodes() const { return written_; }
  const std::map<std::string, size_t>& operators() const { return operators_; }

 private:
  using ValueId = graph::ValueId;
  // A graph and what its values are called.
  struct Scope {
    const graph::Graph& graph;
    std::vector<std::string> names;
    graph::Marks taken;  // the values that nodes take
    graph::Marks used;   // and those that are outputs
  };
  struct Output {
    std::string name;
    ValueId value;
  };

  std::string Unique(std::string_view wanted);
  Scope NewScope(const graph::Graph& graph);
  Scope MainScope();
  // `outer`: what the last inputs of the body, which are captured, are called around it.
  Scope BodyScope(const graph::Graph& body, std::span<const std::string> outer);
  void NameRest(Scope& scope);
  void NameVariable(Scope& scope, const graph::Node& read);

  Rope Contents(const Scope& scope, std::span<const ValueId> inputs,
                std::span<const Output> outputs);
  Rope Again(const Scope& scope, const Output& output);
  Rope Body(const Scope& around, const graph::Node& node, uint32_t body, size_t captured);
  void AddNodes(const Scope& scope, Rope& graph);
  void AddNode(const Scope& scope, const graph::Node& node, Rope& graph);
  Rope TypeOfNothing(const graph::Node& node);
  Rope Attribute(const Scope& scope, const graph::Node& node, const graph::Attribute& attribute,
                 size_t captured);
  void AddInitializers(const Scope& scope, Rope& graph);
  void AddVariables(Rope& graph);
  Rope TensorOf(const Tensor& tensor, std::string_view name);
  Rope ValueInfo(std::string_view name, const graph::ValueType& type);
  Rope Type(const graph::ValueType& type);
  size_t CapturedBy(const graph::Node& node, const graph::Operator& op);
  bool MayWrite(const graph::Node& node, const graph::Operator& op);
  bool IsMade(const graph::Graph& graph, ValueId value) const;
  bool CanBeCalled(const graph::Graph& graph, const graph::Port& output);
  uint32_t ReadBy(const graph::Node& node) const;
  bool Stopped();

  const graph::Module& module_;
  const graph::Signature& signature_;
  DataWriter data_;
  const CallLimits* limits_;
  Problems& problems_;
  std::set<std::string, std::less<>> taken_;
  std::map<uint32_t, std::string> variables_;  // those that are read, with their names
  graph::Marks used_;
  std::map<std::string, size_t> operators_;
  size_t written_ = 0;
};

}  // namespace hr::onnx
