#include "runtime/session/instance.h"

#include "runtime/session/plan.h"

namespace hr::session {

IdleInstances::IdleInstances(int most) { idle_.reserve(static_cast<size_t>(most)); }

SizedInvocation IdleInstances::Take() {
  std::lock_guard lock(mutex_);
  if (idle_.empty()) return {};
  SizedInvocation taken = std::move(idle_.back());
  idle_.pop_back();
  return taken;
}

void IdleInstances::Put(SizedInvocation idle) {
  std::lock_guard lock(mutex_);
  if (idle_.size() < idle_.capacity()) idle_.push_back(std::move(idle));
}

void IdleInstances::Clear() {
  std::lock_guard lock(mutex_);
  idle_.clear();
}

size_t IdleInstances::count() const {
  std::lock_guard lock(mutex_);
  return idle_.size();
}

Result<Instance> Instance::Of(std::shared_ptr<Plan> plan, std::shared_ptr<const PlanSize> size) {
  Instance instance;
  instance.at_ = plan->idle().Take();
  if (instance.at_.invocation == nullptr) {
    HR_ASSIGN_OR_RETURN(instance.at_, plan->Instantiate());
  }
  instance.plan_ = std::move(plan);
  HR_RETURN_IF_ERROR(instance.Resize(std::move(size)));
  return instance;
}

Status Instance::Resize(std::shared_ptr<const PlanSize> size) {
  const PlanSize& before = *at_.size;
  if (size.get() == &before) return {};
  HR_RETURN_IF_ERROR(at_.invocation->SwitchTo(*size->executable));
  for (size_t i = 0; i < size->constants.size(); ++i) {
    void* const data = size->constants[i].data();
    if (data != before.constants[i].data()) at_.invocation->Bind(plan_->constant_slot(i), data);
  }
  at_.size = std::move(size);
  return {};
}

Instance& Instance::operator=(Instance&& other) noexcept {
  if (this == &other) return *this;
  GiveBack();
  plan_ = std::move(other.plan_);
  at_ = std::move(other.at_);
  return *this;
}

Instance::~Instance() { GiveBack(); }

void Instance::GiveBack() {
  if (at_.invocation != nullptr) plan_->idle().Put(std::move(at_));
}

}  // namespace hr::session
