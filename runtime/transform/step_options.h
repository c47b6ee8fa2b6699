// What a training step does around its optimizer.
#pragma once

#include "runtime/transform/clip.h"

namespace hr::transform {

struct StepOptions {
  Clipping clip;
  int64_t accumulate = 1;  // runs whose gradients are averaged before each update
  double average = 0;      // the share that moving averages of the weights keep; 0: none are made
};

// Takes a setting of the optimizer's description that is one of these: clip_value, clip_norm,
// clip_global_norm, accumulate, average. False if it is none.
Result<bool> TakeStepOption(std::string_view name, double value, StepOptions* options);

// The gradients of the signature's last `runs` runs, added up.
class Accumulation {
 public:
  // Gradients are `runs` runs' means, of which `when` says whether they are complete.
  static Result<Accumulation> Begin(GraphBuilder& builder, std::string_view signature,
                                    int64_t runs);
  // The mean so far for a gradient of the variable. Keeps the sum in a variable named `name`, which
  // begins anew after the last run.
  Result<ValueId> Add(ValueId gradient, const std::string& name);
  ValueId when() const { return when_; }

 private:
  Accumulation(GraphBuilder& builder, std::string_view signature, int64_t runs)
      : builder_(builder), signature_(signature), runs_(runs) {}

  GraphBuilder& builder_;
  const std::string signature_;
  const int64_t runs_;
  ValueId when_ = kNone;
};

}  // namespace hr::transform
