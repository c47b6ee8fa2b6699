#include "runtime/session/multi_device.h"

#include <algorithm>

#include "runtime/engine/arena_planner.h"
#include "runtime/ops/type_only.h"

namespace hr::session {

using graph::kNone;
using graph::ValueId;

class MultiDeviceCompiler {
 public:
  MultiDeviceCompiler(Device& cpu, const graph::Module& whole, const CompileOptions& options)
      : cpu_(&cpu),
        whole_(whole),
        run_(whole.signatures[0]),
        options_(options),
        executable_(std::make_unique<MultiDeviceExecutable>()),
        places_(whole.main().values.size()) {}

  Result<std::unique_ptr<MultiDeviceExecutable>> Run(std::vector<Part> parts) {
    AddSlots();
    for (Part& part : parts) HR_RETURN_IF_ERROR(AddPart(part));
    for (size_t i = 0; i < run_.outputs.size(); ++i) {
      const ValueId value = run_.outputs[i].value;
      const uint32_t to = executable_->slots_[first_output_ + i];
      if (On(value, cpu_) != to) Copy(value, places_[value][0], to);
    }
    PlaceArenas();
    return std::move(executable_);
  }

 private:
  using Buffer = MultiDeviceExecutable::Buffer;

  uint32_t AddBuffer(Device* device, size_t bytes) {
    executable_->buffers_.push_back({.device = device, .bytes = bytes});
    return static_cast<uint32_t>(executable_->buffers_.size() - 1);
  }
  Buffer& At(uint32_t buffer) { return executable_->buffers_[buffer]; }

  size_t BytesOf(ValueId value) const {
    const graph::ValueType& type = whole_.main().values[value].type;
    return static_cast<size_t>(ElementCount(*type.FixedDims())) * DTypeSize(type.dtype);
  }

  void AddSlots() {
    auto& slots = executable_->slots_;
    for (const graph::Port& port : run_.inputs) {
      slots.push_back(AddBuffer(cpu_, BytesOf(port.value)));
      places_[port.value].push_back(slots.back());
    }
    first_constant_ = slots.size();
    for (const Tensor& constant : whole_.constants) {
      slots.push_back(AddBuffer(cpu_, constant.bytes()));
    }
    for (ValueId id = 0; id < places_.size(); ++id) {
      const uint32_t constant = whole_.main().values[id].constant;
      if (constant != kNone) places_[id].push_back(slots[first_constant_ + constant]);
    }
    first_variable_ = slots.size();
    for (size_t i = 0; i < whole_.variables.size(); ++i) slots.push_back(AddBuffer(cpu_, 0));
    first_output_ = slots.size();
    for (const graph::Port& port : run_.outputs) {
      slots.push_back(AddBuffer(cpu_, BytesOf(port.value)));
    }
  }

  // Where the value lies in the device's memory, or kNoIndex.
  uint32_t On(ValueId value, const Device* device) {
    for (uint32_t buffer : places_[value]) {
      if (At(buffer).device == device) return buffer;
    }
    return MultiDeviceExecutable::kNoIndex;
  }

  // The same, copied there where it is not yet.
  uint32_t Bring(ValueId value, Device* device) {
    if (uint32_t there = On(value, device); there != MultiDeviceExecutable::kNoIndex) return there;
    uint32_t from = places_[value][0];
    // Devices know their own memory and the host's only.
    if (device != cpu_ && At(from).device != cpu_) from = Bring(value, cpu_);
    const uint32_t to = NewPlace(value, device);
    Copy(value, from, to);
    return to;
  }

  uint32_t AddArena(Device* device, size_t bytes) {
    const uint32_t buffer = AddBuffer(device, bytes);
    At(buffer).in_arena = true;
    return buffer;
  }

  // Memory for the value: the caller's where that is the host's and wants it, else of an arena.
  uint32_t NewPlace(ValueId value, Device* device) {
    uint32_t buffer = MultiDeviceExecutable::kNoIndex;
    for (size_t i = 0; device == cpu_ && i < run_.outputs.size(); ++i) {
      if (run_.outputs[i].value == value) buffer = executable_->slots_[first_output_ + i];
    }
    if (buffer == MultiDeviceExecutable::kNoIndex) buffer = AddArena(device, BytesOf(value));
    places_[value].push_back(buffer);
    return buffer;
  }

  void Copy(ValueId value, uint32_t from, uint32_t to) {
    Device* source = At(from).device;
    Device* target = At(to).device;
    MultiDeviceExecutable::Step step{.device = source == cpu_ ? target : source,
                                     .from = from,
                                     .to = to,
                                     .value = graph::ValueText(whole_.main(), value)};
    if (source != target) {
      step.kind = source == cpu_ ? CopyKind::kHostToDevice : CopyKind::kDeviceToHost;
    }
    Touch(from);
    Touch(to);
    executable_->steps_.push_back(std::move(step));
  }

  // The next step uses the buffer.
  void Touch(uint32_t buffer) {
    const auto step = static_cast<uint32_t>(executable_->steps_.size());
    At(buffer).first = std::min(At(buffer).first, step);
    At(buffer).last = step;
  }
  void Use(uint32_t buffer, uint32_t* slot) {
    Touch(buffer);
    At(buffer).uses.push_back({static_cast<uint32_t>(executable_->regions_.size()), (*slot)++});
  }

  Status AddPart(Part& part) {
    uint32_t slot = 0;
    std::vector<uint32_t> inputs;
    const Needs needs = NeedsOf(part.module);
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      inputs.push_back(needs.values[part.module.main().inputs[i]]
                           ? Bring(part.inputs[i], part.device)
                           : AddArena(part.device, BytesOf(part.inputs[i])));
    }
    for (uint32_t input : inputs) Use(input, &slot);
    for (uint32_t constant : part.constants) {
      HR_ASSIGN_OR_RETURN(uint32_t buffer, ConstantOn(constant, part.device));
      Use(buffer, &slot);
    }
    for (size_t i = 0; i < whole_.variables.size(); ++i, ++slot) {
      if (!needs.variables[i]) continue;
      uint32_t same = slot;
      Use(executable_->slots_[first_variable_ + i], &same);
    }
    for (ValueId output : part.outputs) Use(NewPlace(output, part.device), &slot);
    return AddRegion(part);
  }

  // What a part's nodes use: values of which they want more than the type, and variables.
  struct Needs {
    graph::Marks values;
    graph::Marks variables;
  };
  Needs NeedsOf(const graph::Module& module) const {
    Needs needs{graph::Marks(module.main().values.size()), graph::Marks(module.variables.size())};
    for (const graph::Node& node : module.main().nodes) {
      const ops::OpDef& def = ops::DefOf(*options_.operators, module, node);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const bool unused = node.inputs[i] == kNone || ops::UsesTypeOnly(def, i);
        if (!unused) needs.values[node.inputs[i]] = true;
      }
      for (const ops::VariableUse& use : ops::VariablesOf(def, node)) {
        needs.variables[static_cast<size_t>(use.variable)] = true;
      }
    }
    return needs;
  }

  Result<uint32_t> ConstantOn(uint32_t constant, Device* device) {
    if (device == cpu_) return executable_->slots_[first_constant_ + constant];
    for (const Known& known : device_constants_) {
      if (known.constant == constant && known.device == device) return known.buffer;
    }
    const Tensor& tensor = whole_.constants[constant];
    HR_ASSIGN_OR_RETURN(Block block, Block::Create(device->allocator(), tensor.bytes()));
    HR_RETURN_IF_ERROR(device->Copy(block.data(), tensor.data(), tensor.bytes(),
                                    CopyKind::kHostToDevice, nullptr));
    const uint32_t buffer = AddBuffer(device, tensor.bytes());
    At(buffer).fixed = block.data();
    executable_->constants_.push_back(std::move(block));
    device_constants_.push_back({constant, device, buffer});
    return buffer;
  }

  Status AddRegion(Part& part) {
    auto executable = part.device->Compile(part.module, options_);
    if (!executable.ok()) {
      return std::move(executable).status().WithContext(part.device->info().name);
    }
    std::vector<std::string> nodes;
    for (graph::NodeId id = 0; id < part.module.main().nodes.size(); ++id) {
      nodes.push_back(graph::NodeText(part.module, part.module.main(), id));
    }
    executable_->steps_.push_back(
        {.region = static_cast<uint32_t>(executable_->regions_.size()), .device = part.device});
    executable_->regions_.push_back({part.device, std::move(nodes), std::move(executable).value()});
    return {};
  }

  // One arena for each device; buffers that do not live at the same time share memory.
  void PlaceArenas() {
    std::vector<Device*> devices = {cpu_};
    for (const Buffer& buffer : executable_->buffers_) {
      if (std::find(devices.begin(), devices.end(), buffer.device) == devices.end()) {
        devices.push_back(buffer.device);
      }
    }
    for (Device* device : devices) {
      std::vector<engine::Lifetime> lifetimes;
      std::vector<Buffer*> planned;
      for (Buffer& buffer : executable_->buffers_) {
        if (!buffer.in_arena || buffer.device != device) continue;
        lifetimes.push_back({buffer.bytes, buffer.first, buffer.last});
        planned.push_back(&buffer);
      }
      const engine::ArenaLayout layout = engine::PlanArena(lifetimes);
      for (size_t i = 0; i < planned.size(); ++i) planned[i]->offset = layout.offsets[i];
      executable_->arenas_.push_back({device, layout.bytes});
    }
  }

  struct Known {
    uint32_t constant;
    Device* device;
    uint32_t buffer;
  };

  Device* const cpu_;
  const graph::Module& whole_;
  const graph::Signature& run_;
  const CompileOptions& options_;
  std::unique_ptr<MultiDeviceExecutable> executable_;
  std::vector<std::vector<uint32_t>> places_;  // buffers that hold a value; its origin first
  std::vector<Known> device_constants_;
  size_t first_constant_ = 0;
  size_t first_variable_ = 0;
  size_t first_output_ = 0;
};

Result<std::unique_ptr<MultiDeviceExecutable>> MultiDeviceExecutable::Compile(
    Device& cpu, const graph::Module& whole, std::vector<Part> parts,
    const CompileOptions& options) {
  return MultiDeviceCompiler(cpu, whole, options).Run(std::move(parts));
}

class MultiDeviceInvocation final : public Invocation {
 public:
  explicit MultiDeviceInvocation(const MultiDeviceExecutable& executable)
      : executable_(executable), data_(executable.buffers_.size()) {}

  Status Prepare() {
    for (const MultiDeviceExecutable::Region& region : executable_.regions_) {
      auto made = region.executable->Instantiate();
      if (!made.ok()) {
        return std::move(made).status().WithContext(region.device->info().name);
      }
      regions_.push_back(std::move(made).value());
    }
    for (const MultiDeviceExecutable::Arena& arena : executable_.arenas_) {
      HR_ASSIGN_OR_RETURN(Block block, Block::Create(arena.device->allocator(), arena.bytes));
      for (uint32_t i = 0; i < data_.size(); ++i) {
        const MultiDeviceExecutable::Buffer& buffer = executable_.buffers_[i];
        if (buffer.device != arena.device) continue;
        if (buffer.in_arena) Place(i, block.begin() + buffer.offset);
        if (buffer.fixed != nullptr) Place(i, buffer.fixed);
      }
      arenas_.push_back(std::move(block));
    }
    return {};
  }

  void Bind(uint32_t slot, void* data) override { Place(executable_.slots_[slot], data); }

  Status Run(const RunContext& context) override {
    bool begun = false;
    RunContext inner = context;
    inner.update_begun = &begun;
    for (const MultiDeviceExecutable::Step& step : executable_.steps_) {
      Status status = RunStep(step, inner);
      if (begun) {
        if (context.update_begun != nullptr) *context.update_begun = true;
        inner.limits = &kNoLimits;
      }
      if (!status.ok()) return std::move(status).WithContext(step.device->info().name);
    }
    return {};
  }

 private:
  void Place(uint32_t buffer, void* data) {
    data_[buffer] = data;
    for (const MultiDeviceExecutable::Use& use : executable_.buffers_[buffer].uses) {
      regions_[use.region]->Bind(use.slot, data);
    }
  }

  Status RunStep(const MultiDeviceExecutable::Step& step, const RunContext& context) {
    const bool copies = step.region == MultiDeviceExecutable::kNoIndex;
    const bool recorded = context.recorder != nullptr &&
                          (copies || !executable_.regions_[step.region].executable->ReportsSteps());
    if (recorded) {
      const std::string& name = step.device->info().name;
      context.recorder->BeginStep(copies
                                      ? StepFacts{.node = step.value,
                                                  .kernel = "copy",
                                                  .bytes = 2 * executable_.buffers_[step.to].bytes}
                                      : StepFacts{.node = name, .kernel = "region"});
    }
    Status status = copies ? Copy(step, *context.limits) : regions_[step.region]->Run(context);
    if (recorded) context.recorder->EndStep();
    return status;
  }

  Status Copy(const MultiDeviceExecutable::Step& step, const CallLimits& limits) const {
    HR_RETURN_IF_ERROR(limits.Check());
    const size_t bytes = executable_.buffers_[step.to].bytes;
    return step.device->Copy(data_[step.to], data_[step.from], bytes, step.kind, nullptr);
  }

  const MultiDeviceExecutable& executable_;
  std::vector<void*> data_;  // of the buffers
  std::vector<Block> arenas_;
  std::vector<std::unique_ptr<Invocation>> regions_;  // before the arenas
};

Result<std::unique_ptr<Invocation>> MultiDeviceExecutable::Instantiate() {
  auto invocation = std::make_unique<MultiDeviceInvocation>(*this);
  HR_RETURN_IF_ERROR(invocation->Prepare());
  return std::unique_ptr<Invocation>(std::move(invocation));
}

size_t MultiDeviceExecutable::arena_bytes() const {
  size_t bytes = 0;
  for (const Region& region : regions_) bytes += region.executable->arena_bytes();
  for (const Arena& arena : arenas_) bytes += arena.bytes;
  return bytes;
}

void MultiDeviceExecutable::DescribeRegions(JsonWriter& json) const {
  for (const Region& region : regions_) {
    json.BeginObject().Field("device", region.device->info().name).Key("nodes");
    json.Values(std::span<const std::string>(region.nodes)).Key("executable");
    json.Raw(region.executable->Describe()).EndObject();
  }
}

void MultiDeviceExecutable::DescribeCopies(JsonWriter& json) const {
  for (const Step& step : steps_) {
    if (step.region != kNoIndex) continue;
    json.BeginObject()
        .Field("value", step.value)
        .Field("bytes", buffers_[step.to].bytes)
        .Field("from", buffers_[step.from].device->info().name)
        .Field("to", buffers_[step.to].device->info().name)
        .EndObject();
  }
}

std::string MultiDeviceExecutable::Describe() const {
  JsonWriter json;
  json.BeginArray();
  DescribeRegions(json);
  json.EndArray();
  return json.Take();
}

}  // namespace hr::session
