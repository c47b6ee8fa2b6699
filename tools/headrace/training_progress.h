// What headrace train shows while it works, on standard error.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/headrace/library.h"

namespace headrace::tool {

using Metrics = std::vector<std::pair<std::string, double>>;

// "step 938: evaluation loss 0.3600, accuracy 0.8668"
std::string EvaluationText(const hr_train_report& report, const Metrics& metrics);

// A bar on a terminal, lines elsewhere. It begins with the first step, when it is known from where
// training goes on.
class TrainingProgress {
 public:
  explicit TrainingProgress(int64_t total_steps) : total_(total_steps) {}  // -1: unknown

  void Step(const hr_train_report& report);
  // Shows the metrics of an evaluation, and keeps them.
  void Evaluated(const hr_train_report& report, const Metrics& metrics);
  // Of the last evaluation.
  const Metrics& metrics() const { return metrics_; }
  // A line of its own.
  void Say(const std::string& text);

 private:
  int64_t total_;
  std::optional<hr::Progress> bar_;
  Metrics metrics_;
};

}  // namespace headrace::tool
