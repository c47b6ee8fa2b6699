// A graph as text: what the generator draws, the shrinker makes smaller and a case file keeps.
//
//   input x0 float64 [7, 6] uniform -2 2 12     (low, high, seed of the elements)
//   constant c0 int64 [2] values 0 1
//   variable v0 float32 [6] integers 0 5 3
//   node h0 _ = TopK 11 x0 c0 | axis=i:1        (results = operator, version, operands |
//   attributes) node = headrace.train.SGD 1 c1 g0 | variable=%v0 gradient g0 = h1 by v0 (of sums:
//   results = of what, by what) fetch h0 g0 steps 2 batch 7 bound 16 refused (assembling or running
//   it has to fail)
//
// `_` is an omitted operand or result. Attributes: i:1 f:0.5 s:edge n:1,2 (integers) r:1,2 (floats)
// @c0 (a constant's tensor) %v0 (a variable). A variable as an operand is its value at that place.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/graph.h"
#include "tests/reference/array.h"

namespace hr::random_graphs {

// How the elements of a leaf are made.
struct Data {
  DType dtype = DType::kFloat32;
  Dims dims;
  std::string kind = "uniform";  // or integers, values
  double low = -1;
  double high = 1;
  uint64_t seed = 0;
  std::vector<double> values;

  Tensor Make() const;
};

struct NamedAttribute {
  std::string name;
  graph::AttributeValue value;
  std::string reference;  // of a constant (@…) or a variable (%…), in place of the value
};

struct Statement {
  enum class Kind { kInput, kConstant, kVariable, kNode, kGradient };
  Kind kind = Kind::kNode;
  std::vector<std::string> results;
  Data data;  // of leaves
  std::string domain, op;
  int version = 0;
  std::vector<std::string> operands;  // of a gradient: what it is by
  std::string of;                     // of a gradient
  std::vector<NamedAttribute> attributes;

  bool leaf() const { return kind != Kind::kNode && kind != Kind::kGradient; }
  // Runs for its effect alone.
  bool effect() const { return kind == Kind::kNode && results.empty(); }
  std::string text() const;
};

struct Program {
  std::vector<Statement> statements;
  std::vector<std::string> fetches;
  int steps = 1;
  int64_t batch = 0;  // the size that a bounded plan knows by name; 0: there is none
  int64_t bound = 0;
  bool refused = false;

  std::string text() const;
  static Result<Program> Parse(const std::string& text);
  // Nothing remains that neither a fetch nor an effect needs.
  void Prune();
  bool random() const;
  bool stateful() const;
};

Result<Program> ReadProgram(const std::string& path);
Status WriteText(const std::string& path, const std::string& text);

}  // namespace hr::random_graphs
