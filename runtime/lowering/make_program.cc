#include "runtime/lowering/make_program.h"

#include <algorithm>
#include <deque>

#include "runtime/lowering/choice.h"
#include "runtime/lowering/communication.h"
#include "runtime/lowering/operations.h"
#include "runtime/lowering/schedule.h"
#include "runtime/ops/type_only.h"

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
    AssignBuckets();
    const graph::Marks needed = Needed();
    for (NodeId id : order_) {
      if (!needed[id]) continue;
      WaitFor(id);
      HR_RETURN_IF_ERROR(
          AddNode(id).WithNode(graph::NodeText(region_.module, region_.graph(), id)));
    }
    WaitForAll();
    CopyOutputs();
    return builder_.Build(*options_.allocator, {.slot_count = slot_count_,
                                                .first_output_slot = first_output_slot_,
                                                .pool = std::move(pool),
                                                .check_memory = options_.check_memory,
                                                .memory_limit = options_.memory_limit,
                                                .groups = std::move(groups_),
                                                .comm_slots = CommSlots()});
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

  const ops::OpDef* DefOf(const graph::Node& node) const {
    const graph::Operator& op = region_.module.OperatorOf(node);
    return options_.operators->Find(op.domain, op.name, op.version);
  }

  // The nodes that have an effect, or an output whose contents another one needs: what is used for
  // its type alone, such as the image of which a ConvTranspose is the gradient, is not computed.
  graph::Marks Needed() const {
    graph::Marks needed(region_.node_count(), false);
    graph::Marks wanted(region_.graph().values.size(), false);
    for (const graph::Port& port : region_.module.signatures[0].outputs) wanted[port.value] = true;
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      const graph::Node& node = region_.node(*at);
      const ops::OpDef* def = DefOf(node);
      const bool acts = def == nullptr || def->custom || !ops::EffectsOf(*def, node).empty();
      needed[*at] = acts || std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) {
                      return out != kNone && wanted[out] != 0;
                    });
      for (size_t i = 0; needed[*at] && i < node.inputs.size(); ++i) {
        const bool contents = def == nullptr || !ops::UsesTypeOnly(*def, i);
        if (contents && node.inputs[i] != kNone) wanted[node.inputs[i]] = true;
      }
    }
    return needed;
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
                    !InBucket(region_.node(producer)) && region_.LayoutOf(value) == Layout::kPlain;
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
    return {.present = true,
            .dtype = value.type.dtype,
            .dims = region_.DimsOf(id),
            .layout = region_.LayoutOf(id),
            .constant = region_.ConstantOf(id),
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

  bool InBucket(const graph::Node& node) const {
    return IsCommunication(region_.module, node) && UsesBucket(region_.module.OperatorOf(node));
  }

  // The inputs of a node that communicates, without a weight.
  static std::span<const ValueId> Sent(const graph::Node& node) {
    const std::span<const ValueId> all = node.inputs;
    return all.first(all.size() - (node.Int("weighted", 0) != 0 ? 1 : 0));
  }

  // Gives each operation whose tensors move together its memory. What is computed for it alone is
  // written there; the rest is copied when it starts.
  void AssignBuckets() {
    for (NodeId id : order_) {
      const graph::Node& node = region_.node(id);
      if (!InBucket(node)) continue;
      std::vector<size_t> bytes;
      for (ValueId input : Sent(node)) bytes.push_back(BytesOf(input));
      NodeBucket made{.node = id, .bucket = BucketOf(bytes)};
      made.memory = builder_.AddArena(made.bucket.bytes);
      for (size_t i = 0; i < bytes.size(); ++i) {
        const ValueId input = node.inputs[i];
        const BufferIndex part = builder_.AddView(made.memory, made.bucket.parts[i].offset);
        const NodeId producer = region_.Producer(input);
        const bool direct = producer != kNone && buffers_[input] == kNoBuffer &&
                            !IsView(region_.node(producer)) && !IsRead(region_.node(producer)) &&
                            region_.OnlyConsumer(input) == id;
        if (direct) buffers_[input] = part;
        if (node.outputs[i] != kNone) buffers_[node.outputs[i]] = part;
        made.parts.push_back(part);
      }
      buckets_.push_back(std::move(made));
    }
  }

  struct NodeBucket {
    NodeId node = kNone;
    Bucket bucket;
    BufferIndex memory = kNoBuffer;
    std::vector<BufferIndex> parts;  // of the memory, in the order of the inputs
  };
  const NodeBucket* FindBucket(NodeId id) const {
    for (const NodeBucket& one : buckets_) {
      if (one.node == id) return &one;
    }
    return nullptr;
  }

  uint32_t GroupNumber(std::string_view name) {
    for (uint32_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i] == name) return i;
    }
    groups_.emplace_back(name);
    return static_cast<uint32_t>(groups_.size() - 1);
  }

  Status AddCommunication(NodeId id) {
    const graph::Node& node = region_.node(id);
    const std::span<const ValueId> sent = Sent(node);
    const graph::Operator& module_op = region_.module.OperatorOf(node);
    const bool receives = module_op.name == "Recv";  // its input has a type alone
    const ValueId tensor = !sent.empty() && !receives ? sent[0]
                           : node.outputs.empty()     ? kNone
                                                      : node.outputs[0];
    Communication& what =
        communications_.emplace_back(Communication{.op = module_op,
                                                   .node = node,
                                                   .group = GroupNumber(node.String("group", "")),
                                                   .slot = CommSlots()});
    // Both ends of a message stand in different nodes.
    const bool point_to_point = what.op.name == "Send" || what.op.name == "Recv";
    if (!point_to_point && !Has(begun_, what.group)) {
      begun_.push_back(what.group);
      what.run = RunHash(region_.module, order_, groups_[what.group]);
    }
    if (tensor != kNone) {
      what.dtype = region_.DTypeOf(tensor);
      what.elements = static_cast<size_t>(ElementCount(region_.DimsOf(tensor)));
    }
    engine::StepBuffers start;
    engine::StepBuffers wait;
    if (const NodeBucket* bucket = FindBucket(id)) {
      what.bucket = bucket->bucket;
      FillBucket(*bucket, &start);
      start.outputs = wait.outputs = {bucket->memory};
      wait.inputs = {bucket->memory};
    } else {
      start.inputs = {sent.empty() || receives ? kNoBuffer : BufferOf(sent[0])};
      start.outputs = {node.outputs.empty() ? kNoBuffer : BufferOf(node.outputs[0])};
      wait.inputs = start.inputs;
      wait.outputs = start.outputs;
    }
    if (sent.size() != node.inputs.size()) {
      what.weight = region_.DTypeOf(node.inputs.back());
      start.inputs.push_back(BufferOf(node.inputs.back()));
    }
    const std::string name = graph::NodeText(region_.module, region_.graph(), id);
    in_flight_.push_back({id,
                          what.slot,
                          builder_.step_count(),
                          {.kernel = WaitKernel(what),
                           .buffers = std::move(wait),
                           .node = name,
                           .in_flight = true}});
    builder_.AddStep({.buffers = std::move(start), .node = name, .in_flight = true});
    if (!Overlaps(node)) EndFlight(in_flight_.size() - 1);
    return {};
  }

  // Copies the tensors into their places that were not computed there.
  void FillBucket(const NodeBucket& bucket, engine::StepBuffers* start) {
    const graph::Node& node = region_.node(bucket.node);
    for (size_t i = 0; i < bucket.parts.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (BufferOf(input) == bucket.parts[i]) continue;
      AddCopy(input, BufferOf(input), bucket.parts[i], graph::ValueText(region_.graph(), input));
    }
    start->inputs = {bucket.memory};
  }

  static bool Has(const std::vector<uint32_t>& list, uint32_t one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  }

  uint32_t CommSlots() const { return static_cast<uint32_t>(communications_.size()); }

  struct InFlight {
    NodeId node;
    uint32_t slot;
    size_t start;  // its step
    engine::StepSpec wait;
  };
  // Who moves the data depends on the steps that run meanwhile, so only here the first step gets
  // its kernel.
  void EndFlight(size_t i) {
    InFlight& ended = in_flight_[i];
    Communication& what = communications_[ended.slot];
    for (size_t step = ended.start + 1; step < builder_.step_count(); ++step) {
      if (IsLong(builder_.step(step).work)) what.driver = comm::Collectives::Driver::kGroup;
    }
    builder_.step(ended.start).kernel = StartKernel(what);
    builder_.AddStep(std::move(ended.wait));
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // Whether a step takes several milliseconds, so that data in flight should not wait for its end.
  bool IsLong(const engine::StepWork& work) const {
    constexpr double kOperations = 1e9;  // of a thread: 4 ms at 250 GFLOP/s
    constexpr double kBytes = 50e6;      // of all threads: 4 ms at 12 GB/s
    return work.operations >= kOperations * options_.threads ||
           static_cast<double>(work.bytes) >= kBytes;
  }
  void WaitForAll() {
    while (!in_flight_.empty()) EndFlight(0);
  }

  // Waits, before the node, for the operations whose results it uses or that it is to follow. All
  // have ended before a variable is written, so that a failure leaves variables as they were.
  void WaitFor(NodeId id) {
    if (in_flight_.empty()) return;
    const graph::Node& node = region_.node(id);
    const auto written = WrittenVariables(*options_.operators, region_.module, node);
    if (std::any_of(written.begin(), written.end(), [](uint32_t v) { return v != kNone; })) {
      return WaitForAll();
    }
    const bool communicates = IsCommunication(region_.module, node);
    for (size_t i = 0; i < in_flight_.size();) {
      const NodeId earlier = in_flight_[i].node;
      bool needed = false;
      for (ValueId input : node.inputs) {
        needed |= input != kNone && region_.Producer(input) == earlier;
      }
      // Operations of a group follow each other without waiting.
      for (NodeId control : node.controls) needed |= control == earlier && !communicates;
      if (needed) {
        EndFlight(i);
      } else {
        ++i;
      }
    }
  }

  Status AddNode(NodeId id) {
    const graph::Node& node = region_.node(id);
    if (IsRead(node)) return AddRead(id, node);
    if (IsCommunication(region_.module, node)) return AddCommunication(id);
    const graph::Operator& op = region_.module.OperatorOf(node);
    const ops::OpDef* def = DefOf(node);
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
    engine::StepSpec step{.node = graph::NodeText(region_.module, region_.graph(), id),
                          .choice = std::string(node.String(kChoice, ""))};
    AddOperands(node, def, &request, &step.buffers);
    HR_ASSIGN_OR_RETURN(
        LoweredKernel lowered,
        custom ? target_.MakeCustomKernel(request, static_cast<const ops::CustomOp&>(*def))
               : target_.MakeKernel(request));
    if (lowered.scratch_bytes != 0) step.buffers.scratch = builder_.AddArena(lowered.scratch_bytes);
    step.kernel = std::move(lowered.kernel);
    for (Preparation& preparation : lowered.preparations) {
      if (preparation.kernel == nullptr) continue;
      const Tensor* const constant = region_.ConstantOf(node.inputs[preparation.input]);
      Prepare(std::move(preparation), constant, &step);
    }
    step.in_place = std::move(lowered.in_place);
    step.work = {OperationsOf(request), BytesOf(request, step.buffers)};
    step.repeatable = !custom && (def == nullptr || ops::EffectsOf(*def, node).empty());
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

  // `def`: of the node's operator; null if rewriting has made it.
  void AddOperands(const graph::Node& node, const ops::OpDef* def, KernelRequest* request,
                   engine::StepBuffers* buffers) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      request->inputs.push_back(Info(node.inputs[i]));
      const bool unused = def != nullptr && ops::UsesTypeOnly(*def, i);
      buffers->inputs.push_back(unused ? kNoBuffer : BufferOf(node.inputs[i]));
    }
    for (ValueId output : node.outputs) {
      request->outputs.push_back(Info(output));
      request->outputs.back().unused =
          output != kNone && region_.Consumers(output).empty() && !region_.IsFetched(output);
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

  // Lets the step take what the preparation makes instead of its input, which may be a constant.
  void Prepare(Preparation preparation, const Tensor* constant, engine::StepSpec* step) {
    BufferIndex& input = step->buffers.inputs[preparation.input];
    input = builder_.AddPreparation({.kernel = std::move(preparation.kernel),
                                     .from = input,
                                     .bytes = preparation.bytes,
                                     .format = std::move(preparation.format),
                                     .scratch_bytes = preparation.scratch_bytes,
                                     .node = step->node,
                                     .source = constant == nullptr ? Tensor() : *constant});
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
  std::vector<NodeBucket> buckets_;
  std::vector<InFlight> in_flight_;  // operations that were started, with what waits for them
  std::vector<std::string> groups_;
  std::vector<uint32_t> begun_;               // groups in which a collective was posted
  std::deque<Communication> communications_;  // by slot
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
