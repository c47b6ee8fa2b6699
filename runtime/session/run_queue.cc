#include "runtime/session/run_queue.h"

#include <deque>
#include <thread>

#include "runtime/session/call.h"

namespace hr::session {

AsyncRun::AsyncRun(std::shared_ptr<Call> call, const CallLimits& limits,
                   std::shared_ptr<const CancelToken> token)
    : call_(std::move(call)), limits_(limits), token_(std::move(token)) {
  outer_cancel_.emplace(
      limits.cancel, [](void* self) { static_cast<AsyncRun*>(self)->Cancel(); }, this);
  if (limits.cancel != nullptr && limits.cancel->cancelled()) Cancel();
  limits_.cancel = &cancel_;
  limits_.interrupted = nullptr;
}

bool AsyncRun::done() {
  std::lock_guard lock(ended_.mutex());
  return done_;
}

Status AsyncRun::Wait(const CallLimits& limits) {
  HR_RETURN_IF_ERROR(ended_.Wait(limits, [this] { return done_; }));
  return status_.Clone();
}

void AsyncRun::OnDone(Callback callback) {
  {
    std::lock_guard lock(ended_.mutex());
    if (!done_) {
      listeners_.push_back(std::move(callback));
      return;
    }
  }
  callback(status_);
}

void AsyncRun::Execute() {
  Status status = call_->Run(limits_);
  outer_cancel_.reset();
  token_.reset();
  call_->Leave();
  call_.reset();  // whoever waits may take it that nothing of the run is left
  std::vector<Callback> listeners;
  {
    std::lock_guard lock(ended_.mutex());
    status_ = std::move(status);
    done_ = true;
    listeners.swap(listeners_);
  }
  ended_.NotifyAll();
  for (const Callback& callback : listeners) callback(status_);
}

struct RunQueue::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<AsyncRun>> waiting;
  std::vector<std::thread> threads;
  size_t idle = 0;
  bool stop = false;
};

RunQueue::RunQueue(int max_threads)
    : max_threads_(static_cast<size_t>(max_threads)), state_(std::make_shared<State>()) {}

RunQueue::~RunQueue() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
  state_->threads.clear();
}

void RunQueue::Add(std::shared_ptr<AsyncRun> run) {
  std::lock_guard lock(state_->mutex);
  state_->waiting.push_back(std::move(run));
  if (state_->idle < state_->waiting.size() && state_->threads.size() < max_threads_) {
    state_->threads.emplace_back(Work, state_);
  }
  state_->changed.notify_one();
}

void RunQueue::Work(std::shared_ptr<State> state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    ++state->idle;
    state->changed.wait(lock, [&] { return state->stop || !state->waiting.empty(); });
    --state->idle;
    if (state->waiting.empty()) return;
    std::shared_ptr<AsyncRun> run = std::move(state->waiting.front());
    state->waiting.pop_front();
    lock.unlock();
    run->Execute();
    run.reset();
    lock.lock();
  }
}

}  // namespace hr::session
