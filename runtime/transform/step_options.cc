#include "runtime/transform/step_options.h"

#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/transform/formula.h"
#include "runtime/transform/run_counter.h"

namespace hr::transform {

Result<bool> TakeStepOption(std::string_view name, double value, StepOptions* options) {
  constexpr double kMostRuns = 1e9;
  if (name == "accumulate") {
    if (!(value >= 1 && value <= kMostRuns) || value != std::floor(value))
      return InvalidArgument("accumulate is a whole number of runs from 1 on, got ", value);
    options->accumulate = static_cast<int64_t>(value);
    return true;
  }
  if (name == "average") {
    if (!(value > 0 && value < 1))
      return InvalidArgument("average is the share that stays, above 0 and below 1, got ", value);
    options->average = value;
    return true;
  }
  Clipping& clip = options->clip;
  double* bound = name == "clip_value"         ? &clip.value
                  : name == "clip_norm"        ? &clip.norm
                  : name == "clip_global_norm" ? &clip.global_norm
                                               : nullptr;
  if (bound == nullptr) return false;
  HR_RETURN_IF_ERROR(CheckBound(name.substr(sizeof "clip_" - 1), value));
  *bound = value;
  return true;
}

Result<Accumulation> Accumulation::Begin(GraphBuilder& builder, std::string_view signature,
                                         int64_t runs) {
  Accumulation out(builder, signature, runs);
  if (runs == 1) return out;
  HR_ASSIGN_OR_RETURN(const uint32_t counter, RunCounter(builder, signature));
  Formula f(builder, "accumulate");
  const ValueId place = f.Emit("Mod", {f.AtStart(counter), f.Integer(runs)});
  out.when_ = f.Emit("Equal", {place, f.Integer(runs - 1)});
  HR_RETURN_IF_ERROR(f.status());
  return out;
}

// Sums of halves are kept in float32.
Result<ValueId> Accumulation::Add(ValueId gradient, const std::string& name) {
  if (runs_ == 1) return gradient;
  const DType narrow = builder_.graph().values[gradient].type.dtype;
  const DType wide = narrow == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const auto dims = builder_.graph().values[gradient].type.FixedDims();
  if (!dims) return InvalidArgument("cannot accumulate a gradient whose shape is not known");
  Formula f(builder_, "accumulate");
  const uint32_t variable = f.Zeros(name, wide, *dims);
  const ValueId sum = f.Add(f.AtStart(variable), f.Cast(gradient, wide));
  const NodeId kept = f.Assign(variable, f.Where(when_, f.Number(0, wide), sum));
  const ValueId mean = f.Cast(f.Div(sum, f.Number(static_cast<double>(runs_), wide)), narrow);
  HR_RETURN_IF_ERROR(f.status());
  builder_.SignatureNamed(signature_).targets.push_back(kept);
  return mean;
}

}  // namespace hr::transform
