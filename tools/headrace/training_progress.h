// What headrace train shows while it works, on standard error.
#pragma once

#include <optional>
#include <string>

#include "tools/headrace/library.h"

namespace headrace::tool {

// "step 938: evaluation loss 0.3600, accuracy 0.8668"
std::string EvaluationText(const hr_train_report& report);

// A bar on a terminal, lines elsewhere. It begins with the first step, when it is known from where
// training goes on.
class TrainingProgress {
 public:
  explicit TrainingProgress(int64_t total_steps) : total_(total_steps) {}  // -1: unknown

  void Step(const hr_train_report& report);
  // A line of its own.
  void Say(const std::string& text);

 private:
  int64_t total_;
  std::optional<hr::Progress> bar_;
};

}  // namespace headrace::tool
