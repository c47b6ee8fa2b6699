// Types of all values, and constants in place of what depends on constants alone.
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::transform {

// Computes a node whose inputs are all constants.
class ConstantEvaluator {
 public:
  virtual ~ConstantEvaluator() = default;
  virtual Result<std::vector<Tensor>> Evaluate(const graph::Module& module, graph::NodeId node) = 0;
  // Whether the device multiplies bfloat16 as it is.
  virtual bool MultipliesBfloat16() const { return false; }
};

// What folding needs besides the module. Folded shapes get their memory from `allocator`, which
// must outlive them.
struct FoldTools {
  const ops::OpRegistry& operators;
  ConstantEvaluator* evaluator;  // null: only shapes are folded
  Allocator& allocator;
  // Whether weights of 8 and 16 bits become those of float32; not in files.
  bool widen_weights = true;
};

// What was folded, so that the same can be folded at other sizes.
struct FoldRecord {
  std::vector<graph::NodeId> order;
  graph::Marks folded;        // by node
  std::vector<Tensor> known;  // what folded nodes made, by value
};

// Infers the types of the main graph, whose inputs have theirs, and folds: the outputs of folded
// nodes become constants, and nothing waits for these nodes any more.
Status InferAndFold(const FoldTools& tools, graph::Module& module, FoldRecord* record);

// InferAndFold of the same module with inputs of other sizes: folds the same nodes. Computes only
// what comes out otherwise than in the record.
Status InferAndFoldAgain(const FoldTools& tools, const FoldRecord& record, graph::Module& module);

}  // namespace hr::transform
