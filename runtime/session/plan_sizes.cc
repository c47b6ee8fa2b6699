#include "runtime/session/plan_sizes.h"

#include <algorithm>

namespace hr::session {

std::shared_ptr<const PlanSize> PlanSizes::FindLocked(const std::vector<transform::Feed>& feeds) {
  auto found = std::find_if(sizes_.begin(), sizes_.end(),
                            [&](const auto& size) { return size->feeds == feeds; });
  if (found == sizes_.end()) return nullptr;
  sizes_.splice(sizes_.begin(), sizes_, found);
  return *found;
}

std::shared_ptr<const PlanSize> PlanSizes::Find(const std::vector<transform::Feed>& feeds) {
  std::lock_guard lock(mutex_);
  return FindLocked(feeds);
}

std::shared_ptr<const PlanSize> PlanSizes::Add(std::shared_ptr<const PlanSize> size) {
  std::lock_guard lock(mutex_);
  if (auto first = FindLocked(size->feeds)) return first;
  sizes_.push_front(size);
  if (sizes_.size() > most_) sizes_.pop_back();
  return size;
}

void PlanSizes::Clear() {
  std::lock_guard lock(mutex_);
  sizes_.clear();
}

std::vector<std::shared_ptr<const PlanSize>> PlanSizes::List() const {
  std::lock_guard lock(mutex_);
  return {sizes_.begin(), sizes_.end()};
}

}  // namespace hr::session
