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

// The env keeps the objects; the allocator lives as long as the last tensor that came from it.
struct EnvOptions {
  int32_t threads = 0;                   // 0: one per processor; ignored if there is an executor
  std::shared_ptr<Allocator> allocator;  // nullptr, here and below: the library's
  std::shared_ptr<LogSink> log;          // nullptr: messages are dropped
  std::shared_ptr<Clock> clock;
  std::shared_ptr<Executor> executor;
  std::string cost_table;  // hr_env_options.cost_table; empty: none
};

namespace detail {

// A shared object as the context of a C struct, which release_shared releases.
template <typename T>
std::unique_ptr<std::shared_ptr<T>> hold(const std::shared_ptr<T>& given) {
  return given ? std::make_unique<std::shared_ptr<T>>(given) : nullptr;
}
template <typename T>
T& held_by(void* context) {
  return **static_cast<std::shared_ptr<T>*>(context);
}
template <typename T>
void release_shared(void* context) {
  delete static_cast<std::shared_ptr<T>*>(context);
}

}  // namespace detail

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
    auto held_allocator = detail::hold(given.allocator);
    auto held_log = detail::hold(given.log);
    auto held_clock = detail::hold(given.clock);
    auto held_executor = detail::hold(given.executor);
    const hr_allocator allocator = {
        sizeof allocator, held_allocator.get(),
        [](void* self, size_t bytes, size_t alignment) {
          return detail::held_by<Allocator>(self).allocate(bytes, alignment);
        },
        [](void* self, void* data, size_t bytes, size_t alignment) {
          detail::held_by<Allocator>(self).deallocate(data, bytes, alignment);
        },
        detail::release_shared<Allocator>};
    const hr_log_sink log = {sizeof log, held_log.get(),
                             [](void* self, hr_log_level level, const char* message) {
                               detail::held_by<LogSink>(self).write(level, message);
                             },
                             detail::release_shared<LogSink>};
    const hr_clock clock = {sizeof clock, held_clock.get(),
                            [](void* self) { return detail::held_by<Clock>(self).now_nanos(); },
                            detail::release_shared<Clock>};
    const hr_executor executor = {
        sizeof executor, held_executor.get(),
        given.executor == nullptr ? 0 : given.executor->concurrency(),
        [](void* self, int32_t tasks, int32_t threads, void (*fn)(void*, int), void* fn_context) {
          detail::held_by<Executor>(self).parallel_for(tasks, threads, fn, fn_context);
        },
        detail::release_shared<Executor>};
    hr_env_options options{};
    options.struct_size = sizeof options;
    if (given.allocator != nullptr) options.allocator = &allocator;
    if (given.log != nullptr) options.log = &log;
    if (given.clock != nullptr) options.clock = &clock;
    if (given.executor != nullptr) options.executor = &executor;
    options.threads = given.threads;
    if (!given.cost_table.empty()) options.cost_table = given.cost_table.c_str();
    hr_env* out = detail::made<hr_env*>(hr_env_create, &options);
    static_cast<void>(held_allocator.release());  // the env has taken them over
    static_cast<void>(held_log.release());
    static_cast<void>(held_clock.release());
    static_cast<void>(held_executor.release());
    return out;
  }
};

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_ENV_HPP_
