#include "headrace/env.h"

#include "capi/src/handles.h"
#include "capi/src/register.h"
#include "runtime/base/json_writer.h"

namespace hr::capi {
namespace {

// What the host injected, as the interfaces of the runtime.
// Counts its users, the env and every tensor; ends with the last of them.
class HostAllocator final : public Allocator {
 public:
  explicit HostAllocator(const hr_allocator& host) : host_(host) {}
  void* Allocate(size_t bytes, size_t alignment) override {
    return host_.allocate(host_.context, bytes, alignment);
  }
  void Deallocate(void* data, size_t bytes, size_t alignment) override {
    host_.deallocate(host_.context, data, bytes, alignment);
  }
  void Retain() override { users_.fetch_add(1, std::memory_order_relaxed); }
  void Release() override {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~HostAllocator() = default;
  hr_allocator host_;
  std::atomic<int64_t> users_{1};
};

struct ReleaseAllocator {
  void operator()(HostAllocator* allocator) const { allocator->Release(); }
};

class HostLog final : public LogSink {
 public:
  explicit HostLog(const hr_log_sink& host) : host_(host) {}
  void Write(LogLevel level, std::string_view message) override {
    host_.write(host_.context, static_cast<hr_log_level>(level), std::string(message).c_str());
  }

 private:
  hr_log_sink host_;
};

class HostClock final : public Clock {
 public:
  explicit HostClock(const hr_clock& host) : host_(host) {}
  int64_t NowNanos() const override { return host_.now_nanos(host_.context); }

 private:
  hr_clock host_;
};

class HostExecutor final : public Executor {
 public:
  explicit HostExecutor(const hr_executor& host) : host_(host) {}
  int concurrency() const override { return host_.concurrency; }
  void ParallelFor(int tasks, int threads, TaskFunction fn, void* context) override {
    host_.parallel_for(host_.context, tasks, threads, fn, context);
  }

 private:
  hr_executor host_;
};

// An env together with the adapters that it uses, which go after it.
struct HostedEnv {
  std::unique_ptr<HostAllocator, ReleaseAllocator> allocator;
  std::unique_ptr<HostLog> log;
  std::unique_ptr<HostClock> clock;
  std::unique_ptr<HostExecutor> executor;
  std::shared_ptr<session::Env> env;
};

template <typename Adapter, typename Host, typename Owner, typename Base>
Status Adapt(const Host* given, const char* name, bool (*complete)(const Host&), Owner* owner,
             Base** out) {
  if (given == nullptr) return {};
  HR_ASSIGN_OR_RETURN(Host host, CopySized(given, name));
  if (!complete(host)) return InvalidArgument(name, " has a function that is NULL");
  owner->reset(new Adapter(host));
  *out = owner->get();
  return {};
}

Result<std::shared_ptr<session::Env>> CreateEnv(const hr_env_options& options) {
  auto hosted = std::make_shared<HostedEnv>();
  session::EnvOptions inner{.threads = options.threads};
  HR_RETURN_IF_ERROR(Adapt<HostAllocator>(
      options.allocator, "hr_allocator",
      +[](const hr_allocator& a) { return a.allocate != nullptr && a.deallocate != nullptr; },
      &hosted->allocator, &inner.allocator));
  HR_RETURN_IF_ERROR(Adapt<HostLog>(
      options.log, "hr_log_sink", +[](const hr_log_sink& l) { return l.write != nullptr; },
      &hosted->log, &inner.log));
  HR_RETURN_IF_ERROR(Adapt<HostClock>(
      options.clock, "hr_clock", +[](const hr_clock& c) { return c.now_nanos != nullptr; },
      &hosted->clock, &inner.clock));
  HR_RETURN_IF_ERROR(Adapt<HostExecutor>(
      options.executor, "hr_executor",
      +[](const hr_executor& e) { return e.parallel_for != nullptr && e.concurrency > 0; },
      &hosted->executor, &inner.executor));
  HR_ASSIGN_OR_RETURN(hosted->env, session::Env::Create(inner));
  HR_RETURN_IF_ERROR(RegisterBackends(*hosted->env));
  RegisterTransports(hosted->env->comm());
  session::Env* env = hosted->env.get();
  return std::shared_ptr<session::Env>(std::move(hosted), env);
}

std::string Describe(session::Env& env) {
  JsonWriter json;
  json.BeginObject().Field("version", hr_version_text()).Field("threads", env.threads().total());
  json.Key("devices").BeginArray();
  for (const auto& backend : env.backends()) {
    for (const auto& device : backend->devices()) {
      json.BeginObject()
          .Field("name", device->info().name)
          .Field("backend", backend->name())
          .Field("description", device->info().description)
          .EndObject();
    }
  }
  json.EndArray().Key("transports");
  json.Values(std::span<const std::string_view>(env.comm().transport_names()));
  json.Key("stores").Values(std::span<const std::string_view>(env.comm().store_schemes()));
  json.Key("operators").BeginArray();
  for (const ops::OpDef* def : env.operators().all()) {
    json.BeginObject()
        .Field("domain", def->domain)
        .Field("name", def->name)
        .Field("since_version", def->since_version)
        .Field("differentiable", def->gradient != nullptr)
        .EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace
}  // namespace hr::capi

extern "C" {

hr_status* hr_env_create(const hr_env_options* options, hr_env** out) {
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(hr_env_options copy, hr::capi::CopySized(options, "hr_env_options"));
  return hr::capi::WrapInto(out, hr::capi::CreateEnv(copy));
}

void hr_env_release(hr_env* env) { delete env; }

hr_status* hr_env_describe(const hr_env* env, hr_text** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(out);
  return hr::capi::WrapText(out, hr::capi::Describe(*env->rep));
}

}  // extern "C"
