// A naive evaluator of whole graphs in exact arithmetic, plain loops throughout: the judge of
// kernels and gradient rules. Linked into tests only.
//
//   reference::Evaluator evaluator(module);
//   auto results = evaluator.Run({{x, reference::FromTensor(feed)}}, fetches);
//   EXPECT_EQ(reference::Difference(got, (*results)[0], 1e-5, 1e-6), "");
//
// Random operators draw from a generator of its own: right in distribution, not bit by bit.
#pragma once

#include <map>

#include "runtime/graph/graph.h"
#include "tests/reference/array.h"

namespace hr::reference {

class Evaluator {
 public:
  // `module` must outlive the evaluator. Variables get their initial values.
  explicit Evaluator(const graph::Module& module);

  // Runs what the fetches and targets need, writing variables as the graph says. A Read without
  // control inputs sees the value that its variable had when the run began.
  Result<std::vector<Array>> Run(const std::map<graph::ValueId, Array>& feeds,
                                 std::span<const graph::ValueId> fetches,
                                 std::span<const graph::NodeId> targets = {});

  std::vector<Array>& variables() { return variables_; }

 private:
  const graph::Module& module_;
  std::vector<Array> variables_;
};

// The outputs of one node, null for omitted inputs. `variables` may be empty where it has no
// effect.
Result<std::vector<Array>> EvaluateNode(const graph::Module& module, const graph::Node& node,
                                        std::vector<const Array*> inputs,
                                        std::vector<Array>& variables);

// Runs a body of the module.
Result<std::vector<Array>> EvaluateBody(const graph::Module& module, uint32_t body,
                                        std::span<const Array> inputs);

// Whether the evaluator knows the operator.
bool Knows(std::string_view domain, std::string_view name);

}  // namespace hr::reference
