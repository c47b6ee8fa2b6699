// What the rules of operators emit, as runtime/ops/emitted.txt has it for builds with some of the
// operators.
#pragma once

#include <map>
#include <set>
#include <string>

#include "runtime/ops/op_def.h"

namespace hr::random_graphs {

class Emitted {
 public:
  explicit Emitted(const ops::OpRegistry& registry);
  // Adds what is seen in the rows of the gradient check and in the graphs of these seeds.
  Status Record(uint64_t seed, uint64_t count);
  // The file with what was recorded. The line `always` is written by hand and kept.
  Result<std::string> Text(const std::string& path) const;

 private:
  struct Row {
    std::set<std::string> composed, gradient;
  };

  void RecordNode(const graph::Module& module, graph::NodeId id);
  Status RecordCases();

  const ops::OpRegistry& registry_;
  std::map<std::string, Row> rows_;
};

}  // namespace hr::random_graphs
