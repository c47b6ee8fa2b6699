#include "backends/cpu/lowering/layout.h"

#include <algorithm>

#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/lowering/schedule.h"

namespace hr::cpu {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

namespace {

class Assigner {
 public:
  explicit Assigner(Region& region) : region_(region) {}

  void Run() {
    auto order = graph::TopologicalOrder(region_.graph());
    if (!order.ok()) return;
    for (NodeId id : *order) Decide(id);
    for (NodeId id : *order) Convert(id);
    for (graph::Port& port : region_.module.signatures[0].outputs) {
      if (region_.LayoutOf(port.value) != Layout::kPlain)
        port.value = Converted(port.value, Layout::kPlain);
    }
  }

 private:
  // Convolutions and pools fix the layout of their images; w, bias and their gradients stay plain.
  static bool IsImageInput(std::string_view op, size_t i) {
    if (op == "Conv") return i == 0;
    if (op == "ConvGradWeight") return true;
    if (op == "ConvGradInput") return i < 2;
    return true;  // pools
  }
  static bool IsImageOutput(std::string_view op) { return op != "ConvGradWeight"; }

  bool IsWindowNode(NodeId id) const {
    const graph::Operator& op = region_.module.OperatorOf(region_.node(id));
    if (op.domain == kCpuDomain) return op.name.starts_with("Conv");
    const KernelEntry* entry = FindKernel(op.domain, op.name);
    return entry != nullptr && entry->batch_blocked && op.name.find("Pool") != std::string::npos;
  }

  // Element-wise operators follow their inputs where all of them have one shape.
  bool IsFollower(NodeId id) const {
    const graph::Node& node = region_.node(id);
    const graph::Operator& op = region_.module.OperatorOf(node);
    const KernelEntry* entry = FindKernel(op.domain, op.name);
    if (entry == nullptr || !entry->batch_blocked || IsWindowNode(id) || node.outputs.empty())
      return false;
    if (node.outputs[0] == kNone) return false;
    return region_.Decide([inputs = node.inputs, output = node.outputs[0]](const Region& region) {
      Dims shape = region.DimsOf(output);
      DType dtype = region.DTypeOf(output);
      // Lanes beyond the batch must stay zero, which only few operators would leave as they are.
      if (shape.empty() || shape[0] % (64 / static_cast<int64_t>(DTypeSize(dtype))) != 0)
        return false;
      return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
        return input != kNone && region.DimsOf(input) == shape && region.DTypeOf(input) == dtype;
      });
    });
  }

  // Pools take images as they come; plain ones are worth copying where blocks are nearly full.
  bool PoolsBlocked(const graph::Node& node) {
    const bool blocked = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return region_.LayoutOf(input) == Layout::kBatchBlocked;
    });
    return region_.Decide([blocked, image = node.inputs[0]](const Region& region) {
      const DType dtype = region.DTypeOf(image);
      const Dims dims = region.DimsOf(image);
      if (!IsFloating(dtype) || DTypeSize(dtype) < 4 || dims.size() < 3 || dims.size() > 4)
        return false;
      const int64_t block = 64 / static_cast<int64_t>(DTypeSize(dtype));
      return blocked || 4 * dims[0] >= 3 * RoundUp(dims[0], block);
    });
  }

  void Decide(NodeId id) {
    blocked_.resize(region_.node_count(), false);
    const graph::Node& node = region_.node(id);
    if (IsWindowNode(id)) {
      const graph::Operator& op = region_.module.OperatorOf(node);
      blocked_[id] = op.domain == kCpuDomain || PoolsBlocked(node);
      if (blocked_[id] && IsImageOutput(op.name)) SetOutputs(node);
      return;
    }
    bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return region_.LayoutOf(input) == Layout::kBatchBlocked;
    });
    if (!any || !IsFollower(id)) return;
    blocked_[id] = true;
    SetOutputs(node);
  }

  void SetOutputs(const graph::Node& node) {
    for (ValueId output : node.outputs) {
      // Maps of positions describe their own layout.
      bool image = output != kNone && IsFloating(region_.DTypeOf(output));
      if (image) region_.SetLayout(output, Layout::kBatchBlocked);
    }
  }

  void Convert(NodeId id) {
    const std::string op = region_.module.OperatorOf(region_.node(id)).name;
    bool window = IsWindowNode(id);
    for (size_t i = 0; i < region_.node(id).inputs.size(); ++i) {
      ValueId input = region_.node(id).inputs[i];
      if (input == kNone || !IsFloating(region_.DTypeOf(input))) continue;
      bool wants = blocked_[id] && (!window || IsImageInput(op, i));
      Layout wanted = wants ? Layout::kBatchBlocked : Layout::kPlain;
      if (region_.LayoutOf(input) == wanted) continue;
      ValueId converted = Converted(input, wanted);
      region_.graph().nodes[id].inputs[i] = converted;
    }
  }

  // The value in the other layout; one conversion serves all who need it.
  ValueId Converted(ValueId value, Layout layout) {
    if (converted_.size() <= value) converted_.resize(value + 1, kNone);
    if (converted_[value] != kNone) return converted_[value];
    std::string name = region_.value(value).name;
    ValueId out = region_.AddValue(
        region_.DTypeOf(value), [value](const Region& region) { return region.DimsOf(value); },
        name + "/layout");
    region_.SetLayout(out, layout);
    region_.AddNode(layout == Layout::kPlain ? "FromBatchBlocked" : "ToBatchBlocked", {value},
                    {out}, {}, name + "/layout");
    converted_[value] = out;
    return out;
  }

  Region& region_;
  std::vector<bool> blocked_;
  std::vector<ValueId> converted_;
};

}  // namespace

void AssignLayouts(Region& region) { Assigner(region).Run(); }

}  // namespace hr::cpu
