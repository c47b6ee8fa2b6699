// The best evaluation of a training so far.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "runtime/train/checkpoint_manifest.h"

namespace hr::train {

inline constexpr char kBestFolder[] = "best";

// Which evaluation was the best, and how many have been no better since. It is part of checkpoints,
// so that a resumed training keeps and stops as one that was never broken off.
class BestEvaluation {
 public:
  BestEvaluation(std::string metric, bool smallest)
      : metric_(std::move(metric)), smallest_(smallest) {}

  // Takes the value of an evaluation at the step. Returns whether it is the best so far; what is no
  // number never is. A step is taken once: another evaluation of it changes nothing.
  bool Take(double value, int64_t step);

  void AddTo(CheckpointMetadata* metadata) const;
  // Goes on from what a checkpoint says of the same metric; nothing happens if it says nothing.
  void TakeFrom(const CheckpointMetadata& metadata);

  // The same as one text, for another rank.
  std::string Text() const;
  void TakeText(std::string_view text);

  const std::string& metric() const { return metric_; }
  double value() const { return value_; }
  int64_t step() const { return step_; }    // -1: there was none yet
  int64_t waits() const { return waits_; }  // evaluations since then

 private:
  const std::string metric_;
  const bool smallest_;
  double value_ = std::nan("");
  int64_t step_ = -1;
  int64_t waits_ = 0;
  int64_t taken_step_ = -1;
};

}  // namespace hr::train
