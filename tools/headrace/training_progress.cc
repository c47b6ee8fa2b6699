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
  if (bar_ == nullptr) {
    hr::check(hr_progress_create("train", "examples", report.step, total_, &bar_));
    counted = 0;  // the step was done before the bar's clock began
  }
  hr_progress_update(bar_, report.step, counted, "loss", report.loss);
  if (report.evaluated != 0) Say(EvaluationText(report));
}

void TrainingProgress::Say(const std::string& text) {
  if (bar_ != nullptr) {
    hr_progress_message(bar_, text.c_str());
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

}  // namespace headrace::tool
