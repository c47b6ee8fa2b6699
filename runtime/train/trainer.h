// The managed loop: initialise or restore, train, summarise, evaluate, save, stop cleanly.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/session/call.h"
#include "runtime/train/checkpoint_term.h"

namespace hr::train {

// What a step, or an evaluation over a whole data set, gave.
struct StepReport {
  int64_t step = 0;
  int64_t epoch = 0;  // epochs of the data set that are complete
  double loss = 0;
  double examples_per_second = 0;  // since the training began
  bool evaluated = false;          // the fields below are of this step
  double evaluation_loss = 0;      // mean over the evaluation's batches
  double evaluation_accuracy = 0;  // NaN if the signature gives none
  int64_t examples = 0;            // of the step's batch; 0 if no step was left to do
};

struct TrainOptions {
  std::string train_signature = "train";  // its output "loss" is a floating-point scalar
  std::string eval_signature = "eval";  // outputs "loss" and, if there is one, "correct" (a count)
  std::shared_ptr<data::Dataset> train_data;  // its passes are the epochs
  std::shared_ptr<data::Dataset> eval_data;   // null: no evaluation
  int64_t max_steps = -1;                     // of the session in all; -1: to the end of the data
  // Scalars bound by name before the first step, e.g. {"learning_rate", 0.05}.
  std::vector<std::pair<std::string, double>> scalars;

  std::string checkpoint_directory;  // empty: none; else the newest is restored first
  int64_t checkpoint_steps = 0;      // save each so many steps; 0: only at the end
  int keep_checkpoints = 5;
  std::optional<CheckpointOwner> owner;  // the group for which this process writes them, if any

  std::string event_directory;  // empty: none
  int64_t summary_steps = 100;  // and at the end

  int64_t eval_steps = 0;  // evaluate each so many steps; 0: only at the end

  // Called after each step, on the thread of Train; false stops the training cleanly, with a
  // checkpoint and without the evaluation at the end. So does a failure, which Train returns.
  std::function<Result<bool>(const StepReport&)> on_step;
  // Sentences for people: what was restored, what was saved, what was passed over.
  std::function<void(std::string_view)> on_message;
};

// Trains until the data or max_steps end, `on_step` says stop, or the limits do (then a checkpoint
// of what was reached is written as well). Returns the last report.
Result<StepReport> Train(std::shared_ptr<session::Session> session, const TrainOptions& options,
                         const CallLimits& limits);

// Runs the evaluation signature over a whole pass of the data.
Result<StepReport> Evaluate(const std::shared_ptr<session::Session>& session,
                            const std::string& signature,
                            const std::shared_ptr<data::Dataset>& data, const CallLimits& limits);

}  // namespace hr::train
