// Threads for tasks that may wait, such as runs in the background and functions of the host.
#pragma once

#include <functional>
#include <memory>

namespace hr {

// Threads start when they are needed, up to a number, and wait for more tasks until the object
// goes. Tasks begin in the order in which they were added. Thread-safe.
class WorkerThreads {
 public:
  // The default is for functions of the host: one that hangs delays others only if so many hang.
  explicit WorkerThreads(int max_threads = 64);
  // Waits until all tasks have returned. May be called by one of the threads; its own task then
  // goes on, and tasks that have not begun run after it.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;

  void Add(std::function<void()> task);

 private:
  struct State;
  static void Start(const std::shared_ptr<State>& state);
  static void Work(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  // the threads' too, one of which may outlive the object
};

}  // namespace hr
