// Instances of a plan: what a run binds its memory to. Plans keep those that nobody uses, so that
// the next run of the same shapes allocates nothing.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/backend.h"

namespace hr::session {

class Plan;
struct PlanSize;

// An invocation and the size that it is at.
struct SizedInvocation {
  std::shared_ptr<const PlanSize> size;  // outlives the invocation
  std::unique_ptr<Invocation> invocation;
};

// The idle instances of one plan. Thread-safe.
class IdleInstances {
 public:
  // Keeps at most `most`: one for each run that can go on at the same time.
  explicit IdleInstances(int most);

  SizedInvocation Take();  // null where none is idle
  void Put(SizedInvocation idle);
  void Clear();
  size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::vector<SizedInvocation> idle_;  // never grows beyond its first capacity
};

// An instance while somebody uses it. It keeps its plan alive and goes back to it at the end. What
// an earlier user bound is still bound.
class Instance {
 public:
  // An idle instance of the plan or a new one, at the size, with its constants bound.
  static Result<Instance> Of(std::shared_ptr<Plan> plan, std::shared_ptr<const PlanSize> size);

  Instance() = default;
  Instance(Instance&&) noexcept = default;
  Instance& operator=(Instance&& other) noexcept;
  ~Instance();

  // Goes on at another size of the plan, in the same memory. What was bound stays bound.
  Status Resize(std::shared_ptr<const PlanSize> size);

  explicit operator bool() const { return plan_ != nullptr; }
  Plan& plan() const { return *plan_; }
  const PlanSize& size() const { return *at_.size; }
  Invocation& operator*() const { return *at_.invocation; }
  Invocation* operator->() const { return at_.invocation.get(); }

 private:
  void GiveBack();

  std::shared_ptr<Plan> plan_;  // outlives the invocation
  SizedInvocation at_;
};

}  // namespace hr::session
