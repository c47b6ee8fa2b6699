#include "runtime/base/worker_threads.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace hr {

struct WorkerThreads::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  std::vector<std::thread> threads;
  size_t max_threads = 0;
  size_t idle = 0;  // threads that wait for a task, or have yet to begin
  bool stop = false;
};

WorkerThreads::WorkerThreads(int max_threads) : state_(std::make_shared<State>()) {
  state_->max_threads = static_cast<size_t>(max_threads);
}

WorkerThreads::~WorkerThreads() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    threads.swap(state_->threads);  // from now on none is added
  }
  state_->changed.notify_all();
  for (std::thread& thread : threads) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

void WorkerThreads::Add(std::function<void()> task) {
  std::lock_guard lock(state_->mutex);
  state_->waiting.push_back(std::move(task));
  Start(state_);
  state_->changed.notify_one();
}

// Starts a thread if none is free for the next task.
void WorkerThreads::Start(const std::shared_ptr<State>& state) {
  if (state->idle > 0 || state->stop || state->threads.size() == state->max_threads) return;
  ++state->idle;
  state->threads.emplace_back(Work, state);
}

void WorkerThreads::Work(std::shared_ptr<State> state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->stop || !state->waiting.empty(); });
    --state->idle;
    if (state->waiting.empty()) return;
    std::function<void()> task = std::move(state->waiting.front());
    state->waiting.pop_front();
    if (!state->waiting.empty()) Start(state);
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes before the thread counts as free
    lock.lock();
    ++state->idle;
  }
}

}  // namespace hr
