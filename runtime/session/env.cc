#include "runtime/session/env.h"

#include "runtime/base/errors.h"
#include "runtime/base/host.h"

namespace hr::session {

Result<std::shared_ptr<Env>> Env::Create(const EnvOptions& options) {
  std::shared_ptr<Env> env(new Env);
  env->allocator_ = options.allocator != nullptr ? options.allocator : &SystemAllocator();
  env->log_ = options.log;
  env->clock_ = options.clock != nullptr ? options.clock : &SystemClock();
  Executor* executor = options.executor;
  if (executor == nullptr) {
    int threads = options.threads == 0 ? AvailableProcessors() : options.threads;
    HR_ASSIGN_OR_RETURN(env->own_executor_, CreateThreadPool(threads));
    executor = env->own_executor_.get();
  }
  env->callbacks_ = std::make_shared<WorkerThreads>();
  env->budget_ = std::make_unique<ThreadBudget>(*executor);
  env->runs_ = std::make_unique<WorkerThreads>(env->budget_->total());
#ifdef HEADRACE_COMM
  env->comm_.UseForHost(env->callbacks_, *env->budget_, env->log_);
#endif
  return env;
}

Status Env::AddOperator(std::shared_ptr<const ops::CustomOp> op) {
  if (frozen_.load(std::memory_order_relaxed)) {
    return FailedPrecondition("operators are added before the env's first model");
  }
  HR_RETURN_IF_ERROR(operators_.Add(*op));
  custom_operators_.push_back(std::move(op));
  return {};
}

Status Env::AddBackend(std::unique_ptr<Backend> backend) {
  if (frozen_.load(std::memory_order_relaxed)) {
    return FailedPrecondition("devices are added before the first model, which is there already");
  }
  for (const auto& device : backend->devices()) {
    if (FindDevice(device->info().name).ok()) {
      return AlreadyExists("a device is already called '", device->info().name, "'");
    }
    if (cpu_ == nullptr && device->info().id.type == DeviceType::kCpu) cpu_ = device.get();
  }
  backends_.push_back(std::move(backend));
  return {};
}

Result<Device*> Env::FindDevice(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& backend : backends_) {
    for (const auto& device : backend->devices()) {
      if (device->info().name == name) return device.get();
      names.push_back(device->info().name);
    }
  }
  return NotFound("there is no device '", name, "'; there are", ListText(names));
}

}  // namespace hr::session
