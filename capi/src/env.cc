#include "headrace/env.h"

#include "capi/src/handles.h"
#include "capi/src/register.h"
#include "runtime/base/json_writer.h"
#include "runtime/plugin/plugin.h"

namespace hr::capi {
namespace {

// What the host injected, as the interfaces of the runtime. An adapter releases the host's context
// when it ends, if it has been told to keep it.
template <typename Host>
class HostPart {
 public:
  HostPart() = default;
  HostPart(const HostPart&) = delete;
  HostPart& operator=(const HostPart&) = delete;
  void Keep() { kept_ = true; }

  Host host{};

 protected:
  ~HostPart() {
    if (kept_ && host.release != nullptr) host.release(host.context);
  }

 private:
  bool kept_ = false;
};

// Counts its users, the env and every tensor; ends with the last of them.
class HostAllocator final : public Allocator, public HostPart<hr_allocator> {
 public:
  bool complete() const { return host.allocate != nullptr && host.deallocate != nullptr; }
  void* Allocate(size_t bytes, size_t alignment) override {
    return host.allocate(host.context, bytes, alignment);
  }
  void Deallocate(void* data, size_t bytes, size_t alignment) override {
    host.deallocate(host.context, data, bytes, alignment);
  }
  void Retain() override { users_.fetch_add(1, std::memory_order_relaxed); }
  void Release() override {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~HostAllocator() = default;
  std::atomic<int64_t> users_{1};
};

struct ReleaseAllocator {
  void operator()(HostAllocator* allocator) const { allocator->Release(); }
};

struct HostLog final : public LogSink, public HostPart<hr_log_sink> {
  bool complete() const { return host.write != nullptr; }
  void Write(LogLevel level, std::string_view message) override {
    host.write(host.context, static_cast<hr_log_level>(level), std::string(message).c_str());
  }
};

struct HostClock final : public Clock, public HostPart<hr_clock> {
  bool complete() const { return host.now_nanos != nullptr; }
  int64_t NowNanos() const override { return host.now_nanos(host.context); }
};

struct HostExecutor final : public Executor, public HostPart<hr_executor> {
  bool complete() const { return host.parallel_for != nullptr && host.concurrency > 0; }
  int concurrency() const override { return host.concurrency; }
  void ParallelFor(int tasks, int threads, TaskFunction fn, void* context) override {
    host.parallel_for(host.context, tasks, threads, fn, context);
  }
};

// An env together with the adapters that it uses, which go after it.
struct HostedEnv {
  std::unique_ptr<HostAllocator, ReleaseAllocator> allocator;
  HostLog log;
  HostClock clock;
  HostExecutor executor;
  std::shared_ptr<session::Env> env;

  void Keep() {
    allocator->Keep();
    log.Keep();
    clock.Keep();
    executor.Keep();
  }
};

// Fills the adapter, and `out` with it, if the host gave something to adapt.
template <typename Adapter, typename Host, typename Base>
Status Adapt(const Host* given, const char* name, Adapter* adapter, Base** out) {
  if (given == nullptr) return {};
  HR_RETURN_IF_ERROR(CopySizedBytes(given, name, &adapter->host, sizeof adapter->host));
  if (!adapter->complete()) return InvalidArgument(name, " has a function that is NULL");
  *out = adapter;
  return {};
}

Result<std::shared_ptr<session::Env>> CreateEnv(const hr_env_options& options) {
  auto hosted = std::make_shared<HostedEnv>();
  session::EnvOptions inner{.threads = options.threads};
  hosted->allocator.reset(new HostAllocator);
  HR_RETURN_IF_ERROR(
      Adapt(options.allocator, "hr_allocator", hosted->allocator.get(), &inner.allocator));
  HR_RETURN_IF_ERROR(Adapt(options.log, "hr_log_sink", &hosted->log, &inner.log));
  HR_RETURN_IF_ERROR(Adapt(options.clock, "hr_clock", &hosted->clock, &inner.clock));
  HR_RETURN_IF_ERROR(Adapt(options.executor, "hr_executor", &hosted->executor, &inner.executor));
  HR_ASSIGN_OR_RETURN(hosted->env, session::Env::Create(inner));
  HR_RETURN_IF_ERROR(RegisterParts(*hosted->env, options.cost_table));
  hosted->Keep();
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
  json.EndArray();
  DescribeLibraries(json);
  std::vector<std::string_view> transports;
  std::vector<std::string_view> stores;
#ifdef HEADRACE_COMM
  transports = env.comm().transport_names();
  stores = env.comm().store_schemes();
#endif
  json.Key("plugins").BeginArray();
  for (const auto& plugin : env.plugins()) json.Value(plugin->name());
  json.EndArray().Key("transports").Values(std::span<const std::string_view>(transports));
  json.Key("transport_devices").BeginObject();
#ifdef HEADRACE_COMM
  for (std::string_view name : transports) {
    if (std::string found = env.comm().DevicesOf(name); !found.empty()) json.Key(name).Value(found);
  }
#endif
  json.EndObject();
  json.Key("stores").Values(std::span<const std::string_view>(stores));
  json.Key("operators").BeginArray();
  for (const ops::OpDef* def : env.operators().all()) {
    json.BeginObject()
        .Field("domain", def->domain)
        .Field("name", def->name)
        .Field("since_version", def->since_version)
        .Field("differentiable", static_cast<bool>(def->gradient))
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
