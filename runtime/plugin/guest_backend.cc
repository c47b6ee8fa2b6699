// A Backend as the table that a plugin exports. The handles that cross are the objects themselves,
// or the small structs here that hold them.
#include "headrace/plugin_backend.h"
#include "runtime/format/region.h"
#include "runtime/ops/op_def.h"
#include "runtime/plugin/guest.h"

namespace {

// What a plugin's instance is.
struct Instance {
  explicit Instance(const hr_plugin_host& host) : guest(host) {}
  hr::plugin::Guest guest;
  const hr::ops::OpRegistry operators;
  std::unique_ptr<hr::Backend> backend;
  std::unique_ptr<hr_plugin_device[]> devices;
};

}  // namespace

struct hr_plugin_device {
  Instance* instance;
  hr::Device* rep;
};
struct hr_plugin_stream {
  Instance* instance;
  std::unique_ptr<hr::Stream> rep;
};
struct hr_plugin_event {
  Instance* instance;
  std::unique_ptr<hr::Event> rep;
};
struct hr_plugin_executable {
  Instance* instance;
  std::unique_ptr<hr::Executable> rep;
};
struct hr_plugin_invocation {
  Instance* instance;
  std::unique_ptr<hr::Invocation> rep;
};

namespace hr::plugin {
namespace {

// A handle with the value of the result, or the failure for the host.
template <typename Handle, typename T>
hr_status* Make(Instance* instance, Handle** out, Result<T> result) {
  if (!result.ok()) return instance->guest.Pass(std::move(result).status());
  *out = new Handle{instance, std::move(result).value()};
  return nullptr;
}

// The host's limits as ours: one look at its clock asks the host. What the host answered takes the
// place of our own words, see Pass.
class Limits final : public Clock {
 public:
  Limits(const Guest& guest, const hr_plugin_limits* limits) : guest_(guest), limits_(limits) {}
  CallLimits get() const { return {.clock = limits_ == nullptr ? nullptr : this}; }
  int64_t NowNanos() const override {
    answer_ = guest_.Receive(limits_->check(limits_->context));
    return answer_.ok() ? 0 : INT64_MAX;
  }
  hr_status* Pass(Status status) const {
    const bool stopped = status.code() == Code::kDeadlineExceeded && !answer_.ok();
    return guest_.Pass(stopped ? std::move(answer_) : std::move(status));
  }

 private:
  const Guest& guest_;
  const hr_plugin_limits* const limits_;
  mutable Status answer_;
};

class RunExecutor final : public Executor {
 public:
  explicit RunExecutor(const hr_plugin_run& run) : run_(run) {}
  int concurrency() const override { return run_.threads; }
  void ParallelFor(int tasks, int, TaskFunction fn, void* context) override {
    run_.parallel_for(&run_, tasks, fn, context);
  }

 private:
  const hr_plugin_run& run_;
};

Tensor ViewConstant(const hr_plugin_region_tensor& constant) {
  const auto dtype = static_cast<DType>(constant.dtype);
  Dims dims(constant.dims, constant.dims + constant.rank);
  if (constant.host_data == nullptr) return Tensor::WithoutData(dtype, std::move(dims));
  const size_t bytes = static_cast<size_t>(ElementCount(dims)) * DTypeSize(dtype);
  BufferRef buffer =
      AdoptBuffer(const_cast<void*>(constant.host_data), bytes, DeviceId{}, nullptr, nullptr);
  return Tensor::Strided(std::move(buffer), 0, dtype, std::move(dims), {});
}

Result<graph::Module> ReadRegion(Guest& guest, const hr_plugin_region& region) {
  const void* data = nullptr;
  size_t bytes = 0;
  HR_RETURN_IF_ERROR(guest.Receive(region.flatbuffer(&region, &data, &bytes)));
  HR_ASSIGN_OR_RETURN(auto&& module,
                      format::ReadRegion({static_cast<const std::byte*>(data), bytes}, &guest));
  if (module.constants.size() != region.constant_count) return Internal("lost constants");
  for (size_t i = 0; i < region.constant_count; ++i) {
    module.constants[i] = ViewConstant(region.constants[i]);
  }
  return std::move(module);
}

size_t DeviceCount(void* self) { return static_cast<Instance*>(self)->backend->devices().size(); }

hr_status* GetDevice(void* self, size_t i, hr_plugin_device_info* info, hr_plugin_device** out) {
  auto* instance = static_cast<Instance*>(self);
  const DeviceInfo& known = instance->backend->devices()[i]->info();
  *info = {.struct_size = sizeof *info,
           .name = known.name.c_str(),
           .description = known.description.c_str(),
           .type = static_cast<int32_t>(known.id.type),
           .ordinal = known.id.ordinal,
           .memory_bytes = known.memory_bytes};
  *out = &instance->devices[i];
  return nullptr;
}

void* Allocate(hr_plugin_device* device, size_t bytes, size_t alignment) {
  return device->rep->allocator().Allocate(bytes, alignment);
}

void Deallocate(hr_plugin_device* device, void* data, size_t bytes, size_t alignment) {
  device->rep->allocator().Deallocate(data, bytes, alignment);
}

Stream* StreamOf(hr_plugin_stream* stream) {
  return stream == nullptr ? nullptr : stream->rep.get();
}

hr_status* Copy(hr_plugin_device* device, void* to, const void* from, size_t bytes,
                hr_plugin_copy_kind kind, hr_plugin_stream* stream) {
  return device->instance->guest.Pass(
      device->rep->Copy(to, from, bytes, static_cast<CopyKind>(kind), StreamOf(stream)));
}

hr_status* Supports(hr_plugin_device* device, const hr_plugin_region* region, uint8_t* takes) {
  Guest& guest = device->instance->guest;
  auto module = ReadRegion(guest, *region);
  if (!module.ok()) return guest.Pass(std::move(module).status());
  auto taken = device->rep->Supports(*module);
  if (!taken.ok()) return guest.Pass(std::move(taken).status());
  std::copy(taken->begin(), taken->end(), takes);
  return nullptr;
}

hr_status* Compile(hr_plugin_device* device, const hr_plugin_region* region,
                   const hr_plugin_compile_options* options, hr_plugin_executable** out) {
  Instance* instance = device->instance;
  auto module = ReadRegion(instance->guest, *region);
  if (!module.ok()) return instance->guest.Pass(std::move(module).status());
  return Make(instance, out,
              device->rep->Compile(*module, {.allocator = &device->rep->allocator(),
                                             .operators = &instance->operators,
                                             .log = &instance->guest,
                                             .threads = options->threads,
                                             .fuse = options->fuse != 0,
                                             .deterministic = options->deterministic != 0,
                                             .exact_sums = options->exact_sums != 0,
                                             .check_memory = options->check_memory != 0,
                                             .memory_limit = options->memory_limit}));
}

void Describe(const hr_plugin_executable* executable, hr_plugin_write_function write,
              void* context) {
  const std::string text = executable->rep->Describe();
  write(context, text.data(), text.size());
}

hr_status* Run(hr_plugin_invocation* invocation, const hr_plugin_run* run) {
  RunExecutor executor(*run);
  const Lease threads = Lease::Borrow(executor, run->threads);
  const Limits limits(invocation->instance->guest, run->limits);
  const CallLimits of_run = limits.get();
  bool update_begun = false;
  Status status = invocation->rep->Run({.threads = threads,
                                        .limits = &of_run,
                                        .seed = run->seed,
                                        .step = run->step,
                                        .variables_version = run->variables_version,
                                        .stream = StreamOf(run->stream),
                                        .update_begun = &update_begun});
  if (update_begun) *run->update_begun = 1;
  return limits.Pass(std::move(status));
}

template <typename Waiting>
hr_status* Synchronize(Waiting* waiting, const hr_plugin_limits* host_limits) {
  const Limits limits(waiting->instance->guest, host_limits);
  return limits.Pass(waiting->rep->Synchronize(limits.get()));
}

template <typename Handle>
void Delete(Handle* handle) {
  delete handle;
}

constexpr hr_plugin_backend_table kTable = {
    .struct_size = sizeof kTable,
    .device_count = DeviceCount,
    .device = GetDevice,
    .allocate = Allocate,
    .deallocate = Deallocate,
    .copy = Copy,
    .create_stream =
        [](hr_plugin_device* device, hr_plugin_stream** out) {
          return Make(device->instance, out, device->rep->CreateStream());
        },
    .release_stream = Delete<hr_plugin_stream>,
    .native_stream = [](hr_plugin_stream* stream) { return stream->rep->native_handle(); },
    .record =
        [](hr_plugin_stream* stream, hr_plugin_event* event) {
          return stream->instance->guest.Pass(stream->rep->Record(*event->rep));
        },
    .wait =
        [](hr_plugin_stream* stream, hr_plugin_event* event) {
          return stream->instance->guest.Pass(stream->rep->Wait(*event->rep));
        },
    .synchronize_stream = Synchronize<hr_plugin_stream>,
    .create_event =
        [](hr_plugin_device* device, hr_plugin_event** out) {
          return Make(device->instance, out, device->rep->CreateEvent());
        },
    .release_event = Delete<hr_plugin_event>,
    .native_event = [](hr_plugin_event* event) { return event->rep->native_handle(); },
    .event_done = [](hr_plugin_event* event) { return event->rep->Done() ? 1 : 0; },
    .synchronize_event = Synchronize<hr_plugin_event>,
    .supports = Supports,
    .compile = Compile,
    .release_executable = Delete<hr_plugin_executable>,
    .arena_bytes =
        [](const hr_plugin_executable* executable) { return executable->rep->arena_bytes(); },
    .describe = Describe,
    .instantiate =
        [](hr_plugin_executable* executable, hr_plugin_invocation** out) {
          return Make(executable->instance, out, executable->rep->Instantiate());
        },
    .release_invocation = Delete<hr_plugin_invocation>,
    .bind = [](hr_plugin_invocation* invocation, uint32_t slot,
               void* data) { invocation->rep->Bind(slot, data); },
    .run = Run,
};

}  // namespace

hr_status* OfferBackend(const hr_plugin_host* host, hr_plugin* out, const char* name,
                        Result<std::unique_ptr<Backend>> (*make)(Allocator& host_memory)) {
  if (!hr_plugin_matches(host, out, name)) return nullptr;
  auto instance = std::make_unique<Instance>(*host);
  auto backend = make(instance->guest);
  if (!backend.ok()) return instance->guest.Pass(std::move(backend).status());
  instance->backend = std::move(backend).value();
  const auto devices = instance->backend->devices();
  instance->devices = std::make_unique<hr_plugin_device[]>(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    instance->devices[i] = {instance.get(), devices[i].get()};
  }
  out->self = instance.release();
  out->release = [](void* self) { delete static_cast<Instance*>(self); };
  out->backend = &kTable;
  return nullptr;
}

}  // namespace hr::plugin
