#include "runtime/ops/gradient.h"

namespace hr::ops {

ValueId GradientContext::output(size_t i) const {
  const std::vector<ValueId>& outputs = node().outputs;
  return i < outputs.size() ? outputs[i] : kNone;
}

ValueId GradientContext::RequireOutput(size_t i) {
  if (!ok()) return kNone;
  return Keep(emitter_.RequireOutput(node_id_, i));
}

void GradientContext::SetGrad(size_t i, ValueId value) {
  if (i < results_.size()) results_[i] = value;
}

}  // namespace hr::ops
