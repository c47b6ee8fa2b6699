#include "tools/headrace/training_progress.h"

#include <cmath>
#include <cstdio>

namespace headrace::tool {

std::string EvaluationText(const hr_train_report& report) {
  char loss[64], accuracy[64] = "";
  std::snprintf(loss, sizeof loss, "%.4f", report.evaluation_loss);
  if (!std::isnan(report.evaluation_accuracy))
    std::snprintf(accuracy, sizeof accuracy, ", accuracy %.4f", report.evaluation_accuracy);
  return "step " + std::to_string(report.step) + ": evaluation loss " + loss + accuracy;
}

void TrainingProgress::Step(const hr_train_report& report) {
  int64_t counted = report.examples;
  if (!bar_) {
    bar_.emplace("train", "examples", report.step, total_);
    counted = 0;  // the step was done before the bar's clock began
  }
  bar_->update(report.step, counted, "loss", report.loss);
  if (report.evaluated != 0) Say(EvaluationText(report));
}

void TrainingProgress::Say(const std::string& text) {
  if (bar_) {
    bar_->message(text);
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

}  // namespace headrace::tool
