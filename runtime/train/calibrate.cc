#include "runtime/train/calibrate.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/session/call.h"
#include "runtime/train/value_histogram.h"
#include "runtime/transform/keep_signatures.h"

namespace hr::train {
namespace {

constexpr std::string_view kSignatureName = "calibrate";

// The module with one signature, whose outputs "0", "1", … are the values.
Result<graph::Module> Observed(const ops::OpRegistry& registry, graph::Module module,
                               std::string_view signature, std::span<const graph::ValueId> values) {
  graph::Signature observed{.name = std::string(kSignatureName),
                            .inputs = module.FindSignature(signature)->inputs};
  for (size_t i = 0; i < values.size(); ++i) observed.outputs.push_back({Cat(i), values[i]});
  module.signatures = {std::move(observed)};
  return transform::KeepSignatures(registry, module);
}

Status CheckFinite(std::span<const float> numbers, const std::string& name, int64_t batch) {
  const auto odd = std::ranges::find_if(numbers, [](float x) { return !std::isfinite(x); });
  if (odd == numbers.end()) return {};
  return InvalidArgument("the value '", name, "' has ", std::isnan(*odd) ? "NaN" : "infinity",
                         " at element ", odd - numbers.begin(), " for batch ", batch,
                         " of the calibration data; a range needs finite numbers, so look at the "
                         "data or at the model");
}

}  // namespace

Result<std::map<graph::ValueId, transform::ValueRange>> Calibrate(
    const std::shared_ptr<session::Env>& env, const graph::Module& module,
    std::string_view signature, std::span<const graph::ValueId> values,
    const transform::QuantizeOptions& options, const std::shared_ptr<data::Dataset>& data,
    const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(auto&& observed, Observed(env->operators(), module, signature, values));
  HR_ASSIGN_OR_RETURN(auto&& model, session::Model::Create(env, std::move(observed)));
  HR_ASSIGN_OR_RETURN(auto&& session, session::Session::Create(model, {}, limits));
  HR_ASSIGN_OR_RETURN(auto&& call, session::Call::Create(session, kSignatureName));
  HR_RETURN_IF_ERROR(call->BindSource(data));
  std::vector<ValueHistogram> histograms(values.size());
  int64_t batches = 0;
  for (; options.batches == 0 || batches < options.batches; ++batches) {
    const Status run = call->Run(limits);
    if (run.code() == Code::kOutOfRange) break;
    if (!run.ok()) return run.Clone().WithContext("calibration");
    for (size_t i = 0; i < values.size(); ++i) {
      HR_ASSIGN_OR_RETURN(const Tensor tensor, call->Output(Cat(i)));
      const std::string name = graph::ValueText(module.main(), values[i]);
      HR_RETURN_IF_ERROR(CheckFinite(tensor.span<const float>(), name, batches));
      histograms[i].Add(tensor.span<const float>());
    }
  }
  if (batches == 0) {
    return FailedPrecondition(
        "the calibration data has no examples (left); give data with at least one batch, or rewind "
        "it");
  }
  std::map<graph::ValueId, transform::ValueRange> out;
  for (size_t i = 0; i < values.size(); ++i) {
    out.emplace(values[i], options.entropy ? histograms[i].RangeOfLeastDivergence()
                                           : histograms[i].RangeOf(options.percentile));
  }
  return out;
}

}  // namespace hr::train
