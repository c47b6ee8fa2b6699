// Instances of a plan: what a run binds its memory to. Plans keep those that nobody uses, so that
// the next run of the same shapes allocates nothing.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/backend.h"

namespace hr::session {

class Plan;

// The idle instances of one plan. Thread-safe.
class IdleInstances {
 public:
  // Keeps at most `most`: one for each run that can go on at the same time.
  explicit IdleInstances(int most);

  std::unique_ptr<Invocation> Take();  // null where none is idle
  void Put(std::unique_ptr<Invocation> invocation);
  void Clear();
  size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Invocation>> idle_;  // never grows beyond its first capacity
};

// An instance while somebody uses it. It keeps its plan alive and goes back to it at the end. What
// an earlier user bound is still bound.
class Instance {
 public:
  // An idle instance of the plan or a new one, with its constants bound.
  static Result<Instance> Of(std::shared_ptr<Plan> plan);

  Instance() = default;
  Instance(Instance&&) noexcept = default;
  Instance& operator=(Instance&& other) noexcept;
  ~Instance();

  Plan& plan() const { return *plan_; }
  Invocation& operator*() const { return *invocation_; }
  Invocation* operator->() const { return invocation_.get(); }

 private:
  void GiveBack();

  std::shared_ptr<Plan> plan_;  // outlives the invocation
  std::unique_ptr<Invocation> invocation_;
};

}  // namespace hr::session
