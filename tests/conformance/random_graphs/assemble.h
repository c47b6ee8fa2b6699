// From a program to a module.
#pragma once

#include <map>

#include "runtime/transform/graph_builder.h"
#include "tests/conformance/random_graphs/program.h"

namespace hr::random_graphs {

// Statement by statement, as the generator draws them.
class Assembler {
 public:
  // Inputs whose first dimension is `batch` get one that is known by name, with the bound, if
  // `bound` is not 0. The registry must outlive what is assembled.
  explicit Assembler(const ops::OpRegistry& registry, int64_t batch = 0, int64_t bound = 0);
  // The first failure; then nothing was added.
  Status Add(const Statement& statement);
  // The value of that name here; kNone where it is omitted ("_"). A variable is read.
  Result<graph::ValueId> Value(const std::string& name);
  const graph::Module& module() const { return builder_.module(); }
  // The node of the last statement.
  const graph::Node& last_node() const { return builder_.graph().nodes.back(); }
  const std::map<std::string, uint32_t>& variables() const { return variables_; }
  // With the signature "run": the inputs, the fetches by their names, the effects.
  Result<graph::Module> Finish(const std::vector<std::string>& fetches);

 private:
  Status AddInput(const Statement& statement);
  Status AddNode(const Statement& statement);
  Status AddGradient(const Statement& statement);
  Result<std::vector<graph::Attribute>> AttributesOf(const Statement& statement) const;

  transform::GraphBuilder builder_;
  int64_t batch_;
  int64_t bound_;
  std::map<std::string, graph::ValueId> values_;
  std::map<std::string, uint32_t> variables_;
  graph::Signature signature_{.name = "run"};
};

// The module of the whole program; with a named batch and its bound, if `bounded`.
Result<graph::Module> Assemble(const ops::OpRegistry& registry, const Program& program,
                               bool bounded = false);

}  // namespace hr::random_graphs
