// What a host shares among its models and sessions: memory, messages, time, threads, devices and
// operators. Two envs in one process know nothing of each other.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/base/worker_threads.h"
#include "runtime/device/backend.h"
#include "runtime/ops/custom_op.h"
#ifdef HEADRACE_COMM
#include "runtime/comm/hub.h"
#endif

namespace hr::plugin {
class Plugin;
}

namespace hr::session {

// Null pointers choose the defaults. What is given must outlive the env.
struct EnvOptions {
  Allocator* allocator = nullptr;
  LogSink* log = nullptr;  // default: none
  const Clock* clock = nullptr;
  Executor* executor = nullptr;  // default: own threads
  int threads = 0;               // 0: as many as the process may use
};

// Thread-safe after creation and the Add calls.
class Env {
 public:
  static Result<std::shared_ptr<Env>> Create(const EnvOptions& options);

  Allocator& allocator() const { return *allocator_; }
  const Clock& clock() const { return *clock_; }
  ThreadBudget& threads() const { return *budget_; }
  // The threads of runs in the background, and those that call functions of the host.
  WorkerThreads& runs() const { return *runs_; }
  const std::shared_ptr<WorkerThreads>& callbacks() const { return callbacks_; }
  void Log(LogLevel level, std::string_view message) const {
    if (log_ != nullptr) log_->Write(level, message);
  }
  LogSink* log() const { return log_; }

  const ops::OpRegistry& operators() const { return operators_; }
  // Before it is frozen: after that any thread reads them.
  Status AddOperator(std::shared_ptr<const ops::CustomOp> op);
  Status AddBackend(std::unique_ptr<Backend> backend);
  // From now on no device or operator is added.
  void Freeze() { frozen_.store(true, std::memory_order_relaxed); }
  // Kept until the env ends, and listed.
  void AddPlugin(std::shared_ptr<plugin::Plugin> plugin) { plugins_.push_back(std::move(plugin)); }
  std::span<const std::shared_ptr<plugin::Plugin>> plugins() const { return plugins_; }
  std::span<const std::unique_ptr<Backend>> backends() const { return backends_; }
  // The device with this name ("CPU:0"); a failure that lists those there are.
  Result<Device*> FindDevice(std::string_view name) const;
  Device& cpu() const { return *cpu_; }
#ifdef HEADRACE_COMM
  // What its groups of processes share.
  comm::Hub& comm() { return comm_; }
#endif

 private:
  Env() = default;
  Allocator* allocator_ = nullptr;
  LogSink* log_ = nullptr;
  const Clock* clock_ = nullptr;
  std::unique_ptr<Executor> own_executor_;
  std::unique_ptr<ThreadBudget> budget_;
  std::vector<std::shared_ptr<const ops::CustomOp>> custom_operators_;
  ops::OpRegistry operators_;
  std::vector<std::shared_ptr<plugin::Plugin>> plugins_;
  std::vector<std::unique_ptr<Backend>> backends_;
  Device* cpu_ = nullptr;
  std::atomic<bool> frozen_ = false;
  std::shared_ptr<WorkerThreads> callbacks_;
  std::unique_ptr<WorkerThreads> runs_;
#ifdef HEADRACE_COMM
  comm::Hub comm_;
#endif
};

}  // namespace hr::session
