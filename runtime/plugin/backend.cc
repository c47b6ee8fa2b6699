#include "runtime/plugin/backend.h"

#include <atomic>

#include "headrace/plugin_backend.h"
#include "runtime/plugin/region_view.h"
#include "runtime/plugin/status.h"

namespace hr::plugin {
namespace {

hr_plugin_limits LimitsOf(const CallLimits& limits) {
  return {.context = const_cast<CallLimits*>(&limits), .check = [](void* context) {
            return ToC(static_cast<const CallLimits*>(context)->Check());
          }};
}

class PluginEvent final : public Event {
 public:
  PluginEvent(const hr_plugin_backend_table& table, hr_plugin_event* event)
      : table_(table), event_(event) {}
  ~PluginEvent() override { table_.release_event(event_); }
  bool Done() override { return table_.event_done(event_) != 0; }
  Status Synchronize(const CallLimits& limits) override {
    const hr_plugin_limits view = LimitsOf(limits);
    return FromC(table_.synchronize_event(event_, &view));
  }
  void* native_handle() override { return table_.native_event(event_); }
  hr_plugin_event* get() const { return event_; }

 private:
  const hr_plugin_backend_table& table_;
  hr_plugin_event* const event_;
};

class PluginStream final : public Stream {
 public:
  PluginStream(const hr_plugin_backend_table& table, hr_plugin_stream* stream)
      : table_(table), stream_(stream) {}
  ~PluginStream() override { table_.release_stream(stream_); }
  void* native_handle() override { return table_.native_stream(stream_); }
  Status Record(Event& event) override {
    return FromC(table_.record(stream_, static_cast<PluginEvent&>(event).get()));
  }
  Status Wait(Event& event) override {
    return FromC(table_.wait(stream_, static_cast<PluginEvent&>(event).get()));
  }
  Status Synchronize(const CallLimits& limits) override {
    const hr_plugin_limits view = LimitsOf(limits);
    return FromC(table_.synchronize_stream(stream_, &view));
  }
  hr_plugin_stream* get() const { return stream_; }

 private:
  const hr_plugin_backend_table& table_;
  hr_plugin_stream* const stream_;
};

hr_plugin_stream* HandleOf(Stream* stream) {
  return stream == nullptr ? nullptr : static_cast<PluginStream*>(stream)->get();
}

void ParallelFor(const hr_plugin_run* run, int32_t tasks, TaskFunction fn, void* context) {
  static_cast<const Lease*>(run->context)->ParallelFor(tasks, [&](int task) { fn(context, task); });
}

class PluginInvocation final : public Invocation {
 public:
  PluginInvocation(const hr_plugin_backend_table& table, hr_plugin_invocation* invocation)
      : table_(table), invocation_(invocation) {}
  ~PluginInvocation() override { table_.release_invocation(invocation_); }
  void Bind(uint32_t slot, void* data) override { table_.bind(invocation_, slot, data); }
  Status Run(const RunContext& context) override {
    const hr_plugin_limits limits = LimitsOf(*context.limits);
    int32_t update_begun = 0;
    const hr_plugin_run run{.struct_size = sizeof run,
                            .limits = &limits,
                            .stream = HandleOf(context.stream),
                            .seed = context.seed,
                            .step = context.step,
                            .variables_version = context.variables_version,
                            .update_begun = &update_begun,
                            .threads = context.threads.threads(),
                            .parallel_for = ParallelFor,
                            .context = const_cast<Lease*>(&context.threads)};
    Status status = FromC(table_.run(invocation_, &run));
    if (update_begun != 0 && context.update_begun != nullptr) *context.update_begun = true;
    return status;
  }

 private:
  const hr_plugin_backend_table& table_;
  hr_plugin_invocation* const invocation_;
};

class PluginExecutable final : public Executable {
 public:
  PluginExecutable(const hr_plugin_backend_table& table, hr_plugin_executable* executable)
      : table_(table), executable_(executable) {}
  ~PluginExecutable() override { table_.release_executable(executable_); }
  Result<std::unique_ptr<Invocation>> Instantiate() override {
    hr_plugin_invocation* invocation = nullptr;
    HR_RETURN_IF_ERROR(FromC(table_.instantiate(executable_, &invocation)));
    return std::unique_ptr<Invocation>(new PluginInvocation(table_, invocation));
  }
  size_t arena_bytes() const override { return table_.arena_bytes(executable_); }
  std::string Describe() const override {
    std::string text;
    table_.describe(
        executable_,
        [](void* out, const char* piece, size_t bytes) {
          static_cast<std::string*>(out)->append(piece, bytes);
        },
        &text);
    return text.empty() ? "null" : text;
  }

 private:
  const hr_plugin_backend_table& table_;
  hr_plugin_executable* const executable_;
};

// Tensors in its memory may outlive the backend.
class DeviceAllocator final : public Allocator {
 public:
  DeviceAllocator(std::shared_ptr<Plugin> plugin, hr_plugin_device* device)
      : plugin_(std::move(plugin)), device_(device) {}
  void* Allocate(size_t bytes, size_t alignment) override {
    return plugin_->backend()->allocate(device_, bytes, alignment);
  }
  void Deallocate(void* data, size_t bytes, size_t alignment) override {
    plugin_->backend()->deallocate(device_, data, bytes, alignment);
  }
  void Retain() override { users_.fetch_add(1, std::memory_order_relaxed); }
  void Release() override {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~DeviceAllocator() = default;
  const std::shared_ptr<Plugin> plugin_;
  hr_plugin_device* const device_;
  std::atomic<int64_t> users_{1};
};

class PluginDevice final : public Device {
 public:
  PluginDevice(const std::shared_ptr<Plugin>& plugin, hr_plugin_device* device, DeviceInfo info)
      : table_(*plugin->backend()),
        device_(device),
        info_(std::move(info)),
        allocator_(new DeviceAllocator(plugin, device)) {}
  ~PluginDevice() override { allocator_->Release(); }

  const DeviceInfo& info() const override { return info_; }
  Allocator& allocator() override { return *allocator_; }
  Status Copy(void* to, const void* from, size_t bytes, CopyKind kind, Stream* stream) override {
    return FromC(table_.copy(device_, to, from, bytes, static_cast<hr_plugin_copy_kind>(kind),
                             HandleOf(stream)));
  }
  Result<std::unique_ptr<Stream>> CreateStream() override {
    if (table_.create_stream == nullptr) return Unimplemented(info_.name, " has no streams");
    hr_plugin_stream* stream = nullptr;
    HR_RETURN_IF_ERROR(FromC(table_.create_stream(device_, &stream)));
    return std::unique_ptr<Stream>(new PluginStream(table_, stream));
  }
  Result<std::unique_ptr<Event>> CreateEvent() override {
    if (table_.create_event == nullptr) return Unimplemented(info_.name, " has no events");
    hr_plugin_event* event = nullptr;
    HR_RETURN_IF_ERROR(FromC(table_.create_event(device_, &event)));
    return std::unique_ptr<Event>(new PluginEvent(table_, event));
  }
  Result<std::vector<char>> Supports(const graph::Module& region) override {
    std::vector<char> takes(region.main().nodes.size());
    HR_RETURN_IF_ERROR(FromC(table_.supports(device_, RegionView(region).get(),
                                             reinterpret_cast<uint8_t*>(takes.data()))));
    return takes;
  }
  Result<std::unique_ptr<Executable>> Compile(const graph::Module& region,
                                              const CompileOptions& options) override {
    const hr_plugin_compile_options view{.struct_size = sizeof view,
                                         .threads = options.threads,
                                         .fuse = options.fuse,
                                         .deterministic = options.deterministic,
                                         .check_memory = options.check_memory,
                                         .exact_sums = options.exact_sums,
                                         .memory_limit = options.memory_limit};
    hr_plugin_executable* executable = nullptr;
    HR_RETURN_IF_ERROR(
        FromC(table_.compile(device_, RegionView(region).get(), &view, &executable)));
    return std::unique_ptr<Executable>(new PluginExecutable(table_, executable));
  }

 private:
  const hr_plugin_backend_table& table_;
  hr_plugin_device* const device_;
  const DeviceInfo info_;
  DeviceAllocator* const allocator_;
};

class PluginBackend final : public Backend {
 public:
  explicit PluginBackend(std::shared_ptr<Plugin> plugin) : plugin_(std::move(plugin)) {}
  std::string_view name() const override { return plugin_->name(); }
  std::span<const std::unique_ptr<Device>> devices() override { return devices_; }

  Status AddDevice(size_t i) {
    hr_plugin_device_info info{.struct_size = sizeof info};
    hr_plugin_device* device = nullptr;
    HR_RETURN_IF_ERROR(FromC(plugin_->backend()->device(plugin_->self(), i, &info, &device)));
    if (info.name == nullptr || *info.name == '\0') {
      return InvalidArgument("device ", i, " has no name");
    }
    DeviceInfo kept{.id = {static_cast<DeviceType>(info.type), info.ordinal},
                    .name = info.name,
                    .description = info.description == nullptr ? "" : info.description,
                    .memory_bytes = info.memory_bytes};
    devices_.push_back(std::make_unique<PluginDevice>(plugin_, device, std::move(kept)));
    return {};
  }

 private:
  const std::shared_ptr<Plugin> plugin_;
  std::vector<std::unique_ptr<Device>> devices_;  // before the plugin
};

}  // namespace

Result<std::unique_ptr<Backend>> CreateBackend(std::shared_ptr<Plugin> plugin) {
  if (plugin->backend()->struct_size < sizeof(hr_plugin_backend_table)) {
    return InvalidArgument("plugin '", plugin->name(), "' has a backend table of ",
                           plugin->backend()->struct_size, " bytes, expected ",
                           sizeof(hr_plugin_backend_table));
  }
  const size_t count = plugin->backend()->device_count(plugin->self());
  auto backend = std::make_unique<PluginBackend>(std::move(plugin));
  for (size_t i = 0; i < count; ++i) {
    if (Status status = backend->AddDevice(i); !status.ok()) {
      return std::move(status).WithContext(Cat("plugin '", backend->name(), "'"));
    }
  }
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace hr::plugin
