// What a gradient rule sees. Rules read as formulas:
//
//   void MulGradient(GradientContext& g) {
//     g.SetGrad(0, g.SumTo(g.Emit("Mul", {g.grad(0), g.input(1)}), g.input(0)));
//     g.SetGrad(1, g.SumTo(g.Emit("Mul", {g.grad(0), g.input(0)}), g.input(1)));
//   }
#pragma once

#include "runtime/ops/emit.h"

namespace hr::ops {

// Valid during one call of OpDef::gradient.
class GradientContext : public EmitContext {
 public:
  // `grads`: the gradient of each output, kNone where nothing depends on it.
  GradientContext(const OpDef& def, Emitter& emitter, NodeId node, std::span<const ValueId> grads,
                  graph::Marks wanted)
      : EmitContext(def, emitter, node, emitter.graph().nodes[node].inputs),
        grads_(grads),
        wanted_(std::move(wanted)),
        results_(wanted_.size(), kNone) {}

  // kNone where the node does not have this optional output.
  ValueId output(size_t i) const;
  // output(i), added to the node where it does not have it yet.
  ValueId RequireOutput(size_t i);
  ValueId grad(size_t i) const { return i < grads_.size() ? grads_[i] : kNone; }
  // Whether anybody wants input i's gradient; rules may skip the others.
  bool wants(size_t i) const { return i < wanted_.size() && wanted_[i]; }
  void SetGrad(size_t i, ValueId value);
  std::span<const ValueId> results() const { return results_; }

 private:
  std::span<const ValueId> grads_;
  graph::Marks wanted_;
  std::vector<ValueId> results_;
};

}  // namespace hr::ops
