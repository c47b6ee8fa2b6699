#include "backends/cpu/lowering/lowering.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/lowering/passes.h"
#include "backends/cpu/lowering/region.h"
#include "backends/cpu/lowering/schedule.h"
#include "backends/cpu/ops/custom.h"

namespace hr::cpu {
namespace {

using engine::Access;
using engine::BufferIndex;
using engine::kNoBuffer;
using engine::Operand;
using graph::kNone;
using graph::NodeId;
using graph::ValueId;

std::unique_ptr<engine::Kernel> MakeCopy(size_t bytes) {
  return MakeKernel("copy", [bytes](void* const* p, const RunContext&) -> Status {
    if (bytes != 0) std::memcpy(p[1], p[0], bytes);
    return {};
  });
}

size_t ValueBytes(const Region& region, ValueId value) {
  const Dims dims = region.DimsOf(value);
  size_t element = DTypeSize(region.DTypeOf(value));
  if (region.LayoutOf(value) == Layout::kPlain)
    return static_cast<size_t>(ElementCount(dims)) * element;
  int64_t block = 64 / static_cast<int64_t>(element);
  int64_t per_image = ElementCount(std::span(dims).subspan(1));
  return static_cast<size_t>((dims[0] + block - 1) / block * block * per_image) * element;
}

class ProgramMaker {
 public:
  ProgramMaker(const Region& region, const std::vector<NodeId>& order,
               const CompileOptions& options)
      : region_(region),
        order_(order),
        options_(options),
        buffers_(region.graph().values.size(), kNoBuffer) {}

  Result<std::unique_ptr<engine::Program>> Run(std::shared_ptr<engine::PreparedPool> pool) {
    AddSlots();
    FindOverwrittenReads(order_);
    AssignOutputs();
    for (NodeId id : order_) {
      HR_RETURN_IF_ERROR(
          AddNode(id).WithNode(graph::NodeText(region_.module, region_.graph(), id)));
    }
    CopyOutputs();
    return builder_.Build(*options_.allocator, slot_count_, std::move(pool));
  }

 private:
  void AddSlots() {
    const graph::Module& module = region_.module;
    const graph::Signature& run = module.signatures[0];
    uint32_t slot = 0;
    for (const graph::Port& port : run.inputs) buffers_[port.value] = builder_.AddSlot(slot++);
    for (size_t i = 0; i < module.constants.size(); ++i)
      constants_.push_back(builder_.AddSlot(slot++));
    for (size_t i = 0; i < module.variables.size(); ++i)
      variables_.push_back(builder_.AddSlot(slot++));
    first_output_slot_ = slot;
    slot_count_ = slot + static_cast<uint32_t>(run.outputs.size());
    for (ValueId id = 0; id < region_.graph().values.size(); ++id) {
      uint32_t constant = region_.value(id).constant;
      if (constant != kNone) buffers_[id] = constants_[constant];
    }
  }

  bool IsRead(const graph::Node& node) const {
    const graph::Operator& op = region_.module.OperatorOf(node);
    return op.name == "Read" && op.domain == ops::kState;
  }

  bool IsView(const graph::Node& node) const {
    const graph::Operator& op = region_.module.OperatorOf(node);
    const KernelEntry* entry = FindKernel(op.domain, op.name);
    return entry != nullptr && entry->make == nullptr;
  }

  // A read normally is the variable's memory itself. Where something uses the value after the
  // variable has been written, the read must copy.
  void FindOverwrittenReads(const std::vector<NodeId>& order) {
    std::vector<uint32_t> last_write(region_.module.variables.size(), 0);
    std::vector<uint32_t> place(order.size(), 0);
    for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i + 1;
    for (NodeId id : order) {
      for (uint32_t v : WrittenVariables(*options_.operators, region_.module, region_.node(id))) {
        if (v == kNone) continue;
        writes_variables_ = true;
        last_write[v] = std::max(last_write[v], place[id]);
      }
    }
    copied_reads_.assign(region_.node_count(), false);
    for (NodeId id : order) {
      if (!IsRead(region_.node(id))) continue;
      auto variable = static_cast<uint32_t>(region_.node(id).Int("variable", 0));
      bool written_later = last_write[variable] > place[id];
      copied_reads_[id] = written_later && LastUse(region_.node(id).outputs[0], place) >
                                               FirstWriteAfter(order, place[id], variable);
    }
  }

  uint32_t FirstWriteAfter(const std::vector<NodeId>& order, uint32_t place,
                           uint32_t variable) const {
    for (uint32_t i = place; i < order.size(); ++i) {
      auto written = WrittenVariables(*options_.operators, region_.module, region_.node(order[i]));
      if (std::find(written.begin(), written.end(), variable) != written.end()) return i + 1;
    }
    return UINT32_MAX;
  }

  // The place of the last node that touches the value or a view of it; fetched values are touched
  // at the very end.
  uint32_t LastUse(ValueId value, const std::vector<uint32_t>& place) const {
    if (region_.IsFetched(value)) return UINT32_MAX - 1;
    uint32_t last = 0;
    for (NodeId consumer : region_.Consumers(value)) {
      last = std::max(last, place[consumer]);
      if (!IsView(region_.node(consumer))) continue;
      for (ValueId view : region_.node(consumer).outputs) {
        if (view != kNone) last = std::max(last, LastUse(view, place));
      }
    }
    return last;
  }

  // A fetched value that a kernel makes is made in the output's memory.
  void AssignOutputs() {
    const auto& outputs = region_.module.signatures[0].outputs;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      ValueId value = outputs[i].value;
      NodeId producer = region_.Producer(value);
      bool direct = producer != kNone && buffers_[value] == kNoBuffer &&
                    !IsView(region_.node(producer)) && !IsRead(region_.node(producer)) &&
                    region_.LayoutOf(value) == Layout::kPlain;
      if (direct) {
        buffers_[value] = builder_.AddSlot(first_output_slot_ + i);
      } else {
        copied_outputs_.push_back(i);
      }
    }
  }

  void CopyOutputs() {
    for (uint32_t i : copied_outputs_) {
      ValueId value = region_.module.signatures[0].outputs[i].value;
      builder_.AddStep({.kernel = MakeCopy(ValueBytes(region_, value)),
                        .operands = {{buffers_[value], Access::kRead},
                                     {builder_.AddSlot(first_output_slot_ + i), Access::kWrite}},
                        .node = graph::ValueText(region_.graph(), value)});
    }
  }

  BufferIndex BufferOf(ValueId value) {
    if (value == kNone) return kNoBuffer;
    if (buffers_[value] == kNoBuffer)
      buffers_[value] = builder_.AddArena(ValueBytes(region_, value));
    return buffers_[value];
  }

  OperandInfo Info(ValueId id) const {
    if (id == kNone) return {};
    const graph::Value& value = region_.value(id);
    return {
        .present = true,
        .dtype = value.type.dtype,
        .dims = region_.DimsOf(id),
        .layout = region_.LayoutOf(id),
        .constant = value.constant == kNone ? nullptr : &region_.module.constants[value.constant],
        .steady = IsSteady(id)};
  }

  // A constant, or a variable while no run of this region writes any, or a view of either.
  bool IsSteady(ValueId id) const {
    if (region_.value(id).constant != kNone) return true;
    NodeId producer = region_.Producer(id);
    if (producer == kNone) return false;
    if (IsRead(region_.node(producer))) return !writes_variables_;
    return IsView(region_.node(producer)) && IsSteady(region_.node(producer).inputs[0]);
  }

  Status AddRead(NodeId id, const graph::Node& node) {
    BufferIndex variable = variables_[static_cast<size_t>(node.Int("variable", 0))];
    ValueId value = node.outputs[0];
    if (value == kNone) return {};
    if (!copied_reads_[id]) {
      buffers_[value] = variable;
      return {};
    }
    builder_.AddStep({.kernel = MakeCopy(ValueBytes(region_, value)),
                      .operands = {{variable, Access::kRead}, {BufferOf(value), Access::kWrite}},
                      .node = node.name});
    return {};
  }

  Status AddNode(NodeId id) {
    const graph::Node& node = region_.node(id);
    if (IsRead(node)) return AddRead(id, node);
    const graph::Operator& op = region_.module.OperatorOf(node);
    const KernelEntry* entry = FindKernel(op.domain, op.name);
    const ops::OpDef* def = options_.operators->Find(op.domain, op.name, op.version);
    const bool custom = def != nullptr && def->custom;
    if (entry == nullptr && !custom) {
      return Unimplemented("the CPU backend has no kernel for ",
                           op.domain.empty() ? op.name : Cat(op.domain, ".", op.name));
    }
    if (entry != nullptr && entry->make == nullptr) {
      if (node.outputs[0] != kNone) {
        buffers_[node.outputs[0]] = builder_.AddView(BufferOf(node.inputs[0]), 0);
      }
      return {};
    }
    KernelRequest request{.module = region_.module,
                          .op = op,
                          .node = node,
                          .threads = options_.threads,
                          .exact_sums = options_.exact_sums};
    engine::StepSpec step{.node = graph::NodeText(region_.module, region_.graph(), id)};
    uint32_t type_only = def == nullptr ? 0 : def->type_only_inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      request.inputs.push_back(Info(node.inputs[i]));
      bool unused = i < 32 && (type_only >> i & 1) != 0;
      step.operands.push_back({unused ? kNoBuffer : BufferOf(node.inputs[i]), Access::kRead});
    }
    for (ValueId output : node.outputs) {
      request.outputs.push_back(Info(output));
      step.operands.push_back({BufferOf(output), Access::kWrite});
    }
    for (uint32_t v : WrittenVariables(*options_.operators, region_.module, node)) {
      step.writes_variables |= v != kNone;
      OperandInfo info;
      if (v != kNone) {
        const graph::Variable& variable = region_.module.variables[v];
        info = {.present = true, .dtype = variable.dtype, .dims = variable.dims};
      }
      request.variables.push_back(std::move(info));
      step.operands.push_back({v == kNone ? kNoBuffer : variables_[v], Access::kReadWrite});
    }
    HR_ASSIGN_OR_RETURN(LoweredKernel lowered,
                        custom ? MakeCustom(request, static_cast<const ops::CustomOp&>(*def))
                               : entry->make(request));
    step.operands.push_back(
        {lowered.scratch_bytes == 0 ? kNoBuffer : builder_.AddArena(lowered.scratch_bytes),
         Access::kWrite});
    step.kernel = std::move(lowered.kernel);
    if (lowered.preparation.kernel != nullptr) Prepare(std::move(lowered.preparation), &step);
    for (auto [out, in] : lowered.in_place) {
      step.in_place.push_back({static_cast<uint32_t>(request.output_index(out)), in});
    }
    builder_.AddStep(std::move(step));
    return {};
  }

  // The step takes what the preparation makes in place of its input.
  void Prepare(Preparation preparation, engine::StepSpec* step) {
    BufferIndex& input = step->operands[preparation.input].buffer;
    input = builder_.AddPreparation({.kernel = std::move(preparation.kernel),
                                     .from = input,
                                     .bytes = preparation.bytes,
                                     .format = std::move(preparation.format),
                                     .scratch = preparation.scratch_bytes == 0
                                                    ? kNoBuffer
                                                    : builder_.AddArena(preparation.scratch_bytes),
                                     .node = step->node});
  }

  const Region& region_;
  const std::vector<NodeId>& order_;
  const CompileOptions& options_;
  engine::ProgramBuilder builder_;
  std::vector<BufferIndex> buffers_;  // of values
  std::vector<BufferIndex> constants_;
  std::vector<BufferIndex> variables_;
  bool writes_variables_ = false;
  std::vector<bool> copied_reads_;
  std::vector<uint32_t> copied_outputs_;
  uint32_t first_output_slot_ = 0;
  uint32_t slot_count_ = 0;
};

// What is left of a region when kernels are to be made.
struct Lowered {
  Region region;
  std::vector<NodeId> order;
};

// A region at all its sizes. Passes run and steps are ordered once for each way in which sizes make
// the passes decide, as a rule once; kernels are made and the arena is laid out for every size.
// Thread-safe.
class Lowering : public std::enable_shared_from_this<Lowering> {
 public:
  explicit Lowering(const CompileOptions& options) : options_(options) {}

  Result<std::unique_ptr<Executable>> At(const graph::Module& module) {
    if (auto sized = Find(module)) return Make(*sized);
    auto lowered = std::make_unique<Lowered>(Lowered{Region(module, options_.resizable), {}});
    HR_RETURN_IF_ERROR(RunPasses(lowered->region, options_));
    HR_ASSIGN_OR_RETURN(lowered->order, Schedule(*options_.operators, lowered->region.module));
    HR_ASSIGN_OR_RETURN(auto&& executable, Make(*lowered));
    if (options_.resizable) Keep(std::move(lowered));
    return executable;
  }

 private:
  // Decisions by size are few; what is met beyond these is lowered again.
  static constexpr size_t kMaxKept = 8;

  // What an earlier size was lowered to, at this size.
  std::optional<Lowered> Find(const graph::Module& module) {
    std::lock_guard lock(mutex_);
    for (const auto& known : kept_) {
      Region sized = known->region.At(module);
      if (known->region.FitsAt(sized)) return Lowered{std::move(sized), known->order};
    }
    return std::nullopt;
  }

  void Keep(std::unique_ptr<const Lowered> lowered) {
    std::lock_guard lock(mutex_);
    if (kept_.size() < kMaxKept) kept_.push_back(std::move(lowered));
  }

  Result<std::unique_ptr<Executable>> Make(const Lowered& lowered) {
    HR_ASSIGN_OR_RETURN(auto&& program,
                        ProgramMaker(lowered.region, lowered.order, options_).Run(pool_));
    if (options_.resizable) {
      program->set_resizer(
          [self = shared_from_this()](const graph::Module& sized) { return self->At(sized); });
    }
    return std::unique_ptr<Executable>(std::move(program));
  }

  const CompileOptions options_;
  const std::shared_ptr<engine::PreparedPool> pool_ = std::make_shared<engine::PreparedPool>();
  std::mutex mutex_;
  std::vector<std::unique_ptr<const Lowered>> kept_;
};

}  // namespace

Result<std::unique_ptr<Executable>> Lower(const graph::Module& module,
                                          const CompileOptions& options) {
  return std::make_shared<Lowering>(options)->At(module);
}

}  // namespace hr::cpu
