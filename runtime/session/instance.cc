#include "runtime/session/instance.h"

#include "runtime/session/plan.h"

namespace hr::session {

IdleInstances::IdleInstances(int most) { idle_.reserve(static_cast<size_t>(most)); }

std::unique_ptr<Invocation> IdleInstances::Take() {
  std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  std::unique_ptr<Invocation> taken = std::move(idle_.back());
  idle_.pop_back();
  return taken;
}

void IdleInstances::Put(std::unique_ptr<Invocation> invocation) {
  std::lock_guard lock(mutex_);
  if (idle_.size() < idle_.capacity()) idle_.push_back(std::move(invocation));
}

void IdleInstances::Clear() {
  std::lock_guard lock(mutex_);
  idle_.clear();
}

size_t IdleInstances::count() const {
  std::lock_guard lock(mutex_);
  return idle_.size();
}

Result<Instance> Instance::Of(std::shared_ptr<Plan> plan) {
  Instance instance;
  instance.invocation_ = plan->idle().Take();
  if (instance.invocation_ == nullptr) {
    HR_ASSIGN_OR_RETURN(instance.invocation_, plan->Instantiate());
  }
  instance.plan_ = std::move(plan);
  return instance;
}

Instance& Instance::operator=(Instance&& other) noexcept {
  if (this == &other) return *this;
  GiveBack();
  plan_ = std::move(other.plan_);
  invocation_ = std::move(other.invocation_);
  return *this;
}

Instance::~Instance() { GiveBack(); }

void Instance::GiveBack() {
  if (invocation_ != nullptr) plan_->idle().Put(std::move(invocation_));
}

}  // namespace hr::session
