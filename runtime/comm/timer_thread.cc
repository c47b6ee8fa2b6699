#include "runtime/comm/timer_thread.h"

#include <algorithm>

#include "runtime/comm/reactor.h"

namespace hr::comm {

Result<std::unique_ptr<TimerThread>> TimerThread::Create() {
  HR_ASSIGN_OR_RETURN(WakeEvent wake, WakeEvent::Create());
  std::unique_ptr<TimerThread> timers(new TimerThread(std::move(wake)));
  timers->thread_ = std::thread([t = timers.get()] { t->Run(); });
  return timers;
}

TimerThread::~TimerThread() {
  stop_ = true;
  Kick();
  thread_.join();
}

void TimerThread::Add(Reactor& reactor) {
  {
    std::lock_guard lock(mutex_);
    entries_.push_back({.reactor = &reactor});
  }
  Kick();
}

void TimerThread::Remove(Reactor& reactor) {
  std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.reactor == &reactor; });
}

void TimerThread::Run() {
  const int handle = wake_.handle();
  while (!stop_) {
    const int64_t next = CallAll();
    const int64_t now = SystemClock().NowNanos();
    WaitReadable({&handle, 1}, next == INT64_MAX ? -1 : std::max<int64_t>(0, next - now));
    wake_.Clear();
  }
}

// Returns when the next one is due.
int64_t TimerThread::CallAll() {
  std::lock_guard lock(mutex_);
  int64_t next = INT64_MAX;
  for (Entry& entry : entries_) {
    const int64_t now = SystemClock().NowNanos();
    if (entry.reactor->timer_due_.exchange(false) || now >= entry.due_at) {
      entry.due_at = entry.reactor->client_.OnTimer(now);
    }
    next = std::min(next, entry.due_at);
  }
  return next;
}

}  // namespace hr::comm
