#include <cmath>

#include "capi/src/train/elastic_group.h"
#include "capi/src/train/handles.h"
#include "runtime/base/json_writer.h"
#include "runtime/train/trainer.h"

namespace hr::capi {
namespace {

hr_train_report ReportFrom(const train::StepReport& report) {
  return {.struct_size = sizeof(hr_train_report),
          .step = report.step,
          .epoch = report.epoch,
          .loss = report.loss,
          .examples_per_second = report.examples_per_second,
          .evaluated = report.evaluated ? 1 : 0,
          .evaluation_loss = report.evaluation_loss,
          .evaluation_accuracy = report.evaluation_accuracy,
          .examples = report.examples,
          .learning_rate = report.learning_rate,
          .best = report.best,
          .best_step = report.best_step,
          .stopped_early = report.stopped_early ? 1 : 0};
}

Status CheckReport(const hr_train_report* out) {
  if (out == nullptr || out->struct_size >= sizeof(size_t)) return {};
  return InvalidArgument("hr_train_report.struct_size is ", out->struct_size,
                         "; set it to sizeof(hr_train_report)");
}

// Writes as much of the report as the caller's struct holds.
void GiveReport(const train::StepReport& report, hr_train_report* out) {
  if (out == nullptr) return;
  hr_train_report whole = ReportFrom(report);
  size_t size = std::min(out->struct_size, sizeof whole);
  whole.struct_size = size;
  __builtin_memcpy(out, &whole, size);
}

// Tells the host of an evaluation.
Status TellMetrics(const hr_train_options& options, const train::StepReport& report) {
  const hr_train_report given = ReportFrom(report);
  std::vector<const char*> names;
  std::vector<double> values;
  for (const auto& [name, value] : report.metrics) {
    names.push_back(name.c_str());
    values.push_back(value);
  }
  return plugin::FromC(
      options.on_evaluate(options.context, &given, names.size(), names.data(), values.data()));
}

std::string MetricsText(const train::StepReport& report) {
  JsonWriter json;
  json.BeginObject().Field("step", report.step).Key("metrics").BeginObject();
  for (const auto& [name, value] : report.metrics) {
    json.Key(name);
    std::isfinite(value) ? json.Value(value) : json.Null();
  }
  json.EndObject().EndObject();
  return json.Take();
}

void TakeBest(const hr_train_options& from, train::TrainOptions* to) {
  if (from.best_metric != nullptr) to->best_metric = from.best_metric;
  to->best_is_smallest = from.best_is_smallest != 0;
  to->restore_best = from.restore_best != 0;
  to->patience = from.patience;
  if (from.on_evaluate == nullptr) return;
  to->on_evaluate = [from](const train::StepReport& report) { return TellMetrics(from, report); };
}

Result<train::TrainOptions> OptionsFrom(const hr_train_options* options) {
  HR_ASSIGN_OR_RETURN(hr_train_options copy, CopySized(options, "hr_train_options"));
  if (copy.train_data == nullptr)
    return InvalidArgument("hr_train_options.train_data must not be NULL");
  HR_ASSIGN_OR_RETURN(auto names,
                      StringsFrom(copy.scalar_count, copy.scalar_names, "scalar_names"));
  if (copy.scalar_count != 0 && copy.scalars == nullptr) {
    return InvalidArgument("hr_train_options.scalars must not be NULL");
  }
  train::TrainOptions out{.train_data = copy.train_data->rep,
                          .checkpoint_steps = copy.checkpoint_steps,
                          .eval_steps = copy.eval_steps};
  if (copy.train_signature != nullptr) out.train_signature = copy.train_signature;
  if (copy.eval_signature != nullptr) out.eval_signature = copy.eval_signature;
  if (copy.eval_data != nullptr) out.eval_data = copy.eval_data->rep;
  if (copy.max_steps > 0) out.max_steps = copy.max_steps;
  for (size_t i = 0; i < names.size(); ++i)
    out.scalars.emplace_back(std::move(names[i]), copy.scalars[i]);
  if (copy.checkpoint_directory != nullptr) out.checkpoint_directory = copy.checkpoint_directory;
  if (copy.keep_checkpoints != 0) out.keep_checkpoints = std::max(0, copy.keep_checkpoints);
  out.owner = OwnerFrom(copy.group);
  if (copy.bound_group != nullptr) out.group = copy.bound_group;
  if (copy.event_directory != nullptr) out.event_directory = copy.event_directory;
  if (copy.summary_steps > 0) out.summary_steps = copy.summary_steps;
  TakeBest(copy, &out);
  if (copy.on_step != nullptr) {
    out.on_step = [on_step = copy.on_step,
                   context = copy.context](const train::StepReport& report) -> Result<bool> {
      const hr_train_report given = ReportFrom(report);
      int32_t stop = 0;
      HR_RETURN_IF_ERROR(plugin::FromC(on_step(context, &given, &stop)));
      return stop == 0;
    };
  }
  if (copy.on_message != nullptr) {
    out.on_message = [on_message = copy.on_message, context = copy.context](std::string_view text) {
      on_message(context, std::string(text).c_str());
    };
  }
  return out;
}

Status TakeElastic(const hr_train_options* given, const std::shared_ptr<session::Session>& session,
                   train::TrainOptions* to) {
  HR_ASSIGN_OR_RETURN(const hr_train_options from, CopySized(given, "hr_train_options"));
  if (from.elastic_group == nullptr) return {};
  if (to->group.empty())
    return InvalidArgument("hr_train_options.elastic_group needs a bound_group, its name");
  const int32_t least = from.min_ranks, most = from.max_ranks;
  if (least < 0 || most < 0 || (most != 0 && most < least)) {
    return InvalidArgument("hr_train_options: expected 0 <= min_ranks <= max_ranks, got ", least,
                           " and ", most);
  }
  train::ElasticOptions out{.min_ranks = std::max(1, least), .max_ranks = most};
  HR_ASSIGN_OR_RETURN(out.group, ElasticGroupOf(from.elastic_group, session, to->group));
  to->elastic = std::move(out);
  return {};
}

}  // namespace
}  // namespace hr::capi

extern "C" {

hr_status* hr_train(hr_session* session, const hr_train_options* options, const hr_limits* limits,
                    hr_train_report* out) {
  HR_REQUIRE(session);
  HR_REQUIRE(options);
  HR_ASSIGN_OR_WRAP(auto inner, hr::capi::OptionsFrom(options));
  HR_WRAP_IF_ERROR(hr::capi::TakeElastic(options, session->rep, &inner));
  HR_WRAP_IF_ERROR(hr::capi::CheckReport(out));
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  HR_ASSIGN_OR_WRAP(auto report, hr::train::Train(session->rep, inner, checked));
  hr::capi::GiveReport(report, out);
  return nullptr;
}

hr_status* hr_evaluate(hr_session* session, const char* signature, hr_dataset* data,
                       const hr_limits* limits, hr_train_report* out) {
  HR_REQUIRE(session);
  HR_REQUIRE(data);
  HR_WRAP_IF_ERROR(hr::capi::CheckReport(out));
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  HR_ASSIGN_OR_WRAP(auto report,
                    hr::train::Evaluate(session->rep, signature == nullptr ? "eval" : signature,
                                        data->rep, checked));
  hr::capi::GiveReport(report, out);
  return nullptr;
}

hr_status* hr_evaluate_metrics(hr_session* session, const char* signature, hr_dataset* data,
                               const hr_limits* limits, hr_text** out) {
  HR_REQUIRE(session);
  HR_REQUIRE(data);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  HR_ASSIGN_OR_WRAP(auto report,
                    hr::train::Evaluate(session->rep, signature == nullptr ? "eval" : signature,
                                        data->rep, checked));
  return hr::capi::WrapText(out, hr::capi::MetricsText(report));
}

hr_status* hr_progress_create(const char* label, const char* items, int64_t done, int64_t total,
                              hr_progress** out) {
  HR_REQUIRE(out);
  hr::train::ProgressOptions options{.label = label == nullptr ? "" : label};
  if (items != nullptr) options.item_name = items;
  auto* progress = new hr_progress;
  progress->rep.emplace(done, total, std::move(options));
  *out = progress;
  return nullptr;
}

void hr_progress_update(hr_progress* progress, int64_t done, int64_t items, const char* metric_name,
                        double metric) {
  if (progress == nullptr) return;
  if (metric_name == nullptr) {
    progress->rep->Update(done, items, {});
    return;
  }
  hr::train::ProgressMetric shown{metric_name, metric};
  progress->rep->Update(done, items, std::span(&shown, 1));
}

void hr_progress_message(hr_progress* progress, const char* text) {
  if (progress != nullptr && text != nullptr) progress->rep->Message(text);
}

void hr_progress_release(hr_progress* progress) { delete progress; }

}  // extern "C"
