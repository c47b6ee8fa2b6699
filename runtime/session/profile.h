// What one run did, step by step and thread by thread.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/executor.h"
#include "runtime/device/run_recorder.h"

namespace hr::session {

// Stands between a run and its threads: as its recorder, and as the executor of its lease. Outlives
// the run; of no use for a second one.
class Profile final : public RunRecorder, private Executor {
 public:
  // The run begins. Returns a lease of the same threads, whose tasks are noted.
  Lease Begin(Lease threads);
  void End() { end_ = Now(); }

  void BeginStep(StepFacts facts) override;
  void EndStep() override;

  // What was noted, as hr_call_profile describes it.
  std::string Json() const;

 private:
  // Nanoseconds from the begin of the run.
  using Time = int64_t;
  // What one thread did for a step: from its first task to its last.
  struct Share {
    size_t thread = 0;
    Time begin = 0, end = 0;
    Time busy = 0;  // in tasks
  };
  struct Step {
    std::string node, kernel;
    double operations = 0;
    size_t bytes = 0, live_bytes = 0;
    Time begin = 0, end = 0;
    std::vector<Share> shares;
  };

  int concurrency() const override { return threads_.threads(); }
  void ParallelFor(int tasks, int threads, TaskFunction fn, void* context) override;
  Time Now() const;
  // The number of a thread, counted as they come; 0 is the one that runs the steps.
  size_t NumberOf(std::thread::id thread);
  void AddTask(std::thread::id thread, Time begin, Time end);

  Lease threads_;
  std::chrono::steady_clock::time_point start_;
  Time end_ = 0;
  std::vector<Step> steps_;
  std::mutex mutex_;  // of what follows, and of the last step's shares
  std::vector<std::thread::id> numbers_;
};

}  // namespace hr::session
