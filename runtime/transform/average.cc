#include "runtime/transform/average.h"

#include "runtime/base/errors.h"
#include "runtime/transform/copy_signature.h"
#include "runtime/transform/formula.h"

namespace hr::transform {
namespace {

constexpr std::string_view kSuffix = "/average";

// The same value at first, in the same memory or drawn from the same random numbers.
Result<uint32_t> AverageOf(GraphBuilder& builder, uint32_t variable) {
  const std::string& name = builder.module().variables[variable].name;
  return builder.AddVariableLike(Cat(name, kSuffix), variable);
}

// By variable: its average, or kNone.
std::vector<uint32_t> Averages(const graph::Module& module) {
  std::vector<uint32_t> out(module.variables.size(), kNone);
  for (uint32_t i = 0; i < out.size(); ++i) {
    const graph::Variable& variable = module.variables[i];
    const uint32_t average = module.FindVariable(Cat(variable.name, kSuffix));
    if (average == kNone) continue;
    const graph::Variable& other = module.variables[average];
    if (other.dtype == variable.dtype && other.dims == variable.dims) out[i] = average;
  }
  return out;
}

Result<std::vector<uint32_t>> SomeAverages(const graph::Module& module) {
  std::vector<uint32_t> out = Averages(module);
  for (uint32_t average : out) {
    if (average != kNone) return out;
  }
  return FailedPrecondition(
      "no variable has an average; minimize with 'average=0.999' or so among the settings of the "
      "optimizer");
}

}  // namespace

Status AddAverage(GraphBuilder& builder, std::string_view signature, uint32_t variable,
                  double decay, NodeId update, ValueId when) {
  HR_ASSIGN_OR_RETURN(const uint32_t average, AverageOf(builder, variable));
  Formula f(builder, "average");
  const ValueId now = f.After(variable, update);
  const ValueId old = f.AtStart(average);
  ValueId mixed = f.Add(f.Mul(f.Scalar(decay, old), old), f.Mul(f.Scalar(1 - decay, old), now));
  if (when != kNone) mixed = f.Where(when, mixed, old);
  const NodeId assigned = f.Assign(average, mixed);
  HR_RETURN_IF_ERROR(f.status());
  builder.SignatureNamed(signature).targets.push_back(assigned);
  return {};
}

Status AverageSignature(GraphBuilder& builder, std::string_view from, std::string_view to) {
  HR_ASSIGN_OR_RETURN(const auto averages, SomeAverages(builder.module()));
  return CopySignature(builder, from, to, averages);
}

Status AddSwap(GraphBuilder& builder, std::string_view name) {
  HR_ASSIGN_OR_RETURN(const auto averages, SomeAverages(builder.module()));
  return builder.AllOrNothing([&]() -> Status {
    graph::Signature swap{.name = std::string(name)};
    Formula f(builder, std::string(name));
    for (uint32_t i = 0; i < averages.size(); ++i) {
      if (averages[i] == kNone) continue;
      const ValueId weight = f.AtStart(i), average = f.AtStart(averages[i]);
      swap.targets.push_back(f.Assign(i, average));
      swap.targets.push_back(f.Assign(averages[i], weight));
    }
    HR_RETURN_IF_ERROR(f.status());
    return builder.AddSignature(std::move(swap));
  });
}

}  // namespace hr::transform
