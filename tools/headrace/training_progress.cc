#include "tools/headrace/training_progress.h"

#include <cstdio>

namespace headrace::tool {

std::string EvaluationText(const hr_train_report& report, const Metrics& metrics) {
  std::string out = "step " + std::to_string(report.step) + ": evaluation";
  const char* separator = " ";
  for (const auto& [name, value] : metrics) {
    char number[64];
    std::snprintf(number, sizeof number, "%.4f", value);
    out += separator + name + " " + number;
    separator = ", ";
  }
  return out;
}

void TrainingProgress::Evaluated(const hr_train_report& report, const Metrics& metrics) {
  metrics_ = metrics;
  Say(EvaluationText(report, metrics));
}

void TrainingProgress::Step(const hr_train_report& report) {
  int64_t counted = report.examples;
  if (!bar_) {
    bar_.emplace("train", "examples", report.step, total_);
    counted = 0;  // the step was done before the bar's clock began
  }
  bar_->update(report.step, counted, "loss", report.loss);
}

void TrainingProgress::Say(const std::string& text) {
  if (bar_) {
    bar_->message(text);
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

}  // namespace headrace::tool
