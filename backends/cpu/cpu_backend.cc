#include "backends/cpu/cpu_backend.h"

#include <cstring>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/bfloat16_gemm.h"
#include "backends/cpu/lowering/target.h"
#include "backends/cpu/onednn/kernels.h"
#include "runtime/ops/op_def.h"

namespace hr::cpu {
namespace {

// Work on the CPU is done when the call returns, so streams and events have nothing to wait for.
class CpuEvent final : public Event {
 public:
  bool Done() override { return true; }
  Status Synchronize(const CallLimits&) override { return {}; }
};

class CpuStream final : public Stream {
 public:
  Status Record(Event&) override { return {}; }
  Status Wait(Event&) override { return {}; }
  Status Synchronize(const CallLimits&) override { return {}; }
};

std::string Machine() { return Cat("portable kernels, ", InstructionSet()); }

class CpuDevice final : public Device {
 public:
  CpuDevice(Allocator& allocator, const ConvCosts& costs)
      : allocator_(allocator),
        target_(CpuTarget(costs)),
        info_{.name = "CPU:0", .description = Machine()} {}

  const DeviceInfo& info() const override { return info_; }
  Allocator& allocator() override { return allocator_; }
  Status Copy(void* to, const void* from, size_t bytes, CopyKind, Stream*) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return {};
  }
  Result<std::unique_ptr<Stream>> CreateStream() override {
    return std::unique_ptr<Stream>(std::make_unique<CpuStream>());
  }
  Result<std::unique_ptr<Event>> CreateEvent() override {
    return std::unique_ptr<Event>(std::make_unique<CpuEvent>());
  }
  bool MultipliesBfloat16() const override { return KernelsForBfloat16() != nullptr; }

  Result<std::vector<char>> Supports(const graph::Module& region) override {
    std::vector<char> out;
    for (const graph::Node& node : region.main().nodes) {
      const graph::Operator& op = region.OperatorOf(node);
      bool is_read = op.domain == ops::kState && op.name == "Read";
      const bool communicates = op.domain == ops::kComm;  // lowering makes its steps
      out.push_back(is_read || communicates || FindKernel(op) != nullptr);
    }
    return out;
  }
  Result<std::unique_ptr<Executable>> Compile(const graph::Module& region,
                                              const CompileOptions& options) override {
    return lowering::Lower(*target_, region, options);
  }

 private:
  Allocator& allocator_;
  const std::shared_ptr<const lowering::Target> target_;
  DeviceInfo info_;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(Allocator& allocator, const ConvCosts& costs) {
    devices_.push_back(std::make_unique<CpuDevice>(allocator, costs));
  }
  std::string_view name() const override { return "cpu"; }
  std::span<const std::unique_ptr<Device>> devices() override { return devices_; }

 private:
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace

std::unique_ptr<Backend> CreateCpuBackend(Allocator& allocator) {
  return std::make_unique<CpuBackend>(allocator, ConvCosts{});
}

Result<std::unique_ptr<Backend>> CreateCpuBackend(Allocator& allocator, const std::string& costs) {
  HR_ASSIGN_OR_RETURN(const ConvCosts read, ReadConvCosts(costs, Machine()));
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(allocator, read));
}

void DescribeOneDnn(JsonWriter& json) { onednn::Describe(json); }

}  // namespace hr::cpu
