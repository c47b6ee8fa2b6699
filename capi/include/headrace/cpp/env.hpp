// Envs, and the services that a host may give them.
#ifndef HEADRACE_CPP_ENV_HPP_
#define HEADRACE_CPP_ENV_HPP_

#include "headrace/cpp/operator.hpp"
#include "headrace/env.h"

namespace hr {
inline namespace cpp {

// The allocator, log, clock and executor of the host: the structs of headrace/env.h as interfaces.
// Their functions may be called from any thread.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual void* allocate(size_t bytes, size_t alignment) noexcept = 0;  // nullptr: no memory left
  virtual void deallocate(void* data, size_t bytes, size_t alignment) noexcept = 0;
};
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(hr_log_level level, const char* message) noexcept = 0;
};
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now_nanos() noexcept = 0;
};
class Executor {
 public:
  virtual ~Executor() = default;
  virtual int32_t concurrency() const noexcept = 0;
  // Calls fn(fn_context, task) once for each task in [0, tasks), on at most `threads` threads
  // including the calling one, and returns when all calls have returned.
  virtual void parallel_for(int32_t tasks, int32_t threads, void (*fn)(void* fn_context, int task),
                            void* fn_context) noexcept = 0;
};

// The objects pointed to must outlive the env, which graphs, models, sessions and data sets keep
// alive. The allocator must also outlive the tensors that came from it.
struct EnvOptions {
  int32_t threads = 0;             // 0: one per processor; ignored if there is an executor
  Allocator* allocator = nullptr;  // nullptr, here and below: the library's
  LogSink* log = nullptr;          // nullptr: messages are dropped
  Clock* clock = nullptr;
  Executor* executor = nullptr;
};

class Env : public detail::Handle<hr_env, hr_env_release> {
 public:
  // threads 0: one per processor.
  explicit Env(int threads = 0) : Env(with_threads(threads)) {}
  explicit Env(const EnvOptions& options) : Handle(create(options)) {}
  explicit Env(const hr_env_options& options)
      : Handle(detail::made<hr_env*>(hr_env_create, &options)) {}

  void load_plugin(const std::string& name_or_path) {
    check(hr_env_load_plugin(get(), name_or_path.c_str()));
  }
  // Must be called before the env's first model.
  void add_operator(const hr_operator& op) { check(hr_env_add_operator(get(), &op)); }
  void add_operator(Operator op) { detail::add_operator(get(), std::move(op)); }
  std::string describe() const { return detail::text_of(hr_env_describe, get()); }

 private:
  static EnvOptions with_threads(int threads) {
    EnvOptions out;
    out.threads = threads;
    return out;
  }

  static hr_env* create(const EnvOptions& given) {
    const hr_allocator allocator = {
        sizeof allocator, given.allocator,
        [](void* self, size_t bytes, size_t alignment) {
          return static_cast<Allocator*>(self)->allocate(bytes, alignment);
        },
        [](void* self, void* data, size_t bytes, size_t alignment) {
          static_cast<Allocator*>(self)->deallocate(data, bytes, alignment);
        }};
    const hr_log_sink log = {sizeof log, given.log,
                             [](void* self, hr_log_level level, const char* message) {
                               static_cast<LogSink*>(self)->write(level, message);
                             }};
    const hr_clock clock = {sizeof clock, given.clock,
                            [](void* self) { return static_cast<Clock*>(self)->now_nanos(); }};
    const hr_executor executor = {
        sizeof executor, given.executor,
        given.executor == nullptr ? 0 : given.executor->concurrency(),
        [](void* self, int32_t tasks, int32_t threads, void (*fn)(void*, int), void* fn_context) {
          static_cast<Executor*>(self)->parallel_for(tasks, threads, fn, fn_context);
        }};
    hr_env_options options{};
    options.struct_size = sizeof options;
    if (given.allocator != nullptr) options.allocator = &allocator;
    if (given.log != nullptr) options.log = &log;
    if (given.clock != nullptr) options.clock = &clock;
    if (given.executor != nullptr) options.executor = &executor;
    options.threads = given.threads;
    return detail::made<hr_env*>(hr_env_create, &options);
  }
};

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_ENV_HPP_
