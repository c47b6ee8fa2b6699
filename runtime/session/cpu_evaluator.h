// What depends on constants alone, computed by the CPU's kernels.
#pragma once

#include "runtime/session/env.h"
#include "runtime/transform/fold.h"

namespace hr::session {

// Compiles each node alone for the CPU. The env must outlive it.
class CpuEvaluator final : public transform::ConstantEvaluator {
 public:
  explicit CpuEvaluator(Env& env) : env_(env) {}

  // One tensor for each output of the node, undefined if nobody asked for it.
  Result<std::vector<Tensor>> Evaluate(const graph::Module& module, graph::NodeId id) override;
  bool MultipliesBfloat16() const override { return env_.cpu().MultipliesBfloat16(); }

 private:
  Env& env_;
};

}  // namespace hr::session
