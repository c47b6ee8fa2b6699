// What the ranks of one training tell each other between its steps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/collectives.h"

namespace hr::train {

// Used by one thread at a time. All ranks make the same calls in the same order.
class Ranks {
 public:
  // One process alone: every call is about its own values.
  Ranks() = default;
  explicit Ranks(std::shared_ptr<comm::Collectives> group) : group_(std::move(group)) {}

  bool alone() const { return group_ == nullptr; }
  int rank() const { return alone() ? 0 : group_->rank(); }
  // The rank that restores, saves and writes summaries.
  bool chief() const { return alone() || group_->rank() == 0; }
  // Replaces each number by the largest, or the sum, of all ranks' numbers.
  Status Largest(std::span<int64_t> numbers, const CallLimits& limits) const;
  Status Sum(std::span<double> numbers, const CallLimits& limits) const;
  // Returns the numbers of all ranks, of which each gives as many, by rank.
  Result<std::vector<double>> Gather(std::span<const double> numbers,
                                     const CallLimits& limits) const;
  // Nanoseconds that this rank has waited for the others so far.
  int64_t waited_nanos() const { return alone() ? 0 : group_->waited_nanos(); }
  // All ranks get the text of the rank `root`.
  Status Broadcast(int root, std::string* text, const CallLimits& limits) const;
  // Ends the group, unless it has ended: the others wait for this rank, which has failed.
  void TellFailure(const Status& status) const;

 private:
  Status Run(const comm::Operation& operation, void* data, const CallLimits& limits) const;

  std::shared_ptr<comm::Collectives> group_;
};

}  // namespace hr::train
