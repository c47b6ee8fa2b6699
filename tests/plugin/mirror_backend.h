// The CPU backend under other names, as if it were accelerators: for tests that want everything
// that the CPU can do on several devices.
#pragma once

#include "backends/cpu/cpu_backend.h"
#include "runtime/graph/graph.h"

namespace hr::test {

// What the CPU's device does, as "MIRROR:n". Refuses operators whose name is `refused`.
class MirrorDevice final : public Device {
 public:
  MirrorDevice(Device& cpu, int32_t ordinal, std::string refused)
      : cpu_(cpu),
        info_{.id = {DeviceType::kExtension, ordinal}, .name = Cat("MIRROR:", ordinal)},
        refused_(std::move(refused)) {}

  const DeviceInfo& info() const override { return info_; }
  Allocator& allocator() override { return cpu_.allocator(); }
  Status Copy(void* to, const void* from, size_t bytes, CopyKind kind, Stream* stream) override {
    return cpu_.Copy(to, from, bytes, kind, stream);
  }
  Result<std::unique_ptr<Stream>> CreateStream() override { return cpu_.CreateStream(); }
  Result<std::unique_ptr<Event>> CreateEvent() override { return cpu_.CreateEvent(); }
  Result<std::vector<char>> Supports(const graph::Module& region) override {
    HR_ASSIGN_OR_RETURN(auto&& takes, cpu_.Supports(region));
    for (size_t i = 0; i < takes.size(); ++i) {
      takes[i] &= region.OperatorOf(region.main().nodes[i]).name != refused_;
    }
    return std::move(takes);
  }
  Result<std::unique_ptr<Executable>> Compile(const graph::Module& region,
                                              const CompileOptions& options) override {
    return cpu_.Compile(region, options);
  }

 private:
  Device& cpu_;
  const DeviceInfo info_;
  const std::string refused_;
};

class MirrorBackend final : public Backend {
 public:
  MirrorBackend(Allocator& allocator, int32_t devices, std::string refused = {})
      : cpu_(cpu::CreateCpuBackend(allocator)) {
    for (int32_t i = 0; i < devices; ++i) {
      devices_.push_back(std::make_unique<MirrorDevice>(*cpu_->devices()[0], i, refused));
    }
  }
  std::string_view name() const override { return "mirror"; }
  std::span<const std::unique_ptr<Device>> devices() override { return devices_; }

 private:
  const std::unique_ptr<Backend> cpu_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace hr::test
