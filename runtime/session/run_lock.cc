#include "runtime/session/run_lock.h"

namespace hr::session {

bool RunLock::TryLock(bool exclusive, bool urgent) {
  int state = state_.load(std::memory_order_relaxed);
  if (exclusive) {
    return state == 0 && state_.compare_exchange_strong(state, -1, std::memory_order_seq_cst);
  }
  while (state >= 0 && (urgent || waiting_writers_.load(std::memory_order_relaxed) == 0)) {
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_seq_cst)) return true;
  }
  return false;
}

Status RunLock::Lock(bool exclusive, const CallLimits& limits, bool urgent) {
  if (TryLock(exclusive, urgent)) return {};
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  if (exclusive) waiting_writers_.fetch_add(1, std::memory_order_seq_cst);
  Status waited = changed_.Wait(limits, [&] { return TryLock(exclusive, urgent); });
  if (exclusive) waiting_writers_.fetch_sub(1, std::memory_order_seq_cst);
  waiting_.fetch_sub(1, std::memory_order_seq_cst);
  if (waited.ok()) return {};
  changed_.NotifyAll();  // readers that let this writer go first
  return std::move(waited).WithContext("waiting for other runs of the session");
}

void RunLock::Unlock(bool exclusive) {
  if (exclusive) {
    state_.store(0, std::memory_order_seq_cst);
  } else {
    state_.fetch_sub(1, std::memory_order_seq_cst);
  }
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
  changed_.NotifyAll();
}

}  // namespace hr::session
