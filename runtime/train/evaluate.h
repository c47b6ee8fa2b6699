// Evaluations of a session over a whole data set.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/session/session.h"
#include "runtime/train/ranks.h"

namespace hr::train {

struct MetricValue {
  std::string name;
  double value = 0;
};

// What a step, or an evaluation over a whole data set, gave.
struct StepReport {
  int64_t step = 0;
  int64_t epoch = 0;  // epochs of the data set that are complete
  double loss = 0;
  double examples_per_second = 0;       // since the training began
  bool evaluated = false;               // the fields below are of this step
  double evaluation_loss = 0;           // mean over the evaluation's batches
  double evaluation_accuracy = 0;       // NaN if the signature gives none
  int64_t examples = 0;                 // of the step's batch; 0 if no step was left to do
  double learning_rate = std::nan("");  // the output "learning_rate" of the step, if there is one
  // Of the last evaluation: "loss", "accuracy" if there is one, and the signature's other outputs
  // that are one number.
  std::vector<MetricValue> metrics;
  double best = std::nan("");  // TrainOptions::best_metric at its best so far
  int64_t best_step = -1;      // when that was; -1: never yet
  bool stopped_early = false;  // because patience was at its end
};

// Runs the evaluation signature over a whole pass of the data, after the signature that resets its
// metrics, if there is one (transform/metric.h); then its runs are no steps of the session. With
// other ranks, each on its shard of the data, all get the means over the examples of all.
Result<StepReport> Evaluate(const std::shared_ptr<session::Session>& session,
                            const std::string& signature,
                            const std::shared_ptr<data::Dataset>& data, const CallLimits& limits,
                            const Ranks& ranks = {});

// Returns the one number that a tensor is, whatever its type.
Result<double> NumberIn(const Tensor& tensor, std::string_view name);
bool HasOutput(const session::Session& session, const std::string& signature,
               std::string_view name);
// NOT_FOUND if an evaluation by the signature has no such metric (StepReport::metrics).
Status CheckMetric(const session::Session& session, const std::string& signature,
                   const std::string& metric);

}  // namespace hr::train
