#include "runtime/train/evaluate.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/session/call.h"
#include "runtime/transform/metric.h"

namespace hr::train {

Result<double> NumberIn(const Tensor& tensor, std::string_view name) {
  if (tensor.elements() == 1) {
    switch (tensor.dtype()) {
      case DType::kFloat32: return *tensor.as<float>();
      case DType::kFloat64: return *tensor.as<double>();
      case DType::kInt64: return static_cast<double>(*tensor.as<int64_t>());
      case DType::kInt32: return static_cast<double>(*tensor.as<int32_t>());
      default: break;
    }
  }
  return InvalidArgument("output '", name, "' should be one number, it is ", tensor.TypeText());
}

bool HasOutput(const session::Session& session, const std::string& signature,
               std::string_view name) {
  const graph::Signature* found = session.model().module().FindSignature(signature);
  if (found == nullptr) return false;
  for (const graph::Port& port : found->outputs) {
    if (port.name == name) return true;
  }
  return false;
}

namespace {

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsNumber(const graph::ValueType& type) {
  const auto dims = type.FixedDims();
  const bool known =
      IsFloating(type.dtype) || type.dtype == DType::kInt64 || type.dtype == DType::kInt32;
  return known && type.dtype != DType::kFloat16 && type.dtype != DType::kBfloat16 && dims &&
         ElementCount(*dims) == 1;
}

// The outputs of an evaluation that are one number, but for those with a meaning of their own.
std::vector<std::string> OtherMetrics(const session::Session& session,
                                      const std::string& signature) {
  std::vector<std::string> out;
  const graph::Module& module = session.model().module();
  const graph::Signature* found = module.FindSignature(signature);
  if (found == nullptr) return out;
  for (const graph::Port& port : found->outputs) {
    if (port.name == "loss" || port.name == "correct") continue;
    if (IsNumber(module.main().values[port.value].type)) out.push_back(port.name);
  }
  return out;
}

}  // namespace

Status CheckMetric(const session::Session& session, const std::string& signature,
                   const std::string& metric) {
  std::vector<std::string> known = OtherMetrics(session, signature);
  if (HasOutput(session, signature, "correct") && !Has(known, "accuracy"))
    known.insert(known.begin(), "accuracy");
  known.insert(known.begin(), "loss");
  if (Has(known, metric)) return {};
  return NotFound("the evaluation '", signature, "' has no metric '", metric, "'; there are",
                  ListText(known));
}

namespace {

// Runs of an evaluation whose metrics are kept in variables. Each counts as a step of the session,
// and is no step of a training: at the end they are taken off, and only they, for another thread
// may be training.
class MetricRuns {
 public:
  MetricRuns(std::shared_ptr<session::Session> session, const std::string& signature)
      : session_(std::move(session)), reset_(Cat(signature, transform::kResetSuffix)) {
    has_metrics_ = session_->model().module().FindSignature(reset_) != nullptr;
  }
  MetricRuns(const MetricRuns&) = delete;
  MetricRuns& operator=(const MetricRuns&) = delete;
  ~MetricRuns() {
    if (runs_ == 0 || session_->tainted()) return;
    const auto take_off = [&](session::VariableStore&, int64_t* step, uint64_t*) -> Status {
      *step -= runs_;
      return {};
    };
    session_->RestoreVariables({}, take_off).IgnoreError();
  }

  Status Reset(const CallLimits& limits) {
    if (!has_metrics_) return {};
    HR_ASSIGN_OR_RETURN(auto call, session::Call::Create(session_, reset_));
    return Run(*call, limits);
  }
  Status Run(session::Call& call, const CallLimits& limits) {
    HR_RETURN_IF_ERROR(call.Run(limits));
    if (has_metrics_) ++runs_;
    return {};
  }

 private:
  const std::shared_ptr<session::Session> session_;
  const std::string reset_;
  bool has_metrics_ = false;
  int64_t runs_ = 0;
};

}  // namespace

Result<StepReport> Evaluate(const std::shared_ptr<session::Session>& session,
                            const std::string& signature,
                            const std::shared_ptr<data::Dataset>& data, const CallLimits& limits,
                            const Ranks& ranks) {
  HR_ASSIGN_OR_RETURN(auto call, session::Call::Create(session, signature));
  HR_RETURN_IF_ERROR(call->BindSource(data));
  const int64_t step = session->step();
  MetricRuns runs(session, signature);
  HR_RETURN_IF_ERROR(runs.Reset(limits));
  bool counts = HasOutput(*session, signature, "correct");
  double sums[3] = {};
  auto& [loss_sum, correct, examples] = sums;
  while (true) {
    HR_ASSIGN_OR_RETURN(const bool done, data->Done(limits));
    if (done) break;
    HR_RETURN_IF_ERROR(runs.Run(*call, limits));
    int64_t count = call->PulledExamples();
    if (count == 0) continue;  // of a shard: the mean of no losses is no number
    HR_ASSIGN_OR_RETURN(Tensor loss_tensor, call->Output("loss"));
    HR_ASSIGN_OR_RETURN(double loss, NumberIn(loss_tensor, "loss"));
    loss_sum += loss * static_cast<double>(count);
    examples += static_cast<double>(count);
    if (!counts) continue;
    HR_ASSIGN_OR_RETURN(Tensor correct_tensor, call->Output("correct"));
    HR_ASSIGN_OR_RETURN(double in_batch, NumberIn(correct_tensor, "correct"));
    correct += in_batch;
  }
  const double own_examples = examples;
  HR_RETURN_IF_ERROR(ranks.Sum(sums, limits));
  if (examples == 0) {
    return FailedPrecondition(
        "the evaluation's data set has no examples left; rewind it if its pass is over");
  }
  StepReport report{.step = step, .evaluated = true};
  report.evaluation_loss = loss_sum / examples;
  report.evaluation_accuracy = counts ? correct / examples : std::nan("");
  report.metrics.push_back({"loss", report.evaluation_loss});
  const std::vector<std::string> others = OtherMetrics(*session, signature);
  if (counts && !Has(others, "accuracy"))
    report.metrics.push_back({"accuracy", report.evaluation_accuracy});
  for (const std::string& name : others) {
    HR_ASSIGN_OR_RETURN(Tensor tensor, call->Output(name));
    HR_ASSIGN_OR_RETURN(const double own, NumberIn(tensor, name));
    double value = own;
    if (!ranks.alone()) {
      value = own_examples == 0 ? 0 : own * own_examples / examples;
      HR_RETURN_IF_ERROR(ranks.Sum({&value, 1}, limits));
    }
    report.metrics.push_back({name, value});
    if (name == "accuracy") report.evaluation_accuracy = value;
  }
  return report;
}

}  // namespace hr::train
