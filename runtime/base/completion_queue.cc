#include "runtime/base/completion_queue.h"

namespace hr {

void CompletionQueue::Push(uint64_t key, Status status) {
  {
    std::lock_guard lock(filled_.mutex());
    completions_.push_back({key, std::move(status)});
    if (completions_.size() == 1 && event_.has_value()) event_->Set();
  }
  filled_.NotifyAll();
}

CompletionQueue::Completion CompletionQueue::TakeLocked() {
  Completion oldest = std::move(completions_.front());
  completions_.pop_front();
  if (completions_.empty() && event_.has_value()) event_->Clear();
  return oldest;
}

std::optional<CompletionQueue::Completion> CompletionQueue::Poll() {
  std::lock_guard lock(filled_.mutex());
  if (completions_.empty()) return std::nullopt;
  return TakeLocked();
}

Result<CompletionQueue::Completion> CompletionQueue::Wait(const CallLimits& limits) {
  std::optional<Completion> oldest;
  HR_RETURN_IF_ERROR(filled_.Wait(limits, [&] {
    if (!completions_.empty()) oldest = TakeLocked();
    return oldest.has_value();
  }));
  return *std::move(oldest);
}

Result<int> CompletionQueue::Handle() {
  std::lock_guard lock(filled_.mutex());
  if (!event_.has_value()) {
    HR_ASSIGN_OR_RETURN(event_, WakeEvent::Create());
    if (!completions_.empty()) event_->Set();
  }
  return event_->handle();
}

}  // namespace hr
