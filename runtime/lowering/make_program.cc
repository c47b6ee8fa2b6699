#include "runtime/lowering/make_program.h"

#include <algorithm>

#include "runtime/lowering/operations.h"
#include "runtime/lowering/schedule.h"

namespace hr::lowering {
namespace {

using engine::BufferIndex;
using engine::kNoBuffer;
using graph::kNone;
using graph::NodeId;
using graph::ValueId;

class ProgramMaker {
 public:
  ProgramMaker(const Target& target, const Region& region, const std::vector<NodeId>& order,
               const CompileOptions& options)
      : target_(target),
        region_(region),
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
    return builder_.Build(*options_.allocator, {.slot_count = slot_count_,
                                                .first_output_slot = first_output_slot_,
                                                .pool = std::move(pool),
                                                .check_memory = options_.check_memory});
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
    return target_.SupportOf(region_.module.OperatorOf(node)) == Support::kView;
  }

  // A read normally is the variable's memory itself. If something uses the value after the variable
  // has been written, the read must copy.
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

  // Returns the place of the last node that touches the value or a view of it; fetched values are
  // touched at the very end.
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

  // A kernel that makes a fetched value writes it to the output's memory.
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
      AddCopy(value, buffers_[value], builder_.AddSlot(first_output_slot_ + i),
              graph::ValueText(region_.graph(), value));
    }
  }

  void AddCopy(ValueId value, BufferIndex from, BufferIndex to, std::string node) {
    builder_.AddStep({.kernel = target_.MakeCopyKernel(BytesOf(value)),
                      .buffers = {.inputs = {from}, .outputs = {to}},
                      .node = std::move(node),
                      .work = {.bytes = 2 * BytesOf(value)}});
  }

  size_t BytesOf(ValueId value) const {
    return target_.StoredBytes(region_.DTypeOf(value), region_.DimsOf(value),
                               region_.LayoutOf(value));
  }

  BufferIndex BufferOf(ValueId value) {
    if (value == kNone) return kNoBuffer;
    if (buffers_[value] == kNoBuffer) buffers_[value] = builder_.AddArena(BytesOf(value));
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

  // Returns whether the value is the same in all runs: a constant, a variable of a region that
  // writes none, or a view of either.
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
    AddCopy(value, variable, BufferOf(value), node.name);
    return {};
  }

  Status AddNode(NodeId id) {
    const graph::Node& node = region_.node(id);
    if (IsRead(node)) return AddRead(id, node);
    const graph::Operator& op = region_.module.OperatorOf(node);
    const ops::OpDef* def = options_.operators->Find(op.domain, op.name, op.version);
    const bool custom = def != nullptr && def->custom;
    const Support support = target_.SupportOf(op);
    if (support == Support::kNone && !custom) {
      return Unimplemented("the ", target_.name(), " backend has no kernel for ",
                           op.domain.empty() ? op.name : Cat(op.domain, ".", op.name));
    }
    if (support == Support::kView) {
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
    AddOperands(node, def == nullptr ? 0 : def->type_only_inputs, &request, &step.buffers);
    HR_ASSIGN_OR_RETURN(
        LoweredKernel lowered,
        custom ? target_.MakeCustomKernel(request, static_cast<const ops::CustomOp&>(*def))
               : target_.MakeKernel(request));
    if (lowered.scratch_bytes != 0) step.buffers.scratch = builder_.AddArena(lowered.scratch_bytes);
    step.kernel = std::move(lowered.kernel);
    if (lowered.preparation.kernel != nullptr) Prepare(std::move(lowered.preparation), &step);
    step.in_place = std::move(lowered.in_place);
    step.work = {OperationsOf(request), BytesOf(request, step.buffers)};
    builder_.AddStep(std::move(step));
    return {};
  }

  // Returns the bytes of operands that a step with these buffers touches.
  size_t BytesOf(const KernelRequest& request, const engine::StepBuffers& buffers) const {
    size_t bytes = 0;
    const auto add = [&](const std::vector<OperandInfo>& operands,
                         const std::vector<BufferIndex>& given, size_t times) {
      for (size_t i = 0; i < operands.size(); ++i) {
        const OperandInfo& one = operands[i];
        if (given[i] == kNoBuffer) continue;
        bytes += times * target_.StoredBytes(one.dtype, one.dims, one.layout);
      }
    };
    add(request.inputs, buffers.inputs, 1);
    add(request.outputs, buffers.outputs, 1);
    add(request.variables, buffers.variables, 2);
    return bytes;
  }

  void AddOperands(const graph::Node& node, uint32_t type_only, KernelRequest* request,
                   engine::StepBuffers* buffers) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      request->inputs.push_back(Info(node.inputs[i]));
      const bool unused = i < 32 && (type_only >> i & 1) != 0;
      buffers->inputs.push_back(unused ? kNoBuffer : BufferOf(node.inputs[i]));
    }
    for (ValueId output : node.outputs) {
      request->outputs.push_back(Info(output));
      buffers->outputs.push_back(BufferOf(output));
    }
    for (uint32_t v : WrittenVariables(*options_.operators, region_.module, node)) {
      OperandInfo info;
      if (v != kNone) {
        const graph::Variable& variable = region_.module.variables[v];
        info = {.present = true, .dtype = variable.dtype, .dims = variable.dims};
      }
      request->variables.push_back(std::move(info));
      buffers->variables.push_back(v == kNone ? kNoBuffer : variables_[v]);
    }
  }

  // Lets the step take what the preparation makes instead of its input.
  void Prepare(Preparation preparation, engine::StepSpec* step) {
    BufferIndex& input = step->buffers.inputs[preparation.input];
    input = builder_.AddPreparation({.kernel = std::move(preparation.kernel),
                                     .from = input,
                                     .bytes = preparation.bytes,
                                     .format = std::move(preparation.format),
                                     .scratch = preparation.scratch_bytes == 0
                                                    ? kNoBuffer
                                                    : builder_.AddArena(preparation.scratch_bytes),
                                     .node = step->node});
  }

  const Target& target_;
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

}  // namespace

Result<std::unique_ptr<engine::Program>> MakeProgram(const Target& target, const Region& region,
                                                     const std::vector<NodeId>& order,
                                                     const CompileOptions& options,
                                                     std::shared_ptr<engine::PreparedPool> pool) {
  return ProgramMaker(target, region, order, options).Run(std::move(pool));
}

}  // namespace hr::lowering
