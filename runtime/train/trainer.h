// The managed loop: initialise or restore, train, summarise, evaluate, save, stop cleanly.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/session/call.h"
#include "runtime/train/checkpoint_term.h"
#include "runtime/train/elastic.h"
#include "runtime/train/evaluate.h"
#include "runtime/train/ranks.h"

namespace hr::train {

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

  // The name of a group that the session has bound, whose ranks all train together and call Train
  // with the same options; empty: this process trains alone. Rank 0 restores, saves and writes
  // events, and gives the others its variables and the position of its data set. All stop at the
  // same step: if the data or the limits of one end, or its on_step says so.
  std::string group;

  // The group that is bound as `group`: the training goes on when ranks of it die, without them,
  // and takes new ranks in between two steps. The rank with the most steps gives the others its
  // variables and the position of its data set; the data sets become shards by rank, whatever
  // shards they were; `owner` is the latest group's. Null: the end of the group ends the training.
  std::optional<ElasticOptions> elastic;

  std::string event_directory;  // empty: none
  int64_t summary_steps = 100;  // and at the end

  int64_t eval_steps = 0;  // evaluate each so many steps; 0: only at the end

  // The name of a metric (StepReport::metrics). Where an evaluation finds it better than ever, a
  // checkpoint is kept in the folder "best" of the checkpoints'. Empty: none.
  std::string best_metric;
  bool best_is_smallest = false;
  int64_t patience = 0;       // stop after so many evaluations that are no better; 0: never
  bool restore_best = false;  // at the end the session gets the best checkpoint

  // Called after each step, on the thread of Train; false stops the training cleanly, with a
  // checkpoint and without the evaluation at the end. So does a failure, which Train returns.
  std::function<Result<bool>(const StepReport&)> on_step;
  // Called after each evaluation, before on_step.
  std::function<Status(const StepReport&)> on_evaluate;
  // Sentences for people: what was restored, what was saved, what was passed over.
  std::function<void(std::string_view)> on_message;
};

// Trains until the data or max_steps end, `on_step` says stop, or the limits do (then a checkpoint
// of what was reached is written as well). Returns the last report.
Result<StepReport> Train(std::shared_ptr<session::Session> session, const TrainOptions& options,
                         const CallLimits& limits);

}  // namespace hr::train
